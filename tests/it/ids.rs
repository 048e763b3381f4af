//! Rows without ids in `watch`: an answer that is edited is the answer of the same sample.

use serde_json::json;

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
