//! What a run says of its grades: averages and thresholds, and errors that are errors.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl, lines};

/// A suite whose scores stand in the rows.
fn recorded(scores: &[f64], rest: &str) -> Space {
    let rows = lines(scores.iter().enumerate().map(|(at, score)| {
        format!("{{\"id\": \"r{at}\", \"input\": \"q\", \"output\": \"a\", \"s\": {score}}}")
    }));
    let graders = "name: s\ndataset: data.jsonl\ngraders:\n  a: {kind: tool, function: recorded_score, config: {path: s}}\n";
    Space::new(&[("suite.yaml", &format!("{graders}{rest}")), ("data.jsonl", &rows)])
}

fn summary(space: &Space) -> Value {
    serde_json::from_str(&space.record("summary.json")).unwrap()
}

#[test]
fn a_gate_that_is_exactly_met_passes() {
    for (scores, mean) in [(&[0.6, 0.8, 1.0][..], "0.8"), (&[0.7, 0.7, 1.0], "0.7999999999999999")]
    {
        let space =
            recorded(scores, "gate: {metric_key: a, metric: avg_score, op: gte, value: 0.8}\n");
        let ran = space.run(&["run", "suite.yaml"]);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        assert!(ran.stdout().contains("a avg_score >= 0.8: 0.800"), "{}", ran.shown());
        assert_eq!(summary(&space)["gate"]["value"].to_string(), mean);
    }
    let weighted = "  b: {kind: tool, function: recorded_score, config: {path: s}}\n\
                    gate: {kind: weighted_average, weights: {a: 0.7, b: 0.3}, op: gte, value: 0.8}\n";
    assert_eq!(recorded(&[0.8, 0.8], weighted).run(&["run", "suite.yaml"]).code(), 0);
}

/// One grader, and rows of which each is `(id, more of its members)`.
fn graded(grader: &str, rows: &[(&str, Value)]) -> Space {
    let rows = rows.iter().map(|(id, more)| {
        let mut row = json!({"id": id, "input": "q", "output": "Paris"});
        row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        row
    });
    let suite = format!("name: s\ndataset: data.jsonl\ngraders:\n  a: {grader}\n");
    Space::new(&[("suite.yaml", &suite), ("data.jsonl", &jsonl(rows))])
}

fn errors(space: &Space) -> u64 {
    summary(space)["metrics"]["a"]["errors"].as_u64().unwrap()
}

#[test]
fn an_error_without_a_gate_is_incomplete() {
    let recorded = "{kind: tool, function: recorded_score, config: {path: s}}";
    let space = graded(recorded, &[("a", json!({"s": 1})), ("b", json!({}))]);
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!((ran.code(), errors(&space)), (3, 1), "{}", ran.shown());
    let space = graded(recorded, &[("a", json!({"s": 1})), ("b", json!({"s": 0}))]);
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 0);
}

#[test]
fn a_row_without_ground_truth_is_an_error_of_every_grader_that_needs_one() {
    for (grader, rationale) in [
        ("{kind: tool, function: contains}", "No ground_truth answer provided"),
        ("{kind: tool, function: regex_match}", "No ground_truth regex pattern provided"),
        ("{kind: tool, function: numeric}", "No ground_truth answer provided"),
        ("{kind: tool, function: one_of}", "No ground_truth answer provided"),
        (
            "{kind: tool, function: contains, ground_truth_pattern: 'is (.+)'}",
            "Error during grading: `ground_truth_pattern` does not match the ground truth",
        ),
    ] {
        let truth = if grader.contains("pattern") { "none" } else { "" };
        let other = if grader.contains("numeric") { "7" } else { "is Paris" };
        let rows = [("a", json!({"ground_truth": other})), ("b", json!({"ground_truth": truth}))];
        let space = graded(grader, &rows);
        let ran = space.run(&["run", "suite.yaml"]);
        assert_eq!((ran.code(), errors(&space)), (3, 1), "{grader}: {}", ran.shown());
        assert!(ran.stdout().contains("no_ground_truth"), "{}", ran.shown());
        let results = space.record("results.jsonl");
        let line: Value = serde_json::from_str(results.lines().nth(1).unwrap()).unwrap();
        let grade = &line["grades"]["a"];
        assert_eq!((&grade["score"], &grade["pass"]), (&json!(0.0), &json!(false)));
        assert_eq!(grade["error"]["kind"], "no_ground_truth");
        assert_eq!(grade["rationale"], rationale);
    }
}

#[test]
fn an_empty_submission_is_a_verdict_and_is_counted() {
    let row = json!({"output": "", "ground_truth": "Paris"});
    let space = graded("{kind: tool, function: contains}", &[("a", row)]);
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!((ran.code(), errors(&space)), (0, 0), "{}", ran.shown());
    let said = "1 grade is 0.0 because there was nothing to grade";
    assert!(ran.stdout().contains(said), "{}", ran.shown());
}

#[test]
fn reports_for_people_say_how_far_votes_agree() {
    let judge = Judge::new(|number, _| Answer::score(if number % 3 == 0 { 1.0 } else { 0.5 }));
    let grader = "{kind: rubric, prompt: 'Is {submission} good?', model: m, endpoint: e, votes: 2}";
    let rows = ["a", "b", "c"].map(|id| (id, json!({"output": id})));
    let space = graded(grader, &rows);
    for format in ["text", "markdown", "github"] {
        let ran = space.run_with(&judge, &["run", "suite.yaml", "--format", format]);
        assert!(
            ran.stdout().contains("a, 2 votes each on 3 submissions: exact agreement "),
            "{}",
            ran.shown()
        );
    }
}

#[test]
fn no_grader_is_lost_by_tag_or_among_trials() {
    let graders = [
        "exact_match",
        "contains",
        "string_match",
        "levenshtein",
        "one_of",
        "ascii_printable_only",
    ];
    let graders = lines(graders.map(|name| format!("  {name}: {{kind: tool, function: {name}}}")));
    let suite = format!(
        "name: s\ndataset: data.jsonl\ngraders:\n{graders}reward: mean(exact_match, contains)\n"
    );
    let rows = (0..4).map(|at| json!({"id": at / 2, "trial": at % 2, "input": "q", "output": "a", "ground_truth": "a", "tags": ["t"]}));
    let space = Space::new(&[("suite.yaml", &suite), ("data.jsonl", &jsonl(rows))]);
    let ran = space.run(&["run", "suite.yaml"]);
    let titles: Vec<String> =
        ran.stdout().lines().filter(|line| line.starts_with("tag ")).map(str::to_owned).collect();
    assert!(titles.len() > 1 && titles.last().unwrap().ends_with("reward"), "{}", ran.shown());
    assert!(!ran.stdout().contains("not shown") && !ran.stdout().contains('…'), "{}", ran.shown());
}

#[test]
fn null_is_absent() {
    let grader = "{kind: tool, function: one_of, config: {values: ['null']}, extractor: json_path, extractor_config: {path: $.x}}";
    let space = graded(grader, &[("a", json!({"x": null}))]);
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 0);
    assert!(space.record("results.jsonl").contains("Empty submission"));
}

#[test]
fn no_turn_is_no_verdict() {
    let row = json!({"input": [], "ground_truth": []});
    let space = graded("{kind: tool, function: contains}", &[("a", row)]);
    let ran = space.run(&["run", "suite.yaml"]);
    assert_ne!(ran.code(), 0, "{}", ran.shown());
    assert!(!ran.stdout().contains("-0.0") && !ran.stdout().contains("0/0"), "{}", ran.shown());
}
