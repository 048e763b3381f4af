//! What numbers of declared metrics may hold, through the binary: gates over whatever is missing, and intervals that are none.

use serde_json::{Value, json};

use crate::space::{Space, jsonl};

/// Rows of which each has these members.
fn rows(members: &[Value]) -> String {
    let row = |(at, members): (usize, &Value)| {
        let mut row =
            json!({"id": format!("s{at}"), "input": "q", "output": "a", "ground_truth": "a"});
        row.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        row
    };
    jsonl(members.iter().enumerate().map(row))
}

fn suite(name: &str, metric: &str, more: &str) -> String {
    format!(
        "name: {name}\ndataset: data.jsonl\ngraders:\n  a: {{kind: tool, function: contains}}\nmetrics:\n  m: {metric}\n{more}"
    )
}

const GATE: &str = "gate: {metric_key: m, op: gte, value: 1}\n";

fn summary(space: &Space) -> Value {
    serde_json::from_str(&space.record("summary.json")).unwrap()
}

/// Metrics of which all that is known is 1, and rows that hold no such number.
fn with_errors() -> [(&'static str, Vec<Value>); 5] {
    let words = |name: &str, words: &[Value]| -> Vec<Value> {
        words.iter().map(|word| json!({name: word})).collect()
    };
    let numbers = words("x", &[json!(1), json!(1), json!("n/a")]);
    let weighted = vec![json!({"w": 1}), json!({"w": 1}), json!({"w": null, "output": "b"})];
    [
        (
            "{kind: pass_rate, of: row.v}",
            words("v", &["pass", "pass", "maybe", "perhaps"].map(Value::from)),
        ),
        ("{kind: mean, of: row.x}", numbers.clone()),
        ("{kind: min, of: row.x}", numbers.clone()),
        ("{kind: macro, of: row.x, by: sample}", numbers),
        ("{kind: weighted, of: a, weight: row.w}", weighted),
    ]
}

#[test]
fn no_gate_passes_over_what_is_missing() {
    for (metric, members) in with_errors() {
        let space = Space::new(&[
            ("suite.yaml", &suite("s", metric, GATE)),
            ("data.jsonl", &rows(&members)),
        ]);
        let ran = space.run(&["run", "suite.yaml"]);
        assert_eq!(ran.code(), 3, "{metric}: {}", ran.shown());
        let found = &summary(&space)["declared"]["m"];
        assert_eq!(found["value"], json!(1.0), "{metric}");
        assert!(found["errors"].as_u64() > Some(0), "{metric}: {found}");
        // The suite as part of a roll-up, whose gate reads the record alone.
        space.write("suite.yaml", suite("s", metric, ""));
        space.write(
            "rollup.yaml",
            format!("name: all\nmetrics:\n  m: {{kind: macro, of: [s.m]}}\n{GATE}"),
        );
        let ran = space.run(&["run", "suite.yaml", "--rollup", "rollup.yaml"]);
        assert_eq!(ran.code(), 3, "{metric}: {}", ran.shown());
    }
}

#[test]
fn a_gate_says_how_far_what_is_missing_may_move_the_value() {
    let numbers: Vec<Value> = ["1", "2", "n/a"].iter().map(|x| json!({"x": x})).collect();
    let gate = "gate: {metric_key: m, op: gte, value: 1}\n";
    let space = Space::new(&[
        ("suite.yaml", &suite("s", "{kind: min, of: row.x}", gate)),
        ("data.jsonl", &rows(&numbers)),
    ]);
    let ran = space.run(&["run", "suite.yaml"]);
    let said = "m >= 1: 1.000 (at most 1.000, depending on missing values)";
    assert!(ran.stdout().contains(said), "{}", ran.shown());
    let gate = &summary(&space)["gate"];
    assert_eq!((&gate["status"], &gate["lowest"]), (&json!("undecided"), &Value::Null));
    space.write("suite.yaml", suite("s", "{kind: min, of: row.x}", &gate_lt(5)));
    assert_eq!(
        space.run(&["run", "suite.yaml"]).code(),
        0,
        "it is less than 5 whatever is missing"
    );
}

fn gate_lt(value: u32) -> String {
    format!("gate: {{metric_key: m, op: lt, value: {value}}}\n")
}

const EQUAL: &str =
    "no interval: all values are the same, and nothing says how far others may lie from them";

#[test]
fn a_record_of_equal_numbers_without_bounds_can_be_read() {
    let equal: Vec<Value> = (0..3).map(|_| json!({"ms": 5})).collect();
    let space = Space::new(&[
        ("evalrs.toml", ""),
        ("suite.yaml", &suite("s", "{kind: mean, of: row.ms}", "")),
        ("data.jsonl", &rows(&equal)),
    ]);
    let read_all = |space: &Space| {
        assert_eq!(space.run(&["run", "suite.yaml"]).code(), 0);
        for args in
            [&["report"][..], &["report", "--format", "markdown"], &["history", "suite.yaml"]]
        {
            let ran = space.run(args);
            let shown = ran.shown();
            assert_eq!(ran.code(), 0, "{args:?} {shown}");
            assert!(
                !shown.contains("inf") && !shown.contains("cannot be read"),
                "{args:?} {shown}"
            );
        }
        let history = space.run(&["history", "suite.yaml", "--json"]).stdout();
        let history: Value = serde_json::from_str(&history).unwrap();
        history["runs"].as_array().unwrap().len()
    };
    assert_eq!(read_all(&space), 1);
    let ran = space.run(&["run", "suite.yaml"]);
    assert!(ran.stdout().contains(&format!("m: {EQUAL}")), "{}", ran.shown());
    assert!(space.run(&["report", "--format", "markdown"]).stdout().contains(EQUAL));
    let found = &summary(&space)["declared"]["m"];
    assert_eq!((&found["interval"], &found["interval_problem"]), (&Value::Null, &json!(EQUAL)));
    // As earlier versions wrote it: in the record, in the lines of the history, and in a roll-up.
    let written = r#""interval":{"low":null,"high":null,"level":0.95,"method":"clopper_pearson"}"#;
    let as_before = |text: &str| text.replace(r#""interval":null"#, written);
    let last = space.latest().join("summary.json");
    let compact: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    let text = as_before(&compact.to_string());
    assert!(text.contains(written));
    space.write(last.to_str().unwrap(), text);
    let lines = as_before(&space.read("cache/s.history.jsonl"));
    space.write("cache/s.history.jsonl", lines);
    let report = space.run(&["report"]);
    assert_eq!(report.code(), 0, "{}", report.shown());
    assert!(!report.stdout().contains("inf"), "{}", report.shown());
    let rollup = "name: all\nmetrics:\n  m: {kind: macro, of: [s.m]}\n";
    space.write("rollup.yaml", rollup);
    assert_eq!(space.run(&["run", "suite.yaml", "--rollup", "rollup.yaml"]).code(), 0);
    let ran = space.run(&["diff", "latest~1", "latest", "--json"]);
    let diff: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(diff["declared"]["m"]["change"], json!(0.0), "{}", ran.shown());
    space.write("data.jsonl", rows(&[json!({"ms": 5}), json!({"ms": 6})]));
    assert!(read_all(&space) >= 2, "no line was lost");
}
