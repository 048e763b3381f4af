//! Makes JavaScript of TypeScript with the transformer of oxc, which does nothing else here: whatever the runtime can do
//! stays as it is written. The code ends with its source map, so that runtimes tell the lines of the user's file.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{AccessorProperty, Decorator, Program, Statement};
use oxc_ast_visit::Visit;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_semantic::{Scoping, SemanticBuilder};
use oxc_span::Span;
use oxc_transformer::{TransformOptions, Transformer};

use super::SyntaxProblem;

/// How the source map names the file: as an address relative to that of the file, so that no name needs escapes.
const ITSELF: &str = "";

/// The code of a module in TypeScript.
pub(super) fn erase<'a>(
    allocator: &'a Allocator,
    mut program: Program<'a>,
) -> Result<String, SyntaxProblem> {
    let source = program.source_text;
    refuse(&program)?;
    let checked =
        SemanticBuilder::new().with_check_syntax_error(true).with_enum_eval(true).build(&program);
    if let Some(diagnostic) = checked.diagnostics.first() {
        return Err(SyntaxProblem::of(source, diagnostic));
    }
    let scoping = checked.semantic.into_scoping();
    let options = TransformOptions::default();
    let transformer = Transformer::new(allocator, Path::new(ITSELF), &options);
    let transformed = transformer.build_with_scoping(scoping, &mut program);
    if let Some(diagnostic) = transformed.diagnostics.first() {
        return Err(SyntaxProblem::of(source, diagnostic));
    }
    if is_common(&transformed.scoping) {
        program.body.retain(|statement| !is_mark(statement));
    }
    // Deep nesting must not become far more spaces than there is code.
    let options = CodegenOptions {
        indent_width: 0,
        source_map_path: Some(ITSELF.into()),
        ..CodegenOptions::default()
    };
    let written = Codegen::new().with_options(options).build(&program);
    let map = written.map.map(|map| format!("//# sourceMappingURL={}\n", map.to_data_url()));
    Ok(written.code + &map.unwrap_or_default())
}

/// Whether it uses what only `CommonJS` has.
fn is_common(scoping: &Scoping) -> bool {
    let unresolved = scoping.root_unresolved_references();
    ["require", "module", "exports"].iter().any(|name| unresolved.contains_key(*name))
}

/// Whether it is the `export {}` that the transformer leaves where imports and exports were of types only. Types may be
/// imported into `CommonJS` as well.
fn is_mark(statement: &Statement<'_>) -> bool {
    matches!(statement, Statement::ExportNamedDeclaration(export) if export.span.is_empty())
}

/// Refuses what the transformer could only replace with calls of a library.
fn refuse(program: &Program<'_>) -> Result<(), SyntaxProblem> {
    let mut decorators = Decorators::default();
    decorators.visit_program(program);
    decorators.first.map_or(Ok(()), |span| {
        let message = "decorators cannot be removed from TypeScript: node does not support them; \
                       bun does";
        Err(SyntaxProblem::at(program.source_text, span.start as usize, message))
    })
}

/// Finds the first decorator, or the first `accessor`, which belongs to them.
#[derive(Debug, Default)]
struct Decorators {
    first: Option<Span>,
}

impl<'a> Visit<'a> for Decorators {
    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.first.get_or_insert(it.span);
    }

    fn visit_accessor_property(&mut self, it: &AccessorProperty<'a>) {
        self.first.get_or_insert(it.span);
    }
}
