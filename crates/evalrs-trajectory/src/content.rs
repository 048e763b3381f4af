//! What formats have in common inside a message: chat messages have a role, and a content is a string or a list of parts.

use serde_json::Value;

use super::node::RecordedNode;
use super::{ReadResult, ToolCall};

/// Whether it is a chat message, of whatever provider.
pub(super) fn is_chat(message: &Value) -> bool {
    message.get("role").is_some_and(Value::is_string)
}

/// The text of a message content: a string as it is, of a list the `text` of its parts joined with one
/// space. Parts without text (images) say nothing.
pub(super) fn flatten(content: RecordedNode<'_, '_>) -> ReadResult<String> {
    flatten_with(content, str::to_owned)
}

/// The same, with a text that replaces another.
pub(super) fn flatten_with(
    content: RecordedNode<'_, '_>,
    meant: impl Fn(&str) -> String,
) -> ReadResult<String> {
    match content.value() {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(meant(text)),
        Value::Array(_) => {
            let mut texts = Vec::new();
            for part in content.items("a list of content parts")? {
                texts.extend(part_text(part)?.map(&meant));
            }
            Ok(texts.join(" "))
        }
        _ => Err(content.problem("a string or a list of content parts")),
    }
}

/// The call of a tool whose members go by these names.
pub(super) fn tool_call(
    call: RecordedNode<'_, '_>,
    id: &str,
    name: &str,
    arguments: &str,
) -> ReadResult<ToolCall> {
    Ok(ToolCall {
        id: call.get(id).to_text(),
        name: call.get(name).text("the name of a tool")?.to_owned(),
        arguments: json_text(call.get(arguments).value()),
    })
}

/// Text as it is, nothing for null, and anything else as compact JSON.
pub(super) fn json_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The text of one part of a content, if it has any.
pub(super) fn part_text<'v>(part: RecordedNode<'_, 'v>) -> ReadResult<Option<&'v str>> {
    if let Some(text) = part.as_str() {
        return Ok(Some(text));
    }
    let fields = part.object("a content part")?;
    let has = |key: &&str| fields.get(*key).is_some_and(|value| !value.is_null());
    match ["text", "refusal"].into_iter().find(has) {
        None => Ok(None),
        Some(key) => part.get(key).text("a string").map(Some),
    }
}
