//! Writes the bodies of requests and reads those of responses, as all APIs need it.

use serde_json::{Map, Value, json};

use crate::judge::action::JudgeAction;

/// An object of the members that are there.
pub(super) fn members<const N: usize>(all: [(&str, Option<Value>); N]) -> Map<String, Value> {
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The user message of an action as two texts, of which the member `mark` says that the first is to be cached; one
/// if nothing follows.
pub(super) fn marked_parts(action: &JudgeAction, mark: &str, said: &Value) -> Option<Value> {
    let (shared, own) =
        action.user.split_at_checked(action.shared).filter(|(it, _)| !it.is_empty())?;
    let mut parts = vec![json!({"type": "text", "text": shared, mark: said})];
    if !own.is_empty() {
        parts.push(json!({"type": "text", "text": own}));
    }
    Some(Value::Array(parts))
}

/// Marks what is to be cached as Anthropic does, where nothing is cached without a mark.
pub(super) fn set_ephemeral(
    body: &mut Map<String, Value>,
    action: &JudgeAction,
    is_for_hour: bool,
) {
    if let Some(parts) = marked_parts(action, "cache_control", &ephemeral(is_for_hour)) {
        set_first_content(body, parts);
    }
}

/// How Anthropic's API marks what is to be cached.
pub(super) fn ephemeral(is_for_hour: bool) -> Value {
    if is_for_hour {
        json!({"type": "ephemeral", "ttl": "1h"})
    } else {
        json!({"type": "ephemeral"})
    }
}

/// Marks a text that stands where parts may stand too. What is none stays as it is.
pub(super) fn mark_text(content: &mut Value, mark: &str, said: &Value) {
    if let Value::String(text) = content {
        *content = json!([{"type": "text", "text": text, mark: said}]);
    }
}

/// Puts another content into the first message of a user in a request.
pub(super) fn set_first_content(body: &mut Map<String, Value>, content: Value) {
    let messages = body.get_mut("messages").and_then(Value::as_array_mut);
    let mut messages = messages.into_iter().flatten();
    if let Some(message) = messages.find(|message| message["role"] == "user") {
        message["content"] = content;
    }
}

/// Merges the further members that the suite sets over ours: objects member by member, so that one setting inside does
/// not replace the others. An object of another `type` replaces ours, as everything else does.
pub(super) fn with_extra_body(
    mut body: Map<String, Value>,
    action: &JudgeAction,
) -> Map<String, Value> {
    merge(&mut body, serde_json::from_str(&action.extra_body).unwrap_or_default());
    body
}

fn merge(ours: &mut Map<String, Value>, theirs: Map<String, Value>) {
    for (name, value) in theirs {
        match (ours.get_mut(&name), value) {
            (Some(Value::Object(ours)), Value::Object(theirs))
                if theirs.get("type").is_none_or(|kind| ours.get("type") == Some(kind)) =>
            {
                merge(ours, theirs);
            }
            (_, value) => {
                ours.insert(name, value);
            }
        }
    }
}

/// The most tokens that one number of a server counts for: sums of what servers claim stay sums.
const MOST_TOKENS: u64 = 1 << 40;

/// The tokens at a JSON pointer; 0 if there are none.
pub(super) fn count(body: &Value, pointer: &str) -> u64 {
    body.pointer(pointer).and_then(Value::as_u64).unwrap_or(0).min(MOST_TOKENS)
}

/// The text at a JSON pointer; empty if there is none.
pub(super) fn text_at<'a>(body: &'a Value, pointer: &str) -> &'a str {
    body.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Pieces of text as one; none if there are no pieces.
pub(super) fn joined<'a>(pieces: impl Iterator<Item = &'a str>) -> Option<String> {
    pieces.fold(None, |text: Option<String>, piece| Some(text.unwrap_or_default() + piece))
}
