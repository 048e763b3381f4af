//! Breaks styled text into lines, whatever a style is.

use unicode_width::UnicodeWidthChar;

/// The most characters of a line for each of its columns; marks on letters take no column of their own.
const CHARS_PER_COLUMN: usize = 4;

/// Text that is broken into lines: at spaces where there are any, and at every line break.
///
/// A line keeps the spaces it begins with, for they mean something in code; what goes on in the next has none. No line
/// has spaces at its end.
#[derive(Debug)]
pub(crate) struct Flow<S> {
    width: usize,
    done: Vec<Vec<(String, S)>>,
    line: Vec<(char, S)>,
    columns: usize,
    /// Where the line may be broken.
    place: Option<usize>,
    /// Whether the line goes on with what the one before it began.
    goes_on: bool,
}

impl<S: Copy + PartialEq> Flow<S> {
    /// No text yet, in lines of at most `width` columns, at least 2.
    pub(crate) fn new(width: usize) -> Self {
        let done = Vec::new();
        let line = Vec::new();
        let width = width.max(2);
        Self { width, done, line, columns: 0, place: None, goes_on: false }
    }

    /// The same for text that is none by itself: it begins with no spaces, and may have no line.
    pub(crate) fn going_on(width: usize) -> Self {
        Self { goes_on: true, ..Self::new(width) }
    }

    /// Adds text.
    pub(crate) fn push(&mut self, text: &str, style: S) {
        for char in text.chars() {
            self.push_char(char, style);
        }
    }

    fn push_char(&mut self, char: char, style: S) {
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
        if char == ' ' {
            self.may_break();
        }
    }

    /// Allows a break here. What a line begins with is no place to break it.
    pub(crate) fn may_break(&mut self) {
        if self.line.iter().any(|(char, _)| *char != ' ') {
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
        self.put();
        self.columns = rest.iter().map(|(char, _)| columns(*char)).sum();
        self.line = rest;
        self.goes_on = true;
    }

    /// Ends the line, unless all of it stands in the one before.
    fn end(&mut self) {
        if !self.line.is_empty() || !self.goes_on {
            self.put();
        }
        (self.columns, self.place, self.goes_on) = (0, None, false);
    }

    fn put(&mut self) {
        let line = std::mem::take(&mut self.line);
        let end = line.iter().rposition(|(char, _)| *char != ' ').map_or(0, |last| last + 1);
        let runs = line[..end].chunk_by(|(_, one), (_, other)| one == other);
        let runs = runs.map(|run| (run.iter().map(|(char, _)| char).collect(), run[0].1));
        self.done.push(runs.collect());
    }

    /// The lines, each of them in pieces of one style.
    pub(crate) fn finish(mut self) -> Vec<Vec<(String, S)>> {
        self.end();
        self.done
    }
}

/// The columns a character takes at most. A variation selector may widen the one before it.
fn columns(char: char) -> usize {
    if char == '\u{fe0f}' { 1 } else { char.width().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::Flow;

    #[test]
    fn spaces_at_an_end_make_no_line() {
        let cases: [(&str, &[&str], &[&str]); 5] = [
            ("abcd ", &["abcd"], &["abcd"]),
            ("abcd  \nef", &["abcd", "ef"], &["abcd", "ef"]),
            ("  ab", &["  ab"], &["ab"]),
            (" ", &[""], &[]),
            ("a\n\n", &["a", "", ""], &["a", "", ""]),
        ];
        for (text, expected, going_on) in cases {
            for (mut flow, expected) in [(Flow::new(4), expected), (Flow::going_on(4), going_on)] {
                flow.push(text, ());
                let lines = flow.finish().into_iter();
                let lines: Vec<String> =
                    lines.map(|line| line.into_iter().map(|(text, ())| text).collect()).collect();
                assert_eq!(lines, expected, "{text:?}");
            }
        }
    }
}
