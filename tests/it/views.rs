//! Views of records without a suite: `extract`, `format`, `summarize` and `balance`, as agent-eval-harness has them.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::space::{Ran, Running, Space, jsonl};

/// An adapter for an agent of one's own.
const ADAPTER: &str = r#"{
  "version": 1, "name": "mine", "command": ["mine"], "sessionMode": "stream",
  "prompt": {"flag": "-p"}, "output": {"flag": "", "value": ""},
  "outputEvents": [
    {"match": {"path": "$.kind", "value": "say"}, "emitAs": "message", "extract": {"content": "$.text"}},
    {"match": {"path": "$.kind", "value": "tool"}, "emitAs": "tool_call", "extract": {"title": "$.name", "status": "$.state"}}
  ],
  "result": {"matchPath": "$.kind", "matchValue": "end", "contentPath": "$.text"}
}"#;

fn raw(id: &str, lines: &[Value]) -> Value {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    json!({
        "id": id, "input": "q", "hint": "h", "metadata": {"category": "web"}, "rawLines": lines,
        "timing": {"start": 1000, "end": 1250, "total": 250},
    })
}

fn with_stdin(space: &Space, args: &[&str], stdin: &str) -> Ran {
    let mut command = space.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may end without reading all of it.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    Running::of(child).finish()
}

fn space() -> Space {
    let tool = |state: &str| json!({"kind": "tool", "name": "Read", "state": state});
    let claude = json!({"type": "assistant", "message": {"content": [
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]}});
    let answered = json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "t", "content": "a.txt"}]}});
    Space::new(&[
        ("mine.json", ADAPTER),
        (
            "raw.jsonl",
            &jsonl([
                raw(
                    "a",
                    &[tool("pending"), tool("failed"), json!({"kind": "say", "text": "no file"})],
                ),
                raw(
                    "b",
                    &[json!({"kind": "say", "text": "hm"}), json!({"kind": "end", "text": "done"})],
                ),
            ]),
        ),
        (
            "claude.jsonl",
            &jsonl([raw("c", &[claude, answered, json!({"type": "result", "result": "one"})])]),
        ),
    ])
}

#[test]
fn raw_output_becomes_results_and_these_become_views() {
    let space = space();
    let ran =
        space.run(&["extract", "raw.jsonl", "-s", "mine.json", "-o", "out.jsonl", "--progress"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 0
    --- stdout
    --- stderr
    extracted 2 records
    ");
    insta::assert_snapshot!(space.read("out.jsonl"), @r#"
    {"id":"a","input":"q","hint":"h","output":"no file","trajectory":[{"type":"tool_call","name":"Read","status":"pending","timestamp":0},{"type":"tool_call","name":"Read","status":"failed","timestamp":0},{"type":"message","content":"no file","timestamp":0}],"toolErrors":true,"metadata":{"category":"web"},"timing":{"start":1000,"end":1250,"total":250}}
    {"id":"b","input":"q","hint":"h","output":"done","trajectory":[{"type":"message","content":"hm","timestamp":0}],"toolErrors":false,"metadata":{"category":"web"},"timing":{"start":1000,"end":1250,"total":250}}
    "#);
    let results = space.read("out.jsonl");
    let graded = results.replacen(
        "\"toolErrors\":true",
        "\"toolErrors\":true,\"score\":{\"pass\":false,\"score\":0.125}",
        1,
    );
    space.write("graded.jsonl", &graded);
    insta::assert_snapshot!(space.run(&["format", "graded.jsonl", "--style", "csv"]).shown(), @r#"
    exit: 0
    --- stdout
    id,input,hint,output,tool_errors,duration_ms,pass,score,reasoning
    "a","q","h","no file",true,250,false,0.125,""
    "b","q","h","done",false,250,,,
    --- stderr
    "#);
    insta::assert_snapshot!(space.run(&["summarize", "graded.jsonl"]).shown(), @r#"
    exit: 0
    --- stdout
    {"id":"a","input":"q","output":"no file","toolCalls":["Read","Read"],"duration":250}
    {"id":"b","input":"q","output":"done","toolCalls":[],"duration":250}
    --- stderr
    "#);
    insta::assert_snapshot!(space.run(&["balance", "out.jsonl", "-o", "balance.json"]).shown(), @r"
    exit: 0
    --- stdout
    --- stderr
      web     2  100%  ████████████████████
    - Category 'web' has 100% of cases - consider diversifying
    - Categories with < 3 cases may not be reliable: web
    - Consider expanding test set (currently 2 cases) for more statistical significance
    ");
    let analysis: Value = serde_json::from_str(&space.read("balance.json")).unwrap();
    assert_eq!(analysis["categories"], json!([{"name": "web", "count": 2, "percentage": 100}]));
    let markdown = space.run(&["format", "graded.jsonl", "-f", "markdown"]).stdout();
    assert!(
        markdown.contains("- **Pass rate**: 0/1 (0.0%)\n- **Average score**: 0.125"),
        "{markdown}"
    );
    let summaries = space.run(&["summarize", "graded.jsonl", "-m"]).stdout();
    assert!(summaries.contains("2. [TOOL:Read] -> failed [→a-step-2]"), "{summaries}");
}

#[test]
fn adapters_are_found_by_name_and_records_may_be_piped() {
    let space = space();
    let ran =
        with_stdin(&space, &["extract", "--schema", "claude-code"], &space.read("claude.jsonl"));
    let record: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(record["output"], "one");
    assert_eq!(record["trajectory"][0]["output"], "a.txt");
    assert_eq!(record["trajectory"][0]["status"], "completed");
    let lines = with_stdin(&space, &["format"], &ran.stdout());
    assert_eq!((lines.code(), lines.stdout()), (0, ran.stdout()), "the same lines again");
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_written() {
    let space = space();
    space.write("bad.json", "{\"version\": 1,\n \"name\": 5}");
    space.write("mixed.jsonl", "{\"rawLines\": []}\n\n{\"id\": \"b\"}\n");
    space.write("untimed.jsonl", "{\"id\":\"a\",\"input\":\"q\",\"output\":\"o\"}\n");
    for (line, expected) in [
        ("extract raw.jsonl", "Error: --schema is required"),
        ("extract -s mine.json", "Error: No raw output provided"),
        ("extract nowhere.jsonl -s mine.json", "Error: cannot read `nowhere.jsonl`: there is no"),
        (
            "extract raw.jsonl -s no.json",
            "Error: Schema file not found: no.json (expected a file, or one of claude-code",
        ),
        (
            "extract raw.jsonl -s bad.json",
            "Error: Invalid schema: invalid type: integer `5`, expected a string at line 2",
        ),
        (
            "extract mixed.jsonl -s mine.json -o out",
            "Error: Invalid raw output at line 3: `rawLines` is missing",
        ),
        (
            "format untimed.jsonl -f xml",
            "Error: Invalid format style 'xml'. Must be: jsonl, markdown, csv",
        ),
        (
            "format untimed.jsonl -f csv -o out",
            "Error: Invalid result at line 1: `timing.total` is missing",
        ),
        ("format", "Error: No results provided"),
        ("summarize", "Error: results.jsonl path is required"),
        (
            "summarize untimed.jsonl -o out",
            "Error: Invalid result at line 1: `timing.start` and `timing.end` must be",
        ),
        ("balance", "Error: prompts.jsonl path is required"),
        ("balance raw.jsonl -t much", "expected a number of at least 0"),
        ("balance untimed.jsonl raw.jsonl --key", "a value is required"),
    ] {
        space.write("out", "old");
        let ran = with_stdin(&space, &line.split(' ').collect::<Vec<_>>(), "");
        assert_eq!((ran.code(), ran.stdout().as_str()), (1, ""), "{line}: {}", ran.stderr());
        assert!(ran.stderr().contains(expected), "{line}: {}", ran.stderr());
        assert_eq!(space.read("out"), "old", "{line}");
    }
}
