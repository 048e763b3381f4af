//! Breaks styled text into lines.

use ratatui::style::Style;
use unicode_width::UnicodeWidthChar;

use super::paint::Run;
use crate::report::text::sanitize;

/// The most characters of a line for each of its columns; marks on letters take no column of their own.
const CHARS_PER_COLUMN: usize = 4;

/// The columns that a tab becomes.
const TAB: &str = "    ";

/// Text of several lines, each of them harmless.
pub(super) fn harmless(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| sanitize(&line.strip_suffix('\r').unwrap_or(line).replace('\t', TAB)))
        .collect();
    lines.join("\n")
}

/// Lines of at most `width` columns, broken at spaces where there are any, and at every line break of the text.
///
/// A line keeps the spaces it begins with, for they mean something in code; what goes on in the next has none.
pub(super) fn flow(runs: &[Run], width: usize) -> Vec<Vec<Run>> {
    let mut lines = Lines { width: width.max(2), ..Lines::default() };
    for (text, style) in runs {
        for char in text.chars() {
            lines.push(char, *style);
        }
    }
    lines.end();
    lines.done
}

#[derive(Default)]
struct Lines {
    width: usize,
    done: Vec<Vec<Run>>,
    line: Vec<(char, Style)>,
    columns: usize,
    /// Where the line may be broken.
    place: Option<usize>,
    /// Whether the line goes on with what the one before it began.
    goes_on: bool,
}

impl Lines {
    fn push(&mut self, char: char, style: Style) {
        if char == '\n' {
            self.end();
            return;
        }
        while !self.line.is_empty() && !self.has_room(char) {
            self.wrap(char == ' ');
        }
        if char == ' ' && self.line.is_empty() && self.goes_on {
            return;
        }
        self.columns += columns(char);
        self.line.push((char, style));
        // What a line begins with is no place to break it.
        if char == ' ' && self.line.iter().any(|(char, _)| *char != ' ') {
            self.place = Some(self.line.len());
        }
    }

    fn has_room(&self, char: char) -> bool {
        self.columns + columns(char) <= self.width
            && self.line.len() < self.width * CHARS_PER_COLUMN
    }

    /// Goes on in the next line, from where the line may be broken or from here.
    fn wrap(&mut self, here: bool) {
        let at = self.place.take().filter(|_| !here).unwrap_or(self.line.len());
        let rest = self.line.split_off(at);
        self.finish();
        self.columns = rest.iter().map(|(char, _)| columns(*char)).sum();
        self.line = rest;
        self.goes_on = true;
    }

    fn end(&mut self) {
        self.finish();
        (self.columns, self.place, self.goes_on) = (0, None, false);
    }

    fn finish(&mut self) {
        let line = std::mem::take(&mut self.line);
        let end = line.iter().rposition(|(char, _)| *char != ' ').map_or(0, |last| last + 1);
        let runs = line[..end].chunk_by(|(_, one), (_, other)| one == other);
        let runs = runs.map(|run| (run.iter().map(|(char, _)| char).collect(), run[0].1));
        self.done.push(runs.collect());
    }
}

/// The columns a character takes at most. A variation selector may widen the one before it.
fn columns(char: char) -> usize {
    if char == '\u{fe0f}' { 1 } else { char.width().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use proptest::test_runner::Config as ProptestConfig;
    use proptest::{prop_assert, proptest};
    use ratatui::style::{Modifier, Style};

    use super::{flow, harmless};
    use crate::report::text::columns;
    use crate::watch::screen::paint::width_of;

    fn lines(text: &str, width: usize) -> Vec<String> {
        let runs = flow(&[(harmless(text), Style::new())], width);
        runs.iter().map(|line| line.iter().map(|(text, _)| text.as_str()).collect()).collect()
    }

    #[test]
    fn text_is_broken_at_spaces_and_where_it_breaks_itself() {
        let cases: [(&str, usize, &[&str]); 9] = [
            ("", 9, &[""]),
            ("a few words", 80, &["a few words"]),
            ("a few words", 6, &["a few", "words"]),
            ("unbreakable", 4, &["unbr", "eaka", "ble"]),
            ("one\r\n\ntwo", 9, &["one", "", "two"]),
            ("if x:\n    y = 1 + 2", 9, &["if x:", "    y = 1", "+ 2"]),
            ("\tx", 9, &["    x"]),
            ("漢字漢字", 5, &["漢字", "漢字"]),
            ("\u{1b}[2Jx\u{202e}y", 9, &["xy"]),
        ];
        for (text, width, expected) in cases {
            assert_eq!(lines(text, width), expected, "{text:?}");
        }
    }

    #[test]
    fn styles_survive_the_break() {
        let (plain, bold) = (Style::new(), Style::new().add_modifier(Modifier::BOLD));
        let found = flow(&[("a ".into(), plain), ("b c".into(), bold)], 3);
        assert_eq!(
            found,
            [vec![("a ".into(), plain), ("b".into(), bold)], vec![("c".into(), bold)]]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn lines_fit(text in "(\\PC|[a-c ]|\\n|\\t|\u{1b}|\u{301}|\u{fe0f}){0,60}", width in 2usize..30) {
            for line in flow(&[(harmless(&text), Style::new())], width) {
                prop_assert!(width_of(&line) <= width);
                prop_assert!(line.iter().all(|(text, _)| columns(text) <= width));
                prop_assert!(!line.iter().any(|(text, _)| text.chars().any(char::is_control)));
            }
        }
    }
}
