//! `evalrs report`: what a run wrote, once more from its record.

use std::process::Command;

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Ran, Space, lines};

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

/// Standard output, where there is no step summary.
fn shown(mut command: Command) -> String {
    let ran = Ran(command.output().unwrap());
    assert_eq!(ran.stderr(), "");
    ran.stdout()
}

#[test]
fn a_report_is_what_the_run_wrote() {
    let space = ran();
    for format in ["json", "jsonl", "junit", "markdown", "github", "csv"] {
        let ran = space.run(&["run", "evals/suite.yaml", "--frozen", "--format", format]);
        let again = space.run(&["report", "--format", format]);
        assert_eq!((again.code(), again.stderr().as_str()), (0, ""), "{format}");
        assert_eq!(ran.stdout(), again.stdout(), "{format}");
        assert!(again.stdout().contains("s1"), "{format}");
    }
    let lines = space.run(&["report", "--format", "jsonl"]).stdout();
    assert_eq!(lines, space.record("results.jsonl"));
}

#[test]
fn a_report_goes_to_a_file_and_is_of_any_run() {
    let space = ran();
    let first = space.latest();
    space.run(&["run", "evals/suite.yaml", "--frozen", "--sample", "s0", "--output", "out"]);
    let id = first.file_name().unwrap().to_str().unwrap();
    for (named, lines) in [(id, 7), ("latest", 1), ("latest~1", 7), ("out", 1)] {
        let ran = space.run(&["report", named, "--format", "jsonl", "-o", "reports/r.jsonl"]);
        assert_eq!((ran.code(), ran.shown().contains("warning")), (0, false), "{}", ran.shown());
        assert_eq!(space.read("reports/r.jsonl").lines().count(), lines, "{named}");
    }
    space.run(&["report", "--color", "always", "-o", "r.txt"]);
    let text = space.read("r.txt");
    assert!(text.contains("bot: 1 sample") && !text.contains('\u{1b}'), "{text}");
    let beside = space.run(&["report", "--suite", "evals/suite.yaml", "--format", "jsonl"]);
    assert_eq!(beside.stdout().lines().count(), 1);
}

#[test]
fn annotations_point_into_the_repository_from_the_record_too() {
    let space = ran();
    let report = |args: &[&str]| {
        let mut command = space.command(args);
        command.env("GITHUB_WORKSPACE", space.path(""));
        command.env("GITHUB_STEP_SUMMARY", space.path("summary.md"));
        shown(command)
    };
    let text = report(&["report", "--format", "github"]);
    assert!(text.contains("::error file=evals/suite.yaml,title=bot%3A undecided::"), "{text}");
    assert!(text.contains("file=evals/data.jsonl,line=4,"), "{text}");
    assert!(space.read("summary.md").starts_with("### `bot`: undecided"));
}

#[test]
fn records_that_were_touched_say_so() {
    let space = ran();
    let path = |name: &str| {
        let folder = space.latest();
        format!(".evalrs/runs/{}/{name}", folder.file_name().unwrap().to_str().unwrap())
    };
    let results = space.record("results.jsonl");
    let cut = &results[..results.len() - 30];
    space.write(&path("results.jsonl"), cut.replacen("\"format\":2", "\"format\":7", 1));
    let told = space.run(&["report", "--format", "csv"]);
    assert_eq!(told.code(), 0);
    let warnings = told.stderr();
    assert!(warnings.contains("1 line of `results.jsonl` cannot be read"), "{warnings}");
    assert!(warnings.contains("another version of evalrs wrote that"), "{warnings}");
    assert!(warnings.contains("has 5 results, and its summary is of 7"), "{warnings}");

    space.write(&path("run.json"), "{\"format\": 1, \"actions\": 3}");
    let told = space.run(&["report", "--format", "junit"]);
    assert!(told.stderr().contains("what depends on the process is left out"), "{}", told.stderr());

    for (file, text, expected) in [
        (
            "summary.json",
            "{\"format\": 1, \"suite\": 3}",
            "`summary.json` cannot be read: invalid type",
        ),
        (
            "summary.json",
            "{\"format\": 2}",
            "`summary.json` has the format 2, and this version reads 1",
        ),
        (
            "header.json",
            "{\"format\": 2}",
            "`header.json` has the format 2, and this version reads 1",
        ),
        ("header.json", "{", "`header.json` cannot be read: EOF"),
    ] {
        space.write(&path(file), text);
        let told = space.run(&["report", "latest"]);
        let told_of = told.stderr();
        assert!(told.code() == 2 && told.stdout().is_empty(), "{told_of}");
        assert!(told_of.contains(expected), "{told_of}");
    }
    let folder = space.latest();
    let named = space.run(&["report", folder.to_str().unwrap()]).stderr();
    assert!(named.contains("`header.json` cannot be read: EOF"), "{named}");
    assert_eq!(space.run(&["report", "nowhere"]).code(), 2);
    assert_eq!(space.run(&["report", "latest@3"]).code(), 2);
}

#[test]
fn no_cell_of_a_table_is_a_formula() {
    let space = ran();
    let text = space.run(&["report", "--format", "csv"]).stdout();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 14);
    let starts = rows.iter().flat_map(|row| row.iter().filter_map(|cell| cell.chars().next()));
    assert!(!starts.into_iter().any(|first| "=+-@\t\r\n".contains(first)));
    assert!(text.contains("'=cmd|") && !text.contains(['\u{1b}', '\0']));
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
    let said = "results.jsonl is not what the run wrote: somebody has edited it since";
    for args in [&["report"][..], &["diff"]] {
        let ran = space.run(args);
        assert!(ran.stderr().contains(said), "{args:?}: {}", ran.shown());
    }
    let third = run();
    assert_ne!(inode(&third), inode(&second), "what was edited is shared no more");
    assert_eq!(std::fs::read_to_string(&third).unwrap(), text);
    assert!(!space.run(&["report"]).stderr().contains(said));
}
