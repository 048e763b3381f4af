//! Reads the JSON of servers and models, which is less strict than that of people.
//!
//! A byte-order mark, bytes that are not UTF-8 and halves of surrogate pairs are forgiven: what was paid for is not thrown
//! away for a character.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use evalrs_base::ordered_map::OrderedMap;

/// Reads a body.
pub fn read(bytes: &[u8]) -> serde_json::Result<Value> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    serde_json::from_str(&without_halves(text))
}

/// The text with every escape of half a surrogate pair replaced by that of the replacement character.
pub(crate) fn without_halves(text: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        at += match unit(&text[at..]) {
            // An escape of another kind: its second character may be a backslash too.
            None => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            Some(0xd800..=0xdbff) if matches!(unit(&text[at + 6..]), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                mended.push_str(&text[kept..at]);
                mended.push_str("\\ufffd");
                kept = at + 6;
                6
            }
            Some(_) => 6,
        };
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    mended.push_str(&text[kept..]);
    Cow::Owned(mended)
}

/// The code unit that `text` begins with an escape of.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
    u16::from_str_radix(digits, 16).ok()
}

/// Whether the object that `text` begins with has several members of this name that differ.
pub(crate) fn differs_with_itself(text: &str, name: &str) -> bool {
    // Nearly every reply says it once. A name may also be written in escapes.
    if !text.contains("\\u") && text.matches(&format!("\"{name}\"")).nth(1).is_none() {
        return false;
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let members = OrderedMap::<Value>::deserialize(&mut reader).unwrap_or_default();
    let differs =
        |first| members.0.iter().any(|(key, value)| key == name && !is_equal(value, first));
    members.get(name).is_some_and(differs)
}

/// The members of the object that `text` begins with, also those of one name.
pub(crate) fn members(text: &str) -> Vec<(String, Box<RawValue>)> {
    let mut reader = serde_json::Deserializer::from_str(text);
    OrderedMap::<Box<RawValue>>::deserialize(&mut reader).unwrap_or_default().0
}

/// Whether two values are the same; numbers are however they are written: 1 and 1.0.
pub(crate) fn is_equal(left: &Value, right: &Value) -> bool {
    left == right || left.as_f64().is_some_and(|left| right.as_f64() == Some(left))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{differs_with_itself, read, without_halves};

    #[test]
    fn halves_of_pairs_are_replaced_and_nothing_else() {
        for (text, expected) in [
            (r#""\ud800""#, r#""\ufffd""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\uD83D\uDE00 \uDE00""#, r#""\uD83D\uDE00 \ufffd""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud800""#, r#""\\ud800""#),
            (r#""\\\ud800x""#, r#""\\\ufffdx""#),
            (r#""\ud80""#, r#""\ud80""#),
            (r#""\u00e9\n\é""#, r#""\u00e9\n\é""#),
            ("\\", "\\"),
            (r"\ud800", r"\ufffd"),
            ("", ""),
        ] {
            assert_eq!(without_halves(text), expected, "{text}");
        }
    }

    #[test]
    fn a_body_is_read_whatever_its_characters() {
        assert_eq!(read(b"\xef\xbb\xbf{\"a\": 1}").unwrap(), json!({"a": 1}));
        assert_eq!(read(b"{\"a\": \"x\xff\"}").unwrap(), json!({"a": "x\u{fffd}"}));
        assert_eq!(read(br#"{"a": "x\udfff"}"#).unwrap(), json!({"a": "x\u{fffd}"}));
        assert!(read(b"{").is_err());
    }

    #[test]
    fn an_object_may_differ_with_itself() {
        for (text, expected) in [
            (r#"{"a": 1, "b": 2}"#, false),
            (r#"{"a": 1, "a": 1}"#, false),
            (r#"{"a": 1, "a": 1.0}"#, false),
            (r#"{"a": 1, "a": "1"}"#, true),
            (r#"{"a": 1, "a": 0} more"#, true),
            (r#"{"a": 1, "b": {"a": 0}}"#, false),
            (r#"{"b": 1, "b": 2}"#, false),
            (r#"[{"a": 1}, {"a": 2}]"#, false),
            (r#"{"a": 1, "a": "#, false),
        ] {
            assert_eq!(differs_with_itself(text, "a"), expected, "{text}");
        }
    }
}
