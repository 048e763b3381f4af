//! Rows without ids: an answer that is edited is the answer of the same sample, in `diff` and in `watch`.

use serde_json::{Value, json};

use crate::events::Telling;
use crate::space::{Space, lines};

const SUITE: &str = "\
name: nameless
dataset: data.jsonl
graders:
  exact: {kind: tool, function: exact_match}
";

/// Rows without ids; the second and the third are the same sample twice.
fn rows(outputs: [&str; 4]) -> String {
    let asked = ["capital of France?", "twice", "twice", "capital of Peru?"];
    let truths = ["Paris", "yes", "yes", "Lima"];
    let rows = asked.into_iter().zip(truths).zip(outputs);
    lines(rows.map(
        |((input, truth), output)| json!({"input": input, "ground_truth": truth, "output": output}),
    ))
}

const BEFORE: [&str; 4] = ["Lyon", "yes", "no", "Lima"];
const AFTER: [&str; 4] = ["Paris", "yes", "yes", "Cusco"];

fn space() -> Space {
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows(BEFORE))])
}

#[test]
fn diff_calls_an_edited_answer_fixed_or_broken() {
    let space = space();
    assert_eq!(space.run(&["run", "suite.yaml", "--quiet"]).code(), 0);
    space.write("data.jsonl", rows(AFTER));
    assert_eq!(space.run(&["run", "suite.yaml", "--quiet"]).code(), 0);
    let runs = space.names(".evalrs/runs");
    let ran = space.run(&["diff", &runs[0], &runs[1], "--format", "json"]);
    let diff: Value = serde_json::from_str(&ran.stdout()).unwrap();
    let counts = &diff["graders"]["exact"]["counts"];
    let moved = ["fixed", "broken", "unchanged", "new"].map(|name| counts[name].clone());
    assert_eq!(json!(moved), json!([2, 1, 1, 0]), "{}", ran.shown());
}

#[test]
fn watch_calls_an_edited_answer_fixed_or_broken() {
    let space = space();
    let mut telling = Telling::new(space.command(&["watch", "suite.yaml", "--json"]));
    telling.wait_event("evaluated");
    space.write("data.jsonl", rows(AFTER));
    let told = telling.wait_event("evaluated");
    let counts = ["fixed", "broken", "unchanged", "new"].map(|name| told["counts"][name].clone());
    assert_eq!(json!(counts), json!([2, 1, 1, 0]), "{told}");
    // A row more is new, and moves nothing.
    let more = json!({"input": "capital of Italy?", "ground_truth": "Rome", "output": "Rome"});
    space.write("data.jsonl", format!("{more}\n{}", rows(AFTER)));
    let told = telling.wait_event("evaluated");
    let counts = ["fixed", "broken", "unchanged", "new"].map(|name| told["counts"][name].clone());
    assert_eq!(json!(counts), json!([0, 0, 4, 1]), "{told}");
    telling.interrupt();
    telling.finish();
}

#[test]
fn a_misspelt_sample_is_suggested() {
    let rows = ["france", "peru-1"].map(|id| json!({"id": id, "input": "q", "output": "o"}));
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &lines(rows))]);
    for (id, hint) in
        [("franc", "did you mean `france`?"), ("peru-2", "the ids are `france`, `peru-1`")]
    {
        let ran = space.run(&["run", "suite.yaml", "--sample", id]);
        assert!(ran.code() == 2 && ran.stderr().contains(hint), "{}", ran.shown());
    }
    // Each once, and those that count.
    let rows = [("a", 0), ("a", 1), ("b", 0), ("c", 0)];
    let rows =
        rows.map(|(id, trial)| json!({"id": id, "trial": trial, "input": "q", "output": "o"}));
    space.write("data.jsonl", lines(rows));
    for (condition, hint) in
        [("id != 'c'", "the ids are `a`, `b`\n"), ("id == 'z'", "no row counts")]
    {
        let dataset = format!("dataset: {{path: data.jsonl, where: \"{condition}\"}}");
        space.write("suite.yaml", SUITE.replace("dataset: data.jsonl", &dataset));
        let ran = space.run(&["run", "suite.yaml", "--sample", "1234"]);
        assert!(ran.code() == 2 && ran.stderr().contains(hint), "{}", ran.shown());
    }
}
