//! Runs over a store that has seen every state before, over an empty one, and over that one again: what they leave behind
//! must be equal, byte for byte.
#![expect(clippy::disallowed_methods, reason = "tests remove stores and put files back")]

use serde_json::Value;

use crate::space::{Ran, Space, lines};

/// The store that keeps its history.
pub(super) const HISTORY: &str = "cache";
/// The store that is empty in every round.
pub(super) const FRESH: &str = "fresh";

/// What a run left behind.
pub(super) struct RunRecord {
    pub(super) code: i32,
    /// What must not depend on the store: by name.
    compared: Vec<(&'static str, String)>,
    /// Its result lines.
    pub(super) results: Vec<Value>,
    pub(super) summary: Value,
    /// `run.json`.
    facts: Value,
}

impl RunRecord {
    /// How many actions were executed.
    pub(super) fn asked(&self) -> usize {
        usize::try_from(self.facts["asked_count"].as_u64().unwrap()).unwrap()
    }

    /// How many conversations were held.
    pub(super) fn conversations(&self) -> usize {
        usize::try_from(self.facts["target"]["asked"].as_u64().unwrap_or_default()).unwrap()
    }

    /// Fails unless another run left the same behind, with the lines that differ.
    pub(super) fn assert_equals(&self, other: &Self, what: &str, state: &str) {
        assert_eq!(self.code, other.code, "{what}: exit code; {state}");
        for ((name, ours), (_, others)) in self.compared.iter().zip(&other.compared) {
            let pairs = ours.lines().zip(others.lines());
            let differing = pairs.filter(|(our, other)| our != other).take(3);
            let differing = lines(differing.map(|(our, other)| format!("{our}\n{other}\n")));
            assert!(ours == others, "{what}: {name} differs:\n{differing}\n{state}");
        }
    }
}

/// Runs the suite with these variables over a store.
pub(super) fn run(
    space: &Space,
    variables: &[(&str, String)],
    store: &str,
    args: &[&str],
) -> RunRecord {
    let args = [&["run", "suite.yaml", "--quiet", "--cache-dir", store], args].concat();
    let mut command = space.command(&args);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let ran = Ran(command.output().unwrap());
    assert!([0, 1, 3].contains(&ran.code()), "{}", ran.shown());
    let names = ["header.json", "results.jsonl", "summary.json"];
    let mut compared = Vec::from(names.map(|name| (name, space.record(name))));
    let json = |text: &str| serde_json::from_str(text).unwrap();
    let results = compared[1].1.lines().map(json).collect();
    let summary = json(&compared[2].1);
    compared.push(("standard output", ran.stdout()));
    compared.push(("standard error", ran.stderr()));
    RunRecord {
        code: ran.code(),
        compared,
        results,
        summary,
        facts: json(&space.record("run.json")),
    }
}

/// Empties the store that has no history.
pub(super) fn empty_store(space: &Space) {
    let _ = std::fs::remove_dir_all(space.path(FRESH));
}

/// The files that are committed beside judgments, whatever the store: what was told of held-out labels, and how far graders
/// agreed with people.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommittedFiles([Option<String>; 2]);

const COMMITTED: [&str; 2] = ["cache/held.holdout.jsonl", "cache/held.calibration.json"];

impl CommittedFiles {
    pub(super) fn read(space: &Space) -> Self {
        Self(COMMITTED.map(|path| std::fs::read_to_string(space.path(path)).ok()))
    }

    /// Makes them what they were.
    pub(super) fn restore(&self, space: &Space) {
        for (path, text) in COMMITTED.into_iter().zip(&self.0) {
            match text {
                Some(text) => space.write(path, text),
                None => std::fs::remove_file(space.path(path)).unwrap_or_default(),
            }
        }
    }
}
