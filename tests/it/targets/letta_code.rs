//! Letta's coding agent as a target, by a command line that answers as it does.

use serde_json::{Value, json};

use crate::programs::executable;
use crate::space::{Ran, Space, has, jsonl};

/// Notes how it was called, and answers in the events of the real one.
const LETTA: &str = r#"#!/usr/bin/env python3
import json, os, sys
text = sys.stdin.read().strip()
noted = {"arguments": sys.argv[1:], "folder": os.getcwd(), "text": text,
         "key": os.environ.get("LETTA_API_KEY"), "url": os.environ.get("LETTA_BASE_URL")}
with open(os.environ["NOTES"], "a") as notes:
    notes.write(json.dumps(noted) + "\n")
def tell(**event):
    print(json.dumps(event))
tell(type="system", subtype="init", agent_id="agent-7", model="m", tools=["Edit"])
if text == "fail":
    tell(type="result", subtype="error", result=None, stop_reason="llm_api_error")
    sys.exit("the model is not there")
call = {"name": "Edit", "arguments": json.dumps({"path": "a.txt"}), "tool_call_id": "call-1"}
tell(type="message", message_type="reasoning_message", reasoning="I ")
tell(type="message", message_type="reasoning_message", reasoning="edit.")
tell(type="message", message_type="tool_call_message", tool_call=call)
with open("a.txt", "w") as file:
    file.write(text)
tell(type="message", message_type="tool_return_message", tool_call_id="call-1", status="success", tool_return="done")
tell(type="message", message_type="assistant_message", content="I did: ")
tell(type="message", message_type="assistant_message", content=text)
tell(type="result", subtype="success", agent_id="agent-7", result="I did: " + text,
     usage={"prompt_tokens": 20, "completion_tokens": 3})
"#;

const SUITE: &str = "
name: code
dataset: data.jsonl
target:
  kind: letta_code
  working_dir: sandbox
  base_url: http://letta.example
  allowed_tools: [Edit, Read]
  model_handles: [anthropic/one]
  env: [NOTES]
  timeout: 20
graders:
  said: {kind: tool, function: contains, extractor: last_assistant}
  edits: {kind: tool, function: tool_called, config: {name: Edit}}
  argued: {kind: tool, function: contains, extractor: tool_arguments, extractor_config: {tool_name: Edit}}
";

/// A space with that command line; none where nothing runs it.
fn space(suite: &str, inputs: &[Value]) -> Option<Space> {
    let rows = inputs.iter().map(|input| json!({"input": input, "ground_truth": "a"}));
    has("python3").then(|| {
        let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", &jsonl(rows))]);
        space.write("bin/letta", LETTA);
        executable(&space, "bin/letta");
        space
    })
}

fn run(space: &Space, args: &[&str]) -> Ran {
    let mut command = space.command(&[&["run", "suite.yaml", "--quiet"], args].concat());
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", space.path("bin").display()));
    command.env("NOTES", space.path("notes")).env("LETTA_API_KEY", "sk-let-0123456789");
    Ran(command.output().unwrap())
}

fn noted(space: &Space) -> Vec<Value> {
    let notes = std::fs::read_to_string(space.path("notes")).unwrap_or_default();
    notes.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_coding_agent_is_told_everything_at_once_in_a_folder_of_its_model() {
    let Some(space) = space(SUITE, &[json!(["make a", "and b"])]) else { return };
    let ran = run(&space, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let noted = noted(&space);
    let [call] = &noted[..] else { panic!("{noted:?}") };
    let expected = "--output-format stream-json --new-agent --yolo --allowedTools Edit,Read -p --model anthropic/one";
    assert_eq!(call["arguments"], json!(expected.split(' ').collect::<Vec<_>>()));
    assert_eq!(call["text"], "make a\nand b");
    assert!(call["folder"].as_str().unwrap().ends_with("/sandbox/one"), "{call}");
    assert_eq!(
        (&call["key"], &call["url"]),
        (&json!("sk-let-0123456789"), &json!("http://letta.example"))
    );
    assert_eq!(space.read("sandbox/one/a.txt"), "make a\nand b");
    let result: Value = serde_json::from_str(&space.record("results.jsonl")).unwrap();
    assert_eq!(result["submission"], "I did: make a\nand b");
    for grader in ["said", "edits", "argued"] {
        assert_eq!(result["grades"][grader]["pass"], true, "{grader}: {result}");
    }
    let facts: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    assert_eq!(facts["target"]["spent"]["input"], 20, "{facts}");
    assert!(!space.stored_lines().join("\n").contains("sk-let"));
    assert_eq!(run(&space, &["--offline"]).code(), 0);
    // What it may do decides what it does.
    let suite = space.read("suite.yaml").replace("[Edit, Read]", "[Edit]");
    space.write("suite.yaml", suite);
    assert_eq!(run(&space, &[]).code(), 0);
    assert_eq!(super::conversations(&space), [1, 0, 1, 0]);
}

#[test]
fn a_coding_agent_that_fails_is_an_error_that_says_why() {
    let suite = SUITE.replace("working_dir: sandbox", "workspace: true, permission_mode: plan");
    let suite =
        suite.replace("workspace: true, permission_mode", "workspace: true\n  permission_mode");
    let Some(space) = space(&suite, &[json!("fail")]) else { return };
    let ran = run(&space, &[]);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    let result: Value = serde_json::from_str(&space.record("results.jsonl")).unwrap();
    let error = &result["grades"]["said"]["error"];
    assert_eq!(error["kind"], "target_failed");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("without a result: the model is not there"), "{message}");
    let arguments = noted(&space)[0]["arguments"].to_string();
    assert!(arguments.contains(r#""--permission-mode","plan""#), "{arguments}");
    assert!(!arguments.contains("--yolo"), "{arguments}");
}
