//! Breaks styled text into lines, for any type of style.

use unicode_width::UnicodeWidthChar;

/// The most characters of a line for each of its columns; marks on letters take no column of their own.
const CHARS_PER_COLUMN: usize = 4;

/// Allows a break where there is no space, and is not shown. No [sanitized](super::sanitize) text holds
/// one.
pub(crate) const MAY_BREAK: &str = "\u{200b}";

/// The text as lines of at most `width` columns, at least 2, each in pieces of one style: broken at every line break, and
/// at spaces where there are any.
///
/// A line keeps the spaces it begins with, for they mean something in code; what goes on in the next has none. No line
/// has spaces at its end.
pub fn flow<S: Copy + PartialEq>(text: &[(String, S)], width: usize) -> Vec<Vec<(String, S)>> {
    let styled = text.iter().flat_map(|(text, style)| text.chars().map(|char| (char, *style)));
    let chars: Vec<(char, S)> = styled.collect();
    let mut lines = Vec::new();
    for mut rest in chars.split(|(char, _)| *char == '\n') {
        loop {
            let (line, after) = rest.split_at(line_end(rest, width.max(2)));
            lines.push(pieces(line));
            let spaces = after.iter().take_while(|(char, _)| *char == ' ').count();
            rest = &after[spaces..];
            if rest.is_empty() {
                break;
            }
        }
    }
    lines
}

/// How many of the characters stand on the first line.
fn line_end<S>(chars: &[(char, S)], width: usize) -> usize {
    let mut used = 0;
    let fits = |(char, _): &&(char, S)| {
        used += columns(*char);
        used <= width
    };
    let room = chars.iter().take(width * CHARS_PER_COLUMN).take_while(fits).count();
    if chars.get(room).is_none_or(|(char, _)| *char == ' ') {
        return room;
    }
    // A line is not broken within its indentation.
    let indent = chars.iter().take_while(|(char, _)| *char == ' ').count();
    let place = chars[..room].iter().rposition(|(char, _)| matches!(*char, ' ' | '\u{200b}'));
    place.filter(|place| *place >= indent).map_or(room, |place| place + 1)
}

/// The line without the spaces at its end.
fn pieces<S: Copy + PartialEq>(line: &[(char, S)]) -> Vec<(String, S)> {
    let end = line.iter().rposition(|(char, _)| !matches!(*char, ' ' | '\u{200b}'));
    let line = &line[..end.map_or(0, |last| last + 1)];
    let pieces = line.chunk_by(|(_, one), (_, other)| one == other);
    let text = |piece: &[(char, S)]| piece.iter().map(|(char, _)| *char).collect::<String>();
    pieces.map(|piece| (text(piece).replace(MAY_BREAK, ""), piece[0].1)).collect()
}

/// The columns a character takes at most. A variation selector may widen the one before it.
fn columns(char: char) -> usize {
    if char == '\u{fe0f}' { 1 } else { char.width().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::{MAY_BREAK, flow};

    fn lines(text: &str) -> Vec<String> {
        let lines = flow(&[(text.to_owned(), ())], 4).into_iter();
        lines.map(|line| line.into_iter().map(|(text, ())| text).collect()).collect()
    }

    #[test]
    fn spaces_at_an_end_make_no_line() {
        let cases: [(&str, &[&str]); 5] = [
            ("abcd ", &["abcd"]),
            ("abcd  \nef", &["abcd", "ef"]),
            ("  ab", &["  ab"]),
            (" ", &[""]),
            ("a\n\n", &["a", "", ""]),
        ];
        for (text, expected) in cases {
            assert_eq!(lines(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_may_break_where_the_text_says_so() {
        assert_eq!(lines(&format!("ab{MAY_BREAK}cde")), ["ab", "cde"]);
        assert_eq!(lines(&format!("ab{MAY_BREAK}cd")), ["abcd"]);
    }
}
