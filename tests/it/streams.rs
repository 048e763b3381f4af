//! What is written to standard output: data byte for byte, and text as wide as its reader.
#![expect(clippy::disallowed_methods, reason = "a test makes a grader executable")]

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};

/// Every character that a stream for people would drop, and those that XML forbids.
const ODD: &str = "a\u{7f}b\u{80}c\u{85}d\u{9b}31me\u{9f}f\u{1b}[31mg\u{0}h\u{fffe}i";

const SUITE: &str = "\
name: odd
dataset: data.jsonl
graders:
  same: {kind: tool, function: contains}
  judged: {kind: rubric, prompt: 'Is {submission} right?', model: judge-1, endpoint: test}
";

fn rows(output: &str) -> String {
    jsonl([json!({"id": "s1", "input": "q", "output": output, "ground_truth": "yes"})])
}

fn judge() -> Judge {
    Judge::new(|number, _| {
        let score = if number == 0 { 0.5 } else { 1.0 };
        Answer::text(&json!({"score": score, "rationale": ODD}).to_string())
    })
}

/// A run over odd texts, and one before it over others.
fn ran_twice() -> Space {
    let (judge, space) =
        (judge(), Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows("x"))]));
    for output in ["x", ODD] {
        space.write("data.jsonl", rows(output));
        assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    }
    space
}

fn stdout(space: &Space, args: &[&str]) -> String {
    let ran = space.run(args);
    assert!(ran.code() < 2, "{}", ran.shown());
    String::from_utf8(ran.0.stdout).unwrap()
}

#[test]
fn json_on_standard_output_has_the_bytes_of_the_record() {
    let space = ran_twice();
    let results = space.record("results.jsonl");
    let frozen = ["run", "suite.yaml", "--frozen", "--format"];
    assert_eq!(stdout(&space, &[&frozen[..], &["jsonl"]].concat()), results);
    let whole = stdout(&space, &[&frozen[..], &["json"]].concat());
    assert!(whole.contains(results.trim_end()), "{whole:?}");
    let value: Value = serde_json::from_str(&whole).unwrap();
    let result = &value["results"][0];
    assert_eq!(result["submissions"]["same"], ODD);
    assert_eq!(result["grades"]["judged"]["rationale"], ODD);
}

#[test]
fn every_json_of_a_command_says_what_was_recorded() {
    let space = ran_twice();
    let explained = stdout(&space, &["explain", "suite.yaml", "s1", "--json"]);
    let holds = |text: &str, what: &str| {
        serde_json::from_str::<Value>(text).unwrap();
        let quoted = serde_json::to_string(ODD).unwrap();
        assert!(text.contains(quoted.trim_matches('"')), "{what}: {text:?}");
    };
    holds(&explained, "explain");
    let runs = space.names(".evalrs/runs");
    holds(&stdout(&space, &["diff", &runs[0], &runs[1], "--json"]), "diff");
    space.write("suite.yaml", SUITE.replace("name: odd", r#"name: "odd\x7f\x9b\x1b[31m""#));
    let planned: Value =
        serde_json::from_str(&stdout(&space, &["plan", "suite.yaml", "--json"])).unwrap();
    assert_eq!(planned["suite"], "odd\u{7f}\u{9b}\u{1b}[31m");
}

#[test]
#[cfg(unix)]
fn graded_records_are_passed_on_unchanged() {
    let space = Space::new(&[
        ("records.jsonl", &jsonl([json!({"id": "a", "input": "q", "output": ODD})])),
        ("grade.sh", "#!/bin/sh\ncat > /dev/null\necho '{\"pass\": true, \"score\": 1}'\n"),
    ]);
    let made = std::process::Command::new("chmod").arg("+x").arg(space.path("grade.sh")).status();
    assert!(made.unwrap().success());
    let args = ["grade", "records.jsonl", "--grader", "./grade.sh"];
    let piped = stdout(&space, &args);
    stdout(&space, &[&args[..], &["-o", "out.jsonl"]].concat());
    assert_eq!(piped, space.read("out.jsonl"));
    assert_eq!(serde_json::from_str::<Value>(&piped).unwrap()["output"], ODD);
}

#[test]
fn documents_hold_what_their_format_allows() {
    let space = ran_twice();
    let frozen = ["run", "suite.yaml", "--frozen", "--format"];
    let xml = stdout(&space, &[&frozen[..], &["junit"]].concat());
    assert!(xml.contains("a\u{7f}b\u{80}c\u{85}d\u{9b}31me\u{9f}f\u{fffd}[31mg\u{fffd}h\u{fffd}i"));
    for format in ["markdown", "github"] {
        let text = stdout(&space, &[&frozen[..], &[format]].concat());
        assert!(text.contains("abc") && !text.contains(['\u{7f}', '\u{9b}', '\u{1b}']), "{text:?}");
    }
}
