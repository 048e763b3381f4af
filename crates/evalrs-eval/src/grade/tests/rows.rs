//! Graders of the row: two fields of it, and what an answer took.

use super::options::check_problems;
use super::*;
use evalrs_trajectory::TrajectoryTotals;

fn on_row(function: &str, config: &Value, row: &str, totals: TrajectoryTotals) -> Grade {
    let trajectory = Trajectory { totals, ..Trajectory::default() };
    let subject = Subject {
        submission: " Order B-1 ",
        ground_truth: None,
        trajectory: &trajectory,
        row: Row::new(row),
        output: None,
        include_subagents: false,
        votes: None,
        cost: None,
    };
    compiled(function, config).unwrap().grade(&subject)
}

#[test]
fn fields_are_compared_with_each_other_and_with_the_submission() {
    let row = r#"{"a": {"id": "Order  b-1"}, "b": "Order B-1", "n": 7, "cell": " 7.0", "list": [1, 2.0], "other": [1, 2], "none": null}"#;
    for (config, expected) in [
        (json!({"path": "b"}), "Submission equals `b`: True"),
        (json!({"path": "row.b"}), "Submission equals `b`: True"),
        (
            json!({"path": "a.id"}),
            "Submission equals `a.id`: False (`Order  b-1` expected, ` Order B-1 ` found)",
        ),
        (
            json!({"path": "a.id", "case_sensitive": false, "normalize_whitespace": true}),
            "Submission equals `a.id`: True",
        ),
        (json!({"path": "n", "other": "cell"}), "`cell` equals `n`: True"),
        (json!({"path": "list", "other": "other"}), "`other` equals `list`: True"),
        (
            json!({"path": "n", "other": "b"}),
            "`b` equals `n`: False (`7` expected, `Order B-1` found)",
        ),
        (json!({"path": "none"}), "Error during grading: the row has no `none`"),
        (json!({"path": "b", "other": "x.y"}), "Error during grading: the row has no `x.y`"),
    ] {
        let graded = on_row("equals_field", &config, row, TrajectoryTotals::default());
        assert_eq!(graded.rationale, expected, "{config}");
        assert_eq!(kind(&graded), if expected.starts_with("Error") { "no_field" } else { "" });
    }
}

/// Options, row, rationale. The trajectory says 900 ms and 0.5 dollars where the row is not empty.
const SPENT: &[[&str; 3]] = &[
    [r#"{"max_ms": 2000}"#, r#"{"latency_ms": 2000}"#, "Latency: 2000 ms of at most 2000 ms: True"],
    [r#"{"max_ms": 1}"#, r#"{"latencyMs": "2"}"#, "Latency: 2 ms of at most 1 ms: False"],
    [r#"{"max_ms": 5000}"#, r#"{"total_time": 4.5}"#, "Latency: 4500 ms of at most 5000 ms: True"],
    [r#"{"max_ms": 9}"#, r#"{"duration_ms": null}"#, "Latency: 900 ms of at most 9 ms: False"],
    [
        r#"{"max_ms": 10, "path": "t.s", "unit": "seconds"}"#,
        r#"{"t": {"s": 0.02}}"#,
        "Latency: 20 ms of at most 10 ms: False",
    ],
    [
        r#"{"max_ms": 10, "path": "t_ms"}"#,
        r#"{"t_ms": 10}"#,
        "Latency: 10 ms of at most 10 ms: True",
    ],
    [
        r#"{"max_ms": 1}"#,
        "{}",
        "Error during grading: neither the row nor the trajectory says how long the answer took: name its place by `path`",
    ],
    [
        r#"{"max_ms": 1, "path": "a_ms"}"#,
        r#"{"a_ms": "x"}"#,
        "Error during grading: `a_ms` is no number",
    ],
    [
        r#"{"max_ms": 1}"#,
        r#"{"latency_ms": "1e999"}"#,
        "Error during grading: `latency_ms` is no number",
    ],
    [r#"{"max_usd": 0.01}"#, r#"{"cost": 0.01}"#, "Cost: 0.01 USD of at most 0.01 USD: True"],
    [
        r#"{"max_usd": 0.01}"#,
        r#"{"usage": {"cost": 0.02}}"#,
        "Cost: 0.02 USD of at most 0.01 USD: False",
    ],
    [r#"{"max_usd": 0.5}"#, r#"{"a": 1}"#, "Cost: 0.5 USD of at most 0.5 USD: True"],
    [
        r#"{"max_usd": 1, "path": "c"}"#,
        r#"{"c": "1.5", "cost": 0}"#,
        "Cost: 1.5 USD of at most 1 USD: False",
    ],
    [
        r#"{"max_usd": 1}"#,
        "{}",
        "Error during grading: neither the row nor the trajectory says what the answer cost: name its place by `path`",
    ],
];

#[test]
fn time_and_money_are_found_under_names_that_say_their_unit() {
    let totals = TrajectoryTotals { duration_ms: Some(900.0), cost_usd: Some(0.5) };
    for [config, row, expected] in SPENT {
        let function = if config.contains("usd") { "max_cost" } else { "max_latency" };
        let options: Value = serde_json::from_str(config).unwrap();
        let totals = if *row == "{}" { TrajectoryTotals::default() } else { totals };
        let graded = on_row(function, &options, row, totals);
        assert_eq!(graded.rationale, *expected, "{config} {row}");
        let wanted = if expected.starts_with("Error") { "no_number" } else { "" };
        assert_eq!(kind(&graded), wanted, "{config} {row}");
        assert!(graded.error.is_none() || !graded.passes(0.0));
    }
    let none = TrajectoryTotals::default();
    let unitless = on_row("max_latency", &json!({"max_ms": 1}), r#"{"latency": 0.5}"#, none);
    assert_eq!(
        unitless.error.unwrap().message,
        "`latency` does not say its unit: name it by `path` and `unit`"
    );
}

#[test]
fn units_are_never_guessed() {
    check_problems(&[
        ("max_latency", json!({}), vec![" the option `max_ms` is missing ()"]),
        (
            "max_latency",
            json!({"max_ms": 1, "path": "latency"}),
            vec![
                "unit `path` does not end with `_ms`, `Ms` or `_seconds`: `unit` must be `ms` or `seconds` ()",
            ],
        ),
        (
            "max_latency",
            json!({"max_ms": 1, "unit": "seconds"}),
            vec!["unit `unit` is the unit of the number at `path`: set both ()"],
        ),
        ("max_cost", json!({"max_usd": -1}), vec!["max_usd `max_usd` must be at least 0 ()"]),
        ("equals_field", json!({"other": "a"}), vec![" the option `path` is missing ()"]),
    ]);
}
