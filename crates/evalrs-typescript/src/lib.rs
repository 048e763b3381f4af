//! Removes the types from TypeScript, so that node can run it, and lists the exports of a module without running
//! it.
//!
//! Programs that users write in TypeScript are run by node, bun or deno. Node runs JavaScript alone, so the text is erased to
//! JavaScript first, with a source map behind it: messages of node name lines of the original.
//!
//! [`strip`] is all that is asked of this crate. Behind it `erase` takes out the types, `shape` looks at what is exported, and
//! [`SyntaxProblem`] says where a source is wrong. Built without the feature `typescript`, the crate has no parser in it, and
//! [`strip`] says that it cannot.
//!
//! The work is that of oxc; what it cannot do (decorators, variables that a namespace exports) is a problem of the source.
//! Imports that only types use go, as the TypeScript compiler has it. JavaScript stays as it is. This crate must not know files
//! or what runs the code.

#[cfg(feature = "typescript")]
mod erase;
mod problem;
#[cfg(feature = "typescript")]
mod shape;
#[cfg(all(test, feature = "typescript"))]
mod tests;

#[cfg(feature = "typescript")]
use oxc_allocator::Allocator;
#[cfg(feature = "typescript")]
use oxc_parser::{ParseOptions, Parser, ParserReturn};
#[cfg(feature = "typescript")]
use oxc_span::SourceType;

pub use self::problem::SyntaxProblem;
#[cfg(feature = "typescript")]
use self::shape::ModuleShape;

/// What is left of a module without its types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrippedModule {
    /// JavaScript; if it was TypeScript, it ends with a source map.
    pub code: String,
    /// Whether it is an ES module; else it is `CommonJS`.
    pub is_module: bool,
    /// The names it exports, sorted; `*` among them where others may come that cannot be seen in it.
    pub exports: Vec<String>,
}

impl StrippedModule {
    /// Whether it certainly does not export `name`.
    pub fn lacks(&self, name: &str) -> bool {
        !self.exports.iter().any(|export| export == name || export == "*")
    }
}

/// Takes the types out of `source`. The extension of `path` says what it is written in: `.js`, `.mjs` and `.cjs` are
/// JavaScript, which stays as it is; everything else is TypeScript.
#[cfg(feature = "typescript")]
pub fn strip(path: &str, source: &str) -> Result<StrippedModule, SyntaxProblem> {
    /// What reads and writes code calls itself for what is nested; memory is taken only where it is used. In bytes.
    const STACK: usize = 256 << 20;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let stripped = thread.spawn_scoped(scope, || strip_here(path, source)).ok()?;
        stripped.join().ok()
    })
    .unwrap_or_else(|| Err(SyntaxProblem::at(source, 0, "the parser failed")))
}

/// Says that this build cannot do it.
#[cfg(not(feature = "typescript"))]
pub fn strip(_path: &str, _source: &str) -> Result<StrippedModule, SyntaxProblem> {
    let message = "this evalrs was built without the feature `typescript`: install bun or deno to run TypeScript";
    Err(SyntaxProblem { message: message.to_owned(), line: 1, column: 1 })
}

#[cfg(feature = "typescript")]
fn strip_here(path: &str, source: &str) -> Result<StrippedModule, SyntaxProblem> {
    let extension = path.rsplit('.').next().unwrap_or_default();
    let kind = match extension {
        "js" => SourceType::unambiguous(),
        "mjs" => SourceType::mjs(),
        "cjs" => SourceType::cjs(),
        "mts" => SourceType::ts().with_module(true),
        "cts" => SourceType::ts().with_commonjs(true),
        _ => SourceType::ts(),
    };
    let allocator = Allocator::default();
    let parsed = parse(&allocator, source, kind);
    if let Some(diagnostic) = parsed.diagnostics.first() {
        return Err(SyntaxProblem::of(source, diagnostic));
    }
    let (code, shape) = if kind.is_javascript() {
        (source.to_owned(), ModuleShape::of(&parsed))
    } else {
        let code = erase::erase(&allocator, parsed.program)?;
        let shape = ModuleShape::of(&parse(&allocator, &code, kind.with_javascript(true)));
        (code, shape)
    };
    let is_module = match extension {
        "mjs" | "mts" => true,
        "cjs" | "cts" => false,
        _ => shape.is_module,
    };
    Ok(StrippedModule { code, is_module, exports: shape.exports(is_module) })
}

#[cfg(feature = "typescript")]
fn parse<'a>(allocator: &'a Allocator, source: &'a str, kind: SourceType) -> ParserReturn<'a> {
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    Parser::new(allocator, source, kind).with_options(options).parse()
}
