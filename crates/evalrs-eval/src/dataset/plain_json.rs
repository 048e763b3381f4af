//! Numbers that are none: `NaN`, `Infinity` and `-Infinity`, which Python writes into JSON and JSON does not have.
//!
//! They are read as `null`: who wrote them had no number. Everything else of the text stays as it is, and where something
//! stood before is known.

use std::borrow::Cow;

use super::raw_record::{RawRecord, RecordStart, string_end};

/// A written number and its value: a text that is no longer but by the last byte of `null` for `NaN`.
const NUMBERS: [(&str, &str); 3] =
    [("NaN", "null"), ("Infinity", "null    "), ("-Infinity", "null     ")];

/// A text without such numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlainJson<'a> {
    /// The text that is read.
    pub text: Cow<'a, str>,
    /// Where it has a byte more than what is written, in rising order.
    grown: Vec<usize>,
}

impl<'a> PlainJson<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut plain = Self { text: Cow::Borrowed(text), grown: Vec::new() };
        if !may_have_some(text) {
            return plain;
        }
        let mut read = String::new();
        let mut kept = 0;
        let mut at = 0;
        while let Some(found) = next(text, at) {
            let NumberAt { start, written, meant } = found;
            read.push_str(&text[kept..start]);
            read.push_str(meant);
            if meant.len() > written.len() {
                plain.grown.push(read.len() - 1);
            }
            at = start + written.len();
            kept = at;
        }
        if kept > 0 {
            read.push_str(&text[kept..]);
            plain.text = Cow::Owned(read);
        }
        plain
    }

    /// A record of the text that is read, at the place where it is written.
    pub(super) fn written(&self, record: RawRecord<'_>) -> RawRecord<'static> {
        let RecordStart { column, offset, .. } = record.start;
        let before = |end: usize| self.grown.partition_point(|at| *at < end);
        let in_line = before(offset) - before(offset - column as usize);
        let start = RecordStart {
            offset: offset - before(offset),
            column: column - in_line as u32,
            is_converted: true,
            ..record.start
        };
        RawRecord { start, ..record.into_owned() }
    }
}

/// Whether there may be such numbers, seen from bytes alone.
pub(super) fn may_have_some(text: &str) -> bool {
    let has = |word: &str| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some();
    has("NaN") || has("Infinity")
}

struct NumberAt {
    start: usize,
    written: &'static str,
    meant: &'static str,
}

/// The first of them from byte `at` on, which is in no string.
fn next(text: &str, mut at: usize) -> Option<NumberAt> {
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            b'N' | b'I' | b'-' if is_value_start(bytes, at) => {
                let rest = &text[at..];
                let found = NUMBERS.iter().find(|(written, _)| rest.starts_with(written));
                let is_whole = |written: &str| {
                    let after = bytes.get(at + written.len());
                    after.is_none_or(|byte| matches!(byte, b',' | b']' | b'}') || is_blank(*byte))
                };
                if let Some((written, meant)) = found.filter(|(written, _)| is_whole(written)) {
                    return Some(NumberAt { start: at, written, meant });
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn is_value_start(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| bytes[before]);
    before.is_none_or(|byte| matches!(byte, b':' | b',' | b'[') || is_blank(byte))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// A text of JSON in which `NaN`, `Infinity` and `-Infinity` are null.
pub fn without_odd_numbers(text: &str) -> Cow<'_, str> {
    PlainJson::of(text).text
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::PlainJson;
    use crate::dataset::split::{RawRecord, RecordStart};

    #[test]
    fn numbers_that_are_none_are_null() {
        for (text, expected) in [
            (r#"{"a": NaN}"#, r#"{"a": null}"#),
            ("NaN", "null"),
            ("[NaN,-Infinity, Infinity]", "[null,null     , null    ]"),
            (r#"{"a":NaN,"b":"NaN, \" NaN","c":NaN}"#, r#"{"a":null,"b":"NaN, \" NaN","c":null}"#),
            // What is something else stays what it is, also where that is wrong.
            (r#"{"NaN": "Infinity"}"#, r#"{"NaN": "Infinity"}"#),
            ("[NaNs, xNaN, -NaN, +Infinity, NaN.5]", "[NaNs, xNaN, -NaN, +Infinity, NaN.5]"),
            (r#"{"a": "NaN"#, r#"{"a": "NaN"#),
            (r#"{"ä": [1], "a": 1}"#, r#"{"ä": [1], "a": 1}"#),
        ] {
            assert_eq!(PlainJson::of(text).text, expected, "{text}");
        }
    }

    #[test]
    fn records_stay_where_they_are_written() {
        let text = "[{\"s\": NaN}, {\"s\": NaN},\n {\"s\": NaN}, {\"s\": 4}]";
        let plain = PlainJson::of(text);
        let mut from = 0;
        for (line, line_start) in [(1, 0), (1, 0), (2, 26), (2, 26)] {
            let offset = from + plain.text[from..].find('{').unwrap();
            from = offset + 1;
            let line_start = if line_start > 0 { plain.text.find('\n').unwrap() + 1 } else { 0 };
            let column = (offset - line_start) as u32;
            let start = RecordStart { line, column, offset, ..RecordStart::default() };
            let record = plain.written(RawRecord { text: Cow::Borrowed("{}"), start });
            let RecordStart { offset, column, .. } = record.start;
            assert!(text[offset..].starts_with("{\"s\": "), "{text}");
            let written_line = text[..offset].rfind('\n').map_or(0, |at| at + 1);
            assert_eq!(offset - written_line, column as usize);
        }
    }
}
