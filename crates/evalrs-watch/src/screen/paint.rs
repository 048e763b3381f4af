//! The building blocks of every part of the screen: harmless text, lines with two ends, panels, tables, scroll
//! bars.
//!
//! Text of others becomes part of the screen through [`span`], [`cut_line`] or [`flowed`]. ratatui keeps what is drawn
//! within its area, and leaves control characters out.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Constraint, Rect};
use ratatui::style::Style;
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Block, BorderType, Borders, Clear, HighlightSpacing, Padding, Row, Scrollbar,
    ScrollbarOrientation, ScrollbarState, StatefulWidget, Table, TableState, Widget,
};

use super::theme::Theme;
use evalrs_base::text::flow::flow;
use evalrs_base::text::{columns, cut, sanitize, whole_words};

/// The columns around the content of a cell.
const PADDING: usize = 2;

/// Harmless text in a style.
pub(super) fn span(text: &str, style: Style) -> Span<'static> {
    Span::styled(sanitize(text), style)
}

/// The line with an ellipsis where it is wider than `width` columns.
pub(super) fn cut_line(mut line: Line<'static>, width: usize) -> Line<'static> {
    let mut room = width;
    for span in &mut line.spans {
        let text = cut(&span.content, room);
        room -= columns(&text);
        span.content = text.into();
    }
    line
}

/// The same, cut between words where a space is near.
fn cut_between_words(line: Line<'static>, width: usize) -> Line<'static> {
    if line.width() <= width {
        return line;
    }
    let whole = line.clone();
    let mut line = cut_line(line, width);
    let cut = line.spans.iter_mut().zip(&whole.spans);
    if let Some((last, whole)) = cut.rev().find(|(last, _)| last.content.ends_with('…')) {
        let kept = last.content.trim_end_matches('…');
        last.content = format!("{}…", whole_words(kept, &whole.content)).into();
    }
    line
}

/// Harmless text as lines of at most `width` columns.
pub(super) fn flowed(text: &[(String, Style)], width: usize) -> Vec<Line<'static>> {
    let styled = |(text, style)| Span::styled(text, style);
    flow(text, width).into_iter().map(|line| line.into_iter().map(styled).collect()).collect()
}

/// The buffer and the theme.
pub(super) struct Canvas<'a> {
    pub buffer: &'a mut Buffer,
    pub theme: Theme,
}

impl Canvas<'_> {
    pub(super) fn render(&mut self, widget: impl Widget, area: Rect) {
        widget.render(area, self.buffer);
    }

    /// Renders `left` at the left of a line and the first of `rights` that fits beside it at the right. If none does,
    /// the last is drawn as long as it takes no more than half of the line, and the left one is cut.
    pub(super) fn sides(&mut self, area: Rect, left: Line<'static>, rights: &[Line<'static>]) {
        let room = usize::from(area.width);
        let fits = |right: &&Line<'_>| left.width() + 3 + right.width() <= room;
        let shortest = || rights.last().filter(|right| right.width() * 2 <= room);
        let mut room_left = room;
        if let Some(right) = rights.iter().find(fits).or_else(shortest) {
            room_left = room.saturating_sub(right.width() + 2);
            self.render(right.clone().right_aligned(), area);
        }
        self.render(cut_between_words(left, room_left), area);
    }

    /// Renders a scroll bar for something long, from the line `offset` on, into the last column of its area; nothing if
    /// all of it is visible.
    pub(super) fn scrollbar(&mut self, area: Rect, offset: usize, total: usize) {
        let height = usize::from(area.height);
        if total > height {
            let mut state = ScrollbarState::new(total - height + 1)
                .position(offset)
                .viewport_content_length(height);
            Scrollbar::new(ScrollbarOrientation::VerticalRight)
                .begin_symbol(None)
                .end_symbol(None)
                .track_symbol(None)
                .thumb_symbol("▐")
                .style(self.theme.faint())
                .render(area, self.buffer, &mut state);
        }
    }

    /// Renders a table, of which the line `selected` is marked.
    pub(super) fn table(&mut self, table: Table<'static>, area: Rect, selected: Option<usize>) {
        let mut state = TableState::new().with_selected(selected);
        StatefulWidget::render(table, area, self.buffer, &mut state);
    }

    /// Renders a block at `place`, over other content, and returns the area in it.
    pub(super) fn over(&mut self, place: Rect, block: Block<'_>) -> Rect {
        let inner = block.inner(place);
        self.render(Clear, place);
        self.render(block, place);
        inner
    }
}

/// A block with a round border.
pub(super) fn boxed(style: Style) -> Block<'static> {
    let block = Block::bordered().border_type(BorderType::Rounded).border_style(style);
    block.padding(Padding::horizontal(1))
}

/// The middle of an area.
pub(super) fn middle(area: Rect, width: u16, height: u16) -> Rect {
    area.centered(
        Constraint::Length(width.min(area.width)),
        Constraint::Length(height.min(area.height)),
    )
}

/// A panel of `width` columns: below a line with a title at either end, and beside a line if it is beside something.
pub(super) fn panel(
    width: u16,
    is_beside: bool,
    title: Line<'static>,
    mut at_right: Line<'static>,
    theme: Theme,
) -> Block<'static> {
    let across = Span::styled("─", theme.faint());
    let room = usize::from(width).saturating_sub(at_right.width() + PADDING);
    let mut title = cut_line(title, room);
    title.spans.insert(0, across.clone());
    at_right.push_span(across);
    Block::new()
        .borders(if is_beside { Borders::TOP | Borders::LEFT } else { Borders::TOP })
        .border_set(border::Set { top_left: "┬", ..border::PLAIN })
        .border_style(theme.faint())
        // A title is as bright as it says, whatever the line below it is.
        .title_style(Style::new().not_dim())
        .title_top(title)
        .title_top(at_right.right_aligned())
}

pub(super) struct TableColumn<R> {
    pub title: &'static str,
    width: usize,
    /// Its width where there is room left.
    max_width: usize,
    /// The greater, the earlier it is left out.
    rank: u8,
    alignment: Alignment,
    cell: fn(&R, usize, Theme) -> Line<'static>,
}

impl<R> TableColumn<R> {
    /// Text, in as many columns as there are, at least those of the title.
    pub(super) fn text(
        title: &'static str,
        width: usize,
        max_width: usize,
        rank: u8,
        cell: fn(&R, usize, Theme) -> Line<'static>,
    ) -> Self {
        let width = width.max(title.len());
        Self { title, width, max_width, rank, alignment: Alignment::Left, cell }
    }

    /// Numbers, at the right of the column.
    pub(super) fn number(
        title: &'static str,
        width: usize,
        rank: u8,
        cell: fn(&R, usize, Theme) -> Line<'static>,
    ) -> Self {
        Self { alignment: Alignment::Right, ..Self::text(title, width, width, rank, cell) }
    }

    pub(super) fn rank(&self) -> u8 {
        self.rank
    }

    /// The columns of the screen that it takes at least.
    pub(super) fn taken(&self) -> usize {
        self.width + PADDING
    }

    /// The same, left out before this many others.
    pub(super) fn after(self, ranks: u8) -> Self {
        Self { rank: if self.rank == 0 { 0 } else { self.rank + ranks }, ..self }
    }

    fn padded(&self, mut line: Line<'static>) -> Line<'static> {
        line.spans.insert(0, Span::raw(" "));
        line.push_span(" ");
        line.alignment(self.alignment)
    }
}

/// The name of a grader in `width` columns: that of a criterion which does not fit without its rubric, which the others share.
pub(super) fn grader_name(name: &str, width: usize) -> String {
    match name.rsplit_once('.') {
        Some((_, criterion)) if columns(name) > width => cut(&format!("….{criterion}"), width),
        _ => cut(name, width),
    }
}

/// The columns for which there is room between the mark of the selection and the column of the scroll bar, the last ones
/// to be left out first; what is left is given to those that can use it.
pub(super) fn fitted<R>(all: Vec<TableColumn<R>>, width: u16) -> Vec<TableColumn<R>> {
    let mut room = usize::from(width).saturating_sub(2);
    let mut columns = fitting(all, room, |column| (column.taken(), column.rank));
    room -= columns.iter().map(TableColumn::taken).sum::<usize>();
    for column in &mut columns {
        let wider = column.max_width.saturating_sub(column.width).min(room);
        column.width += wider;
        room -= wider;
    }
    columns
}

pub(super) fn row<R>(columns: &[TableColumn<R>], of: &R, theme: Theme) -> Row<'static> {
    columns.iter().map(|column| column.padded((column.cell)(of, column.width, theme))).collect()
}

/// The titles of a table. Below a column without one shows what was drawn there before.
pub(super) fn titles<R>(columns: &[TableColumn<R>], theme: Theme) -> Row<'static> {
    let titles = columns.iter().map(|column| match column.title {
        "" => Line::default(),
        title => column.padded(title.into()),
    });
    titles.collect::<Row<'_>>().style(theme.faint())
}

/// The table of these rows, with `mark` before the selected one.
pub(super) fn table<R>(
    columns: &[TableColumn<R>],
    rows: impl Iterator<Item = Row<'static>>,
    mark: &'static str,
    theme: Theme,
) -> Table<'static> {
    let widths = columns.iter().map(|column| u16::try_from(column.taken()).unwrap_or(u16::MAX));
    Table::new(rows, widths.map(Constraint::Length))
        .column_spacing(0)
        .highlight_spacing(HighlightSpacing::Always)
        .highlight_symbol(Span::styled(mark, theme.accent()))
}

/// Which of all, each a width and a rank, fit into `room`: those of the lowest ranks, in the order as they are given.
pub(super) fn fitting<T>(all: Vec<T>, mut room: usize, size: impl Fn(&T) -> (usize, u8)) -> Vec<T> {
    let mut ranked: Vec<(usize, T)> = all.into_iter().enumerate().collect();
    ranked.sort_by_key(|(_, part)| size(part).1);
    ranked.retain(|(_, part)| {
        let left = room.checked_sub(size(part).0);
        room = left.unwrap_or(room);
        left.is_some()
    });
    ranked.sort_by_key(|(at, _)| *at);
    ranked.into_iter().map(|(_, part)| part).collect()
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;
    use ratatui::text::Line;

    use super::super::theme::Theme;
    use super::{Canvas, cut_between_words, cut_line, fitting, span};

    fn drawn(buffer: &Buffer) -> String {
        let cells: String = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        cells.trim_end().to_owned()
    }

    #[test]
    fn lines_end_where_they_should_whatever_they_hold() {
        let cases = [
            ("short", "short"),
            ("much too long", "much to…"),
            ("漢字漢字漢字", "漢字漢…"),
            ("tab\tand\nline", "tab and…"),
            ("\u{1b}[31mred\u{202e}", "red"),
            ("e\u{301}a", "e\u{301}a"),
            ("", ""),
        ];
        for (text, expected) in cases {
            let line = cut_line(Line::from(span(text, Style::new())), 8);
            assert_eq!(line.to_string(), expected, "{text:?}");
        }
        let two = Line::from_iter([span("one", Style::new()), span(" two", Style::new())]);
        assert_eq!(cut_line(two, 5).to_string(), "one…");
    }

    #[test]
    fn the_right_side_gives_way() {
        let cases =
            [(20, "left        long one"), (14, "left     short"), (10, "le…  short"), (6, "left")];
        for (width, expected) in cases {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
            let area = buffer.area;
            let mut canvas = Canvas { buffer: &mut buffer, theme: Theme::new(false) };
            canvas.sides(area, "left".into(), &["long one".into(), "short".into()]);
            assert_eq!(drawn(&buffer), expected);
        }
    }

    #[test]
    fn what_is_cut_ends_with_a_word_where_it_can() {
        let long = format!("a {}", "b".repeat(40));
        let cases = [
            ("the suite judges itself", 18, "the suite judges…"),
            ("the suite judges itself", 16, "the suite…"),
            ("the suite judges itself", 40, "the suite judges itself"),
            ("suite", 4, "sui…"),
            (" suite", 5, " sui…"),
            (&long, 30, "a bbbbbbbbbbbbbbbbbbbbbbbbbbb…"),
        ];
        for (text, width, expected) in cases {
            let cut = cut_between_words(Line::from(span(text, Style::new())), width);
            assert_eq!(cut.to_string(), expected, "{text} in {width}");
        }
    }

    #[test]
    fn the_lowest_ranks_fit_first() {
        let parts = vec![(5, 2), (5, 0), (9, 1), (1, 3)];
        assert_eq!(fitting(parts, 11, |part| *part), [(5, 2), (5, 0), (1, 3)]);
    }

    #[test]
    fn the_bar_goes_from_end_to_end() {
        let bar = |offset, total| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 1, 4));
            let area = buffer.area;
            let mut canvas = Canvas { buffer: &mut buffer, theme: Theme::new(false) };
            canvas.scrollbar(area, offset, total);
            buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect::<String>()
        };
        assert_eq!([bar(0, 4), bar(0, 8), bar(4, 8)], ["    ", "▐▐  ", "  ▐▐"]);
        assert_eq!([bar(99_996, 100_000), bar(usize::MAX, 100_000)], ["   ▐", "   ▐"]);
    }
}
