//! Which format a recorded trajectory is in.
//!
//! Each message is looked at until one can only be of one format. Chat messages that carry text alone are
//! both OpenAI's and Anthropic's; they are called OpenAI's, and read the same either way.

use serde_json::Value;

use super::{TrajectoryFormat, claude_code, letta};

/// The format of a recorded trajectory; none if it looks like no known one.
pub(crate) fn detect(value: &Value) -> Option<TrajectoryFormat> {
    match value {
        Value::String(text) if claude_code::events(text).is_some() => {
            Some(TrajectoryFormat::ClaudeCode)
        }
        Value::String(_) => Some(TrajectoryFormat::Text),
        Value::Object(wrapper) => {
            wrapper.get("messages").filter(|list| list.is_array()).and_then(detect)
        }
        Value::Array(items) => detect_list(items),
        _ => None,
    }
}

/// The format of a list of messages or of turns. A list without any message is called Letta's, whose saved
/// errors look like that.
fn detect_list(items: &[Value]) -> Option<TrajectoryFormat> {
    let messages = || {
        items.iter().flat_map(|item| match item {
            Value::Array(turn) => turn.as_slice(),
            message => std::slice::from_ref(message),
        })
    };
    if messages().next().is_none() {
        return Some(TrajectoryFormat::Letta);
    }
    let chat = || messages().any(is_chat).then_some(TrajectoryFormat::OpenaiChat);
    messages().find_map(decisive).or_else(chat)
}

/// The only format that `message` can be of.
fn decisive(message: &Value) -> Option<TrajectoryFormat> {
    if letta::is_message(message) {
        return Some(TrajectoryFormat::Letta);
    }
    if is_chat(message) {
        return decisive_chat(message);
    }
    match message.get("type")?.as_str()? {
        _ if claude_code::is_event(message) => Some(TrajectoryFormat::ClaudeCode),
        "thought" | "message" | "tool_call" | "plan" => Some(TrajectoryFormat::Steps),
        _ => None,
    }
}

fn decisive_chat(message: &Value) -> Option<TrajectoryFormat> {
    let blocks = message.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let anthropic = blocks.iter().filter_map(|block| block.get("type")?.as_str()).any(|kind| {
        kind.ends_with("tool_use") || kind.ends_with("tool_result") || kind.ends_with("thinking")
    });
    if anthropic {
        return Some(TrajectoryFormat::Anthropic);
    }
    let role = message.get("role").and_then(Value::as_str);
    let openai = matches!(role, Some("tool" | "function" | "developer"))
        || message.get("tool_calls").is_some_and(|calls| !calls.is_null())
        || message.get("function_call").is_some_and(|call| !call.is_null());
    openai.then_some(TrajectoryFormat::OpenaiChat)
}

fn is_chat(message: &Value) -> bool {
    message.get("role").is_some_and(Value::is_string)
}
