//! Tests of adapters: what is started, and what lines of real formats become.

use serde_json::{Value, json};

use super::path::EventPath;
use super::turn::{TurnOutput, TurnReader};
use super::{Adapter, BUILT_IN, steps};

fn built_in(name: &str) -> Adapter {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name).unwrap();
    Adapter::read(text).unwrap_or_else(|problem| panic!("{name}: {problem}"))
}

/// An adapter with the members that must be there, and these.
pub(super) fn adapter(members: &Value) -> Result<Adapter, String> {
    let mut adapter = json!({
        "version": 1,
        "name": "a",
        "command": ["agent"],
        "sessionMode": "stream",
        "prompt": {"flag": "-p"},
        "output": {"flag": "", "value": ""},
        "result": {"matchPath": "$.type", "matchValue": "result", "contentPath": "$.text"},
    });
    for (name, value) in members.as_object().unwrap() {
        adapter[name] = value.clone();
    }
    Adapter::read(&adapter.to_string())
}

fn turn(adapter: &Adapter, lines: &[Value]) -> TurnOutput {
    let mut reader = TurnReader::new(adapter);
    for (line, at) in lines.iter().zip((0..).step_by(10)) {
        if reader.line(&line.to_string(), at) {
            break;
        }
    }
    reader.finish()
}

#[test]
fn adapters_are_read_or_refused_with_the_place() {
    for (members, expected) in [
        (json!({}), ""),
        (json!({"version": 1.0, "prompt": {"flag": "", "stdin": true}, "unknown": 1}), ""),
        (json!({"version": 2}), "version 2 is not known; expected 1 at line 1 column"),
        (json!({"sessionMode": "other"}), "unknown variant `other`"),
        (json!({"prompt": {"flag": "-p", "stdin": true}}), "choose one"),
        (json!({"result": {}}), "missing field `matchPath`"),
        (
            json!({"outputEvents": [{"match": {"path": "$.a", "value": "x"}, "emitAs": "song"}]}),
            "unknown variant `song`",
        ),
    ] {
        let problem = adapter(&members).err().unwrap_or_default();
        assert!(problem.contains(expected), "{members}: {problem}");
        assert_eq!(problem.is_empty(), expected.is_empty(), "{members}: {problem}");
    }
    for (name, _) in BUILT_IN {
        assert_eq!(built_in(name).name, name);
    }
}

#[test]
fn paths_find_what_they_should() {
    let event = json!({"a": {"b": [{"c": 1}, "x", null]}, "n": null, "[0]": "odd", "t": true});
    for (path, expected) in [
        ("$.a.b[0].c", json!(1)),
        ("$.a.b.1", json!("x")),
        ("$.a..b[1]", json!("x")),
        ("$.a.b[*].c.d", json!([{"c": 1}, "x", null])),
        ("$.a.b[2]", Value::Null),
        ("$.a.b[9]", Value::Null),
        ("$.a.b[-1]", Value::Null),
        ("$.a[*]", Value::Null),
        ("$.n", Value::Null),
        ("a.b", Value::Null),
        ("'$.a'", json!("$.a")),
        ("$.t", json!(true)),
    ] {
        let found = EventPath::from(path.to_owned());
        assert_eq!(found.find(&event).unwrap_or(&Value::Null), &expected, "{path}");
    }
    let whole = EventPath::from("$.".to_owned());
    assert_eq!(whole.find(&event), Some(&event));
    assert!(
        !EventPath::from("$.t".to_owned()).matches(&event, "true"),
        "only text is equal to text"
    );
    assert!(EventPath::from("$.t".to_owned()).matches(&event, "*"));
}

fn claude(content: &Value) -> Value {
    json!({"type": "assistant", "session_id": "s", "message": {"content": content}})
}

#[test]
fn claudes_nested_blocks_are_all_told() {
    let lines = [
        json!({"type": "system", "subtype": "init", "session_id": "s"}),
        claude(&json!([
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"p": 1}},
            {"type": "tool_use", "id": "t2", "name": "Read", "input": {"p": 2}},
        ])),
        json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t2", "is_error": true, "content": "no such file"},
            {"type": "text", "text": "a note of the harness"},
        ]}}),
        json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "1"}]},
        ]}}),
        claude(&json!("plain")),
        json!({"type": "result", "result": "Done.", "total_cost_usd": 0.5, "usage": {
            "input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5}}),
        claude(&json!([{"type": "text", "text": "after the result"}])),
    ];
    let output = turn(&built_in("claude-code"), &lines);
    assert_eq!((output.answer.as_str(), output.session_id.as_deref()), ("Done.", Some("s")));
    let usage = output.usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.cost.unwrap().dollars()), (7, 5, 0.5));
    assert_eq!(
        Value::from(steps(&output.updates)),
        json!([
            {"type": "thought", "content": "hm", "timestamp": 10},
            {"type": "message", "content": "I look.", "timestamp": 10},
            {"type": "tool_call", "name": "Read", "status": "completed", "input": {"p": 1}, "timestamp": 10,
                "output": [{"type": "text", "text": "1"}], "duration": 20},
            {"type": "tool_call", "name": "Read", "status": "failed", "input": {"p": 2}, "timestamp": 10,
                "output": "no such file", "duration": 10},
            {"type": "message", "content": "plain", "timestamp": 40},
        ])
    );
}

#[test]
fn geminis_chunks_are_one_message() {
    let message = |role: &str, text: &str| json!({"type": "message", "role": role, "content": text, "delta": true});
    let lines = [
        json!({"type": "init", "session_id": "s", "model": "gemini"}),
        message("user", "PROMPT"),
        message("assistant", "Let me "),
        message("assistant", "look."),
        json!({"type": "tool_use", "tool_name": "ls", "tool_id": "c1", "parameters": {"d": "."}}),
        json!({"type": "tool_result", "tool_id": "c1", "status": "error", "error": {"type": "x", "message": "denied"}}),
        message("assistant", "No."),
        json!({"type": "result", "status": "success", "stats": {"input_tokens": 11, "output_tokens": 2}}),
    ];
    let output = turn(&built_in("gemini-cli"), &lines);
    assert_eq!(output.answer, "Let me look.\nNo.");
    assert_eq!(output.usage.map(|usage| (usage.input, usage.output)), Some((11, 2)));
    assert_eq!(
        Value::from(steps(&output.updates)),
        json!([
            {"type": "message", "content": "Let me look.", "timestamp": 20},
            {"type": "tool_call", "name": "ls", "status": "failed", "input": {"d": "."}, "timestamp": 40,
                "output": "denied", "duration": 10},
            {"type": "message", "content": "No.", "timestamp": 60},
        ])
    );
}

#[test]
fn codexs_items_are_calls_messages_and_plans() {
    let item = |event: &str, item: Value| json!({"type": event, "item": item});
    let shell = |status: &str, output: &str| json!({"id": "i1", "type": "command_execution", "command": "ls", "status": status, "aggregated_output": output});
    let lines = [
        json!({"type": "thread.started", "thread_id": "th"}),
        item("item.started", shell("in_progress", "")),
        item(
            "item.updated",
            json!({"id": "i2", "type": "todo_list", "items": [{"text": "x", "completed": false}]}),
        ),
        item("item.completed", shell("completed", "a.txt")),
        item("item.completed", json!({"id": "i3", "type": "agent_message", "text": "One file."})),
        json!({"type": "turn.completed", "usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 1}}),
    ];
    let adapter = built_in("codex");
    let output = turn(&adapter, &lines);
    assert_eq!(output.answer, "One file.");
    assert_eq!(
        Value::from(steps(&output.updates)),
        json!([
            {"type": "tool_call", "name": "command_execution", "status": "completed", "input": "ls", "output": "a.txt",
                "timestamp": 10, "duration": 20},
            {"type": "plan", "entries": [{"text": "x", "completed": false}], "timestamp": 20},
            {"type": "message", "content": "One file.", "timestamp": 40},
        ])
    );
}

#[test]
fn answers_without_an_id_belong_to_the_oldest_open_call_of_the_tool() {
    let mapping = json!([{
        "match": {"path": "$.kind", "value": "tool"},
        "emitAs": "tool_call",
        "extract": {"title": "$.name", "status": "$.status"},
    }]);
    let adapter = adapter(&json!({"outputEvents": mapping})).unwrap();
    let tool = |name: &str, status: &str| json!({"kind": "tool", "name": name, "status": status});
    let lines = [
        tool("a", "pending"),
        tool("a", "pending"),
        tool("a", "failed"),
        tool("b", "completed"),
        tool("a", "in_progress"),
        tool("a", "completed"),
        json!({"kind": "tool"}),
    ];
    let output = turn(&adapter, &lines);
    let shown: Vec<String> = steps(&output.updates)
        .iter()
        .map(|step| {
            format!("{} {} {}", step["name"], step["status"], step["duration"]).replace('"', "")
        })
        .collect();
    assert_eq!(
        shown,
        ["a failed 20", "a completed 40", "b completed null", "unknown pending null"]
    );
    assert_eq!(output.answer, "");
}

#[test]
fn events_may_carry_their_own_types() {
    let types = json!({"typeField": "t", "typeValues": {"say": "message"}});
    let adapter =
        adapter(&json!({"outputMode": "passthrough", "passthroughTypeMap": types})).unwrap();
    let lines = [
        json!({"t": "say", "content": "one"}),
        json!({"t": "thought", "content": "two"}),
        json!({"t": "other", "content": "three"}),
        Value::Null,
        json!({"t": "tool_call", "name": "x", "status": "completed"}),
        json!("not an event"),
    ];
    let output = turn(&adapter, &lines);
    let kinds: Vec<String> =
        output.updates.iter().map(|(update, _)| format!("{:?}", update.kind)).collect();
    assert_eq!(kinds, ["Message", "Thought", "ToolCall"]);
    assert_eq!(output.answer, "one");
}

#[test]
fn a_real_claude_code_session_tells_its_calls() {
    let Some(text) =
        evalrs_test_data::text("agent-trajectories", "claude-code-2.0.25-stream.jsonl")
    else {
        return;
    };
    let adapter = built_in("claude-code");
    let mut reader = TurnReader::new(&adapter);
    let ended = text.lines().filter(|line| reader.line(line, 0)).count();
    let output = reader.finish();
    assert_eq!(ended, 1, "one result");
    let steps = steps(&output.updates);
    let calls: Vec<&Value> = steps.iter().filter(|step| step["type"] == "tool_call").collect();
    assert!(!calls.is_empty());
    assert!(
        calls.iter().all(|call| call["status"] != "pending" && call["name"] != "unknown"),
        "{calls:#?}"
    );
}

#[test]
fn results_say_that_a_turn_failed() {
    for (name, result, has_failed) in [
        ("claude-code", json!({"type": "result", "subtype": "success", "result": "a"}), false),
        ("claude-code", json!({"type": "result", "subtype": "success", "is_error": true}), true),
        (
            "claude-code",
            json!({"type": "result", "subtype": "error_max_turns", "is_error": false}),
            true,
        ),
        ("claude-code", json!({"type": "result", "subtype": 5, "is_error": "true"}), false),
        ("gemini-cli", json!({"type": "result", "status": "success"}), false),
        (
            "gemini-cli",
            json!({"type": "result", "status": "error", "error": {"message": "x"}}),
            true,
        ),
        ("codex", json!({"type": "turn.completed", "status": "error"}), false),
    ] {
        let output = turn(&built_in(name), std::slice::from_ref(&result));
        assert_eq!((output.has_result, output.has_failed), (true, has_failed), "{name} {result}");
    }
    for (path, has_failed) in
        [(json!("$.bad"), true), (json!(["$.no", "$.bad"]), true), (json!([]), false)]
    {
        let result = json!({"matchPath": "$.type", "matchValue": "result", "contentPath": "$.text", "failedPath": path});
        let adapter = adapter(&json!({"result": result})).unwrap();
        let output = turn(&adapter, &[json!({"type": "result", "bad": true})]);
        assert_eq!(output.has_failed, has_failed, "{path}");
    }
}
