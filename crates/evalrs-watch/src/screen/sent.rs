//! What the judges of the selected verdict were sent and replied, as `evalrs explain --prompt` writes it.
//!
//! The text is complete, and harmless where it comes from; only its lines are broken, below their own indentation. It is
//! laid out once for a width.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::paint::{flowed, panel};
use super::scrolled::ScrolledLines;
use super::theme::{STRONG, Theme};
use crate::board::{VerdictId, VerdictRow};
use evalrs_base::text::{cut, cut_middle};

/// The fewest columns that a line keeps of its own, however far it is indented.
const MIN_ROOM: usize = 20;

/// What is seen of what was sent.
#[derive(Debug, Default)]
pub(super) struct SentPane {
    /// The lines and where one is in them.
    pub shown: ScrolledLines,
    /// What was laid out last, of which verdict and for which width.
    laid_out: Option<(VerdictId, u16, String)>,
}

impl SentPane {
    /// Draws a title and as many lines of the `text` as fit; without one that it is being loaded.
    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        row: Option<&VerdictRow>,
        text: Option<&str>,
        theme: Theme,
    ) {
        let Some(row) = row else { return };
        let grader = Line::styled(format!(" {} ", cut(&row.grader, 24)), theme.faint());
        let taken = grader.width() + 16;
        let sample_id = cut_middle(&row.sample_id, usize::from(area.width).saturating_sub(taken));
        let title = Line::from_iter([
            Span::styled(format!(" {sample_id} "), STRONG),
            Span::styled("as sent ", theme.accent()),
        ]);
        let block = panel(area.width, false, title, grader, theme);
        self.shown.area = block.inner(area);
        block.render(area, buffer);
        let text = text.unwrap_or("loading");
        let width = self.shown.area.width;
        let held = self.laid_out.as_ref();
        let is_same = |(id, of, held): &(VerdictId, u16, String)| {
            *id == row.id && *of == width && held == text
        };
        if !held.is_some_and(is_same) {
            if held.is_none_or(|(id, ..)| *id != row.id) {
                self.shown.restart();
            }
            let room = usize::from(ScrolledLines::room(width));
            self.shown.set(lines(text, room, theme));
            self.laid_out = Some((row.id, width, text.to_owned()));
        }
        self.shown.draw(buffer, theme);
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
        let style = match part {
            _ if at == 0 => Style::new(),
            _ if part.starts_with("[1m") => STRONG,
            _ if part.starts_with("[2m") => theme.faint(),
            _ => Style::new(),
        };
        let text = if at == 0 { part } else { part.split_once('m').map_or("", |(_, text)| text) };
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
