//! A text with its escapes undone, and where each part of it stood: a key may be written as `sk\u002d…`, or over two lines.
//!
//! Escapes of JSON, YAML and programs are undone together, and those inside of others with them: a text in a text.

use std::ops::Range;

/// A text without escapes.
pub(super) struct UnescapedText {
    pub text: String,
    runs: Vec<UnescapedRun>,
}

/// Where bytes begin that stood together as they are.
struct UnescapedRun {
    /// In the text without escapes.
    at: usize,
    /// In the text as it was written.
    from: usize,
}

/// The meaning of an escape, and its end.
struct EscapeRead {
    /// None for the end of a line that goes on in the next one.
    is: Option<char>,
    end: usize,
}

impl UnescapedText {
    /// None where nothing is escaped.
    pub(crate) fn of(written: &str) -> Option<Self> {
        let bytes = written.as_bytes();
        let mut at = memchr::memchr(b'\\', bytes)?;
        let mut text = String::with_capacity(written.len());
        let mut runs = vec![UnescapedRun { at: 0, from: 0 }];
        text.push_str(&written[..at]);
        loop {
            let EscapeRead { is, end } = escape(bytes, at);
            runs.push(UnescapedRun { at: text.len(), from: at });
            text.extend(is);
            runs.push(UnescapedRun { at: text.len(), from: end });
            let rest = memchr::memchr(b'\\', &bytes[end..]);
            at = rest.map_or(bytes.len(), |found| end + found);
            text.push_str(&written[end..at]);
            if rest.is_none() {
                return Some(Self { text, runs });
            }
        }
    }

    /// Where a byte of the text stood.
    pub(crate) fn origin(&self, at: usize) -> usize {
        let behind = self.runs.partition_point(|run| run.at <= at);
        self.runs.get(behind.saturating_sub(1)).map_or(at, |run| run.from + (at - run.at))
    }

    /// Where a part of the text stood.
    pub(crate) fn origins(&self, part: &Range<usize>) -> Range<usize> {
        self.origin(part.start)..self.origin(part.end)
    }
}

/// Reads the escape that the backslash at `at` begins. Several backslashes are those of texts in texts.
fn escape(bytes: &[u8], at: usize) -> EscapeRead {
    let mut end = at + 1;
    loop {
        let kind = bytes.get(end).copied();
        let digits = match kind {
            Some(b'\\') => {
                end += 1;
                continue;
            }
            Some(b'x') => 2,
            Some(b'u') => 4,
            Some(b'U') => 8,
            _ => return short(bytes, end),
        };
        let Some(code) = hex(bytes.get(end + 1..end + 1 + digits)) else {
            return EscapeRead { is: Some('\\'), end };
        };
        end += 1 + digits;
        if code != u32::from(b'\\') {
            let is = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            return EscapeRead { is: Some(is), end };
        }
    }
}

fn hex(digits: Option<&[u8]>) -> Option<u32> {
    digits?.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))
}

/// An escape of one character, which is at `at`.
fn short(bytes: &[u8], at: usize) -> EscapeRead {
    let is = match bytes.get(at) {
        Some(b'n' | b'r') => Some('\n'),
        Some(b't' | b'b' | b'f' | b'v') => Some(' '),
        Some(b'\n' | b'\r') => {
            let is_blank = |byte: &&u8| byte.is_ascii_whitespace();
            let blanks = bytes[at..].iter().take_while(is_blank).count();
            return EscapeRead { is: None, end: at + blanks };
        }
        Some(other) if other.is_ascii_punctuation() => Some(char::from(*other)),
        _ => return EscapeRead { is: Some('\\'), end: at },
    };
    EscapeRead { is, end: at + 1 }
}

#[cfg(test)]
mod tests {
    use super::UnescapedText;

    #[test]
    fn escapes_are_undone_and_what_stood_there_is_known() {
        for (written, text) in [
            (r"a\/b", "a/b"),
            (r"sk\u002dproj", "sk-proj"),
            (r"\x73k\U0000002dproj", "sk-proj"),
            (r#"{\"a\":\"sk\\u002dproj\\nx\"}"#, "{\"a\":\"sk-proj\nx\"}"),
            (r"a\u005cu002db", "a-b"),
            ("ab\\\n      cd", "abcd"),
            ("ab\\\r\n\tcd", "abcd"),
            (r"\d+ \u12 \xg ü\", r"\d+ \u12 \xg ü\"),
            (r"\ud83d", "\u{fffd}"),
            ("\\", "\\"),
        ] {
            let unescaped = UnescapedText::of(written).unwrap();
            assert_eq!(unescaped.text, text, "{written}");
            assert_eq!(unescaped.origins(&(0..text.len())), 0..written.len(), "{written}");
            for (at, c) in text.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric()) {
                let from = &written[unescaped.origin(at)..];
                assert!(from.starts_with(c) || from.starts_with('\\'), "{written}: {c} at {from}");
            }
        }
        assert!(UnescapedText::of("plain").is_none());
    }
}
