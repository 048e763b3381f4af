//! What a run says of its grades: averages and thresholds, and errors that are errors.

use serde_json::Value;

use crate::space::{Space, lines};

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
