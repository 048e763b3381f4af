//! Lines of which as many are seen as there is room for, and where in them one is.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::text::{Line, Text};
use ratatui::widgets::Widget;

use super::paint::{cut_line, scrollbar};
use super::theme::Theme;

/// Lines, and which of them are seen.
#[derive(Debug, Default)]
pub(crate) struct ScrolledLines {
    /// Where they were drawn; empty while they are not.
    pub area: Rect,
    offset: usize,
    lines: Vec<Line<'static>>,
}

impl ScrolledLines {
    /// The columns that lines may take in an area of `width` columns: one as wide as the area would touch the scroll bar.
    pub(super) fn room(width: u16) -> u16 {
        width.saturating_sub(3)
    }

    /// Shows what is so many lines further down.
    pub(super) fn scroll(&mut self, by: isize) {
        self.offset = self.offset.saturating_add_signed(by).min(self.last_offset());
    }

    /// Shows the first lines.
    pub(super) fn restart(&mut self) {
        self.offset = 0;
    }

    /// The lines that are seen at once.
    pub(crate) fn page(&self) -> isize {
        isize::try_from(self.area.height).unwrap_or(1).max(1)
    }

    /// Shows other lines from where it is.
    pub(crate) fn set(&mut self, lines: Vec<Line<'static>>) {
        self.lines = lines;
    }

    fn last_offset(&self) -> usize {
        self.lines.len().saturating_sub(usize::from(self.area.height))
    }

    /// Draws as many lines as fit into [`Self::area`].
    pub(crate) fn draw(&mut self, buffer: &mut Buffer, theme: Theme) {
        let inner = self.area.inner(Margin::new(1, 0));
        self.offset = self.offset.min(self.last_offset());
        let seen = self.lines.iter().skip(self.offset).take(usize::from(inner.height));
        let seen = seen.map(|line| cut_line(line.clone(), usize::from(inner.width)));
        seen.collect::<Text<'_>>().render(inner, buffer);
        scrollbar(buffer, self.area, self.offset, self.lines.len(), theme.faint());
    }
}
