//! `evalrs report`: events of a run, and results that are edited in place. `tests/spec/reports.md` has the others.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, lines};

const SUITE: &str = "\
name: bot
dataset: data.jsonl
target: {kind: recorded}
graders:
  exact: {kind: tool, function: exact_match, display_name: Is right}
  quality:
    kind: rubric
    prompt: 'Good? {input} {submission}'
    model: m
    endpoint: test
    max_retries: 0
gate: {kind: simple, metric_key: quality, aggregation: avg_score, op: gte, value: 0.6}
";

/// A workspace whose run has verdicts of every kind: passed, failed, and not made.
fn ran() -> Space {
    let hostile = "=cmd|' /C calc'!A0\u{1b}[31m\u{0}\u{202e}</testcase>]]>\n::error::x ##[error]y";
    let rows = (0..7).map(|at| {
        let output = if at % 2 == 0 { "Paris" } else { hostile };
        let row = json!({"id": format!("s{at}"), "input": format!("{at}: capital of France?"), "output": output, "ground_truth": "Paris", "tags": ["t"]});
        format!("{row}\n")
    });
    let judge = Judge::new(|number, _| match number {
        3 => Answer::error(500, "no"),
        number => Answer::score([1.0, 1.0 / 3.0, 0.7][number % 3]),
    });
    let space = Space::new(&[("evalrs.toml", ""), ("evals/suite.yaml", SUITE)]);
    space.write("evals/data.jsonl", rows.collect::<String>());
    space.run_with(&judge, &["run", "evals/suite.yaml", "--max-concurrent", "1"]);
    space
}

#[test]
fn events_are_those_of_the_conventions() {
    let space = ran();
    let text = space.run(&["report", "--format", "otlp"]).stdout();
    let value: Value = serde_json::from_str(&text).unwrap();
    let events = &value["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
    assert_eq!(events.as_array().unwrap().len(), 14);
    assert_eq!(events[0]["eventName"], "gen_ai.evaluation.result");
    let run: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    let time = events[0]["timeUnixNano"].as_str().unwrap();
    let ended: jiff::Timestamp = run["finished"].as_str().unwrap().parse().unwrap();
    assert_eq!(time, ended.as_nanosecond().to_string());
}

/// Three runs of a suite, of which nothing changes.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "it looks at the files of records, and edits one")]
#[test]
fn results_are_read_only_and_an_edit_in_place_is_found() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let suite =
        "name: s\ndataset: data.jsonl\ngraders: {exact: {kind: tool, function: exact_match}}\n";
    let row = json!({"id": "a", "ground_truth": "yes", "output": "yes"});
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", &lines([row]))]);
    let run = || {
        assert_eq!(space.run(&["run", "suite.yaml", "--quiet"]).code(), 0);
        space.latest().join("results.jsonl")
    };
    let first = run();
    let second = run();
    let inode = |path: &std::path::Path| std::fs::metadata(path).unwrap().ino();
    assert_eq!(inode(&first), inode(&second), "they share their bytes");
    let mode = std::fs::metadata(&second).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o444);
    // Somebody writes in place all the same, and puts size and time back.
    let before = std::fs::metadata(&second).unwrap().modified().unwrap();
    let text = std::fs::read_to_string(&second).unwrap();
    let edited = text.replace(r#""score":1.0"#, r#""score":0.0"#);
    assert!(edited != text && edited.len() == text.len(), "{text}");
    std::fs::set_permissions(&second, PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::write(&second, edited).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&second).unwrap();
    file.set_modified(before).unwrap();
    let said = "results.jsonl is not what the run wrote: it was edited since";
    for args in [&["report"][..], &["diff"]] {
        let ran = space.run(args);
        assert!(ran.stderr().contains(said), "{args:?}: {}", ran.shown());
    }
    let third = run();
    assert_ne!(inode(&third), inode(&second), "what was edited is shared no more");
    assert_eq!(std::fs::read_to_string(&third).unwrap(), text);
    assert!(!space.run(&["report"]).stderr().contains(said));
}
