//! What is wrong with a text as JSON, in our words and with the likely fix, and what a value in one is in words.
//!
//! It knows the parser's errors and nothing of rows or files. The parser names what it expected of a grammar;
//! whoever wrote a dataset by hand or by script made one of a few slips.

use std::ops::Range;

use serde_json::Value;
use serde_json::error::Category;

use crate::diagnostic::{Diagnostic, Place};

/// A slip: where it is, what it is, and a fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slip {
    /// The character it is at; empty at the end of the text.
    pub span: Range<usize>,
    /// What is wrong: a clause.
    pub message: String,
    /// The likely fix.
    pub hint: Option<&'static str>,
}

impl Slip {
    /// The slip at a place, for people; `what` says what is read.
    pub fn diagnostic(self, what: &str, place: Place) -> Diagnostic {
        let diagnostic = Diagnostic::error(place, format!("{what}: {}", self.message));
        Diagnostic { hint: self.hint.map(str::to_owned), ..diagnostic }
    }
}

/// The slip behind `error`, which came of reading `text`.
pub fn slip(text: &str, error: &serde_json::Error) -> Slip {
    let at = text.floor_char_boundary(offset_of(text, error.line(), error.column()));
    let length = text[at..].chars().next().map_or(0, char::len_utf8);
    let (message, hint) = words(&text[at..], error.classify(), &plain_message(error));
    Slip { span: at..at + length, message, hint }
}

fn words(rest: &str, category: Category, plain: &str) -> (String, Option<&'static str>) {
    let said = |message: &str, hint| (message.to_owned(), Some(hint));
    match plain {
        "trailing characters" => {
            said("something follows the end of the value", "a .jsonl file has one object per line")
        }
        "trailing comma" => said("a comma before the closing bracket", "remove the comma"),
        "key must be a string" => {
            said("a key must be a string in double quotes", "write {\"key\": …}")
        }
        "expected value" | "expected ident" => {
            said("a value is expected here", expected_value(rest))
        }
        _ if plain.starts_with("control character") => said(
            "a line break or control character inside a string",
            "write it as an escape: \\n, \\t or \\u0000",
        ),
        "invalid escape" => said(
            "this is not a JSON escape",
            "a backslash is written twice: \\\\; escapes are \\n, \\t, \\\", \\u00e9, …",
        ),
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => said(
            "half of a surrogate pair is not a character",
            "write both halves (\\ud83d\\ude00), or the character itself",
        ),
        _ if category == Category::Eof => {
            let inside = plain.strip_prefix("EOF while parsing ").unwrap_or("a value");
            let hint = "the text is cut off, or a bracket or quote is never closed";
            (format!("the text ends inside {inside}"), Some(hint))
        }
        _ => (plain.to_owned(), None),
    }
}

/// What is likely to stand where a value was expected.
fn expected_value(rest: &str) -> &'static str {
    match rest.chars().next() {
        Some('\'') => "strings have double quotes in JSON",
        Some('T' | 'F') => "truth values are `true` and `false` in JSON",
        Some('N' | 'u' | 'I') => "JSON has `null`, not None, NaN, undefined or Infinity",
        Some('/' | '#') => "JSON has no comments",
        Some(',') => "remove the comma, or write the value that is missing",
        _ => "write a string in double quotes, a number, true, false, null, {…} or […]",
    }
}

/// The words of a JSON error, without the position that serde appends.
pub fn plain_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rfind(" at line ") {
        Some(at) => message[..at].to_owned(),
        None => message,
    }
}

/// The byte offset of serde's line (from 1) and column (from 1, the column of the last byte read).
pub(crate) fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let line_start = if line <= 1 {
        0
    } else {
        memchr::memchr_iter(b'\n', text.as_bytes()).nth(line - 2).map_or(text.len(), |at| at + 1)
    };
    // Column 0 is the line break before the line.
    (line_start + column).saturating_sub(1).min(text.len())
}

/// A text as it is, any other value as its JSON.
pub fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a JSON value is, in words.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::slip;

    #[test]
    fn slips_are_named_where_they_are() {
        // The second column is the text that the place begins with.
        for (text, at, message) in [
            ("{\"a\": 1} {", "{", "something follows the end of the value"),
            ("{\"a\": 1,}", "}", "a comma before the closing bracket"),
            ("{a: 1}", "a", "a key must be a string in double quotes"),
            ("{\"a\": 'x'}", "'", "a value is expected here"),
            ("{\"a\": NaN}", "N", "a value is expected here"),
            ("{\"a\": \"b\nc\"}", "\n", "a line break or control character inside a string"),
            ("{\"a\": \"\\x\"}", "x", "this is not a JSON escape"),
            ("{\"a\": \"b", "b", "the text ends inside a string"),
            ("{\"a\": [1", "1", "the text ends inside a list"),
            ("\n\n {\"a\" 1}", "1", "expected `:`"),
        ] {
            let error = serde_json::from_str::<Value>(text).expect_err("broken");
            let found = slip(text, &error);
            assert!(text[found.span.clone()].starts_with(at), "{text:?}: {found:?}");
            assert_eq!(found.message, message, "{text:?}");
        }
    }
}
