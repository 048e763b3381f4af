//! A text as words, numbers and signs, each with its place: what patterns of rubrics are looked for in.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RubricTokenKind {
    /// A word, in lower case.
    Word(String),
    /// A number; one after a word and a hyphen is a part of that name, and no number.
    Number(f64),
    /// Any other character.
    Sign(char),
    /// The end of a sentence, a line of a list, or a paragraph.
    Break,
}

/// A word, a number or a sign of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RubricToken {
    pub kind: RubricTokenKind,
    /// Its bytes.
    pub bytes: Range<usize>,
}

impl RubricToken {
    pub(super) fn word(&self) -> Option<&str> {
        match &self.kind {
            RubricTokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self.kind {
            RubricTokenKind::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn is_sign(&self, signs: &[char]) -> bool {
        matches!(self.kind, RubricTokenKind::Sign(sign) if signs.contains(&sign))
    }

    pub(super) fn is_word(&self, words: &[&str]) -> bool {
        self.word().is_some_and(|word| words.contains(&word))
    }
}

/// Cuts a text. Spaces and signs of emphasis are dropped; a line that goes on in the next one is not cut there.
pub(super) fn tokens(text: &str) -> Vec<RubricToken> {
    let mut tokens: Vec<RubricToken> = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let (length, kind) = if next.is_ascii_digit() || starts_negative(rest, tokens.last()) {
            number(rest)
        } else if next.is_alphabetic() {
            word(rest)
        } else if next == '\n' {
            let length = rest.len() - rest.trim_start().len();
            (length.max(1), (!goes_on(rest)).then_some(RubricTokenKind::Break))
        } else if matches!(next, '.' | '!' | '?' | ';') {
            let is_end = rest[next.len_utf8()..].chars().next().is_none_or(char::is_whitespace);
            (
                next.len_utf8(),
                Some(if is_end { RubricTokenKind::Break } else { RubricTokenKind::Sign(next) }),
            )
        } else {
            let is_dropped = next.is_whitespace() || matches!(next, '*' | '_' | '`' | '"');
            (next.len_utf8(), (!is_dropped).then_some(RubricTokenKind::Sign(next)))
        };
        if let Some(kind) = kind {
            tokens.push(RubricToken { kind, bytes: at..at + length });
        }
        at += length;
    }
    tokens
}

/// A minus directly before a digit, and not between a word or a number and it.
fn starts_negative(rest: &str, before: Option<&RubricToken>) -> bool {
    let is_minus = rest.starts_with('-') && rest[1..].starts_with(|c: char| c.is_ascii_digit());
    is_minus
        && before.is_none_or(|before| {
            before.is_sign(&['(', '[', ':']) || before.is_word(&["from", "between", "of", "in"])
        })
}

fn number(rest: &str) -> (usize, Option<RubricTokenKind>) {
    let sign = usize::from(rest.starts_with('-'));
    let is_digit = |c: char| c.is_ascii_digit();
    let whole = rest[sign..].find(|c| !is_digit(c)).map_or(rest.len(), |at| at + sign);
    let mut length = whole;
    if let Some(fraction) = rest[whole..].strip_prefix('.')
        && fraction.starts_with(is_digit)
    {
        length = whole + 1 + fraction.find(|c| !is_digit(c)).unwrap_or(fraction.len());
    }
    // `3rd` and `2x` are words.
    if rest[length..].starts_with(char::is_alphabetic) {
        return word(rest);
    }
    (length, rest[..length].parse().ok().map(RubricTokenKind::Number))
}

fn word(rest: &str) -> (usize, Option<RubricTokenKind>) {
    let is_end = |c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’'));
    let length = rest.find(is_end).unwrap_or(rest.len()).max(1);
    (length, Some(RubricTokenKind::Word(rest[..length].to_lowercase())))
}

/// Whether a sentence goes on after the end of a line: in a line that is neither an item of a list nor a
/// heading.
fn goes_on(rest: &str) -> bool {
    let next = rest[1..].trim_start_matches([' ', '\t']);
    let number = next.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_item = number.len() < next.len() && number.starts_with(['.', ')', ':', '=']);
    !is_item && next.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{RubricTokenKind, tokens};

    #[test]
    fn texts_are_cut_into_words_numbers_and_signs() {
        for (text, expected) in [
            ("Score: 1-10.", "score :1 -10 |"),
            ("from 0.0 to 1.0, e.g. 0.5", "from 0 to 1 , e . g | 0.5"),
            ("the 3rd of **5**", "the 3rd of 5"),
            ("rate it\nfrom 1 to 5\n- no\n\nend", "rate it from 1 to 5 | - no | end"),
            ("from -1 to 1 (-2)", "from -1 to 1 ( -2 )"),
            ("1. one\n2. two", "1 | one | 2 | two"),
            ("1–5 on “it”", "1 – 5 on “ it ”"),
        ] {
            let shown: Vec<String> = tokens(text)
                .into_iter()
                .map(|token| match token.kind {
                    RubricTokenKind::Word(word) => word,
                    RubricTokenKind::Number(number) => number.to_string(),
                    RubricTokenKind::Sign(sign) => sign.to_string(),
                    RubricTokenKind::Break => "|".to_owned(),
                })
                .collect();
            let expected = expected.replace(":1 -10", ": 1 - 10");
            assert_eq!(shown.join(" "), expected, "{text}");
        }
    }
}
