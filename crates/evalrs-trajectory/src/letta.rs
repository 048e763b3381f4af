//! Letta messages: flat objects distinguished by `message_type`.
//!
//! Saved files outlive servers, so a kind this file does not know is passed through. Requests for approval
//! are such a kind on purpose: a call that waits for approval is no call yet.
//!
//! A trajectory is also written as Letta messages, for functions that were written for them. That is keyed, so it holds no
//! id and no time of a provider: calls are `call-1`, `call-2` and so on. Reading it back gives the same trajectory but for
//! those ids, for who of the target spoke, and for the agent's state.

use serde_json::{Map, Value, json};

use super::content::{flatten, tool_call};
use super::node::RecordedNode;
use super::normal::{Pairing, stable};
use super::turns::{Turns, by_message};
use super::{MessageBody, ReadResult, ToolCall, ToolReturn, Trajectory, TrajectoryFormat};

/// Turns of objects with `message_type`.
pub(super) static FORMAT: TrajectoryFormat = TrajectoryFormat {
    name: "letta",
    owns: is_message,
    has_kinds: true,
    read: |root| by_message(root, read),
    ..TrajectoryFormat::TEXT
};

/// The kinds of messages and of notes between them that Letta writes.
const TYPES: [&str; 15] = [
    "system_message",
    "user_message",
    "assistant_message",
    "reasoning_message",
    "hidden_reasoning_message",
    "tool_call_message",
    "tool_return_message",
    "approval_request_message",
    "approval_response_message",
    "summary_message",
    "event_message",
    "error_message",
    "stop_reason",
    "usage_statistics",
    "ping",
];

/// Whether only Letta writes such a message. Others use the key `message_type` too, for something else.
fn is_message(message: &Value) -> bool {
    let kind = message.get("message_type").and_then(Value::as_str);
    kind.is_some_and(|kind| TYPES.contains(&kind))
}

/// Reads one message.
fn read(message: RecordedNode<'_, '_>, turns: &mut Turns) -> ReadResult {
    message.object("a Letta message (an object)")?;
    match message.get("message_type").text("a Letta message type (a string)")? {
        "system_message" => turns.push(MessageBody::System(flatten(message.get("content"))?)),
        "user_message" => turns.ask(flatten(message.get("content"))?),
        "assistant_message" => {
            turns.push(MessageBody::Assistant(assistant(message.get("content"))?));
        }
        "reasoning_message" => {
            turns.push(MessageBody::Reasoning(flatten(message.get("reasoning"))?));
        }
        "hidden_reasoning_message" if message.get("hidden_reasoning").as_str().is_some() => {
            turns.push(MessageBody::Reasoning(flatten(message.get("hidden_reasoning"))?));
        }
        "tool_call_message" => calls(message, turns)?,
        "tool_return_message" => returns(message, turns)?,
        _ => turns.push(MessageBody::Other(message.value().clone())),
    }
    Ok(())
}

/// Extractors read this text, so it has to be there. Parts without text say nothing.
fn assistant(content: RecordedNode<'_, '_>) -> ReadResult<String> {
    if content.is_nothing() {
        return Err(content.problem("a string or a list of content parts"));
    }
    flatten(content)
}

/// `tool_calls` (a list or one object) decides; older files have only `tool_call`.
fn calls(message: RecordedNode<'_, '_>, turns: &mut Turns) -> ReadResult {
    let several = message.get("tool_calls");
    if several.value().as_array().is_some_and(|calls| !calls.is_empty()) {
        for call in several.items("a list of tool calls")? {
            turns.push(MessageBody::ToolCall(call_of(call)?));
        }
        return Ok(());
    }
    let one = if several.value().is_object() { several } else { message.get("tool_call") };
    turns.push(MessageBody::ToolCall(call_of(one)?));
    Ok(())
}

fn call_of(call: RecordedNode<'_, '_>) -> ReadResult<ToolCall> {
    call.object("a tool call (an object)")?;
    tool_call(call, "tool_call_id", "name", "arguments")
}

/// Newer servers answer parallel calls in one message; its own fields then repeat the first answer.
fn returns(message: RecordedNode<'_, '_>, turns: &mut Turns) -> ReadResult {
    let several = message.get("tool_returns");
    let has = |one: &Value, key: &str| one.get(key).is_some();
    let is_whole = |one: &Value| has(one, "tool_call_id") && has(one, "tool_return");
    let list = several.value().as_array();
    let complete = list.is_some_and(|list| !list.is_empty() && list.iter().all(is_whole));
    if !complete {
        turns.push(MessageBody::ToolReturn(return_of(message)?));
        return Ok(());
    }
    for one in several.items("a list of tool returns")? {
        turns.push(MessageBody::ToolReturn(return_of(one)?));
    }
    Ok(())
}

fn return_of(answer: RecordedNode<'_, '_>) -> ReadResult<ToolReturn> {
    let output = flatten(answer.get("tool_return"))?;
    let failed = answer.get("status").as_str() == Some("error");
    Ok(ToolReturn::new(answer.get("tool_call_id").to_text(), output, failed))
}

/// The `message_type` of messages of unknown kinds that have none.
const OTHER: &str = "other";

impl Trajectory {
    /// The turns as lists of Letta messages; messages of sub-agents only on request.
    pub fn to_letta(&self, include_subagents: bool) -> Value {
        self.turns_as(include_subagents, |message, pairing| message_of(&message.body, pairing))
    }
}

fn message_of<'a>(body: &'a MessageBody, pairing: &mut Pairing<'a>) -> Value {
    match body {
        MessageBody::System(text) => json!({"message_type": "system_message", "content": text}),
        MessageBody::User(text) => json!({"message_type": "user_message", "content": text}),
        MessageBody::Assistant(text) => {
            json!({"message_type": "assistant_message", "content": text})
        }
        MessageBody::Reasoning(text) => {
            json!({"message_type": "reasoning_message", "reasoning": text})
        }
        MessageBody::ToolCall(call) => {
            let call = json!({
                "name": call.name,
                "arguments": call.arguments,
                "tool_call_id": call_id(pairing.call()),
            });
            // Older functions read the one, newer functions the other.
            json!({"message_type": "tool_call_message", "tool_call": call, "tool_calls": [call]})
        }
        MessageBody::ToolReturn(answer) => json!({
            "message_type": "tool_return_message",
            "tool_return": answer.output,
            "status": if answer.failed { "error" } else { "success" },
            "tool_call_id": pairing.answered(answer).map(call_id),
        }),
        MessageBody::Other(value) => other(stable(value)),
    }
}

fn call_id(ordinal: usize) -> String {
    format!("call-{ordinal}")
}

/// A message of an unknown kind, which may come from a format without `message_type`.
fn other(value: Value) -> Value {
    let mut message = match value {
        Value::Object(members) => members,
        value => Map::from_iter([("value".to_owned(), value)]),
    };
    if !message.get("message_type").is_some_and(Value::is_string) {
        message.insert("message_type".to_owned(), Value::from(OTHER));
    }
    Value::Object(message)
}
