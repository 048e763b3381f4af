//! Lines of which as many are seen as there is room for, and where in them one is.

use ratatui::layout::{Margin, Rect};
use ratatui::text::{Line, Text};
use ratatui::widgets::Block;

use super::paint::{Canvas, cut_line};
use super::theme::Theme;

/// What is shown as lines.
pub(super) trait ScrolledPage: PartialEq {
    /// Whether one goes on where one is when this page takes the place of `before`.
    fn follows(&self, before: &Self) -> bool;

    /// The page as lines of at most `width` columns.
    fn lines(&self, width: usize, theme: Theme) -> Vec<Line<'static>>;
}

/// A page in a panel, laid out once for each width: long texts are compared and broken into lines.
#[derive(Debug)]
pub(super) struct ScrolledPane<P> {
    pub shown: ScrolledLines,
    laid_out: Option<(P, u16)>,
}

impl<P> Default for ScrolledPane<P> {
    fn default() -> Self {
        Self { shown: ScrolledLines::default(), laid_out: None }
    }
}

impl<P: ScrolledPage> ScrolledPane<P> {
    /// Renders a panel and as many lines of a page as fit; without a page the panel alone.
    pub(super) fn draw(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Rect,
        panel: Block<'_>,
        page: Option<P>,
    ) {
        self.shown.area = panel.inner(area);
        canvas.render(panel, area);
        let width = self.shown.area.width;
        let page = page.map(|page| (page, width));
        let before = self.laid_out.as_ref().zip(page.as_ref());
        if !before.is_some_and(|((before, _), (page, _))| page.follows(before)) {
            self.shown.offset = 0;
        }
        if self.laid_out != page {
            // Lines as wide as the area would touch the scroll bar.
            let room = usize::from(width.saturating_sub(3));
            let lines = page.as_ref().map(|(page, _)| page.lines(room, canvas.theme));
            self.shown.lines = lines.unwrap_or_default();
            self.laid_out = page;
        }
        self.shown.draw(canvas);
    }
}

#[derive(Debug, Default)]
pub(crate) struct ScrolledLines {
    /// Their area; empty while they are not shown.
    pub area: Rect,
    offset: usize,
    lines: Vec<Line<'static>>,
}

impl ScrolledLines {
    /// Scrolls this many lines down.
    pub(super) fn scroll(&mut self, by: isize) {
        self.offset = self.offset.saturating_add_signed(by).min(self.last_offset());
    }

    /// The lines that are seen at once.
    pub(crate) fn page(&self) -> isize {
        isize::try_from(self.area.height).unwrap_or(1).max(1)
    }

    fn last_offset(&self) -> usize {
        self.lines.len().saturating_sub(usize::from(self.area.height))
    }

    fn draw(&mut self, canvas: &mut Canvas<'_>) {
        let inner = self.area.inner(Margin::new(1, 0));
        self.offset = self.offset.min(self.last_offset());
        let seen = self.lines.iter().skip(self.offset).take(usize::from(inner.height));
        let seen = seen.map(|line| cut_line(line.clone(), usize::from(inner.width)));
        canvas.render(seen.collect::<Text<'_>>(), inner);
        canvas.scrollbar(self.area, self.offset, self.lines.len());
    }
}
