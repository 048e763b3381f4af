//! Tables of small recordings in every format, and the counts of real ones.

mod whole;
mod exchanged;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Message, MessageBody, Trajectory, TrajectoryFormat, detect, read};
use super::{anthropic, claude_code, letta, openai, steps};
use evalrs_test_data as test_data;

/// A trajectory as short text: one line a turn, `~` before what sub-agents did, `!` after failures.
pub(super) fn show(trajectory: &Trajectory) -> String {
    let message = |message: &Message| {
        let text = match &message.body {
            MessageBody::System(text) => format!("sys {text}"),
            MessageBody::User(text) => format!("user {text}"),
            MessageBody::Assistant(text) => format!("said {text}"),
            MessageBody::Reasoning(text) => format!("thought {text}"),
            MessageBody::ToolCall(call) => {
                format!(
                    "call {}({})#{}",
                    call.name,
                    call.arguments,
                    call.id.as_deref().unwrap_or("-")
                )
            }
            MessageBody::ToolReturn(answer) => {
                let mark = if answer.failed { "!" } else { "" };
                format!(
                    "return {}#{}{mark}",
                    answer.output,
                    answer.call_id.as_deref().unwrap_or("-")
                )
            }
            MessageBody::Other(value) => {
                let kind =
                    ["message_type", "type", "role"].iter().find_map(|key| value[*key].as_str());
                format!("other {}", kind.unwrap_or_default())
            }
        };
        format!("{}{text}", if message.subagent { "~" } else { "" })
    };
    let turn =
        |turn: &super::Turn| turn.messages.iter().map(message).collect::<Vec<_>>().join(" | ");
    trajectory.turns.iter().map(turn).collect::<Vec<_>>().join("\n")
}

#[track_caller]
pub(super) fn check(format: &'static TrajectoryFormat, value: &Value, expected: &[&str]) {
    assert_eq!(detect(value), Some(format), "{value}");
    let found = read(value, None).unwrap_or_else(|problem| panic!("{problem}: {value}"));
    assert_eq!(show(&found), expected.join("\n"), "{value}");
    check_letta(&found);
    assert_eq!(read(value, Some(format)), Ok(found), "the same if the format is named");
}

/// Checks that a trajectory as Letta messages reads as the same trajectory.
#[track_caller]
fn check_letta(trajectory: &Trajectory) {
    for include_subagents in [false, true] {
        let letta = trajectory.to_letta(include_subagents);
        let back = read(&letta, None).unwrap_or_else(|problem| panic!("{problem}: {letta}"));
        assert_eq!(detect(&letta), Some(&letta::FORMAT), "{letta}");
        assert_eq!(back.to_letta(true), letta, "the messages of all turns");
        assert_eq!(back.turns.len(), trajectory.turns.len());
        assert_eq!(known(&back, true), known(trajectory, include_subagents), "{letta}");
    }
}

/// What judges see of every message whose kind is known, without who of the target sent it.
fn known(trajectory: &Trajectory, include_subagents: bool) -> Vec<Value> {
    let shown = trajectory.to_json(include_subagents);
    let turns = shown.as_array().into_iter().flatten();
    let messages = turns.flat_map(|turn| turn.as_array().into_iter().flatten()).cloned();
    let mut messages: Vec<Value> = messages.filter(|message| message["role"] != "other").collect();
    for message in messages.iter_mut().filter_map(Value::as_object_mut) {
        message.remove("subagent");
    }
    messages
}

#[test]
fn reads_openai_chat() {
    let check = |value: Value, expected: &[&str]| check(&openai::FORMAT, &value, expected);
    check(json!([{"role": "user", "content": "hi"}]), &["user hi"]);
    check(
        json!([
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": {"y": [2]}}}]},
            {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "one"},
            {"role": "tool", "tool_call_id": "c2", "name": "g", "content": [{"type": "text", "text": "two"}], "is_error": true},
            {"role": "assistant", "content": "looking", "tool_calls": [{"id": "c3", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]},
            {"role": "user", "content": "more"},
            {"role": "assistant", "content": "", "refusal": "no", "tool_calls": null},
        ]),
        &[
            "sys be kind | user a b | call f({\"x\": 1})#c1 | call g({\"y\":[2]})#c2 | return one#c1 | return two#c2! | said looking | call sh(ls)#c3",
            "user more | said no",
        ],
    );
    check(
        json!({"messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "r"},
            {"role": "assistant", "reasoning_content": "hm", "content": "a"},
            {"role": "critic", "content": "x"},
        ]}),
        &["user q | call f({})#- | return r#- | thought hm | said a | other critic"],
    );
    check(
        json!([
            [{"role": "user", "content": "q"}, {"role": "user", "content": "again"}],
            [],
            [{"role": "assistant", "content": "a"}],
        ]),
        &["user q | user again", "", "said a"],
    );
}

#[test]
fn reads_anthropic_messages() {
    let check = |value: Value, expected: &[&str]| check(&anthropic::FORMAT, &value, expected);
    check(
        json!([
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "a"}, {"type": "text", "text": "b"},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"b": 1, "a": [2]}},
                {"type": "text", "text": "c"}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}], "is_error": true},
                {"type": "text", "text": "note"}]},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": [{"type": "text", "text": "next"}]},
            {"role": "assistant", "content": [
                {"type": "redacted_thinking", "data": "z"},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": {"type": "web_search_tool_result_error", "error_code": "e"}}]},
        ]),
        &[
            "user q | thought hm | said a b | call f({\"b\":1,\"a\":[2]})#t1 | said c | return x y#t1! | user note | said done",
            "user next | other redacted_thinking | call web_search({})#s1 | return {\"type\":\"web_search_tool_result_error\",\"error_code\":\"e\"}#s1!",
        ],
    );
}

#[test]
fn reads_claude_code_events() {
    let lines = [
        json!({"type": "system", "subtype": "init", "session_id": "s", "tools": []}),
        json!({"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "a"}]}, "parent_tool_use_id": null}),
        json!({"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "b"}]}}),
        json!({"type": "assistant", "message": {"id": "m1", "content": [{"type": "tool_use", "id": "t1", "name": "Task", "input": {}}]}}),
        json!({"type": "user", "message": {"role": "user", "content": "find it"}, "parent_tool_use_id": "t1"}),
        json!({"type": "assistant", "message": {"id": "m2", "content": [{"type": "tool_use", "id": "t2", "name": "Read", "input": {}}]}, "parent_tool_use_id": "t1"}),
        json!({"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": "c"}]}}),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}}),
        json!({"type": "user", "message": {"content": "hook"}, "isMeta": true}),
        json!({"type": "stream_event", "event": {}}),
        json!({"type": "result", "subtype": "success", "result": "c"}),
        json!({"type": "assistant", "message": {"id": "m1", "content": [{"type": "tool_use", "id": "t3", "name": "Bash", "input": {}}]}}),
        json!({"type": "result", "subtype": "success", "result": "only here"}),
        json!({"type": "user", "message": {"content": "next"}, "isSidechain": false}),
        json!({"type": "assistant", "message": {"id": "m9", "content": [{"type": "text", "text": "side"}]}, "isSidechain": true}),
        json!({"type": "result", "subtype": "error_max_turns"}),
    ];
    let expected = [
        "said a b | call Task({})#t1 | said c | ~user find it | ~call Read({})#t2 | return ok#t1 | other user | other stream_event",
        "call Bash({})#t3 | said only here",
        "user next | ~said side",
    ];
    check(&claude_code::FORMAT, &lines.iter().cloned().collect(), &expected);
    let text = lines.map(|line| line.to_string()).join("\r\n\n");
    check(&claude_code::FORMAT, &json!(format!("\u{feff}{text}\n")), &expected);
}

#[test]
fn claude_code_tells_time_and_cost_of_turns() {
    let result = |cost: f64| {
        json!({"type": "result", "subtype": "success", "result": "a", "duration_ms": 1500,
            "total_cost_usd": cost})
    };
    let totals = |events: Value| read(&events, None).unwrap().totals;
    let one = totals(json!([result(0.25)]));
    assert_eq!((one.duration_ms, one.cost_usd), (Some(1500.0), Some(0.25)));
    // Whether the second counts the first is not known.
    let two = totals(json!([result(0.25), result(0.5)]));
    assert_eq!((two.duration_ms, two.cost_usd), (Some(3000.0), None));
    let untold = totals(json!([result(0.25), {"type": "result", "subtype": "success"}]));
    assert_eq!((untold.duration_ms, untold.cost_usd), (None, None));
}

#[test]
fn reads_letta_messages() {
    let check = |value: Value, expected: &[&str]| check(&letta::FORMAT, &value, expected);
    let call = |name: &str| json!({"name": name, "arguments": "{\"a\":1}", "tool_call_id": name});
    check(
        json!([[
            {"message_type": "system_message", "id": "m", "date": "2025-10-22T00:05:29Z", "content": "s"},
            {"message_type": "user_message", "content": "q"},
            {"message_type": "user_message", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"message_type": "reasoning_message", "reasoning": "hm"},
            {"message_type": "hidden_reasoning_message", "state": "redacted", "hidden_reasoning": null},
            {"message_type": "tool_call_message", "tool_call": call("one")},
            {"message_type": "tool_call_message", "tool_call": call("first"), "tool_calls": [call("first"), call("second")]},
            {"message_type": "tool_call_message", "tool_call": call("old"), "tool_calls": []},
            {"message_type": "tool_call_message", "tool_calls": call("object")},
            {"message_type": "tool_return_message", "tool_return": "r", "status": "error", "tool_call_id": "one"},
            {"message_type": "tool_return_message", "tool_return": "r1", "status": "success", "tool_call_id": "first", "tool_returns": [
                {"tool_return": "r1", "status": "success", "tool_call_id": "first"},
                {"tool_return": "r2", "status": "error", "tool_call_id": "second"}]},
            {"message_type": "approval_request_message", "tool_call": call("never")},
            {"message_type": "assistant_message", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]},
            {"message_type": "assistant_message", "content": [{"type": "image"}, {"type": "text", "text": "z"}, {"type": "text", "text": null}]},
            {"message_type": "assistant_message", "content": ""},
        ], [{"message_type": "from_the_future", "anything": 1}], []]),
        &[
            "sys s | user q | user a b | thought hm | other hidden_reasoning_message | call one({\"a\":1})#one | call first({\"a\":1})#first | call second({\"a\":1})#second | call old({\"a\":1})#old | call object({\"a\":1})#object | return r#one! | return r1#first | return r2#second! | other approval_request_message | said x y | said z | said ",
            "other from_the_future",
            "",
        ],
    );
    check(
        json!([
            {"message_type": "assistant_message", "content": "welcome"},
            {"message_type": "user_message", "content": "q"},
            {"message_type": "assistant_message", "content": "a"},
            {"message_type": "user_message", "content": "q2"},
        ]),
        &["said welcome | user q | said a", "user q2"],
    );
    check(json!([]), &[]);
    check(json!([[], []]), &["", ""]);
}

#[test]
fn reads_steps_and_text() {
    check(
        &steps::FORMAT,
        &json!([
            {"type": "thought", "content": "hm", "timestamp": 1, "stepId": "s1"},
            {"type": "tool_call", "name": "f", "status": "pending", "timestamp": 2},
            {"type": "tool_call", "name": "g", "status": "completed", "input": {"a": [1, 2]}, "output": {"b": 1}, "duration": 3, "timestamp": 4},
            {"type": "tool_call", "name": "h", "status": "error", "input": "x", "timestamp": 5},
            {"type": "tool_call", "name": "i", "status": "failed", "output": "why", "timestamp": 6},
            {"type": "plan", "entries": [1], "timestamp": 7},
            {"type": "message", "content": "done", "timestamp": 8},
        ]),
        &[
            "thought hm | call f()#1 | call g({\"a\":[1,2]})#2 | return {\"b\":1}#2 | call h(\"x\")#3 | return #3! | call i()#4 | return why#4! | other plan | said done",
        ],
    );
    for text in ["", "plain", "[1, 2]", "{\"a\": 1}", "{\"type\": \"assistant\"}\nand more"] {
        check(&TrajectoryFormat::TEXT, &json!(text), &[&format!("said {text}")]);
    }
}

#[test]
fn problems_name_the_place() {
    let user = json!({"role": "user", "content": "q"});
    for (format, value, expected) in [
        (None, json!(7), "expected messages, turns, events, steps or text, found a number"),
        (
            None,
            json!([{"a": 1}]),
            "expected messages, turns, events, steps or text, found an array",
        ),
        (None, json!([user, 5]), "expected a chat message (an object) at `/1`, found a number"),
        (
            None,
            json!([user, {"role": "assistant", "tool_calls": [3]}]),
            "expected a tool call (an object) at `/1/tool_calls/0`, found a number",
        ),
        (
            None,
            json!([user, {"role": "assistant", "tool_calls": [{"id": "x"}]}]),
            "expected a function (an object) at `/1/tool_calls/0/function`, found nothing",
        ),
        (
            None,
            json!({"messages": [user, {"role": null}]}),
            "expected a role (a string) at `/messages/1/role`, found null",
        ),
        (
            Some(&openai::FORMAT),
            json!([{"role": "user", "content": 1}]),
            "expected a string or a list of content parts at `/0/content`, found a number",
        ),
        (
            Some(&anthropic::FORMAT),
            json!([{"role": "user", "content": [{"text": "x"}]}]),
            "expected a block type (a string) at `/0/content/0/type`, found nothing",
        ),
    ] {
        check_problem(format, &value, expected);
    }
}

#[test]
fn problems_name_the_place_in_other_formats() {
    for (format, value, expected) in [
        (
            &letta::FORMAT,
            json!([[{"message_type": "assistant_message", "content": [{"text": 5}]}]]),
            "expected a string at `/0/0/content/0/text`, found a number",
        ),
        (
            &letta::FORMAT,
            json!([[{"message_type": "action"}, {"message_type": "observation"}]]),
            "expected at least one message of a known kind, found an array",
        ),
        (
            &steps::FORMAT,
            json!([{"type": "action"}]),
            "expected at least one message of a known kind, found an array",
        ),
        (
            &letta::FORMAT,
            json!([{"message_type": "tool_call_message", "tool_calls": null}]),
            "expected a tool call (an object) at `/0/tool_call`, found nothing",
        ),
        (
            &letta::FORMAT,
            json!([[], {"message_type": "x"}]),
            "expected a list of messages at `/1`, found an object",
        ),
        (
            &steps::FORMAT,
            json!([{"type": "tool_call"}]),
            "expected the name of a tool at `/0/name`, found nothing",
        ),
        (
            &claude_code::FORMAT,
            json!("no events"),
            "expected lines of Claude Code events, found a string",
        ),
        (
            &claude_code::FORMAT,
            json!([{"type": "assistant", "message": {"content": [1]}}]),
            "expected a content block (an object) at `/0/message/content/0`, found a number",
        ),
        (&TrajectoryFormat::TEXT, json!([]), "expected text, found an array"),
    ] {
        check_problem(Some(format), &value, expected);
    }
}

/// Agents of others call something else `message_type`.
#[test]
fn only_kinds_that_letta_knows_make_a_trajectory_lettas() {
    let messages = json!([
        {"role": "user", "message_type": "observation", "content": "go"},
        {"role": "assistant", "message_type": "action", "content": "I open it.", "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "open", "arguments": "{}"}}]},
        {"role": "tool", "message_type": "observation", "tool_call_ids": ["1"], "content": "opened"},
    ]);
    assert_eq!(super::detect(&messages), Some(&openai::FORMAT));
    let read = read(&messages, None).expect("readable");
    assert_eq!(read.tool_calls(false).count(), 1);
    for (value, found) in [
        (json!([{"message_type": "action", "content": "x"}]), "an array"),
        (json!([{"role": "critic", "content": "x"}]), "an array"),
        (json!({"messages": [{"role": "critic", "content": "x"}]}), "an object"),
    ] {
        let problem = super::read(&value, None).expect_err("nothing understood").to_string();
        assert!(problem.ends_with(&format!("found {found}")), "{problem}");
    }
    let known = json!([[{"message_type": "approval_request_message"}]]);
    assert!(super::read(&known, None).is_ok());
}

#[track_caller]
fn check_problem(format: Option<&TrajectoryFormat>, value: &Value, expected: &str) {
    let problem = read(value, format).expect_err("a problem");
    assert_eq!(problem.to_string(), expected, "{value}");
}

#[test]
fn the_shown_shapes_hold_no_id_and_no_time() {
    let recording = |salt: &str| {
        let id = |name: &str| format!("{name}-{salt}");
        json!([
            {"message_type": "user_message", "id": id("m"), "date": salt, "content": "q"},
            {"message_type": "approval_request_message", "id": id("m"), "step_id": salt, "tool_call": {"name": "n", "arguments": "{}", "tool_call_id": id("x")}},
            {"message_type": "tool_call_message", "id": id("m"), "tool_calls": [
                {"name": "f", "arguments": "{\"a\": 1}", "tool_call_id": id("a")},
                {"name": "g", "arguments": "oops", "tool_call_id": id("b")},
                {"name": "h", "arguments": "", "tool_call_id": id("c")}]},
            {"message_type": "tool_return_message", "tool_call_id": id("b"), "tool_return": "2", "status": "error"},
            {"message_type": "tool_return_message", "tool_call_id": id("a"), "tool_return": "1", "status": "success"},
            {"message_type": "tool_return_message", "tool_call_id": id("lost"), "tool_return": "?", "status": "success"},
            {"message_type": "reasoning_message", "reasoning": "hm"},
            {"message_type": "assistant_message", "content": "a"},
        ])
    };
    let one = read(&recording("1"), None).expect("readable");
    let two = read(&recording("2"), None).expect("readable");
    assert_ne!(one, two, "the recordings differ");
    assert_eq!(one.to_json(false), two.to_json(false));
    assert_eq!(
        one.to_json(false),
        json!([[
            {"role": "user", "content": "q"},
            {"role": "other", "message": {"message_type": "approval_request_message", "tool_call": {"name": "n", "arguments": "{}"}}},
            {"role": "tool_call", "call": 1, "name": "f", "arguments": "{\"a\": 1}"},
            {"role": "tool_call", "call": 2, "name": "g", "arguments": "oops"},
            {"role": "tool_call", "call": 3, "name": "h", "arguments": ""},
            {"role": "tool_return", "call": 2, "output": "2", "failed": true},
            {"role": "tool_return", "call": 1, "output": "1", "failed": false},
            {"role": "tool_return", "call": null, "output": "?", "failed": false},
            {"role": "reasoning", "content": "hm"},
            {"role": "assistant", "content": "a"},
        ]])
    );
    assert_eq!(
        one.to_steps(false),
        [
            json!({"type": "tool_call", "name": "f", "status": "completed", "input": {"a": 1}, "output": "1"}),
            json!({"type": "tool_call", "name": "g", "status": "failed", "input": "oops", "output": "2"}),
            json!({"type": "tool_call", "name": "h", "status": "pending"}),
            json!({"type": "thought", "content": "hm"}),
            json!({"type": "message", "content": "a"}),
        ]
    );
}
