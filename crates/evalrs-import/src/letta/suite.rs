//! A suite, and copies of the files that it names: dataset, rubrics, agents, programs with what they import.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::folder::is_inside;
use crate::imported::{ImportError, ImportedFile, ImportedSource, ONLY_SUITE, SourcePlace};
use crate::reading::{self, ends_in, items_in, text_in};
use crate::secrets::{FoundSecret, is_placeholder, is_reference};
use crate::source::ImportSource;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::file_path::join;
use evalrs_base::yaml::source::Sources;
use evalrs_base::yaml::tree;

/// Kinds of targets that Letta Evals alone has.
const TARGETS: [&str; 3] = ["letta_agent", "letta_code", "agent"];
/// The folder of copies of files that stand above the suite.
const COPIES: &str = "files";
/// The most files that programs may import.
const MAX_MODULES: usize = 200;

/// Whether a text begins as such a suite does.
pub(super) fn is_suite(head: &str) -> bool {
    let has = |name: &str| head.lines().any(|line| line.starts_with(&format!("{name}:")));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let says = |kind: &&str| {
        head.split(&format!("kind: {kind}")).skip(1).any(|rest| !rest.starts_with(is_word))
    };
    let has_graders = has("graders") || has("grader");
    has("dataset") && has("target") && has_graders && TARGETS.iter().any(says)
}

pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let text = reading::text(source, &source.path)?;
    let mut diagnostics = Vec::new();
    let parsed = tree::parse(&source.path, &text, &mut Sources::default(), &mut diagnostics);
    let is_wrong = diagnostics.iter().any(Diagnostic::is_error);
    let suite = match parsed.map(|tree| tree.to_json()) {
        Some(suite @ Value::Object(_)) if !is_wrong => suite,
        Some(_) if !is_wrong => {
            return Err(ImportError::unreadable(
                format!("`{}` is not a suite", source.path),
                "name a suite of Letta Evals",
            ));
        }
        _ => return Err(ImportError::Diagnostics(diagnostics)),
    };
    let mut copier = SuiteCopier {
        source,
        text,
        imported: ImportedSource::default(),
        copied: BTreeSet::new(),
        outside: BTreeMap::new(),
    };
    let suite = copier.suite(suite);
    let mut imported = copier.imported;
    imported.add_suite(ONLY_SUITE, suite, Vec::new());
    Ok(imported)
}

struct SuiteCopier<'a> {
    source: &'a ImportSource<'a>,
    text: String,
    imported: ImportedSource,
    /// The paths of copies, from the folder of the source.
    copied: BTreeSet<String>,
    /// Copy → its original, if that is outside of the folder.
    outside: BTreeMap<String, String>,
}

impl SuiteCopier<'_> {
    fn suite(&mut self, mut suite: Value) -> Value {
        self.path_at(&mut suite, "/dataset");
        self.path_at(&mut suite, "/dataset/path");
        self.program_at(&mut suite, "/setup_script");
        self.program_at(&mut suite, "/reward/function");
        self.rubrics_of_rows(&suite);
        for key in ["agent_file", "path"] {
            self.path_at(&mut suite, &format!("/target/{key}"));
        }
        self.program_at(&mut suite, "/target/agent_script");
        self.models(&suite);
        self.graders(&mut suite);
        self.target(&mut suite);
        self.imported.count("suites");
        suite
    }

    /// What the target says that another machine does not have, or that may be no part of a folder.
    fn target(&mut self, suite: &mut Value) {
        let Some(target) = suite.get_mut("target").and_then(Value::as_object_mut) else { return };
        let secret = target.get("api_key").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !secret.is_empty() && !is_reference(&secret) {
            target.shift_remove("api_key");
            let place = self.place("api_key");
            let what = "`api_key` of the target".to_owned();
            if is_placeholder(&secret) {
                let why = "a suite must not contain a key: set `LETTA_API_KEY`";
                self.imported.leave_out("targets", place, what, why);
            } else {
                self.source.note_secret(FoundSecret { place, what }, &secret);
            }
        }
        let says = |name: &str| target.get(name).is_some_and(|value| !value.is_null());
        let is_code = target.get("kind").and_then(Value::as_str) == Some("letta_code");
        let is_scripted = is_code && says("agent_script");
        if is_code && !is_scripted && !says("working_dir") && !says("workspace") {
            target.insert("workspace".to_owned(), json!(true));
            self.imported.note("The suite does not set the folder of `letta_code`; Letta Evals runs it in the suite's folder. Here it gets a fresh folder each time, so that it changes nothing; to change that, set `working_dir: DIR` or `workspace: {template: DIR}`.");
        }
        if is_scripted {
            let place = self.place("agent_script");
            self.imported.leave_out("targets", place, "`agent_script` of `letta_code`", "evalrs runs scripts that create agents only for `letta_agent`: `validate` rejects the suite until you change that");
        }
        if let Some(folder) = text_in(&suite["target"], "working_dir") {
            let place = self.place("working_dir");
            let why =
                "folders are not copied: copy it beside the suite, or set another `working_dir`";
            self.imported.leave_out("files", place, format!("the folder `{folder}`"), why);
        }
        if let Some(kind) = reading::text_at(suite, &["/sandbox/kind", "/target/sandbox/kind"]) {
            let place = self.place("sandbox");
            let why =
                "evalrs has no such sandbox: `validate` rejects the suite until you change that";
            self.imported.leave_out("targets", place, format!("the sandbox `{kind}`"), why);
        }
    }

    fn graders(&mut self, suite: &mut Value) {
        let mut places = vec!["/grader".to_owned()];
        let named = suite.get("graders").and_then(Value::as_object).into_iter().flatten();
        places.extend(
            named.map(|(name, _)| {
                format!("/graders/{}", name.replace('~', "~0").replace('/', "~1"))
            }),
        );
        for place in places {
            let Some(grader) = suite.pointer(&place).filter(|grader| grader.is_object()) else {
                continue;
            };
            if text_in(grader, "kind") == Some("letta_judge") && grader.get("agent_file").is_none()
            {
                let line = self.place("letta_judge");
                self.imported.leave_out("graders", line, format!("the judge of `{}`", place.rsplit('/').next().unwrap_or(&place)), "the agent that judges is a file of the package letta-evals: copy it, and name it as `agent_file`");
            } else {
                self.imported.count("graders");
            }
            for key in ["prompt_path", "agent_file"] {
                self.path_at(suite, &format!("{place}/{key}"));
            }
            for key in ["function", "extractor"] {
                self.program_at(suite, &format!("{place}/{key}"));
            }
        }
    }

    /// Configurations of models that stand beside the suite.
    fn models(&mut self, suite: &Value) {
        let names = items_in(&suite["target"], "model_configs");
        for name in names.filter_map(Value::as_str) {
            let path = format!("llm_model_configs/{name}.json");
            match self.source.text(&self.source.beside(&path)) {
                Ok(text) => self.add(&path, text),
                Err(_) => {
                    let place = self.place("model_configs");
                    self.imported.leave_out("models", place, format!("the model `{name}`"), format!("it is a file of the package letta-evals: copy it to `{path}`, or name the model as the server does, under `model_handles`"));
                }
            }
        }
    }

    /// Files that rows of a dataset of lines name.
    fn rubrics_of_rows(&mut self, suite: &Value) {
        let named = suite.pointer("/dataset/path").or_else(|| suite.get("dataset"));
        let named = named.and_then(Value::as_str).filter(|path| ends_in(path, "jsonl"));
        let mut files = self.imported.files.iter();
        let Some(at) = named.and_then(|path| files.position(|file| file.path == path)) else {
            return;
        };
        let text = self.imported.files[at].text.clone();
        let lines: Vec<String> = text.split('\n').map(|line| self.row_with_copy(line)).collect();
        self.imported.files[at].text = lines.join("\n");
    }

    /// A row that names the copy of its rubric.
    fn row_with_copy(&mut self, line: &str) -> String {
        let mut row: Value = serde_json::from_str(line).unwrap_or_default();
        let named = row.get("rubric_path").and_then(Value::as_str).map(str::to_owned);
        let copied = named.as_deref().and_then(|path| Some((path, self.copy(path)?)));
        match copied {
            Some((path, copy)) if path != copy && !is_inside(path) => {
                row["rubric_path"] = Value::from(copy);
                row.to_string()
            }
            _ => line.to_owned(),
        }
    }

    /// Copies the file that a value names, and names the copy.
    fn path_at(&mut self, suite: &mut Value, pointer: &str) {
        let Some(path) = suite.pointer(pointer).and_then(Value::as_str).map(str::to_owned) else {
            return;
        };
        if let (Some(copy), Some(value)) = (self.copy(&path), suite.pointer_mut(pointer)) {
            *value = Value::from(copy);
        }
    }

    /// Copies the program of `file.py:name`.
    fn program_at(&mut self, suite: &mut Value, pointer: &str) {
        let Some(named) = suite.pointer(pointer).and_then(Value::as_str) else { return };
        let program = named.rsplit_once(':').filter(|(path, _)| ends_in(path, "py"));
        let Some((path, function)) = program else { return };
        let Some(copy) = self.copy(path) else { return };
        self.modules(path.to_owned(), copy.clone());
        self.imported.note("Programs are copied with the modules that they import from their own folder; copy other files that they read, and install their packages.");
        let program = format!("{copy}:{function}");
        if let Some(value) = suite.pointer_mut(pointer) {
            *value = Value::from(program);
        }
    }

    /// Copies what a program imports from its own folder: modules, and packages with what is imported of them.
    fn modules(&mut self, path: String, copy: String) {
        let mut open = vec![CopiedModule { path, copy }];
        let mut seen = BTreeSet::new();
        while let Some(CopiedModule { path, copy }) = open.pop() {
            let text = self.source.text(&self.source.beside(&path)).unwrap_or_default();
            for file in modules_of(&text).iter().flat_map(|module| files_of_module(module)) {
                let named = format!("{}{file}", folder_of(&path));
                if seen.len() >= MAX_MODULES || seen.contains(&named) {
                    continue;
                }
                if let Ok(text) = self.source.text(&self.source.beside(&named)) {
                    let copy = format!("{}{file}", folder_of(&copy));
                    self.add(&copy, text);
                    seen.insert(named.clone());
                    open.push(CopiedModule { path: named, copy });
                }
            }
        }
    }

    /// The path of a copy of a file; none if it cannot be copied.
    fn copy(&mut self, path: &str) -> Option<String> {
        let plain = path.trim_start_matches("./");
        let copy = if is_inside(plain) { plain.to_owned() } else { self.outside(plain) };
        match self.source.text(&join(self.source.folder(), path)) {
            Ok(text) => {
                self.add(&copy, text);
                Some(copy)
            }
            Err(why) => {
                let place = self.place(path);
                self.imported.leave_out("files", place, format!("the file `{path}`"), why);
                None
            }
        }
    }

    /// The new place of a file from outside of the folder: two of one name get different ones.
    fn outside(&mut self, path: &str) -> String {
        let name = path.rsplit('/').next().unwrap_or(path);
        let numbered = (2..).map(|number: usize| format!("{COPIES}/{number}/{name}"));
        let mut places = std::iter::once(format!("{COPIES}/{name}")).chain(numbered);
        let is_free = |place: &String| self.outside.get(place).is_none_or(|taken| taken == path);
        let place = places.find(is_free).unwrap_or_default();
        self.outside.insert(place.clone(), path.to_owned());
        place
    }

    fn add(&mut self, path: &str, text: String) {
        if self.copied.insert(path.to_owned()) {
            self.imported.count("files");
            self.imported.files.push(ImportedFile { path: path.to_owned(), text });
        }
    }

    fn place(&self, text: &str) -> SourcePlace {
        SourcePlace::new(&self.source.path, reading::line_of(&self.text, text))
    }
}

/// A module, and the path of its copy.
struct CopiedModule {
    path: String,
    copy: String,
}

/// The folder of a path, with the slash behind it.
fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..=at])
}

/// The modules that a Python program imports, as paths without `.py`: what is imported of a package may be one too.
fn modules_of(text: &str) -> Vec<String> {
    let mut modules = Vec::new();
    for statement in import_statements(text) {
        if let Some(names) = statement.strip_prefix("import ") {
            modules.extend(names_in(names));
        } else if let Some((package, names)) =
            statement.strip_prefix("from ").and_then(|rest| rest.split_once(" import"))
        {
            let package = package.trim().trim_start_matches('.').replace('.', "/");
            modules.extend(names_in(names).map(|name| join(&package, &name)));
            modules.push(package);
        }
    }
    modules.retain(|module| {
        !module.is_empty() && module.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '/'))
    });
    modules
}

/// The statements that import something, each on one line.
fn import_statements(text: &str) -> Vec<String> {
    let without_comment = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
    let mut lines = text.lines().map(without_comment);
    let mut statements = Vec::new();
    while let Some(mut statement) = lines.next() {
        if !statement.starts_with("import ") && !statement.starts_with("from ") {
            continue;
        }
        while statement.ends_with('\\') || statement.contains('(') && !statement.contains(')') {
            let Some(more) = lines.next() else { break };
            let before = statement.trim_end_matches('\\').to_owned();
            statement = format!("{before} {more}");
        }
        statements.push(statement);
    }
    statements
}

/// The names of `a, b.c as d`, as paths.
fn names_in(list: &str) -> impl Iterator<Item = String> {
    let list = list.split(';').next().unwrap_or_default();
    let names = list.trim_matches(['(', ')', ' ']).split(',');
    names.filter_map(|name| Some(name.split_whitespace().next()?.replace('.', "/")))
}

/// Where a module may stand: itself, as a package, and the packages around it.
fn files_of_module(module: &str) -> Vec<String> {
    let ends = module.match_indices('/').map(|(at, _)| at);
    let around = ends.map(|at| format!("{}/__init__.py", &module[..at]));
    let mut files: Vec<String> = around.collect();
    files.extend([format!("{module}.py"), format!("{module}/__init__.py")]);
    files
}

pub(super) fn without_nulls(fields: &Map<String, Value>) -> Map<String, Value> {
    let said = fields.iter().filter(|(_, value)| !value.is_null());
    said.map(|(name, value)| (name.clone(), value.clone())).collect()
}
