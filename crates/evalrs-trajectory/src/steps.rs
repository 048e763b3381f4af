//! Steps of the inline-grader protocol: an agent's thoughts, messages, calls and plans.
//!
//! A step holds a call and its return together, without an id; the ordinal of the call stands in for it.

use serde_json::{Value, json};

use super::content::{flatten, is_chat, json_text};
use super::node::RecordedNode;
use super::turns::{Turns, by_message};
use super::{MessageBody, ReadResult, ToolCall, ToolReturn, TrajectoryFormat};

/// Objects with `type`, one of four.
pub(super) static FORMAT: TrajectoryFormat = TrajectoryFormat {
    name: "steps",
    owns: is_own,
    has_kinds: true,
    read: |root| by_message(root, read),
    ..TrajectoryFormat::TEXT
};

/// Whether it is a step. A chat message may have a type too.
fn is_own(message: &Value) -> bool {
    let kind = message.get("type").and_then(Value::as_str);
    !is_chat(message) && matches!(kind, Some("thought" | "message" | "tool_call" | "plan"))
}

/// Reads one step.
fn read(step: RecordedNode<'_, '_>, turns: &mut Turns) -> ReadResult {
    step.object("a step (an object)")?;
    match step.get("type").text("a step type (a string)")? {
        "thought" => turns.push(MessageBody::Reasoning(flatten(step.get("content"))?)),
        "message" => turns.push(MessageBody::Assistant(flatten(step.get("content"))?)),
        "tool_call" => tool_call(step, turns)?,
        "plan" => {
            turns.push(MessageBody::Other(
                json!({"type": "plan", "entries": step.get("entries").value()}),
            ));
        }
        _ => turns.push(MessageBody::Other(step.value().clone())),
    }
    Ok(())
}

/// A call, and its return if the step says what came of it.
fn tool_call(step: RecordedNode<'_, '_>, turns: &mut Turns) -> ReadResult {
    let id = Some((turns.call_count() + 1).to_string());
    let input = step.get("input");
    turns.push(MessageBody::ToolCall(ToolCall {
        id: id.clone(),
        name: step.get("name").text("the name of a tool")?.to_owned(),
        arguments: if input.is_nothing() { String::new() } else { input.value().to_string() },
    }));
    let status = step.get("status").as_str();
    let failed = matches!(status, Some("error" | "failed"));
    let output = step.get("output");
    // Captured steps say that a call is completed and not what it returned.
    if failed || !output.is_nothing() || status == Some("completed") {
        turns.push(MessageBody::ToolReturn(ToolReturn {
            call_id: id,
            output: json_text(output.value()),
            says_error: status == Some("error"),
            failed,
        }));
    }
    Ok(())
}
