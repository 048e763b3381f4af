//! The beginning of an input or a reference answer, as a row shows it.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The characters that a row shows.
const SHOWN: usize = 120;

/// A value of a line, in the forms in which it has a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum LineInput {
    Text(String),
    Turns(Vec<LineTurn>),
}

/// A turn, or a message.
#[derive(Deserialize)]
#[serde(untagged)]
enum LineTurn {
    Text(String),
    Message { content: String },
}

/// The beginning of a value: of a text, of the first of several turns, else of its JSON; empty where there is none.
pub(crate) fn beginning(value: Option<&RawValue>) -> Box<str> {
    let Some(value) = value.map(RawValue::get).filter(|value| *value != "null") else {
        return Box::default();
    };
    let text = match serde_json::from_str(value) {
        Ok(LineInput::Text(text)) => text,
        Ok(LineInput::Turns(turns)) => match turns.into_iter().next() {
            Some(LineTurn::Text(text) | LineTurn::Message { content: text }) => text,
            None => return Box::default(),
        },
        Err(_) => value.to_owned(),
    };
    text.chars().take(SHOWN).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::beginning;

    #[test]
    fn texts_turns_and_messages_begin_with_their_text() {
        let message = json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]);
        for (value, expected) in [
            (json!("ä".repeat(200)), "ä".repeat(120)),
            (json!(["one", "two"]), "one".to_owned()),
            (message, "a".to_owned()),
            (json!(null), String::new()),
            (json!([]), String::new()),
            (json!({"a": 1}), r#"{"a":1}"#.to_owned()),
        ] {
            let raw = to_raw_value(&value).unwrap();
            assert_eq!(*beginning(Some(&*raw)), *expected, "{value}");
        }
        assert_eq!(*beginning(None), *"");
    }
}
