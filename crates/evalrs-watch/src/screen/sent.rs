//! What the judges of the selected verdict were sent and replied, as `evalrs explain --prompt` writes it.
//!
//! The text is complete, and harmless where it comes from; only its lines are broken, below their own indentation. It is
//! laid out once for a width.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::paint::{Canvas, flowed, panel};
use super::scrolled::{ScrolledPage, ScrolledPane};
use super::theme::{STRONG, Theme};
use crate::board::{VerdictId, VerdictRow};
use evalrs_base::text::{cut, cut_middle};

/// The fewest columns that a line keeps of its own, however far it is indented.
const MIN_ROOM: usize = 20;

/// What was sent about a verdict.
#[derive(Debug, PartialEq)]
pub(super) struct SentText {
    of: VerdictId,
    text: String,
}

impl ScrolledPage for SentText {
    fn follows(&self, before: &Self) -> bool {
        self.of == before.of
    }

    fn lines(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        lines(&self.text, width, theme)
    }
}

impl ScrolledPane<SentText> {
    /// Renders the `text` of the request; without one a note that it is loading.
    pub(super) fn draw_sent(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Rect,
        row: &VerdictRow,
        text: Option<&str>,
    ) {
        let theme = canvas.theme;
        let grader = Line::styled(format!(" {} ", cut(&row.grader, 24)), theme.faint());
        let taken = grader.width() + 16;
        let sample_id = cut_middle(&row.sample_id, usize::from(area.width).saturating_sub(taken));
        let title = Line::from_iter([
            Span::styled(format!(" {sample_id} "), STRONG),
            Span::styled("as sent ", theme.accent()),
        ]);
        let page = SentText { of: row.id, text: text.unwrap_or("loading").to_owned() };
        self.draw(canvas, area, panel(area.width, false, title, grader, theme), Some(page));
    }
}

/// The text as lines of at most `width` columns, with the styles that its sequences say.
fn lines(text: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for line in text.trim_matches('\n').split('\n') {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let indent = indent.min(width.saturating_sub(MIN_ROOM));
        let runs = styled(&line[indent..], theme);
        for mut part in flowed(&runs, width - indent) {
            part.spans.insert(0, Span::raw(" ".repeat(indent)));
            lines.push(part);
        }
    }
    lines
}

/// The parts of a line. Texts of others have no escape characters left, so that each begins a sequence of its writer: bold,
/// faint, or the end of either.
fn styled(line: &str, theme: Theme) -> Vec<(String, Style)> {
    let mut runs = Vec::new();
    for (at, part) in line.split('\u{1b}').enumerate() {
        let (text, style) = match part.split_once('m') {
            _ if at == 0 => (part, Style::new()),
            Some(("[1", text)) => (text, STRONG),
            Some(("[2", text)) => (text, theme.faint()),
            sequence => (sequence.map_or("", |(_, text)| text), Style::new()),
        };
        runs.push((text.to_owned(), style));
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::screen::theme::Theme;

    #[test]
    fn lines_are_broken_below_their_own_indentation() {
        let cases: [(&str, usize, &[&str]); 5] = [
            ("a b", 40, &["a b"]),
            ("\n\u{1b}[1mquality\u{1b}[0m: vote 0\n", 40, &["quality: vote 0"]),
            (
                "      one two three four five six",
                26,
                &["      one two three four", "      five six"],
            ),
            ("  \u{1b}[2mkey\u{1b}[0m  ab\n\n  x", 40, &["  key  ab", "", "  x"]),
            ("      {\"a\": [31m}", 40, &["      {\"a\": [31m}"]),
        ];
        for (text, width, expected) in cases {
            let found = lines(text, width, Theme::new(false));
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
