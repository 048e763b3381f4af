//! The same of a rubric in criteria: however these are edited, what is known of the last run decides nothing.

use crate::judge::{Answer, Asked, Judge};
use crate::known_chunks::{SpaceEdit, compare, edit_rows, edit_suite, run};
use crate::space::Space;

const SUITE: &str = "\
name: bot
dataset: data.jsonl
max_concurrent: 32
graders:
  quality:
    kind: rubric
    model: judge-1
    endpoint: test
    criteria:
      kind: {question: Is it kind?, weight: 2}
      right: {question: Is it right?, unsure: skip}
      warm: {question: How warm is it?, scale: {min: 1, max: 5}, pass_threshold: 0.75}
      late: {question: Is it late?, only: \"'late' in tags\"}
  short: {kind: tool, function: length, config: {max: 12}}
gate: {metric_key: quality, metric: avg_score, op: gte, value: 0.1}
";

/// Enough rows that what is known of them is kept.
const ROWS: usize = 1_200;

fn row(at: usize) -> String {
    let tags = if at.is_multiple_of(5) { "\"late\"" } else { "" };
    let output = format!("{at} {}", "x".repeat(at % 17));
    format!(
        "{{\"id\": \"s{at}\", \"input\": \"q{at}\", \"output\": \"{output}\", \"tags\": [{tags}]}}\n"
    )
}

fn space() -> Space {
    let rows: String = (0..ROWS).map(row).collect();
    let space =
        Space::new(&[("suite.yaml", SUITE), ("data.jsonl", rows.as_str()), ("evalrs.toml", "")]);
    space.write(".evalrs/.gitignore", "*\n");
    space
}

/// What the words of the question decide, and nothing else.
fn verdict(asked: &Asked) -> Answer {
    let prompt = asked.prompt();
    let sum: u32 = prompt.bytes().map(u32::from).sum();
    if prompt.contains("from 1 to 5") {
        return Answer::text(&format!("{{\"reason\": \"r{sum}\", \"score\": {}}}", 1 + sum % 5));
    }
    let answer = ["yes", "no", "yes", "cannot_tell"][sum as usize % 4];
    Answer::text(&format!("{{\"reason\": \"r{sum}\", \"verdict\": \"{answer}\"}}"))
}

const EDITS: [(&str, SpaceEdit); 14] = [
    ("a row", |space| edit_rows(space, |rows| rows.replace("\"800 x", "\"800 y"))),
    ("a weight", |space| edit_suite(space, "weight: 2", "weight: 5")),
    ("a threshold of a criterion", |space| edit_suite(space, "0.75", "0.5")),
    ("the threshold of the rubric", |space| {
        edit_suite(space, "    criteria:", "    pass_threshold: 0.6\n    criteria:");
    }),
    ("another combination", |space| {
        edit_suite(space, "    criteria:", "    combine: kind * (right + warm) / 2\n    criteria:");
    }),
    ("a combination of all", |space| edit_suite(space, "kind * (right + warm) / 2", "all")),
    ("a criterion that is required", |space| edit_suite(space, "weight: 5", "required: true")),
    ("the opposite", |space| edit_suite(space, "required: true", "expect: no")),
    ("an unsure judge fails", |space| edit_suite(space, "unsure: skip", "unsure: not_met")),
    ("an unsure judge is an error", |space| edit_suite(space, "not_met", "error")),
    ("and no error again", |space| edit_suite(space, "unsure: error", "weight: 2")),
    ("an edited question", |space| edit_suite(space, "Is it kind?", "Is it very kind?")),
    ("a new name", |space| edit_suite(space, "kind: {", "friendly: {")),
    ("criteria in one request", |space| {
        edit_suite(space, "    criteria:", "    batching: 1\n    criteria:");
    }),
];

#[test]
fn however_criteria_are_edited_what_is_known_decides_nothing() {
    let judge = Judge::new(|_, asked| verdict(asked));
    let space = space();
    assert_eq!(run(&space, &judge, &[]).code(), 0);
    for (what, edit) in EDITS {
        edit(&space);
        compare(&space, &judge, what, &[]);
    }
}

#[test]
fn a_large_dataset_has_other_ways_to_put_criteria_into_requests_estimated() {
    let judge = Judge::new(|_, asked| verdict(asked));
    let space = space();
    space.write("data.jsonl", (0..3 * ROWS).map(row).collect::<String>());
    let ways = |space: &Space| {
        let plan = space.run_with(&judge, &["plan", "suite.yaml", "--json"]);
        let plan: serde_json::Value = serde_json::from_str(&plan.stdout()).unwrap();
        let ways = plan["batching"]["quality"].as_array().cloned().unwrap_or_default();
        ways.iter().map(|way| way["to_ask"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let [each, together] = ways(&space)[..] else { panic!("two ways") };
    assert_eq!(each, 3 * ROWS as u64 * 3 + 3 * ROWS as u64 / 5);
    assert_eq!(together, 3 * ROWS as u64, "each sample has one request");
    let shown = space.run_with(&judge, &["plan", "suite.yaml"]).stdout();
    assert!(shown.contains("; `together` about 3,600 calls,"), "{shown}");
}
