//! Tables of exports in every convention, and hostile ones.

use serde_json::{Value, json};

use super::FORMAT;
use crate::tests::{check, show};
use crate::{detect, read};

/// A value as OTLP writes it.
fn any(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({"stringValue": text}),
        Value::Bool(truth) => json!({"boolValue": truth}),
        Value::Number(number) if number.is_i64() => json!({"intValue": number.to_string()}),
        Value::Number(number) => json!({"doubleValue": number}),
        Value::Array(items) => {
            json!({"arrayValue": {"values": items.iter().map(any).collect::<Vec<_>>()}})
        }
        Value::Object(_) => json!({"kvlistValue": {"values": attributes(value)}}),
        Value::Null => json!({}),
    }
}

fn attributes(members: &Value) -> Value {
    let members = members.as_object().into_iter().flatten();
    members.map(|(key, value)| json!({"key": key, "value": any(value)})).collect()
}

/// A span that starts at `at` and takes ten seconds divided by its depth, of which `id` is a path: `a.b` is below `a`.
#[expect(clippy::needless_pass_by_value, reason = "members are written where they are passed")]
fn span(id: &str, at: u64, members: Value) -> Value {
    let depth = id.split('.').count() as u64;
    let mut span = json!({
        "traceId": "t", "spanId": id, "name": id,
        "parentSpanId": id.rsplit_once('.').map(|(parent, _)| parent).unwrap_or_default(),
        "startTimeUnixNano": (at * 1_000_000_000).to_string(),
        "endTimeUnixNano": (at * 1_000_000_000 + 10_000_000_000 / depth).to_string(),
        "attributes": attributes(&members),
    });
    if let Some(events) = members.get("EVENTS").and_then(Value::as_object) {
        let event = |(name, members): (&String, &Value)| json!({"name": name, "attributes": attributes(members)});
        span["events"] = events.iter().map(event).collect();
    }
    if members.get("FAILED").is_some() {
        span["status"] = json!({"code": 2});
    }
    span
}

fn export(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]})
}

#[track_caller]
fn shown(spans: &[Value]) -> String {
    let value = export(spans);
    assert_eq!(detect(&value), Some(&FORMAT));
    show(&read(&value, None).unwrap_or_else(|problem| panic!("{problem}")))
}

/// The same conversation in each convention: a question, a call, its result, an answer.
#[test]
fn reads_each_convention() {
    let text = |role: &str, text: &str| json!({"role": role, "parts": [{"type": "text", "content": text}]});
    let call = json!({"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"},
        {"type": "tool_call", "id": "c", "name": "f", "arguments": {"x": 1}}]});
    let result = json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "r"}]});
    let tool = span(
        "a.t",
        2,
        json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f", "gen_ai.tool.call.id": "c"}),
    );
    let agent =
        span("a", 0, json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "bot"}));
    let expected = "sys s | user q | thought hm | call f({\"x\":1})#c | return r#c | said yes";

    // Messages with parts, as JSON text and as values.
    let new = |at, input: Value, output: Value, is_text: bool| {
        let value = |value: Value| if is_text { Value::from(value.to_string()) } else { value };
        span(
            &format!("a.m{at}"),
            at,
            json!({"gen_ai.operation.name": "chat",
            "gen_ai.system_instructions": value(json!([{"type": "text", "content": "s"}])),
            "gen_ai.input.messages": value(input), "gen_ai.output.messages": value(output)}),
        )
    };
    for is_text in [true, false] {
        let first = new(1, json!([text("user", "q")]), json!([call]), is_text);
        let second = new(
            3,
            json!([text("user", "q"), call, result]),
            json!([text("assistant", "yes")]),
            is_text,
        );
        assert_eq!(shown(&[second, tool.clone(), agent.clone(), first]), expected);
    }

    // OpenInference, of which the thought is not told.
    let first = json!({"openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "s",
        "llm.input_messages.1.message.role": "user", "llm.input_messages.1.message.contents.0.message_content.type": "text",
        "llm.input_messages.1.message.contents.0.message_content.text": "q",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{\"x\":1}"});
    let second = json!({"openinference.span.kind": "LLM", "llm.cost.total": 0.5,
        "llm.input_messages.0.message.role": "tool", "llm.input_messages.0.message.tool_call_id": "c",
        "llm.input_messages.0.message.content": "r",
        "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "yes"});
    let spans = [span("a.m1", 1, first), span("a.m2", 3, second)];
    assert_eq!(shown(&spans), expected.replace("thought hm | ", ""));

    // OpenLLMetry.
    let first = json!({"llm.request.type": "chat",
        "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "s",
        "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "[{\"type\": \"text\", \"text\": \"q\"}]",
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": "tool_calls",
        "gen_ai.completion.0.tool_calls.0.id": "c", "gen_ai.completion.0.tool_calls.0.name": "f",
        "gen_ai.completion.0.tool_calls.0.arguments": "{\"x\":1}"});
    let second = json!({"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "q",
        "gen_ai.prompt.1.role": "tool", "gen_ai.prompt.1.tool_call_id": "c", "gen_ai.prompt.1.content": "r",
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "yes"});
    let spans = [span("m1", 1, first), span("m2", 3, second)];
    assert_eq!(shown(&spans), expected.replace("thought hm | ", ""));

    // Events.
    let first = json!({"gen_ai.system": "openai", "EVENTS": {
        "gen_ai.system.message": {"content": "s"}, "gen_ai.user.message": {"content": "q"},
        "gen_ai.choice": {"index": 0, "message": "{\"role\": \"assistant\", \"tool_calls\": [{\"id\": \"c\", \"type\": \"function\", \"function\": {\"name\": \"f\", \"arguments\": \"{\\\"x\\\":1}\"}}]}"}}});
    let second = json!({"gen_ai.system": "openai", "EVENTS": {
        "gen_ai.tool.message": {"id": "c", "content": "r"}, "gen_ai.choice": {"role": "assistant", "content": "yes"}}});
    let spans = [span("m1", 1, first), span("m2", 3, second)];
    assert_eq!(shown(&spans), expected.replace("thought hm | ", ""));
    let content = json!({"EVENTS": {
        "gen_ai.content.prompt": {"gen_ai.prompt": "[{\"role\": \"user\", \"content\": \"q\"}]"},
        "gen_ai.content.completion": {"gen_ai.completion": "[{\"role\": \"assistant\", \"content\": \"yes\"}]"}},
        "gen_ai.operation.name": "chat"});
    assert_eq!(shown(&[span("m", 1, content)]), "user q | said yes");
}

#[test]
fn reads_lists_of_spans_and_lines() {
    let flat = json!({"name": "ChatOpenAI", "context": {"trace_id": "0x1", "span_id": "0x2"}, "parent_id": null,
        "start_time": "2026-01-01T00:00:00.500Z", "end_time": "2026-01-01T00:00:02Z", "status": {"status_code": "OK"},
        "attributes": {"openinference.span.kind": "LLM", "llm": {"input_messages": [{"message": {"role": "user", "content": "q"}}],
            "cost": {"total": 0.25}}, "llm.output_messages": [{"message.role": "assistant", "message.content": "yes"}]}});
    check(&FORMAT, &json!([flat]), &["user q | said yes"]);
    check(&FORMAT, &json!({"spans": [flat]}), &["user q | said yes"]);
    let totals = read(&json!([flat]), None).unwrap().totals;
    assert_eq!((totals.duration_ms, totals.cost_usd), (Some(1500.0), Some(0.25)));
    let line = |at, text: &str| {
        export(&[span(text, at, json!({"gen_ai.operation.name": "chat",
        "gen_ai.output.messages": json!([{"role": "assistant", "parts": [{"type": "text", "content": text}]}]).to_string()}))]).to_string()
    };
    let lines = format!("\u{feff}{}\r\n\n{}\n", line(2, "two"), line(1, "one"));
    check(&FORMAT, &json!(lines), &["said one | said two"]);
}

#[test]
fn tools_that_no_message_tells_of_are_calls() {
    let tool = |id: &str, at, members: Value| {
        let mut all =
            json!({"openinference.span.kind": "TOOL", "tool.name": id.rsplit('.').next()});
        all.as_object_mut().unwrap().extend(members.as_object().cloned().unwrap_or_default());
        span(id, at, all)
    };
    let root = span(
        "r",
        0,
        json!({"openinference.span.kind": "CHAIN", "input.value": "q", "output.value": "yes"}),
    );
    let failing = json!({"input.value": "{}", "FAILED": true, "EVENTS": {"exception": {"exception.message": "boom"}}});
    let spans = [
        root,
        tool("r.f", 1, json!({"input.value": "{\"x\":1}", "output.value": "r"})),
        tool("r.g", 2, failing),
    ];
    assert_eq!(
        shown(&spans),
        "user q | call f({\"x\":1})#span 1 | return r#span 1 | call g({})#span 2 | return boom#span 2! | said yes"
    );
    let said = json!({"openinference.span.kind": "LLM",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "f",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{\"x\": 2}",
        "llm.output_messages.0.message.tool_calls.1.tool_call.function.name": "f",
        "llm.output_messages.0.message.tool_calls.1.tool_call.function.arguments": "{\"x\": 1}"});
    let spans = [
        span("m", 0, said),
        tool("f", 1, json!({"input.value": "{\"x\":1}", "output.value": "one", "FAILED": true})),
    ];
    assert_eq!(shown(&spans), "call f({\"x\": 2})#- | call f({\"x\": 1})#- | return one#-!");
}

#[test]
fn sub_agents_are_those_that_tools_or_asking_agents_start() {
    let agent = json!({"gen_ai.operation.name": "invoke_agent"});
    let says = |text: &str| {
        json!({"gen_ai.operation.name": "chat",
        "gen_ai.output.messages": json!([{"role": "assistant", "parts": [{"type": "text", "content": text}]}]).to_string()})
    };
    let tool = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask", "gen_ai.tool.call.result": "r"});
    let mut spans = vec![
        span("a", 0, agent.clone()),
        span("a.m", 1, says("one")),
        span("a.t", 2, tool),
        span("a.t.b", 3, agent.clone()),
        span("a.t.b.m", 4, says("inner")),
        span("a.c", 5, agent.clone()),
        span("a.c.m", 6, says("other")),
        span("a.n", 7, says("two")),
    ];
    let expected =
        "said one | call ask()#span 2 | ~said inner | return r#span 2 | ~said other | said two";
    assert_eq!(shown(&spans), expected);
    spans.reverse();
    assert_eq!(shown(&spans), expected, "in whatever order");
    // An agent that only starts others is none that they work for.
    let spans = [
        span("a", 0, agent.clone()),
        span("a.b", 1, agent.clone()),
        span("a.b.m", 2, says("one")),
        span("a.c", 3, agent),
        span("a.c.m", 4, says("two")),
    ];
    assert_eq!(shown(&spans), "said one | said two");
}

#[test]
fn a_conversation_that_requests_repeat_is_said_once() {
    let message = |role: &str, text: &str| json!({"role": role, "parts": [{"type": "text", "content": text}]});
    let chat = |id: &str, at, input: Vec<Value>, output: &str| {
        span(
            id,
            at,
            json!({"gen_ai.operation.name": "chat",
        "gen_ai.input.messages": Value::from(input).to_string(),
        "gen_ai.output.messages": json!([message("assistant", output)]).to_string()}),
        )
    };
    let user = |text: &str| message("user", text);
    let said = |text: &str| message("assistant", text);
    // The same words again are said again; a window that drops the beginning says nothing twice.
    let spans = [
        chat("1", 1, vec![user("yes")], "a"),
        chat("2", 2, vec![user("yes"), said("a"), user("yes")], "b"),
        chat("3", 3, vec![user("yes"), said("b"), user("yes")], "b"),
    ];
    assert_eq!(shown(&spans), "user yes | said a\nuser yes | said b\nuser yes | said b");
    // One request, told by two libraries.
    let spans = [chat("o", 1, vec![user("q")], "a"), chat("o.i", 1, vec![user("q")], "a")];
    assert_eq!(shown(&spans), "user q | said a");
}

#[test]
fn broken_spans_are_read_as_far_as_they_go() {
    let says = |text: &str| {
        json!({"gen_ai.operation.name": "chat",
        "gen_ai.output.messages": json!([{"role": "assistant", "parts": [{"type": "text", "content": text}]}]).to_string()})
    };
    let with_parent = |id: &str, parent: &str, at, text: &str| {
        let mut span = span(id, at, says(text));
        span["parentSpanId"] = json!(parent);
        span
    };
    // Circles, itself as its parent, and a parent that is missing.
    let spans = [
        with_parent("a", "b", 1, "a"),
        with_parent("b", "c", 2, "b"),
        with_parent("c", "a", 3, "c"),
        with_parent("d", "d", 4, "d"),
        with_parent("e", "nobody", 5, "e"),
    ];
    let circle = shown(&spans);
    assert!(circle.ends_with("said d | said e"), "{circle}");
    // Twice the same id: the one that ended counts.
    let mut open = span("x", 1, says("unfinished"));
    open.as_object_mut().unwrap().remove("endTimeUnixNano");
    assert_eq!(
        shown(&[open, span("x", 1, says("finished")), span("x", 1, says("again"))]),
        "said finished"
    );
    // Wrong types everywhere.
    for value in [json!(null), json!(7), json!([]), json!({}), json!("x"), json!([[1]])] {
        for key in ["attributes", "events", "status", "startTimeUnixNano", "parentSpanId", "name"] {
            let mut broken = span("x", 1, says("said"));
            broken[key] = value.clone();
            let read = read(&export(&[broken]), Some(&FORMAT));
            assert!(read.is_ok() || read.is_err(), "{key}: {value}");
        }
        for key in [
            "gen_ai.input.messages",
            "gen_ai.output.messages",
            "gen_ai.prompt",
            "llm.input_messages",
            "events",
        ] {
            let members = json!({"gen_ai.operation.name": "chat", key: value});
            assert!(read(&export(&[span("x", 1, members)]), Some(&FORMAT)).is_ok());
        }
    }
    let problem = read(&json!({"resourceSpans": []}), None).unwrap_err().to_string();
    assert_eq!(problem, "expected spans of OpenTelemetry, found an object");
}

/// A long chain, and many calls of one tool. What took time by the square would be marked as slow.
#[test]
fn large_exports_are_read() {
    let count = 20_000_u64;
    let chain = (0..count).map(|at| {
        let mut span = span(&at.to_string(), at, json!({"openinference.span.kind": "AGENT"}));
        span["parentSpanId"] = json!((at + 1).to_string());
        span
    });
    let tools = (0..count).map(|at| {
        span(
            &format!("t{at}"),
            at,
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}),
        )
    });
    let spans: Vec<Value> = chain.chain(tools).collect();
    assert!(shown(&spans).len() > 1000);
}
