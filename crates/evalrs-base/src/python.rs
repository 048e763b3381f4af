//! Text as Python 3 sees it: white space, lower case, `repr`.
//!
//! Knows nothing of graders. Compared with Python 3.11 over every code point: for characters that exist in
//! its Unicode 14 only U+001C..=U+001F differ from Rust's own rules, so everything else is left to Rust.
//! Rust and the `regex` crate carry a newer Unicode, so characters assigned since are lower-cased and
//! printed here where Python 3.11 would not; U+0295 and U+1171E, whose properties changed since, decide
//! differently only about a capital sigma beside them.

use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

/// Whether Python's `str.isspace` holds of the character.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The text without white space at its ends: `str.strip()`.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// The text with every run of white space as one space, and none at its ends: `' '.join(text.split())`.
pub fn collapse_space(text: &str) -> String {
    let words = text.split(is_space).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The text in lower case, by the full rules of Unicode: `str.lower()`.
pub fn lower(text: &str) -> String {
    text.to_lowercase()
}

/// Whether `repr` shows the character as it is: `str.isprintable()`.
pub(crate) fn is_printable(c: char) -> bool {
    /// Controls, formats, private use, unassigned and every separator but the space.
    static HIDDEN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"[\p{Other}\p{Separator}&&[^ ]]").ok());
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    let mut buffer = [0; 4];
    let text = c.encode_utf8(&mut buffer);
    HIDDEN.as_ref().is_none_or(|hidden| !hidden.is_match(text))
}

/// The text as Python's `repr` writes it, quotes included.
pub fn repr_str(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            _ if c == quote => out.extend(['\\', c]),
            _ if is_printable(c) => out.push(c),
            _ => push_escape(&mut out, c),
        }
    }
    out.push(quote);
    out
}

fn push_escape(out: &mut String, c: char) {
    let code = u32::from(c);
    let written = match code {
        0..=0xff => write!(out, "\\x{code:02x}"),
        0x100..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
    debug_assert!(written.is_ok(), "a string takes all that is written");
}

#[cfg(test)]
mod tests {
    use super::{collapse_space, lower, repr_str, strip};

    /// Every space of Python 3.11: `[n for n in range(0x110000) if chr(n).isspace()]`.
    const SPACES: &str = "\u{9}\u{a}\u{b}\u{c}\u{d}\u{1c}\u{1d}\u{1e}\u{1f} \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";

    #[test]
    fn spaces_are_those_of_python() {
        let found: String = ('\0'..=char::MAX).filter(|&c| super::is_space(c)).collect();
        assert_eq!(found, SPACES);
        assert_eq!(strip(&format!("{SPACES}a{SPACES}b{SPACES}")), format!("a{SPACES}b"));
        assert_eq!(strip("\u{200b}a\u{feff}"), "\u{200b}a\u{feff}");
        assert_eq!(strip(SPACES), "");
    }

    #[test]
    fn runs_of_space_collapse() {
        for (text, expected) in
            [("", ""), (" a\u{1c}\u{1d}b\t\n c ", "a b c"), ("a", "a"), ("  ", "")]
        {
            assert_eq!(collapse_space(text), expected, "{text:?}");
        }
    }

    #[test]
    fn lower_case_is_that_of_python() {
        for (text, expected) in [
            ("ÀÉ Straße ẞ", "àé straße ß"),
            ("İ", "i\u{307}"),
            ("ΣΑΣ ΟΔΟΣ", "σας οδος"),
            ("Σ", "σ"),
            ("ΑΣ.Α", "ασ.α"),
            ("ΑΣ.", "ας."),
            ("ΑΣ\u{ad}Α", "ασ\u{ad}α"),
            ("Ǆ ǅ K Å", "ǆ ǆ k å"),
            ("Ⓐ Ⅷ 𐐀", "ⓐ ⅷ 𐐨"),
        ] {
            assert_eq!(lower(text), expected, "{text:?}");
        }
    }

    #[test]
    fn repr_is_that_of_python() {
        for (text, expected) in [
            ("", "''"),
            ("it's", "\"it's\""),
            ("'\"", "'\\'\"'"),
            ("\"", "'\"'"),
            ("a\\b\n\r\t\0\u{7f}", "'a\\\\b\\n\\r\\t\\x00\\x7f'"),
            ("é\u{a0}\u{ad}\u{200b}\u{2028}", "'é\\xa0\\xad\\u200b\\u2028'"),
            ("😀\u{e000}\u{10ffff}\u{e0001}", "'😀\\ue000\\U0010ffff\\U000e0001'"),
            ("\u{378}\u{3000}\u{301}", "'\\u0378\\u3000\u{301}'"),
        ] {
            assert_eq!(repr_str(text), expected, "{text:?}");
        }
    }
}
