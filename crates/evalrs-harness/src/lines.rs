//! JSON Lines as agent-eval-harness reads them: the text as a whole is trimmed, empty lines are passed over, and every other
//! line must be an object. Lines are counted as editors count them.

use std::fmt;

use serde_json::{Map, Value};

use evalrs_base::json_syntax::{kind_of, slip};

/// The content of a line.
pub(crate) type JsonRecord = Map<String, Value>;

/// A line with something on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InlineLine<'t> {
    /// Its number in the file, from 1.
    pub number: usize,
    pub text: &'t str,
}

impl InlineLine<'_> {
    /// That the line cannot be read, and why.
    pub(crate) fn bad(self, reason: String) -> BadLine {
        BadLine { number: self.number, reason }
    }
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadLine {
    /// Its number in the file, from 1.
    pub number: usize,
    /// What is wrong with it: a clause.
    pub reason: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at line {}: {}", self.number, self.reason)
    }
}

/// The members of these names that a record has.
pub(crate) fn members_of(record: &JsonRecord, names: &[&str]) -> JsonRecord {
    let member = |name: &&str| Some(((*name).to_owned(), record.get(*name)?.clone()));
    names.iter().filter_map(member).collect()
}

/// The text of a file.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, BadLine> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let number = 1 + memchr::memchr_iter(b'\n', before).count();
        BadLine { number, reason: "this is not UTF-8".to_owned() }
    })
}

/// The lines with something on them. One of white space alone is such a line where another one follows: it then is no
/// JSON.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = InlineLine<'_>> + Clone {
    let is_space = |char: char| char.is_whitespace() || char == '\u{feff}';
    let rest = text.trim_start_matches(is_space);
    let skipped = text[..text.len() - rest.len()].bytes().filter(|byte| *byte == b'\n').count();
    let lines = rest.trim_end_matches(is_space).split('\n').enumerate();
    lines
        .map(move |(at, text)| InlineLine { number: skipped + at + 1, text })
        .filter(|line| !line.text.is_empty())
}

/// The object on a line.
pub(crate) fn object(line: InlineLine<'_>) -> Result<JsonRecord, BadLine> {
    let wrong = |reason| line.bad(reason);
    if line.text.trim().is_empty() {
        return Err(wrong("expected an object, found white space".to_owned()));
    }
    if matches!(line.text.trim(), "{" | "[") {
        let reason = "the JSON is incomplete: write one whole record per line";
        return Err(wrong(reason.to_owned()));
    }
    match serde_json::from_str(line.text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(other) => {
            let lines = if other.is_array() { ": write one record per line" } else { "" };
            Err(wrong(format!("expected an object, found {}{lines}", kind_of(&other))))
        }
        Err(error) => {
            let slip = slip(line.text, &error);
            let column = line.text[..slip.span.start].chars().count() + 1;
            Err(wrong(format!("{} (column {column})", slip.message)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{decode, lines, object};

    fn told(bytes: &[u8]) -> String {
        let text = match decode(bytes) {
            Ok(text) => text,
            Err(bad) => return bad.to_string(),
        };
        let told = lines(text).map(|line| match object(line) {
            Ok(members) => {
                format!("{}:{}", line.number, members.keys().cloned().collect::<String>())
            }
            Err(bad) => bad.to_string(),
        });
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lines_have_their_true_numbers() {
        for (text, expected) in [
            ("", ""),
            (" \n\r\n", ""),
            ("{\"a\":1}", "1:a"),
            ("\n\n{\"a\":1}\n\n{\"b\":1}\n", "3:a 5:b"),
            ("\u{feff}{\"a\":1}\r\n{\"b\":1}\r\n", "1:a 2:b"),
            ("{\"a\":1}\n \n{\"b\":1}", "1:a at line 2: expected an object, found white space 3:b"),
            ("{\"a\":1}\n\n1", "1:a at line 3: expected an object, found a number"),
            (
                "[{\"a\":1}]",
                "at line 1: expected an object, found a list: write one record per line",
            ),
            ("{\"é\": }", "at line 1: a value is expected here (column 7)"),
        ] {
            assert_eq!(told(text.as_bytes()), expected, "{text:?}");
        }
        let whole = decode(b"\n{\n  \"a\": 1\n}\n").map(lines).unwrap().next().map(object);
        let reason = whole.unwrap().unwrap_err().to_string();
        assert!(reason.starts_with("at line 2: the JSON is incomplete"), "{reason}");
        assert_eq!(told(b"{}\n{\"a\": \"\xff\"}"), "at line 2: this is not UTF-8");
    }
}
