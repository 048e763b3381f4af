//! Letta messages: flat objects told apart by `message_type`.
//!
//! Saved files outlive servers, so a kind this file does not know is passed through. Requests for approval
//! are such a kind on purpose: a call that waits for approval is no call yet.

use serde_json::Value;

use super::content::flatten;
use super::node::RecordedNode;
use super::turns::{Turns, by_message};
use super::{MessageBody, ToolCall, ToolReturn, TrajectoryFormat, TrajectoryProblem};

/// Turns of objects with `message_type`.
pub(super) static FORMAT: TrajectoryFormat = TrajectoryFormat {
    name: "letta",
    owns: is_message,
    owns_object: |_| false,
    owns_text: |_| false,
    has_kinds: true,
    read: |root| by_message(root, read),
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
fn read(message: RecordedNode<'_, '_>, turns: &mut Turns) -> Result<(), TrajectoryProblem> {
    message.object("a Letta message (an object)")?;
    match message.get("message_type").text("a Letta message type (a string)")? {
        "system_message" => turns.push(MessageBody::System(flatten(message.get("content"))?)),
        "user_message" => {
            let text = flatten(message.get("content"))?;
            turns.start();
            turns.push(MessageBody::User(text));
        }
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
fn assistant(content: RecordedNode<'_, '_>) -> Result<String, TrajectoryProblem> {
    if content.is_nothing() {
        return Err(content.problem("a string or a list of content parts"));
    }
    flatten(content)
}

/// `tool_calls` (a list or one object) decides; older files have only `tool_call`.
fn calls(message: RecordedNode<'_, '_>, turns: &mut Turns) -> Result<(), TrajectoryProblem> {
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

fn call_of(call: RecordedNode<'_, '_>) -> Result<ToolCall, TrajectoryProblem> {
    call.object("a tool call (an object)")?;
    Ok(ToolCall {
        id: call.get("tool_call_id").to_text(),
        name: call.get("name").text("the name of a tool")?.to_owned(),
        arguments: call.get("arguments").to_json_text(),
    })
}

/// Newer servers answer parallel calls in one message; its own fields then repeat the first answer.
fn returns(message: RecordedNode<'_, '_>, turns: &mut Turns) -> Result<(), TrajectoryProblem> {
    let several = message.get("tool_returns");
    let complete = several.value().as_array().is_some_and(|returns| {
        !returns.is_empty()
            && returns
                .iter()
                .all(|one| one.get("tool_call_id").is_some() && one.get("tool_return").is_some())
    });
    if !complete {
        turns.push(MessageBody::ToolReturn(return_of(message)?));
        return Ok(());
    }
    for one in several.items("a list of tool returns")? {
        turns.push(MessageBody::ToolReturn(return_of(one)?));
    }
    Ok(())
}

fn return_of(answer: RecordedNode<'_, '_>) -> Result<ToolReturn, TrajectoryProblem> {
    Ok(ToolReturn {
        call_id: answer.get("tool_call_id").to_text(),
        output: flatten(answer.get("tool_return"))?,
        says_error: false,
        failed: answer.get("status").as_str() == Some("error"),
    })
}
