//! The pictures of a conversation. Graders read its texts alone, so a trajectory has none: they are found again in the row.

use std::collections::BTreeSet;

use serde_json::Value;

use super::message::{MessageView, picture_of};

/// How deep a row is looked through for messages.
const DEEPEST: usize = 8;

/// A recorded message with pictures.
struct PictureMessage {
    /// Its texts, as a trajectory joins them.
    text: String,
    /// Data URLs, and addresses that nobody fetches.
    pictures: Vec<String>,
}

/// Puts the pictures of `row` beside the messages that they were sent with. Of formats that make a message of a picture it is
/// one of that message then.
pub(crate) fn add_pictures(messages: &mut Vec<MessageView>, row: &Value) {
    let mut found = Vec::new();
    look_through(row, 0, &mut found);
    let mut from = 0;
    for PictureMessage { text, pictures } in found {
        let is_it = |message: &MessageView| {
            matches!(message.role, "user" | "assistant" | "tool_return")
                && message.pictures.is_empty()
                && message.text.as_deref().unwrap_or_default() == text
        };
        if let Some(at) = messages[from..].iter().position(is_it) {
            messages[from + at].pictures = pictures;
            from += at + 1;
        }
    }
    let is_of_message = |message: &&MessageView| message.role != "other";
    let shown = messages.iter().filter(is_of_message).flat_map(|message| &message.pictures);
    let shown: BTreeSet<String> = shown.cloned().collect();
    messages.retain(|message| {
        let mut own = message.pictures.iter();
        message.role != "other" || own.len() == 0 || !own.all(|picture| shown.contains(picture))
    });
}

fn look_through(value: &Value, depth: usize, found: &mut Vec<PictureMessage>) {
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| look_through(item, depth + 1, found)),
        Value::Object(members) => match members.get("content").and_then(Value::as_array) {
            Some(parts) if members.contains_key("role") => found.extend(with_pictures(parts)),
            _ => members.values().for_each(|member| look_through(member, depth + 1, found)),
        },
        _ => {}
    }
}

/// None of a message without pictures.
fn with_pictures(parts: &[Value]) -> Option<PictureMessage> {
    let pictures: Vec<String> = parts.iter().filter_map(picture_of).collect();
    let texts = parts.iter().filter_map(|part| part.as_str().or(part.get("text")?.as_str()));
    let text = texts.collect::<Vec<_>>().join(" ");
    (!pictures.is_empty()).then_some(PictureMessage { text, pictures })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::add_pictures;
    use crate::view::message::messages;
    use evalrs_trajectory::read::read;

    fn pictures(recorded: &Value) -> Vec<(Option<String>, Vec<String>)> {
        let mut shown = messages(&read(recorded, None).unwrap());
        add_pictures(&mut shown, &json!({"id": "a", "messages": recorded}));
        shown.into_iter().map(|message| (message.text, message.pictures)).collect()
    }

    #[test]
    fn pictures_stand_with_the_message_that_they_were_sent_with() {
        let part = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
        let recorded = json!([
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "hi", "tool_calls": []},
            {"role": "user", "content": [{"type": "text", "text": "what is"}, part("data:image/png;base64,AA=="), {"type": "text", "text": "this?"}]},
            {"role": "user", "content": [part("https://x/y.png"), part("data:image/gif;base64,BB==")]},
        ]);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            pictures(&recorded),
            [
                (text("hello"), vec![]),
                (text("hi"), vec![]),
                (text("what is this?"), vec!["data:image/png;base64,AA==".to_owned()]),
                (
                    text(""),
                    vec!["https://x/y.png".to_owned(), "data:image/gif;base64,BB==".to_owned()]
                ),
            ]
        );
    }

    #[test]
    fn a_picture_that_is_a_block_of_its_own_stands_once() {
        let block = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}});
        let thinking = json!({"type": "thinking", "thinking": "Hm."});
        let recorded = json!([
            {"role": "user", "content": [{"type": "text", "text": "look"}, block]},
            {"role": "assistant", "content": [thinking, {"type": "text", "text": "seen"}]},
        ]);
        let found = pictures(&recorded);
        let shown: Vec<_> = found.iter().map(|(_, pictures)| pictures.len()).collect();
        assert_eq!(shown, [1, 0, 0], "{found:?}");
    }
}
