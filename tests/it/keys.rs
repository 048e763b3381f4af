//! What a key covers, through the binary: that edits, flags and addresses ask again for what they touch, exactly.
//!
//! Every edit starts from the same workspace, whose judgments are all stored. The table of edits stands beside the engine,
//! where it needs no process.

use crate::judge::Judge;
use crate::space::Space;

/// Two judges of which one reads the reference answer.
const SUITE: &str = "\
name: keys
dataset: data.jsonl
graders:
  says: {kind: tool, function: contains}
  kind:
    kind: rubric
    prompt: 'Is {submission} kind?'
    model: judge-1
    endpoint: test
    extractor: last_assistant
  right:
    kind: rubric
    prompt: 'Does {submission} mean {ground_truth}?'
    model: judge-1
    endpoint: test
gate: {metric_key: kind, metric: avg_score, op: gte, value: 0.0}
";

/// The rows of the dataset.
const ROWS: usize = 6;
const ALL: u64 = ROWS as u64;

fn row(at: usize) -> String {
    format!(
        "{{\"id\": \"s{at}\", \"input\": \"q{at}\", \"ground_truth\": \"truth {at}\", \"output\": \"answer {at}\"}}\n"
    )
}

fn rows() -> String {
    (0..ROWS).map(row).collect()
}

/// A workspace as it is before an edit, and as it is after it.
struct Edit {
    space: Space,
    judge: Judge,
}

impl Edit {
    fn new() -> Self {
        let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows())]);
        let edit = Self { space, judge: Judge::by_length() };
        assert_eq!(edit.asks(&[]), [ALL; 2], "the first run asks everything");
        edit
    }

    /// Runs the suite: how often each judge was asked, by the record and by the judge itself.
    fn asks(&self, flags: &[&str]) -> [u64; 2] {
        let before = self.judge.count();
        let ran = self.space.run_with(&self.judge, &[&["run", "suite.yaml"], flags].concat());
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        let asked = ["kind", "right"].map(|grader| self.space.actions(grader)[0]);
        assert_eq!(asked.iter().sum::<u64>(), (self.judge.count() - before) as u64);
        asked
    }

    /// Replaces text of the suite that must be there.
    fn suite(&self, from: &str, to: &str) {
        assert!(SUITE.contains(from), "the suite has no {from}");
        self.space.write("suite.yaml", SUITE.replace(from, to));
    }
}

const NOTHING: [u64; 2] = [0, 0];

#[test]
fn edits_ask_for_what_they_touch() {
    let edit = Edit::new();
    edit.suite("name: keys", "name: keys # or else");
    assert_eq!(edit.asks(&[]), NOTHING, "a comment");
    edit.space.write("data.jsonl", rows().replace("truth 3", "another truth"));
    assert_eq!(edit.asks(&[]), [0, 1], "one reference answer");
    edit.suite("Is {submission} kind?", "Is {submission} very kind?");
    assert_eq!(edit.asks(&[]), [ALL, 0], "a rubric");
    edit.space.write("suite.yaml", SUITE);
    edit.space.write("data.jsonl", rows());
    assert_eq!(edit.asks(&[]), NOTHING, "taken back");
}

#[test]
fn flags_that_change_no_question_ask_nothing() {
    let edit = Edit::new();
    for flags in [
        &["--max-concurrent", "1"][..],
        &["--max-calls", "1"],
        &["--format", "json"],
        &["--failures", "0", "--quiet"],
        &["--output", "out"],
        &["--retry-errors"],
        &["--max-samples", "3"],
        &["--sample", "s4"],
    ] {
        assert_eq!(edit.asks(flags), NOTHING, "{flags:?}");
    }
}

#[test]
fn the_base_url_is_in_the_key_only_without_an_endpoint() {
    let edit = Edit::new();
    let elsewhere = Edit { judge: Judge::by_length(), ..edit };
    assert_eq!(elsewhere.asks(&[]), NOTHING, "another port, the same endpoint");
    elsewhere.suite("    endpoint: test\n", "");
    assert_eq!(elsewhere.asks(&[]), [ALL; 2], "without an endpoint the base URL stands for it");
    assert_eq!(elsewhere.asks(&[]), NOTHING);
    let moved = Edit { judge: Judge::by_length(), ..elsewhere };
    assert_eq!(moved.asks(&[]), [ALL; 2], "then another base URL is another endpoint");
    moved.suite("endpoint: test\n", &format!("base_url: {}/\n", moved.judge.url()));
    assert_eq!(moved.asks(&[]), NOTHING, "the same URL in the suite, with a slash");
}

#[test]
fn a_refresh_of_one_grader_asks_that_grader_alone() {
    let edit = Edit::new();
    assert_eq!(edit.asks(&["--refresh=right"]), [0, ALL]);
    assert_eq!(edit.asks(&["--refresh"]), [ALL; 2]);
    assert_eq!(edit.asks(&[]), NOTHING);
}
