//! Puts text into columns: nothing that is drawn here leaves its area, moves what stands beside it, or gets
//! through to the terminal unclean.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::base::text::{columns, cut, sanitize};

/// A piece of a line in one style.
pub(super) type StyledText = (String, Style);

/// The columns of the runs one after the other.
pub(super) fn width_of(runs: &[StyledText]) -> usize {
    runs.iter().map(|(text, _)| columns(text)).sum()
}

/// Writes one line from left to right.
pub(super) struct Pen<'b> {
    buffer: &'b mut Buffer,
    x: u16,
    y: u16,
    end: u16,
}

impl<'b> Pen<'b> {
    /// At the beginning of the first line of `area`; what is outside of the screen is not drawn.
    pub(super) fn new(buffer: &'b mut Buffer, area: Rect) -> Self {
        let area = area.intersection(buffer.area);
        let end = if area.height == 0 { area.x } else { area.right() };
        Self { buffer, x: area.x, y: area.y, end }
    }

    /// The columns that are left.
    pub(super) fn room(&self) -> usize {
        usize::from(self.end.saturating_sub(self.x))
    }

    /// Leaves columns as they are.
    pub(super) fn skip(&mut self, columns: usize) -> &mut Self {
        self.x = self.x.saturating_add(narrow(columns)).min(self.end);
        self
    }

    /// Writes the text, or as much of it as there is room for.
    pub(super) fn put(&mut self, text: &str, style: Style) -> &mut Self {
        let room = self.room();
        if room > 0 {
            let text = cut(text, room);
            // What was there before, a line across, leaves nothing of its style.
            let style = Style::reset().patch(style);
            (self.x, _) = self.buffer.set_stringn(self.x, self.y, text, room, style);
        }
        self
    }

    /// Writes one piece after the other.
    pub(super) fn runs(&mut self, runs: &[StyledText]) -> &mut Self {
        for (text, style) in runs {
            self.put(text, *style);
        }
        self
    }

    /// Writes the text at the left of `width` columns and goes to their end.
    pub(super) fn cell(&mut self, text: &str, width: usize, style: Style) -> &mut Self {
        let after = self.x.saturating_add(narrow(width)).min(self.end);
        let end = std::mem::replace(&mut self.end, after);
        self.put(text, style);
        self.x = after;
        self.end = end;
        self
    }

    /// Writes the text at the right of `width` columns and goes to their end.
    pub(super) fn cell_right(&mut self, text: &str, width: usize, style: Style) -> &mut Self {
        let text = cut(text, width);
        let before = width.saturating_sub(columns(&text));
        self.skip(before).cell(&text, width - before, style)
    }
}

/// Draws `left` at the left of a line and the first of `rights` that fits beside it at the right. If none does, the last
/// is drawn as long as it takes no more than half of the line, and the left one is cut.
pub(super) fn sides(
    buffer: &mut Buffer,
    area: Rect,
    left: &[StyledText],
    rights: &[Vec<StyledText>],
) {
    let room = usize::from(area.width);
    let fits = |right: &&Vec<StyledText>| width_of(left) + 3 + width_of(right) <= room;
    let right = rights
        .iter()
        .find(fits)
        .or_else(|| rights.last().filter(|right| width_of(right) * 2 <= room));
    let width = right.map_or(0, |right| width_of(right));
    let gap = if width == 0 { 0 } else { 2 };
    let (start, end) = split_right(area, width);
    Pen::new(buffer, Rect { width: start.width.saturating_sub(gap), ..start }).runs(left);
    if let Some(right) = right {
        Pen::new(buffer, end).runs(right);
    }
}

/// The area without its last `width` columns, and those.
pub(super) fn split_right(area: Rect, width: usize) -> (Rect, Rect) {
    let width = narrow(width).min(area.width);
    let left = Rect { width: area.width - width, ..area };
    (left, Rect { x: left.right(), width, ..area })
}

/// The lines of the area from `at` on, at most `height` of them.
pub(super) fn lines_of(area: Rect, at: usize, height: usize) -> Rect {
    let at = narrow(at).min(area.height);
    Rect { y: area.y + at, height: narrow(height).min(area.height - at), ..area }
}

/// The area without `columns` at both sides.
pub(super) fn inset(area: Rect, columns: u16) -> Rect {
    let columns = columns.min(area.width / 2);
    Rect { x: area.x + columns, width: area.width - 2 * columns, ..area }
}

/// Draws a line across.
pub(super) fn rule(buffer: &mut Buffer, area: Rect, style: Style) {
    let across = "─".repeat(usize::from(area.width));
    Pen::new(buffer, area).put(&across, style);
}

/// Draws how much of something long is seen into the last column of its area: nothing if all of it is.
pub(super) fn scrollbar(buffer: &mut Buffer, area: Rect, seen: VisibleRows, style: Style) {
    let height = usize::from(area.height);
    if height == 0 || seen.total <= height {
        return;
    }
    let length = (height * height / seen.total).max(1);
    let last = seen.total - height;
    let start = (height - length) * seen.offset.min(last) / last;
    for at in start..start + length {
        let (_, column) = split_right(lines_of(area, at, 1), 1);
        Pen::new(buffer, column).put("▐", style);
    }
}

/// Which part of something long is seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct VisibleRows {
    /// The first line that is.
    pub(super) offset: usize,
    /// All lines.
    pub(super) total: usize,
}

/// Which of the columns, each a width and a rank, fit into `room`: those of the lowest rank first.
pub(super) fn fitting(columns: &[(usize, u8)], room: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|at| columns[*at].1);
    let mut fits = vec![false; columns.len()];
    let mut used = 0;
    for at in order {
        let width = columns[at].0;
        if used + width <= room {
            used += width;
            fits[at] = true;
        }
    }
    fits
}

/// The text with an ellipsis in its middle if it is wider than `width` columns: ids differ at both ends.
pub(super) fn cut_middle(text: &str, width: usize) -> String {
    let text = sanitize(text);
    if columns(&text) <= width || width < 5 {
        return cut(&text, width);
    }
    let head = cut(&text, width.div_ceil(2));
    let mut tail = String::new();
    for char in text.chars().rev() {
        tail.insert(0, char);
        if columns(&head) + columns(&tail) > width {
            tail.remove(0);
            break;
        }
    }
    head + &tail
}

fn narrow(columns: usize) -> u16 {
    u16::try_from(columns).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    use super::{Pen, VisibleRows, cut_middle, fitting, scrollbar, sides};
    use crate::base::text::columns;

    fn drawn(buffer: &Buffer) -> String {
        let cells: String = buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect();
        cells.trim_end().to_owned()
    }

    #[test]
    fn cells_stay_in_their_columns_whatever_they_hold() {
        let cases = [
            ("short", "short   |"),
            ("much too long", "much to…|"),
            ("漢字漢字漢字", "漢 字 漢 … |"),
            ("tab\tand\nline", "tab and…|"),
            ("\u{1b}[31mred", "red     |"),
            ("e\u{301}a", "e\u{301}a      |"),
            ("", "        |"),
        ];
        for (text, expected) in cases {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 9, 1));
            let area = buffer.area;
            Pen::new(&mut buffer, area).cell(text, 8, Style::new()).put("|", Style::new());
            assert_eq!(drawn(&buffer), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_outside_is_not_drawn() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 3, 1));
        for area in [Rect::new(0, 1, 3, 1), Rect::new(3, 0, 3, 1), Rect::new(0, 0, 0, 0)] {
            Pen::new(&mut buffer, area).put("x", Style::new()).cell_right("y", 2, Style::new());
        }
        assert_eq!(drawn(&buffer), "");
    }

    #[test]
    fn the_right_side_gives_way() {
        let runs = |text: &str| vec![(text.to_owned(), Style::new())];
        let cases =
            [(20, "left        long one"), (14, "left     short"), (10, "le…  short"), (6, "left")];
        for (width, expected) in cases {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
            let area = buffer.area;
            sides(&mut buffer, area, &runs("left"), &[runs("long one"), runs("short")]);
            assert_eq!(drawn(&buffer), expected);
        }
    }

    #[test]
    fn ids_are_cut_in_the_middle() {
        let cases = [
            ("refund-policy-0042", 18, "refund-policy-0042"),
            ("refund-policy-0042", 12, "refun…y-0042"),
            ("refund-policy-0042", 4, "ref…"),
            ("漢字漢字漢字", 7, "漢…漢字"),
            ("a\u{301}bcdefgh", 7, "a\u{301}bc…fgh"),
            ("ab", 0, ""),
        ];
        for (text, width, expected) in cases {
            assert_eq!(cut_middle(text, width), expected);
            assert!(columns(expected) <= width);
        }
    }

    #[test]
    fn the_lowest_ranks_fit_first() {
        assert_eq!(fitting(&[(5, 2), (5, 0), (9, 1), (1, 3)], 11), [true, true, false, true]);
    }

    #[test]
    fn the_bar_goes_from_end_to_end() {
        let bar = |offset, total| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 1, 4));
            let area = buffer.area;
            scrollbar(&mut buffer, area, VisibleRows { offset, total }, Style::new());
            buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect::<String>()
        };
        assert_eq!([bar(0, 4), bar(0, 8), bar(4, 8)], ["    ", "▐▐  ", "  ▐▐"]);
        assert_eq!([bar(99_996, 100_000), bar(usize::MAX, 100_000)], ["   ▐", "   ▐"]);
    }
}
