//! What an importer makes of a source: suites with their rows, files beside them, and an account of what mapped and what did not.

use std::collections::BTreeMap;

use serde_json::Value;

use evalrs_base::diagnostic::Diagnostic;

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
}

/// What came of a source.
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
}

/// A suite and its data. In the folder it is `NAME.yaml`, its rows `NAME.dataset.jsonl`, its outputs `NAME.outputs.jsonl` and
/// its labels `NAME.labels.jsonl`; that of the only suite, which is called `suite`, are `dataset.jsonl` and `outputs.jsonl`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedSuite {
    /// The name of its file without `.yaml`.
    pub file: String,
    /// What the suite says, in the fields of docs/suite.md. `dataset` is filled in from `rows`, a mapping without a `path`
    /// completed; `target` from `outputs`, likewise.
    pub suite: Value,
    pub rows: Vec<Value>,
    /// What was recorded apart from the rows, which it joins by `id`, `model` and `trial`. Outputs may stand in rows too.
    pub outputs: Vec<Value>,
    /// What people said: lines of a file of labels.
    pub labels: Vec<Value>,
}

impl ImportedSuite {
    /// The lines of each of its files of data, by the kind of the file.
    pub fn data(&self) -> [(&'static str, &[Value]); 3] {
        [("dataset", &self.rows), ("outputs", &self.outputs), ("labels", &self.labels)]
    }

    /// All that it says and holds.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let data = self.rows.iter_mut().chain(&mut self.outputs).chain(&mut self.labels);
        std::iter::once(&mut self.suite).chain(data)
    }
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFile {
    pub path: String,
    pub text: String,
}

/// A place in a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMapped {
    /// What kind of part it is, as in [`ImportedSource::mapped`].
    pub part: &'static str,
    pub place: SourcePlace,
    /// What stands there, in a few words.
    pub what: String,
    /// Why it did not map.
    pub reason: String,
}

impl ImportedSource {
    /// Counts a part that mapped.
    pub fn count(&mut self, part: &'static str) {
        *self.mapped.entry(part).or_default() += 1;
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
