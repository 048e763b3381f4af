//! What an agent gives as its output is its answer, whichever way the conversation came in; and what it fails at is no
//! answer, whoever runs it.

use serde_json::{Value, json};

use crate::headless;
use crate::programs::executable;
use crate::space::{Space, has, jsonl};

const GRADERS: &str = "graders:\n  right: {kind: tool, function: contains}\n  last: {kind: tool, function: contains, extractor: last_assistant}\n  output: {kind: tool, function: contains, extractor: final_output}\n";
const ROW: &str = "{\"id\": \"a\", \"input\": \"2+2?\", \"ground_truth\": \"4\"}\n";

/// The submission and the scores of the one sample.
fn graded(space: &Space) -> Value {
    let line: Value = serde_json::from_str(space.record("results.jsonl").trim()).unwrap();
    let score = |name: &str| line["grades"][name]["score"].clone();
    json!([line["submission"], score("right"), score("last"), score("output")])
}

#[test]
fn the_output_of_an_agent_is_graded_and_not_what_it_said_on_the_way() {
    if !has("python3") {
        return;
    }
    let thought = json!({"event": "step", "role": "assistant", "content": "Let me think."});
    let call = json!({"event": "step", "role": "assistant", "content": "", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}]});
    let step =
        json!({"event": "step", "type": "message", "content": "Let me think.", "timestamp": 1});
    for steps in [vec![&thought], vec![&call], vec![&thought, &call], vec![&step]] {
        let lines: Vec<String> = steps.iter().map(ToString::to_string).collect();
        let printed = format!("{}\n{}\n", lines.join("\n"), json!({"output": "The answer is 4."}));
        let list: Vec<Value> = steps.iter().map(|step| (*step).clone()).collect();
        let given = json!({"trajectory": list, "output": "The answer is 4."});
        let recorded = json!({"id": "a", "input": "2+2?", "ground_truth": "4", "messages": list, "output": "The answer is 4."});
        for (target, row) in [
            ("target: {kind: command, command: [python3, agent.py]}\n", ROW.to_owned()),
            ("target: {kind: function, path: 'f.py:run'}\n", ROW.to_owned()),
            ("", jsonl([recorded])),
        ] {
            let space = Space::new(&[
                ("suite.yaml", &format!("name: x\ndataset: d.jsonl\n{target}{GRADERS}")),
                ("d.jsonl", &row),
                ("printed", &printed),
                ("given", &given.to_string()),
                ("agent.py", "import sys\nsys.stdout.write(open('printed').read())\n"),
                ("f.py", "import json\n\ndef run(task):\n    return json.load(open('given'))\n"),
            ]);
            let ran = space.run(&["run", "suite.yaml"]);
            assert_eq!(ran.code(), 0, "{target}: {}", ran.shown());
            assert_eq!(graded(&space), json!(["The answer is 4.", 1.0, 1.0, 1.0]), "{target}");
        }
    }
}

/// Stands for Claude Code, whose result is not what it said last.
const CLAUDE: &str = r#"#!/usr/bin/env python3
import json, sys
said = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Done with it."}]}}
prompt = sys.argv[sys.argv.index("-p") + 1]
print(json.dumps(said))
if prompt == "2+2?":
    print(json.dumps({"type": "result", "subtype": "success", "result": "The answer is 4."}))
elif prompt == "turns":
    print(json.dumps({"type": "result", "subtype": "error_max_turns", "is_error": False}))
elif prompt == "error":
    print(json.dumps({"type": "result", "subtype": "error_during_execution", "is_error": True}))
    sys.exit(1)
elif prompt == "code":
    sys.exit("no network")
"#;

fn with_claude(files: &[(&str, &str)]) -> Space {
    let space = Space::new(&[&[("bin/claude", CLAUDE)], files].concat());
    executable(&space, "bin/claude");
    space
}

#[test]
fn one_session_has_one_verdict_live_and_captured() {
    if !has("python3") {
        return;
    }
    let live = format!(
        "name: x\ndataset: d.jsonl\ntarget: {{kind: headless, adapter: claude-code}}\n{GRADERS}"
    );
    let captured = format!("name: x\ndataset: captured.jsonl\n{GRADERS}");
    let prompts = "{\"id\": \"a\", \"input\": \"2+2?\", \"hint\": \"4\"}\n";
    let space = with_claude(&[
        ("live.yaml", &live),
        ("captured.yaml", &captured),
        ("d.jsonl", ROW),
        ("prompts.jsonl", prompts),
    ]);
    let ran = headless::run(&space, &["run", "live.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let expected = json!(["The answer is 4.", 1.0, 1.0, 1.0]);
    assert_eq!(graded(&space), expected);
    let args = ["capture", "prompts.jsonl", "-s", "claude-code", "-o", "captured.jsonl"];
    let ran = headless::run(&space, &args);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let ran = space.run(&["run", "captured.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(graded(&space), expected);
}

#[test]
fn what_an_agent_fails_at_is_an_error_of_its_record() {
    if !has("python3") {
        return;
    }
    let prompts = ["2+2?", "turns", "error", "code"];
    let prompts = prompts.map(|input| json!({"id": input, "input": input, "hint": "4"}));
    let space = with_claude(&[
        ("prompts.jsonl", &jsonl(prompts)),
        (
            "grader.py",
            "#!/usr/bin/env python3\nimport json\nprint(json.dumps({'pass': True, 'score': 1}))\n",
        ),
    ]);
    executable(&space, "grader.py");
    let run = |command: &str, more: &[&str]| {
        let args = [command, "prompts.jsonl", "-s", "claude-code", "-g", "grader.py"];
        let ran = headless::run(&space, &[&args, more].concat());
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        let records = ran.stdout();
        let records = records.lines().map(|line| serde_json::from_str(line).unwrap());
        (records.collect::<Vec<Value>>(), ran.stderr())
    };
    let (records, stderr) = run("capture", &[]);
    let told = |record: &Value| {
        json!([
            record["output"],
            record["trajectory"].as_array().unwrap().len(),
            record["errors"],
            record["score"]["pass"]
        ])
    };
    let failed = "the agent reported an error: Done with it.";
    let code = "the agent exited with code 1 without a result: no network";
    assert_eq!(
        records.iter().map(told).collect::<Vec<_>>(),
        [
            json!(["The answer is 4.", 1, null, true]),
            json!(["Done with it.", 1, [failed], null]),
            json!(["Done with it.", 1, [failed], null]),
            json!(["Done with it.", 1, [code], null]),
        ]
    );
    assert_eq!(stderr.matches("warning: ").count(), 3, "{stderr}");
    let (records, _) = run("trials", &["-k", "1"]);
    let told = |record: &Value| {
        let trial = &record["trials"][0];
        json!([trial["output"], trial["pass"], trial["reasoning"], record["passRate"]])
    };
    assert_eq!(told(&records[0]), json!(["The answer is 4.", true, null, 1]));
    assert_eq!(told(&records[2]), json!(["Done with it.", false, format!("Error: {failed}"), 0]));
    assert_eq!(told(&records[3]), json!(["Done with it.", false, format!("Error: {code}"), 0]));
    // A run says the same.
    space.write("suite.yaml", format!("name: x\ndataset: prompts.jsonl\ntarget: {{kind: headless, adapter: claude-code}}\n{GRADERS}"));
    let ran = headless::run(&space, &["run", "suite.yaml"]);
    let results = space.record("results.jsonl");
    let kinds: Vec<Value> = results
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["grades"]["right"]["error"]["kind"].clone()
        })
        .collect();
    let failed = json!("target_failed");
    assert_eq!(kinds, [Value::Null, failed.clone(), failed.clone(), failed], "{}", ran.shown());
}
