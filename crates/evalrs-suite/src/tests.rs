//! Suites in memory, for the tests of every reader.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Files, Registry, SuiteReading, read_suite};
use evalrs_base::file_text::FileText;
use evalrs_model::spec::{OptionProblem, SandboxKind, Suite, ToolSpec};

mod broken;
mod criteria;
mod canonical;
mod good;
mod programs;
mod schema;
mod targets;

/// Files and variables that a test wrote down.
#[derive(Default)]
pub(super) struct Memory {
    files: BTreeMap<String, FileText>,
    env: BTreeMap<String, String>,
}

impl Memory {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let mut memory = Self::default();
        for (path, text) in files {
            memory.files.insert((*path).to_owned(), FileText::Text(Arc::from(*text)));
        }
        memory
    }

    pub(super) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    fn file(mut self, path: &str, text: FileText) -> Self {
        self.files.insert(path.to_owned(), text);
        self
    }
}

impl Files for Memory {
    fn text(&self, path: &str) -> FileText {
        self.files.get(path).cloned().unwrap_or(FileText::Missing)
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }
}

fn check_grader(spec: &ToolSpec) -> Vec<OptionProblem> {
    let known = ["tolerance", "schema"];
    let unknown = spec.config.keys().filter(|key| !known.contains(&key.as_str()));
    let mut problems: Vec<OptionProblem> = unknown
        .map(|key| OptionProblem {
            at: vec![key.clone()],
            message: format!("`{}` has no option `{key}`", spec.function),
            hint: None,
        })
        .collect();
    if spec.function == "json_schema" && !spec.config.contains_key("schema") {
        problems.push(OptionProblem {
            at: Vec::new(),
            message: "`json_schema` needs the option `schema`".to_owned(),
            hint: Some("write `config: {schema: …}`".to_owned()),
        });
    }
    problems
}

fn check_extractor(name: &str, options: &Map<String, Value>) -> Vec<OptionProblem> {
    let needs = name == "tool_arguments" && !options.contains_key("tool_name");
    let problem = OptionProblem {
        at: Vec::new(),
        message: "`tool_arguments` needs the option `tool_name`".to_owned(),
        hint: None,
    };
    needs.then_some(problem).into_iter().collect()
}

pub(super) const REGISTRY: Registry<'static> = Registry {
    graders: &[
        "exact_match",
        "contains",
        "regex_match",
        "ascii_printable_only",
        "numeric",
        "json_schema",
    ],
    extractors: &["last_assistant", "tool_arguments", "tool_output", "memory_block", "json_path"],
    providers: &["openai", "anthropic", "letta"],
    check_grader,
    check_extractor,
    check_pattern: |pattern| pattern.contains("((").then(|| "a group is not closed".to_owned()),
    untaken_setting: |provider, field| match (provider, field) {
        ("anthropic", "response_format") => Some("its API has one way"),
        ("letta", "temperature") => Some("the agent's file says it"),
        _ => None,
    },
    sandbox: SandboxKind::None,
};

/// Reads `suite.yaml` of `files`.
fn read(files: &Memory) -> SuiteReading {
    read_suite("suite.yaml", files, &REGISTRY)
}

/// Every diagnostic as a person reads it.
fn rendered(reading: &SuiteReading) -> String {
    let texts: Vec<String> =
        reading.diagnostics.iter().map(|diagnostic| diagnostic.render(false)).collect();
    texts.join("\n\n")
}

/// The suite of `text`, which must have neither error nor warning, but that a judge may have no threshold.
fn suite(text: &str) -> Suite {
    let files = Memory::new(&[
        ("suite.yaml", text),
        ("rubric.txt", "Is {submission} right?\n"),
        ("quality_rubric.txt", "Is {submission} good?\n"),
        ("completeness_rubric.txt", "Is {submission} complete?\n"),
    ]);
    let mut reading = read(&files);
    reading.diagnostics.retain(|said| !said.message.contains("has no `pass_threshold`"));
    assert_eq!(rendered(&reading), "", "{text}");
    assert_eq!(schema::problems(text), Vec::<String>::new(), "{text}");
    reading.suite.expect("a suite without problems")
}
