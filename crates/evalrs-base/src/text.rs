//! Text for people: made harmless, measured, cut, and numbers in it.
//!
//! Samples, submissions and judges' replies are untrusted. What reaches a terminal passes through
//! [`sanitize`]: it can then neither move the cursor, nor colour, nor reorder, nor break a line.

pub mod flow;
pub mod table;
pub mod word_diff;

use std::borrow::{Borrow, Cow};
use std::fmt::{Display, Write};
use std::iter::Peekable;
use std::str::Chars;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The most characters that are shown for each column of room; joined emoji need several.
const CHARS_PER_COLUMN: usize = 4;

/// The text on one line, without escape sequences, control characters and marks that reorder or hide text.
///
/// Line breaks and tabs become spaces.
pub fn sanitize(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut may_end = true;
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => skip_sequence(&mut chars, &mut may_end),
            '\u{9b}' => skip_parameters(&mut chars),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' | '\r' | '\t' | '\u{85}' | '\u{2028}' | '\u{2029}' => clean.push(' '),
            _ if char.is_control() || is_unseen(char) => {}
            _ => clean.push(char),
        }
    }
    clean
}

/// The text with what a terminal obeys beyond ASCII, its control characters and marks that reorder text, written as
/// numbers: `⟨U+202E⟩`. For what is to be seen as it is; a text on one line is [sanitized](sanitize).
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_obeyed(char) {
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(char));
        } else {
            shown.push(char);
        }
    }
    shown.into()
}

fn is_obeyed(char: char) -> bool {
    matches!(
        char,
        '\u{80}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

/// A length of time, as exact as anybody who waits for it wants to know.
pub fn time(length: std::time::Duration) -> String {
    let seconds = length.as_secs_f64();
    match seconds {
        // What is left of a millisecond is still a wait.
        ..1.0 => format!("{:.0} ms", (seconds * 1000.0).ceil()),
        ..10.0 => format!("{seconds:.1} s"),
        ..120.0 => format!("{seconds:.0} s"),
        _ => format!("{:.0} min", seconds / 60.0),
    }
}

/// The most bytes of the beginning of a word that are given up where a text is cut.
const MAX_CUT_OFF: usize = 24;

/// The text, [sanitized](sanitize), if it fits in `width` columns, else its beginning and an ellipsis.
///
/// Characters without a width of their own are limited too: a thousand accents on one letter are cut.
pub fn cut(text: &str, width: usize) -> String {
    let text = sanitize(text);
    if fits(&text, width) {
        return text;
    }
    let Some(room) = width.checked_sub(1) else { return String::new() };
    let mut kept = beginning(&text, room);
    kept.push('…');
    kept
}

/// The same, cut between words where a space is near.
pub fn cut_words(text: &str, width: usize) -> String {
    let text = sanitize(text);
    match cut(&text, width).strip_suffix('…') {
        Some(kept) if !fits(&text, width) => format!("{}…", whole_words(kept, &text)),
        _ => cut(&text, width),
    }
}

/// The beginning `kept` of a text without the word that it ends within, unless too much of it is lost by that.
pub fn whole_words<'a>(kept: &'a str, text: &str) -> &'a str {
    if text.strip_prefix(kept).is_none_or(|rest| rest.starts_with(' ')) {
        return kept;
    }
    let space = kept.rfind(' ').filter(|at| kept.len() - at <= MAX_CUT_OFF);
    let words = space.map(|at| kept[..at].trim_end()).filter(|words| !words.is_empty());
    words.unwrap_or(kept)
}

/// The text, [sanitized](sanitize), with an ellipsis for its middle where it is wider than `width` columns: names differ
/// at either end.
pub fn cut_middle(text: &str, width: usize) -> String {
    let text = sanitize(text);
    if fits(&text, width) {
        return text;
    }
    let Some(room) = width.checked_sub(1) else { return String::new() };
    let end_room = room / 2;
    format!("{}…{}", beginning(&text, room - end_room), end(&text, end_room))
}

fn fits(text: &str, width: usize) -> bool {
    let most = width.saturating_mul(CHARS_PER_COLUMN);
    columns(text) <= width && text.chars().count() <= most
}

/// What fits of the beginning of a text.
fn beginning(text: &str, room: usize) -> String {
    let mut kept = fitting(text.chars(), room);
    // A variation selector can widen the character before it.
    while columns(&kept) > room {
        kept.pop();
    }
    kept.truncate(kept.trim_end().len());
    kept
}

/// What fits of the end of a text.
fn end(text: &str, room: usize) -> String {
    let backwards = fitting(text.chars().rev(), room);
    let mut kept: String = backwards.chars().rev().collect();
    // A mark without the letter it belongs to would stand on whatever comes before it.
    let is_mark = |text: &str| text.chars().next().is_some_and(|char| char.width() == Some(0));
    while is_mark(&kept) || columns(&kept) > room {
        kept.remove(0);
    }
    kept.trim_start().to_owned()
}

/// The first of the characters, as many as fit one by one.
fn fitting(chars: impl Iterator<Item = char>, room: usize) -> String {
    let mut used = 0;
    let fits = |char: &char| {
        used += char.width().unwrap_or(0);
        used <= room
    };
    chars.take(room * CHARS_PER_COLUMN + CHARS_PER_COLUMN - 1).take_while(fits).collect()
}

/// The columns the text takes on a terminal.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// A score in a table.
pub fn score(score: f64) -> String {
    // Adding zero turns -0.0 into 0.0.
    format!("{:.3}", score + 0.0)
}

/// A score that may be missing.
pub fn score_or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), score)
}

/// A share of 0..=1 as a percentage that may be missing.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}%", share * 100.0 + 0.0))
}

/// A mean and its standard error.
pub fn mean_and_error(mean: Option<f64>, stderr: Option<f64>) -> String {
    match (mean, stderr) {
        (Some(mean), Some(stderr)) => format!("{} ± {}", score(mean), score(stderr)),
        (mean, _) => score_or_dash(mean),
    }
}

/// A number and its noun, which takes an `s` unless the number is 1.
pub fn count<N: Copy + Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    let plural = if n == N::from(1) { "" } else { "s" };
    format!("{n} {noun}{plural}")
}

/// `a, b and c`, where `and` is the word before the last.
pub fn enumerated(words: &[impl Borrow<str>], and: &str) -> String {
    match words {
        [most @ .., last] if !most.is_empty() => {
            format!("{} {and} {}", most.join(", "), last.borrow())
        }
        words => words.concat(),
    }
}

/// A whole number with a comma between groups of three digits.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// An estimate: its first three digits, the rest zeros.
pub fn about(n: u64) -> String {
    let unit = 10u64.pow(n.checked_ilog10().unwrap_or(0).saturating_sub(2));
    grouped(n.saturating_add(unit / 2) / unit * unit)
}

/// The text, [sanitized](sanitize), as lines of at most `width` columns, broken at spaces where there are any.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in sanitize(text).split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, width)),
        }
    }
    lines
}

/// Marks that change the order of the text around them, and characters that are never visible.
fn is_unseen(char: char) -> bool {
    matches!(
        char,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// Skips what follows an escape character. A string command that never ends is left standing as text, or a
/// single character could hide everything after it. Where one does not end, none after it does: `may_end` remembers
/// that, or a text of nothing but beginnings would be searched to its end for each of them.
fn skip_sequence(chars: &mut Peekable<Chars<'_>>, may_end: &mut bool) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_parameters(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            if !*may_end {
                return;
            }
            let mut ahead = chars.clone();
            while let Some(char) = ahead.next() {
                let ended = match char {
                    '\u{7}' | '\u{9c}' => true,
                    '\u{1b}' => ahead.next_if_eq(&'\\').is_some(),
                    _ => false,
                };
                if ended {
                    *chars = ahead;
                    return;
                }
            }
            *may_end = false;
        }
        // Two-character sequences, with the intermediates of character set selection.
        Some(' '..='/') => {
            while chars.next_if(|char| (' '..='/').contains(char)).is_some() {}
            chars.next_if(|char| ('0'..='~').contains(char));
        }
        Some('0'..='~') => {
            chars.next();
        }
        _ => {}
    }
}

/// Skips the parameters and the final byte of a control sequence.
fn skip_parameters(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|char| (' '..='?').contains(char)).is_some() {}
    chars.next_if(|char| ('@'..='~').contains(char));
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, proptest};

    use super::*;

    #[test]
    fn what_terminals_obey_is_shown() {
        for (text, expected) in [
            ("plain ⟨é⟩ \u{1b}[1m\n\t", "plain ⟨é⟩ \u{1b}[1m\n\t"),
            ("a\u{202e}b\u{202c}", "a⟨U+202E⟩b⟨U+202C⟩"),
            ("\u{9b}31m", "⟨U+009B⟩31m"),
            ("\u{2066}x\u{2069}\u{200f}\u{61c}", "⟨U+2066⟩x⟨U+2069⟩⟨U+200F⟩⟨U+061C⟩"),
            ("can\u{200b}break", "can\u{200b}break"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn texts_are_cut_between_words_where_a_space_is_near() {
        let long = format!("a {}", "b".repeat(60));
        let cases = [
            ("quality accuracy >= 0.5", 40, "quality accuracy >= 0.5"),
            ("quality accuracy >= 0.5", 20, "quality accuracy >=…"),
            ("quality accuracy >= 0.5", 17, "quality accuracy…"),
            ("quality accuracy >= 0.5", 14, "quality…"),
            ("quality accuracy >= 0.5", 8, "quality…"),
            ("quality accuracy >= 0.5", 5, "qual…"),
            (&long, 40, &format!("a {}…", "b".repeat(37))),
            ("ends with an ellipsis…", 40, "ends with an ellipsis…"),
            ("", 0, ""),
        ];
        for (text, width, expected) in cases {
            assert_eq!(cut_words(text, width), expected, "{text} in {width}");
        }
    }

    #[test]
    fn times_are_as_exact_as_they_are_short() {
        for (milliseconds, expected) in [
            (0.0, "0 ms"),
            (0.2, "1 ms"),
            (20.0, "20 ms"),
            (999.0, "999 ms"),
            (1000.0, "1.0 s"),
            (9940.0, "9.9 s"),
            (12_400.0, "12 s"),
            (119_000.0, "119 s"),
            (120_000.0, "2 min"),
            (600_000.0, "10 min"),
        ] {
            let length = std::time::Duration::from_secs_f64(milliseconds / 1000.0);
            assert_eq!(time(length), expected);
        }
    }

    #[test]
    fn text_is_harmless() {
        let cases = [
            ("plain é 漢字 👩\u{200d}🚀", "plain é 漢字 👩\u{200d}🚀"),
            ("a\nb\r\nc\rd\te", "a b c d e"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[2J\u{1b}[1;1Hx", "x"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://e\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]never ends", "never ends"),
            ("\u{1b}(Bx\u{1b}cx\u{1b}", "xx"),
            ("a\u{0}b\u{8}c\u{7f}d", "abcd"),
            ("\u{202e}evil\u{202c} \u{2066}x\u{2069}", "evil x"),
            ("hid\u{200b}den\u{feff}\u{e0041}", "hidden"),
            ("a\u{2028}b", "a b"),
        ];
        for (text, expected) in cases {
            assert_eq!(sanitize(text), expected, "{text:?}");
        }
    }

    #[test]
    fn many_sequences_that_never_end_take_no_longer_than_text() {
        let text = format!("\u{1b}]title\u{7}{}\u{1b}[1mx", "\u{1b}]a\u{1b}P".repeat(1 << 19));
        assert!(sanitize(&text) == format!("{}x", "a".repeat(1 << 19)));
    }

    #[test]
    fn cuts_by_columns() {
        let cases = [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("漢字漢字", 5, "漢字…"),
            ("漢字漢字", 6, "漢字…"),
            ("ab cd", 4, "ab…"),
            ("ab", 1, "…"),
            ("ab", 0, ""),
            ("e\u{301}\u{301}\u{301}\u{301}", 1, "…"),
            (
                "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
                2,
                "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}…",
            ),
        ];
        for (text, width, expected) in cases {
            assert_eq!(cut(text, width), expected, "{text:?} in {width}");
        }
    }

    #[test]
    fn names_keep_both_ends() {
        let cases = [
            ("short", 5, "short"),
            ("claude-3-5-haiku-20241022", 13, "claude…241022"),
            ("claude-3-5-haiku-20241022", 12, "claude…41022"),
            ("漢字漢字", 7, "漢…字"),
            ("漢字漢字", 8, "漢字漢字"),
            ("ab cd ef", 5, "ab…ef"),
            ("ab cd ef", 6, "ab…ef"),
            ("abc", 2, "a…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
            ("abcdee\u{301}", 4, "ab…e\u{301}"),
            ("abcde\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}", 3, "a…"),
        ];
        for (text, width, expected) in cases {
            assert_eq!(cut_middle(text, width), expected, "{text:?} in {width}");
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(score(0.123_456), "0.123");
        assert_eq!(score(-0.0), "0.000");
        assert_eq!(percent(Some(1.0 / 3.0)), "33.3%");
        assert_eq!(mean_and_error(Some(0.5), Some(0.1)), "0.500 ± 0.100");
        assert_eq!((mean_and_error(None, None), percent(None)), ("-".to_owned(), "-".to_owned()));
        assert_eq!((count(1, "grade"), count(2, "grade")), ("1 grade".into(), "2 grades".into()));
        assert_eq!((count(0_u64, "key"), count(1_u32, "key")), ("0 keys".into(), "1 key".into()));
    }

    #[test]
    fn estimates_and_large_numbers_read_well() {
        let cases = [
            (0, "0", "0"),
            (7, "7", "7"),
            (999, "999", "999"),
            (1_004, "1,004", "1,000"),
            (1_005, "1,005", "1,010"),
            (14_217, "14,217", "14,200"),
            (1_234_567, "1,234,567", "1,230,000"),
            (u64::MAX, "18,446,744,073,709,551,615", "18,400,000,000,000,000,000"),
        ];
        for (n, exact, rounded) in cases {
            assert_eq!((grouped(n), about(n)), (exact.to_owned(), rounded.to_owned()));
        }
    }

    #[test]
    fn text_is_wrapped_at_spaces() {
        assert_eq!(wrapped("a bc  def ghijklm n", 6), ["a bc", "def", "ghijk…", "n"]);
        assert!(wrapped(" ", 6).is_empty());
    }

    proptest! {
        #[test]
        fn nothing_gets_through(text in "(\u{1b}|\\[|\\]|[0-9;m]|\u{9b}|\u{202e}|\\PC|\\n|.){0,40}") {
            let clean = sanitize(&text);
            prop_assert!(!clean.chars().any(|char| char.is_control() || is_unseen(char)));
        }

        #[test]
        fn a_cut_text_fits(text in "\\PC{0,40}", width in 0usize..30) {
            prop_assert!(columns(&cut(&text, width)) <= width);
            prop_assert!(columns(&cut_middle(&text, width)) <= width);
        }
    }
}
