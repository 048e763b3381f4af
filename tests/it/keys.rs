//! What a key covers, through the binary: which edits ask again, and exactly how often.
//!
//! Every edit starts from the same workspace, whose judgments are all stored, and is taken back afterwards.

use crate::judge::Judge;
use crate::space::{Space, lines};

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

/// The same row with its members in another order.
fn backwards(at: usize) -> String {
    format!(
        "{{\"output\": \"answer {at}\", \"ground_truth\": \"truth {at}\", \"input\": \"q{at}\", \"id\": \"s{at}\"}}"
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

    /// Takes everything back; then nothing is asked.
    fn revert(&self, what: &str) {
        self.space.write("suite.yaml", SUITE);
        self.space.write("data.jsonl", rows());
        assert_eq!(self.asks(&[]), [0, 0], "after taking back: {what}");
    }
}

const NOTHING: [u64; 2] = [0, 0];

/// What, text of the suite, and what stands in its place.
const OF_NO_QUESTION: &[(&str, &str, &str)] = &[
    ("a comment", "graders:\n", "# why\ngraders: # these\n"),
    ("blank lines", "graders:\n", "\n\ngraders:\n\n"),
    ("the name", "name: keys", "name: other"),
    ("a description", "name: keys", "name: keys\ndescription: longer"),
    (
        "the order of the suite",
        "name: keys\ndataset: data.jsonl\n",
        "dataset: data.jsonl\nname: keys\n",
    ),
    ("max_concurrent", "name: keys", "name: keys\nmax_concurrent: 3"),
    ("timeout", "endpoint: test\ngate", "endpoint: test\n    timeout: 7.5\ngate"),
    ("max_retries", "endpoint: test\ngate", "endpoint: test\n    max_retries: 1\ngate"),
    (
        "the variable of the key",
        "endpoint: test\ngate",
        "endpoint: test\n    api_key_env: OTHER\ngate",
    ),
    ("the threshold of the gate", "value: 0.0", "value: 0.01"),
    ("the gate", "gate: {metric_key: kind, metric: avg_score, op: gte, value: 0.0}\n", ""),
    ("pass_threshold", "endpoint: test\ngate", "endpoint: test\n    pass_threshold: 0.5\ngate"),
    ("display_name", "endpoint: test\ngate", "endpoint: test\n    display_name: Right\ngate"),
    ("no tool grader", "  says: {kind: tool, function: contains}\n  kind:\n", "  kind:\n"),
    ("one more tool grader", "  says: ", "  spells: {kind: tool, function: exact_match}\n  says: "),
    ("a tool grader's function", "function: contains", "function: exact_match"),
    ("another alias", "kind: rubric\n    prompt: 'Is", "kind: model_judge\n    prompt: 'Is"),
    (
        "the defaults spelt out",
        "endpoint: test\ngate",
        "endpoint: test\n    provider: openai\n    temperature: 0.0\n    votes: 1\n    scale: {min: 0, max: 1}\ngate",
    ),
    ("an empty extra_body", "endpoint: test\ngate", "endpoint: test\n    extra_body: {}\ngate"),
    ("an extractor with equal text", "extractor: last_assistant", "extractor: final_output"),
    ("another with equal text", "extractor: last_assistant", "extractor: all_assistant"),
    (
        "the prompt in another style",
        "prompt: 'Is {submission} kind?'",
        "prompt: |-\n      Is {submission} kind?",
    ),
];

#[test]
fn edits_of_the_suite_that_change_no_question_ask_nothing() {
    let edit = Edit::new();
    for (what, from, to) in OF_NO_QUESTION {
        edit.suite(from, to);
        assert_eq!(edit.asks(&[]), NOTHING, "{what}");
        edit.revert(what);
    }
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
fn edits_of_the_dataset_ask_for_what_they_touch() {
    let edit = Edit::new();
    let reversed: String = (0..ROWS).rev().map(row).collect();
    let array = rows().trim_end().replace('\n', ",\n");
    let inserted = |at: usize| -> String {
        (0..at).map(row).chain([row(90)]).chain((at..ROWS).map(row)).collect()
    };
    for (what, text, expected) in [
        ("rows reordered", reversed, [0, 0]),
        ("ids renamed", rows().replace("\"id\": \"s", "\"id\": \"renamed-"), [0, 0]),
        ("ids removed", rows().replace("\"id\": \"s", "\"was\": \"s"), [0, 0]),
        (
            "ids as numbers",
            rows().replace("\"id\": \"s", "\"id\": 1").replace("\", \"input\"", ", \"input\""),
            [0, 0],
        ),
        ("a blank line", rows().replacen('\n', "\n\n", 1), [0, 0]),
        ("a byte-order mark and CRLF", format!("\u{feff}{}", rows().replace('\n', "\r\n")), [0, 0]),
        ("no last newline", rows().trim_end().to_owned(), [0, 0]),
        (
            "metadata",
            rows().replace(", \"input\"", ", \"metadata\": {\"a\": 1}, \"input\""),
            [0, 0],
        ),
        ("members in another order", lines((0..ROWS).map(backwards)), [0, 0]),
        ("spaces in the JSON", rows().replace(": ", ":  "), [0, 0]),
        ("an escape of the same text", rows().replace("answer 3", "\\u0061nswer 3"), [0, 0]),
        ("aliases", rows().replace("ground_truth", "expected"), [0, 0]),
        ("tags", rows().replace(", \"input\"", ", \"tags\": [\"t\"], \"input\""), [0, 0]),
        ("another input, which no rubric names", rows().replace("q3", "another question"), [0, 0]),
        ("a row removed", rows().replace(&row(2), ""), [0, 0]),
        ("a row twice", format!("{}{}", rows(), row(2).replace("s2", "again")), [0, 0]),
        (
            "trials that say the same",
            format!("{}{}", rows(), row(2).replace("\"input\"", "\"trial\": 1, \"input\"")),
            [0, 0],
        ),
        (
            "a model that says the same",
            format!("{}{}", rows(), row(2).replace("\"input\"", "\"model\": \"m\", \"input\"")),
            [0, 0],
        ),
        ("one output edited", rows().replace("answer 3", "another answer"), [1, 1]),
        ("one output edited by a space", rows().replace("answer 4", "answer  4"), [1, 1]),
        ("one reference answer edited", rows().replace("truth 3", "another truth"), [0, 1]),
        ("a line inserted in the middle", inserted(3), [1, 1]),
        ("a line inserted in front, stored by the last run", inserted(0), [0, 0]),
        (
            "a rubric of the row's own",
            rows().replace("\"id\": \"s5\"", "\"id\": \"s5\", \"rubric\": \"{submission}!\""),
            [1, 0],
        ),
        (
            "rubric_vars that no rubric names",
            rows().replace(", \"input\"", ", \"rubric_vars\": {\"x\": 1}, \"input\""),
            [0, 0],
        ),
    ] {
        edit.space.write("data.jsonl", text);
        assert_eq!(edit.asks(&[]), expected, "{what}");
        edit.revert(what);
    }
    edit.space.write("rows.json", format!("[{array}]"));
    edit.suite("dataset: data.jsonl", "dataset: rows.json");
    assert_eq!(edit.asks(&[]), NOTHING, "a JSON array of the same rows under another name");
}

/// What, text of the suite, what stands in its place, and how often each judge is then asked.
const OF_ONE_GRADER: &[(&str, &str, &str, [u64; 2])] = &[
    ("a rubric", "Is {submission} kind?", "Is {submission} very kind?", [ALL, 0]),
    ("the other rubric", "Does {submission} mean", "Does {submission} really mean", [0, ALL]),
    ("a space in a rubric", "Is {submission}", "Is  {submission}", [ALL, 0]),
    (
        "the model",
        "model: judge-1\n    endpoint: test\ngate",
        "model: judge-2\n    endpoint: test\ngate",
        [0, ALL],
    ),
    ("the endpoint", "endpoint: test\ngate", "endpoint: other\ngate", [0, ALL]),
    ("temperature", "endpoint: test\ngate", "endpoint: test\n    temperature: 0.5\ngate", [0, ALL]),
    (
        "no temperature",
        "endpoint: test\ngate",
        "endpoint: test\n    temperature: null\ngate",
        [0, ALL],
    ),
    ("seed", "endpoint: test\ngate", "endpoint: test\n    seed: 7\ngate", [0, ALL]),
    ("another seed", "endpoint: test\ngate", "endpoint: test\n    seed: 8\ngate", [0, ALL]),
    ("max_tokens", "endpoint: test\ngate", "endpoint: test\n    max_tokens: 99\ngate", [0, ALL]),
    ("top_p", "endpoint: test\ngate", "endpoint: test\n    top_p: 0.5\ngate", [0, ALL]),
    (
        "scale",
        "endpoint: test\ngate",
        "endpoint: test\n    scale: {min: 0, max: 10}\ngate",
        [0, ALL],
    ),
    (
        "extra_body",
        "endpoint: test\ngate",
        "endpoint: test\n    extra_body: {a: 1, b: {c: 2, d: 3}}\ngate",
        [0, ALL],
    ),
    (
        "the order of extra_body",
        "endpoint: test\ngate",
        "endpoint: test\n    extra_body: {b: {d: 3, c: 2}, a: 1}\ngate",
        [0, 0],
    ),
    (
        "three votes: the first is there",
        "endpoint: test\ngate",
        "endpoint: test\n    votes: 3\ngate",
        [0, 2 * ALL],
    ),
    (
        "their mean",
        "endpoint: test\ngate",
        "endpoint: test\n    votes: {n: 3, combine: mean}\ngate",
        [0, 0],
    ),
    ("two of them", "endpoint: test\ngate", "endpoint: test\n    votes: 2\ngate", [0, 0]),
    ("five: two more", "endpoint: test\ngate", "endpoint: test\n    votes: 5\ngate", [0, 2 * ALL]),
    (
        "a part of the reference answer",
        "endpoint: test\ngate",
        "endpoint: test\n    ground_truth_pattern: 'truth (.)'\ngate",
        [0, ALL],
    ),
    (
        "an extractor with other text",
        "extractor: last_assistant",
        "extractor: pattern\n    extractor_config: {pattern: '[0-9]'}",
        [ALL, 0],
    ),
    (
        "a third judge with the question of the first",
        "gate:",
        "  third: {kind: rubric, prompt: 'Is {submission} kind?', model: judge-1, endpoint: test}\ngate:",
        [0, 0],
    ),
];

#[test]
fn an_edit_of_one_grader_asks_that_grader_alone() {
    let edit = Edit::new();
    for (what, from, to, expected) in OF_ONE_GRADER {
        edit.suite(from, to);
        assert_eq!(edit.asks(&[]), *expected, "{what}");
        edit.revert(what);
    }
}

#[test]
fn a_rubric_file_is_its_text() {
    let edit = Edit::new();
    edit.space.write("kind.txt", "Is {submission} kind?");
    edit.suite("prompt: 'Is {submission} kind?'", "prompt_path: kind.txt");
    assert_eq!(edit.asks(&[]), NOTHING, "the same text in a file");
    edit.space.write("kind.txt", "Is {submission} kind? \n\n");
    assert_eq!(edit.asks(&[]), NOTHING, "the answer format follows after any white space");
    edit.space.write("kind.txt", "Is {submission} kinder?");
    assert_eq!(edit.asks(&[]), [ALL, 0]);
    edit.revert("the file");
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
