//! What formats have in common inside a message: chat messages have a role, and a content is a string or a list of parts.

use serde_json::Value;

use super::TrajectoryProblem;
use super::node::RecordedNode;

/// Whether it is a chat message, of whatever provider.
pub(super) fn is_chat(message: &Value) -> bool {
    message.get("role").is_some_and(Value::is_string)
}

/// The text of a message content: a string as it is, of a list the `text` of its parts joined with one
/// space. Parts without text (images) say nothing.
pub(super) fn flatten(content: RecordedNode<'_, '_>) -> Result<String, TrajectoryProblem> {
    match content.value() {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(_) => {
            let mut texts = Vec::new();
            for part in content.items("a list of content parts")? {
                texts.extend(part_text(part)?);
            }
            Ok(texts.join(" "))
        }
        _ => Err(content.problem("a string or a list of content parts")),
    }
}

/// The text of one part of a content, if it has any.
pub(super) fn part_text<'v>(
    part: RecordedNode<'_, 'v>,
) -> Result<Option<&'v str>, TrajectoryProblem> {
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
