//! Result directories of Letta Evals, written from runs and read back.

use serde_json::{Value, json};

use crate::letta::judge_file;
use crate::letta_server::{LettaServer, SyntaxReply};
use crate::space::{Ran, Space, jsonl, submission_of};

const SUITE: &str = "
name: letta
dataset: data.jsonl
target: {kind: letta_agent, agent_file: bot.af, model_handles: [a/b, c/d], timeout: 20}
graders:
  said: {kind: tool, function: contains, extractor: all_assistant}
  knows: {kind: tool, function: exact_match, extractor: memory_block, extractor_config: {block_label: human}}
gate: {kind: simple, metric_key: said, op: gte, value: 0.5}
";

fn space(suite: &str) -> Space {
    let mut file = judge_file();
    file["blocks"] = json!([{"id": "block-0", "label": "human", "value": "figs"}]);
    let row = |input: Value, truth: &str| json!({"input": input, "ground_truth": truth});
    let rows = [row(json!("figs"), "figs"), row(json!(["a", "b"]), "no"), row(json!("x"), "x")];
    let file = file.to_string();
    Space::new(&[("suite.yaml", suite), ("data.jsonl", &jsonl(rows)), ("bot.af", &file)])
}

#[track_caller]
fn run(space: &Space, server: &LettaServer, args: &[&str]) {
    let mut command = space.command(&[&["run", "suite.yaml", "--quiet"], args].concat());
    command.env("LETTA_BASE_URL", server.url());
    let ran = Ran(command.output().unwrap());
    assert_eq!(ran.code(), 0, "{}", ran.shown());
}

/// The verdicts of the last run: sample, model, trial, submission and grade of each grader.
fn verdicts(space: &Space) -> Vec<Value> {
    let lines = space.record("results.jsonl");
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let grade = |line: &Value, name: &str| {
        json!([
            submission_of(line, name),
            line["grades"][name]["score"],
            line["grades"][name]["rationale"]
        ])
    };
    let mut all: Vec<Value> = lines
        .map(|line| {
            let said = grade(&line, "said");
            json!([line["sample_id"], line["model"], line["trial"], said, grade(&line, "knows")])
        })
        .collect();
    all.sort_by_key(ToString::to_string);
    all
}

fn read(space: &Space, path: &str) -> Value {
    serde_json::from_str(&space.read(path)).unwrap()
}

#[test]
fn what_a_run_writes_as_letta_does_is_read_back_with_the_same_verdicts() {
    let server = LettaServer::new(|_, text| SyntaxReply::Text(format!("I say {text}")));
    let space = space(SUITE);
    run(&space, &server, &["--output", "out", "--layout", "letta"]);
    let before = verdicts(&space);
    assert_eq!(before.len(), 6);
    let line: Value =
        serde_json::from_str(space.read("out/results.jsonl").lines().nth(3).unwrap()).unwrap();
    let result = &line["result"];
    assert_eq!((&line["type"], &result["sample"]["id"]), (&json!("result"), &json!(1)));
    assert_eq!(result["sample"]["input"], json!(["a", "b"]));
    assert_eq!(result["trajectory"].as_array().unwrap().len(), 2);
    assert_eq!(result["model_name"], "c/d");
    assert_eq!(result["submission"], "I say a\nI say b");
    assert!(result["agent_id"].as_str().unwrap().starts_with("agent-"));
    assert_eq!(result["agent_usage"][0]["message_type"], "usage_statistics");
    let summary = read(&space, "out/summary.json");
    assert_eq!(summary["gates_passed"], true);
    assert_eq!(summary["metrics"]["total_attempted"], 6);
    assert_eq!(summary["metrics"]["per_model"][1]["model_name"], "c/d");
    let header = read(&space, "out/header.json");
    assert_eq!((&header["type"], &header["suite"]), (&json!("header"), &json!("letta")));
    assert_eq!(header["config"]["target"]["kind"], "letta_agent");
    let asked = server.asked().len();
    // Read back, and written from what was read.
    run(&space, &server, &["--cached", "out", "--output", "again", "--layout", "letta"]);
    assert_eq!(verdicts(&space), before);
    run(&space, &server, &["--cached", "again"]);
    assert_eq!(verdicts(&space), before);
    assert_eq!(server.asked().len(), asked);
    assert_eq!(read(&space, "again/summary.json"), summary);
}

#[test]
fn trials_are_runs_of_their_own() {
    let server = LettaServer::new(|at, text| SyntaxReply::Text(format!("{text} {at}")));
    let space = space(&SUITE.replace("gate:", "num_runs: 2\ngate:"));
    run(&space, &server, &["--output", "out", "--layout", "letta"]);
    let before = verdicts(&space);
    assert_eq!(before.len(), 12);
    for name in ["run_1", "run_2"] {
        assert_eq!(read(&space, &format!("out/{name}/summary.json"))["metrics"]["total"], 6);
    }
    let stats = read(&space, "out/aggregate_stats.json");
    assert_eq!((&stats["num_runs"], &stats["runs_passed"]), (&json!(2), &json!(2)));
    run(&space, &server, &["--cached", "out"]);
    assert_eq!(verdicts(&space), before);
}

#[test]
fn a_layout_needs_a_folder() {
    let ran = space(SUITE).run(&["run", "suite.yaml", "--layout", "letta"]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(ran.stderr().contains("--output <DIR>"), "{}", ran.stderr());
}
