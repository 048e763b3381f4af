//! What an importer makes of a source: suites with their rows, files beside them, and an account of what mapped and what did not.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use evalrs_base::diagnostic::Diagnostic;

/// The file of a source's only suite, without `.yaml`.
pub(crate) const ONLY_SUITE: &str = "suite";

/// Why a source cannot be read at all.
#[derive(Debug)]
pub enum ImportError {
    /// Something in it is wrong.
    Diagnostics(Vec<Diagnostic>),
    /// It is not what this importer reads: a sentence, and the likely fix.
    Unreadable { message: String, hint: String },
}

impl ImportError {
    pub(crate) fn unreadable(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Unreadable { message: message.into(), hint: hint.into() }
    }

    /// That the file at `path` cannot be read, and why.
    pub(crate) fn unread(path: &str, why: impl std::fmt::Display, hint: &str) -> Self {
        Self::unreadable(format!("cannot read `{path}`: {why}"), hint)
    }

    /// What is wrong, in one sentence.
    pub(crate) fn message(self) -> String {
        match self {
            Self::Unreadable { message, .. } => message,
            Self::Diagnostics(all) => {
                all.into_iter().next().map(|first| first.message).unwrap_or_default()
            }
        }
    }
}

/// The result of a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedSource {
    pub suites: Vec<ImportedSuite>,
    /// Files that the suites name: programs, rubrics. Paths are of the folder that is written.
    pub files: Vec<ImportedFile>,
    /// How many parts of each kind mapped, such as `assertions`; what did not is counted by `not_mapped`.
    pub mapped: BTreeMap<&'static str, usize>,
    pub not_mapped: Vec<NotMapped>,
    /// What a person has to know to read the verdicts right, in whole sentences.
    pub notes: Vec<String>,
    /// How many rows the suites read where these were before.
    pub referenced: usize,
}

/// A suite and its rows. In the folder it is `NAME.yaml`, its rows `NAME.dataset.jsonl`; those of the only suite, which is called
/// `suite`, are `dataset.jsonl`.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedSuite {
    /// The name of its file without `.yaml`.
    pub file: String,
    /// What the suite says, in the fields of docs/suite/README.md. `dataset` is filled in from `rows`, a mapping without a `path`
    /// completed.
    pub suite: Value,
    /// The input and the answer.
    pub rows: Vec<Value>,
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFile {
    pub path: String,
    pub text: String,
}

/// A place in a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SourcePlace {
    pub file: String,
    /// From 1; 0 is the file as a whole.
    pub line: usize,
}

impl SourcePlace {
    pub fn new(file: impl Into<String>, line: usize) -> Self {
        Self { file: file.into(), line }
    }
}

impl std::fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// A part of a source that has no counterpart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotMapped {
    /// What kind of part it is, as in [`ImportedSource::mapped`].
    pub part: &'static str,
    #[serde(flatten)]
    pub place: SourcePlace,
    /// The value there, in a few words.
    pub what: String,
    /// Why it did not map.
    pub reason: String,
}

impl ImportedSource {
    /// Counts a part that mapped.
    pub fn count(&mut self, part: &'static str) {
        self.count_all(part, 1);
    }

    /// Counts several parts that mapped.
    pub fn count_all(&mut self, part: &'static str, number: usize) {
        *self.mapped.entry(part).or_default() += number;
    }

    /// Adds the suite in `file`, without `.yaml`, and its rows.
    pub fn add_suite(&mut self, file: &str, suite: Value, rows: Vec<Value>) {
        self.suites.push(ImportedSuite { file: file.to_owned(), suite, rows });
    }

    /// Adds the suite of the graders that ask a model, if there are some: they grade the rows of the suite in `file`.
    pub(crate) fn add_judged(&mut self, file: &str, name: &str, graders: &Map<String, Value>) {
        if graders.is_empty() {
            return;
        }
        let own = if file == ONLY_SUITE { "judged" } else { &format!("{file}.judged") };
        let suite = json!({"extends": format!("{file}.yaml"), "name": format!("{name}, judged again"), "graders": graders});
        self.add_suite(own, suite, Vec::new());
    }

    /// The error of a source of which nothing mapped: its hint is what did not map first, else `hint`.
    pub(crate) fn nothing_mapped(&self, message: String, hint: &str) -> ImportError {
        let why = self.not_mapped.first().map(|part| format!("{}: {}", part.what, part.reason));
        ImportError::unreadable(message, why.unwrap_or_else(|| hint.to_owned()))
    }

    /// Names a part that did not map. The same said again of the same place counts once.
    pub(crate) fn leave_out(
        &mut self,
        part: &'static str,
        place: SourcePlace,
        what: impl Into<String>,
        reason: impl Into<String>,
    ) {
        let not_mapped = NotMapped { part, place, what: what.into(), reason: reason.into() };
        if !self.not_mapped.contains(&not_mapped) {
            self.not_mapped.push(not_mapped);
        }
    }

    /// Adds a note unless it was given already.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
