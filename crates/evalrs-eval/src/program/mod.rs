//! Programs of the user: graders, extractors and rewards that are written in some language.
//!
//! Pure. What a suite says of one is a [`ProgramSpec`]; what its files are by now is [`ProgramFingerprint`]; both, and what it is
//! handed, are an action with a key like that of a judge; [`Uncallable`] is why one cannot be called. `reply` reads what
//! a program gives back. Processes and workers are in `exec`, the files are found by the engine.

pub mod depfile;
pub mod reply;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use depfile::Depfile;

use evalrs_model::key::{self, Ingredient, Ingredients};
use evalrs_model::spec::{Language, ProgramSpec, Repeat};

/// The current state of a program's files and its surroundings: all that its key contains besides its input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramFingerprint {
    /// Its file, from the suite's folder. It decides where modules are looked for, and so which files are loaded.
    pub path: String,
    /// The digest of its file, hexadecimal.
    pub program: String,
    /// What runs it, with major and minor version: `python 3.11`; empty where nothing has to. Where the suite says what
    /// does, that follows: `python 3.11 (.venv/bin/python)`.
    pub runtime: String,
    /// The declared inputs: path from the suite's folder, digest; sorted. Lock files stand for installed packages.
    pub inputs: Vec<(String, String)>,
    /// The module files that it was seen to load: path from the suite's folder, digest, or `missing`. And those that it
    /// looked for in vain and that are there by now; sorted.
    pub dependencies: Vec<(String, String)>,
    /// The files that it looked for in vain and that are not there. No key names them: which modules of the standard
    /// library are looked for beside a program is another matter on every machine.
    pub missed: Arc<BTreeSet<String>>,
    /// The variables passed on: name, and the digest of the value unless that is a secret; sorted.
    pub env: Vec<(String, Option<String>)>,
    /// The folder it runs in, from the suite's; none is the suite's own.
    pub cwd: Option<String>,
}

/// What keys say of a file that is not there.
pub const MISSING: &str = "missing";

/// The text in keys for a folder where a file was looked for.
pub const FOLDER: &str = "folder";

/// What keys say of a file: the digest of its bytes, hexadecimal, or that it is [`MISSING`].
pub fn file_digest(bytes: Option<&[u8]>) -> String {
    bytes.map_or_else(|| MISSING.to_owned(), |bytes| blake3::hash(bytes).to_hex().to_string())
}

/// The part of a program that its key contains, whatever its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramIdentity {
    /// The suite's setting.
    pub spec: ProgramSpec,
    /// What its files are.
    pub known: ProgramFingerprint,
}

impl ProgramIdentity {
    /// A program of whose files nothing is known but what the suite says: enough to tell it from others, and in no key
    /// that anything is kept under.
    pub(crate) fn as_written(spec: ProgramSpec) -> Self {
        let known = ProgramFingerprint {
            path: spec.path.clone(),
            program: spec.inline.clone().unwrap_or_else(|| spec.path.clone()),
            runtime: spec.runtime.clone().unwrap_or_default(),
            inputs: spec.inputs.iter().map(|input| (input.clone(), String::new())).collect(),
            env: spec.env.iter().map(|variable| (variable.name.clone(), None)).collect(),
            cwd: spec.cwd.clone(),
            ..ProgramFingerprint::default()
        };
        Self { spec, known }
    }

    /// The ingredients that the keys of all its calls have in common.
    pub fn settings(self: &Arc<Self>) -> Vec<Ingredient> {
        let call = ProgramAction { identity: Arc::clone(self), input: String::new() };
        let mut shared = key::explained(|to| call.walk(to));
        shared.retain(|part| part.name != "input");
        shared
    }

    /// Visits every ingredient but the program's input, each file by itself, so that a change can be traced to one.
    pub(super) fn walk_files(&self, to: &mut dyn Ingredients) {
        self.walk_first(to);
        let known = &self.known;
        for (path, digest) in &known.inputs {
            to.text("input_file", &format!("{path} {digest}"));
        }
        for (path, digest) in &known.dependencies {
            to.text("loaded_file", &format!("{path} {digest}"));
        }
        self.walk_rest(to);
    }

    /// Visits every ingredient but the program's input; of the dependencies only if they are wanted.
    pub fn walk(&self, has_dependencies: bool, to: &mut dyn Ingredients) {
        self.walk_first(to);
        to.text("inputs", &lines(&self.known.inputs));
        if has_dependencies {
            to.text("dependencies", &lines(&self.known.dependencies));
        }
        self.walk_rest(to);
    }

    /// The same program in a state in which it rests on fewer files: those are not among what its words name.
    #[must_use]
    pub fn without_inputs(&self, outputs: &BTreeSet<String>) -> Self {
        let mut without = self.clone();
        without.known.inputs.retain(|(path, _)| !outputs.contains(path));
        without
    }

    /// Visits what comes before the files that it rests on.
    fn walk_first(&self, to: &mut dyn Ingredients) {
        let Self { spec, known } = self;
        to.text("role", spec.role.name());
        to.text("language", spec.language.name());
        to.text("function", &spec.function);
        to.text("program", &known.program);
        to.text("runtime", &known.runtime);
    }

    /// Visits what comes after the files.
    fn walk_rest(&self, to: &mut dyn Ingredients) {
        let Self { spec, known } = self;
        let env = known.env.iter().map(|(name, digest)| match digest {
            Some(digest) => format!("{name} {digest}"),
            None => name.clone(),
        });
        to.text("env", &env.collect::<Vec<_>>().join("\n"));
        to.text("sandbox", spec.sandbox.kind.name());
        to.text_or_absent("cwd", known.cwd.as_deref());
        if !spec.arguments.is_empty() {
            to.text("arguments", &serde_json::Value::from(spec.arguments.clone()).to_string());
        }
    }
}

/// One `name digest` a line.
fn lines(files: &[(String, String)]) -> String {
    files.iter().map(|(path, digest)| format!("{path} {digest}")).collect::<Vec<_>>().join("\n")
}

/// A call of a program: everything its result depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramAction {
    /// The program.
    pub identity: Arc<ProgramIdentity>,
    /// Its input: compact JSON.
    pub input: String,
}

impl ProgramAction {
    /// Visits every ingredient of the key, each once, in a fixed order.
    pub fn walk(&self, to: &mut dyn Ingredients) {
        self.identity.walk(true, to);
        // What is run in every evaluation never stands for what is run once.
        let is_repeated = self.identity.spec.repeat == Repeat::Always;
        to.text("repeat", if is_repeated { "always" } else { "never" });
        to.text("input", &self.input);
    }
}

/// The question which files a program loads: its key holds all but those. The answer is a [`Depfile`], and is kept like
/// what programs give. Or which of the files that its words name it writes.
#[derive(Clone, Debug, PartialEq)]
pub struct DependenciesAction {
    /// The program.
    pub identity: Arc<ProgramIdentity>,
    /// What the answer holds.
    pub format: DepfileFormat,
}

/// What an answer to the question which files a program loads holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepfileFormat {
    /// Everything that a [`Depfile`] holds.
    All,
    /// A list of the paths that it writes though its words name them, whatever its files are.
    Outputs,
}

impl DependenciesAction {
    /// Visits every ingredient of the key, each once, in a fixed order.
    pub fn walk(&self, to: &mut dyn Ingredients) {
        let ProgramIdentity { spec, known } = self.identity.as_ref();
        match self.format {
            DepfileFormat::All => {
                self.identity.walk(false, to);
                // Equal files in two folders load what stands beside each.
                to.text("path", &known.path);
                to.text("format", "files, missed, reads");
            }
            DepfileFormat::Outputs => {
                to.text("role", spec.role.name());
                to.text("path", &known.path);
                to.text("runtime", &known.runtime);
                to.text("arguments", &serde_json::Value::from(spec.arguments.clone()).to_string());
                to.text_or_absent("cwd", known.cwd.as_deref());
                to.text("format", "outputs");
            }
        }
    }
}

/// The runtimes of a language by their names, the preferred first.
pub fn runtimes(language: Language) -> &'static [&'static str] {
    match language {
        Language::Executable => &[],
        Language::JavaScript => &["bun", "deno", "node"],
        Language::Python => &["python3", "python"],
    }
}

/// What the runtime at `path` is: of a worker one of [`runtimes`], of an executable the name of the file.
pub fn runtime_name(language: Language, path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    match language {
        Language::Executable => {
            file.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned()
        }
        Language::JavaScript => {
            let known = runtimes(language).iter().find(|name| file.contains(**name));
            (*known.unwrap_or(&"node")).to_owned()
        }
        Language::Python => "python".to_owned(),
    }
}

/// The part of a version that keys hold: `3.11` of `3.11.7`.
pub fn minor_version(version: &str) -> &str {
    version.match_indices('.').nth(1).map_or(version, |(at, _)| &version[..at])
}

/// Whether a runtime is known to answer `--version` with its version and nothing else.
pub fn tells_version(name: &str) -> bool {
    ["python", "node", "bun", "deno", "ruby", "perl", "bash"].contains(&name)
}

/// The interpreter in the first line of a script: `python3` of `#!/usr/bin/env python3`.
pub fn shebang(bytes: &[u8]) -> Option<String> {
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_whitespace();
    let first = words.next()?;
    if first.rsplit('/').next() != Some("env") {
        return Some(first.to_owned());
    }
    words.find(|word| !word.starts_with('-') && !word.contains('=')).map(str::to_owned)
}

/// Why a program cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", .hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default())]
pub struct Uncallable {
    /// What is to blame.
    pub part: UncallablePart,
    /// What is wrong: a lower-case fragment with names in backticks.
    pub message: String,
    /// The likely fix.
    pub hint: Option<String>,
}

/// What of a program is to blame that it cannot be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UncallablePart {
    /// Its file.
    File,
    /// Its runtime, if set.
    Runtime,
    /// Its inputs: one, as [`ProgramSpec::inputs`] has it, or all.
    Inputs(Option<String>),
    /// The folder it runs in.
    Cwd,
}

impl Uncallable {
    /// What is wrong with a part.
    pub fn new(part: UncallablePart, message: impl Into<String>) -> Self {
        Self { part, message: message.into(), hint: None }
    }

    /// The same with the likely fix.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl From<Uncallable> for String {
    fn from(uncallable: Uncallable) -> Self {
        uncallable.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{
        DependenciesAction, DepfileFormat, ProgramAction, ProgramFingerprint, ProgramIdentity,
        runtime_name, shebang,
    };
    use crate::action::Action;
    use evalrs_model::key::{ActionKey, KeyVersion, key_of};
    use evalrs_model::spec::{Language, ProgramSpec, Repeat, Role, SandboxKind};

    fn identity() -> ProgramIdentity {
        let spec = ProgramSpec::new("g.py".to_owned(), Language::Python, "grade", Role::Grade);
        let pair = |name: &str, digest: &str| (name.to_owned(), digest.to_owned());
        let known = ProgramFingerprint {
            path: "g.py".to_owned(),
            program: "p".to_owned(),
            runtime: "python 3.11".to_owned(),
            inputs: vec![pair("rules.json", "r")],
            dependencies: vec![pair("helper.py", "h")],
            missed: Arc::default(),
            env: vec![("MODE".to_owned(), Some("m".to_owned())), ("TOKEN".to_owned(), None)],
            cwd: None,
        };
        ProgramIdentity { spec, known }
    }

    fn keys(identity: ProgramIdentity, input: &str) -> (ActionKey, ActionKey) {
        let identity = Arc::new(identity);
        let format = DepfileFormat::All;
        let base = DependenciesAction { identity: Arc::clone(&identity), format };
        let whole = ProgramAction { identity, input: input.to_owned() };
        (Action::Dependencies(base).key(), Action::Program(whole).key())
    }

    /// A store is worth as much as its keys are stable. If these must change, so must the version in their context.
    #[test]
    fn keys_stay_what_they_are() {
        let (base, whole) = keys(identity(), "{}");
        insta::assert_snapshot!(base, @"c74956c66fef6a4ba4f5a1dddfefa691446664edc30a31416a6f71670230e1bf");
        insta::assert_snapshot!(whole, @"a20da9385c6d7dad21d67eb522689b2df940c7cf1d859157d92608c8a69c88f9");
    }

    type Change = fn(&mut ProgramIdentity);

    /// What changes the key of a call; the last also says whether it changes the base key.
    const CHANGES: &[(&str, Change, bool)] = &[
        ("role", |it| it.spec.role = Role::Extract, true),
        ("language", |it| it.spec.language = Language::JavaScript, true),
        ("function", |it| it.spec.function.push('2'), true),
        ("program", |it| it.known.program.push('2'), true),
        ("runtime", |it| it.known.runtime = "python 3.12".to_owned(), true),
        ("inputs", |it| it.known.inputs.clear(), true),
        ("inputs", |it| it.known.inputs[0].1.push('2'), true),
        ("inputs", |it| it.known.inputs[0].0.push('2'), true),
        ("dependencies", |it| it.known.dependencies.clear(), false),
        ("dependencies", |it| it.known.dependencies[0].1.push('2'), false),
        ("env", |it| it.known.env[0].1 = Some("other".to_owned()), true),
        ("env", |it| it.known.env.truncate(1), true),
        ("sandbox", |it| it.spec.sandbox.kind = SandboxKind::Auto, true),
        ("cwd", |it| it.known.cwd = Some("there".to_owned()), true),
        ("repeat", |it| it.spec.repeat = Repeat::Always, false),
        ("arguments", |it| it.spec.arguments = vec!["-v".to_owned()], true),
        ("arguments", |it| it.spec.arguments = vec!["-v x".to_owned()], true),
    ];

    /// What decides how it is called but not what it gives.
    const NO_CHANGES: &[Change] = &[
        |it| it.spec.path = "moved/g.py".to_owned(),
        |it| it.spec.cwd = Some("moved/there".to_owned()),
        |it| it.spec.timeout_ms = 1,
        |it| it.spec.runtime = Some("python3".to_owned()),
        |it| it.spec.inputs = vec!["rules.*".to_owned()],
        |it| it.spec.sandbox.memory = Some(1),
        |it| it.spec.repeat = Repeat::Sometimes,
        |it| it.known.missed = Arc::new(["json.py".to_owned()].into()),
    ];

    #[test]
    fn every_ingredient_changes_the_key_and_nothing_else_does() {
        let (base, whole) = keys(identity(), "{}");
        assert_ne!(base, whole);
        assert_eq!(keys(identity(), "{ }").0, base);
        assert_ne!(keys(identity(), "{ }").1, whole);
        for (name, change, is_base) in CHANGES {
            let mut changed = identity();
            change(&mut changed);
            let now = keys(changed, "{}");
            assert_ne!(now.1, whole, "{name}");
            assert_eq!(now.0 != base, *is_base, "{name}");
        }
        for (at, change) in NO_CHANGES.iter().enumerate() {
            let mut changed = identity();
            change(&mut changed);
            assert_eq!(keys(changed, "{}"), (base, whole), "{at}");
        }
    }

    #[test]
    fn what_is_loaded_depends_on_the_folder_and_what_is_given_does_not() {
        let (base, whole) = keys(identity(), "{}");
        let mut moved = identity();
        moved.known.path = "moved/g.py".to_owned();
        let moved = keys(moved, "{}");
        assert_ne!(moved.0, base);
        assert_eq!(moved.1, whole);
    }

    #[test]
    fn what_is_kept_beside_a_result_leads_back_to_its_key() {
        let identity = Arc::new(identity());
        let input = "x".repeat(300);
        for action in [
            Action::Program(ProgramAction { identity: Arc::clone(&identity), input }),
            Action::Dependencies(DependenciesAction {
                identity: Arc::clone(&identity),
                format: DepfileFormat::All,
            }),
        ] {
            assert_eq!(key_of(&action.ingredients(), KeyVersion::Current), Some(action.key()));
        }
    }

    #[test]
    fn the_first_line_of_a_script_says_what_runs_it() {
        for (bytes, expected) in [
            (&b"#!/usr/bin/env python3\nimport"[..], Some("python3")),
            (b"#!/usr/bin/env -S node --no-warnings\n", Some("node")),
            (b"#!/usr/bin/env A=1 bash", Some("bash")),
            (b"#! /bin/sh -e\n", Some("/bin/sh")),
            (b"\x7fELF", None),
            (b"#!\n", None),
            (b"#!/usr/bin/env\n", None),
            (b"#!\xff\n", None),
            (b"", None),
        ] {
            assert_eq!(shebang(bytes).as_deref(), expected, "{bytes:?}");
        }
    }

    #[test]
    fn runtimes_are_known_by_the_name_of_their_file() {
        for (language, path, name) in [
            (Language::JavaScript, "/usr/bin/node", "node"),
            (Language::JavaScript, "/opt/bun-1.2/bin/bun", "bun"),
            (Language::JavaScript, "/usr/bin/nodejs", "node"),
            (Language::JavaScript, "/home/me/.deno/bin/deno", "deno"),
            (Language::JavaScript, "/opt/js", "node"),
            (Language::Python, "/venv/bin/python3.12", "python"),
            (Language::Executable, "/usr/bin/python3.11", "python"),
            (Language::Executable, "/bin/sh", "sh"),
        ] {
            assert_eq!(runtime_name(language, path), name, "{path}");
        }
    }
}
