//! Writes the bodies of requests and reads those of responses, as all APIs need it.

use serde_json::{Map, Value};

use crate::judge::action::JudgeAction;

/// An object of the members that are there.
pub(super) fn members<const N: usize>(all: [(&str, Option<Value>); N]) -> Map<String, Value> {
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
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
