//! OpenAI chat messages, and the many servers that speak like it.
//!
//! The format has no sign of a failed call; one that says `is_error`, as conversations of `chat` targets do, is believed.

use serde_json::Value;

use super::content::{flatten, tool_call};
use super::node::RecordedNode;
use super::turns::{Turns, by_message};
use super::{MessageBody, ReadResult, ToolCall, ToolReturn, TrajectoryFormat, anthropic};

/// Objects with `role`.
pub(super) static FORMAT: TrajectoryFormat = TrajectoryFormat {
    name: "openai_chat",
    owns: is_own,
    read: |root| by_message(root, read),
    ..TrajectoryFormat::TEXT
};

/// How a recording marks failed calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallMarks {
    /// A tool answered, in a format that has no sign of a failed call, without one.
    pub unmarked: bool,
    /// One that has such a sign all the same.
    pub marked: bool,
}

impl CallMarks {
    /// Those of two recordings.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { unmarked: self.unmarked || other.unmarked, marked: self.marked || other.marked }
    }

    /// Those of the messages of this format.
    pub fn of(messages: &Value) -> Self {
        let inner = match messages {
            Value::Object(wrapper) => {
                return wrapper.get("messages").map(Self::of).unwrap_or_default();
            }
            Value::Array(items) => items,
            _ => return Self::default(),
        };
        let of_message = |message: &Value| {
            let role = message.get("role").and_then(Value::as_str);
            let is_answer = matches!(role, Some("tool" | "function"));
            let marked = is_answer && message.get("is_error").is_some();
            let own = Self { marked, unmarked: is_answer && !marked };
            if message.is_array() { Self::of(message) } else { own }
        };
        inner.iter().map(of_message).fold(Self::default(), Self::or)
    }
}

/// Whether only servers that speak like OpenAI's write such a message. What holds Anthropic's blocks is Anthropic's.
fn is_own(message: &Value) -> bool {
    let Some(role) = message.get("role").and_then(Value::as_str) else { return false };
    let has = |key| message.get(key).is_some_and(|calls| !calls.is_null());
    let is_own = matches!(role, "tool" | "function" | "developer");
    (is_own || has("tool_calls") || has("function_call")) && !anthropic::has_own_blocks(message)
}

/// Reads one message.
fn read(message: RecordedNode<'_, '_>, turns: &mut Turns) -> ReadResult {
    message.object("a chat message (an object)")?;
    let content = message.get("content");
    match message.get("role").text("a role (a string)")? {
        "system" | "developer" => turns.push(MessageBody::System(flatten(content)?)),
        "user" => turns.ask(flatten(content)?),
        "assistant" => assistant(message, turns)?,
        "tool" | "function" => turns.push(MessageBody::ToolReturn(ToolReturn::new(
            message.get("tool_call_id").to_text(),
            flatten(content)?,
            message.get("is_error").is_true(),
        ))),
        _ => turns.push(MessageBody::Other(message.value().clone())),
    }
    Ok(())
}

/// Thoughts, then texts, then calls.
fn assistant(message: RecordedNode<'_, '_>, turns: &mut Turns) -> ReadResult {
    if let Some(thought) = message.get("reasoning_content").as_str().filter(|text| !text.is_empty())
    {
        turns.push(MessageBody::Reasoning(thought.to_owned()));
    }
    let text = flatten(message.get("content"))?;
    let refusal = message.get("refusal").as_str().unwrap_or_default();
    match text.as_str() {
        "" if refusal.is_empty() => {}
        "" => turns.push(MessageBody::Assistant(refusal.to_owned())),
        _ => turns.push(MessageBody::Assistant(text)),
    }
    let calls = message.get("tool_calls");
    if !calls.is_nothing() {
        for call in calls.items("a list of tool calls")? {
            turns.push(MessageBody::ToolCall(call_of(call)?));
        }
    }
    let legacy = message.get("function_call");
    if !legacy.is_nothing() {
        turns.push(MessageBody::ToolCall(function(legacy, None)?));
    }
    Ok(())
}

/// A call of a function, of a custom tool, or one written without the inner object.
fn call_of(call: RecordedNode<'_, '_>) -> ReadResult<ToolCall> {
    let fields = call.object("a tool call (an object)")?;
    let id = call.get("id").to_text();
    if fields.contains_key("custom") {
        let custom = tool_call(call.get("custom"), "id", "name", "input")?;
        return Ok(ToolCall { id, ..custom });
    }
    if fields.contains_key("name") && !fields.contains_key("function") {
        return function(call, id);
    }
    function(call.get("function"), id)
}

fn function(function: RecordedNode<'_, '_>, id: Option<String>) -> ReadResult<ToolCall> {
    function.object("a function (an object)")?;
    Ok(ToolCall { id, ..tool_call(function, "id", "name", "arguments")? })
}
