//! The list of verdicts: which one is selected, and which lines are seen.
//!
//! The board is asked for the rows that are seen and no others. The selection is a row, not a line: whatever comes in
//! above it, it stays where it is on the screen.

use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Row;

use super::list_columns::{ColumnWidths, ListedRow};
use super::list_title::{ListContext, ListPlace, list_panel, nothing};
use super::paint::{Canvas, cut_line, fitted, row, table, titles};
use crate::board::{Board, VerdictFilter, VerdictId};
use crate::list_query::ListQuery;

/// From this height on the columns have titles.
const TITLES_FROM: u16 = 10;

/// The most rows that are looked at for the next one without a label.
const MOST_LOOKED_AT: usize = 10_000;

/// What is listed, and what of it is seen.
#[derive(Debug, Default)]
pub(super) struct VerdictList {
    /// The filter that the user chose; before one is chosen, what is worth seeing is listed.
    pub filter: Option<VerdictFilter>,
    /// What else the user chose; its filter is not used.
    pub choices: ListQuery,
    /// The area of its rows; empty while they are not shown.
    pub area: Rect,
    /// How many rows were visible when it was rendered last.
    height: usize,
    rows: Vec<VerdictId>,
    /// The selected row, and where it is in `rows`, or would be selected from there.
    shown: Option<VerdictId>,
    at: usize,
    /// Whether it is in `rows`.
    is_listed: bool,
    /// The row that the user selected. It is selected again when it comes back.
    chosen: Option<VerdictId>,
    /// Whether it stays selected while it is not listed: not after the user chose another part of the list.
    keeps_chosen: bool,
    /// The keys of the graders, by their ordinals in the rows.
    graders: Vec<String>,
    offset: usize,
    widths: ColumnWidths,
}

impl VerdictList {
    pub(super) fn selected(&self) -> Option<VerdictId> {
        self.shown
    }

    pub(super) fn is_listed(&self) -> bool {
        self.is_listed
    }

    /// The selected row is the one that the user means, also where the list becomes another one.
    pub(super) fn choose(&mut self) {
        self.chosen = self.shown;
        self.keeps_chosen = true;
    }

    /// Follows the graders of the selected rows, where a save gave them other ordinals.
    pub(super) fn follow_graders(&mut self, graders: Vec<String>) {
        if self.graders == graders {
            return;
        }
        let moved = |id: VerdictId| {
            let name = self.graders.get(id.grader)?;
            let grader = graders.iter().position(|of| of == name)?;
            Some(VerdictId { grader, ..id })
        };
        self.chosen = self.chosen.and_then(moved);
        self.shown = self.shown.and_then(moved);
        self.graders = graders;
    }

    /// Lists these rows. The selected one stays, and stays where it is on the screen. What the user chose stays selected also
    /// where it is not listed any more, as long as `is_there` holds of it.
    pub(super) fn set(&mut self, rows: Vec<VerdictId>, is_there: impl Fn(VerdictId) -> bool) {
        let find = |id: Option<VerdictId>| id.and_then(|id| rows.iter().position(|row| *row == id));
        let chosen = find(self.chosen);
        let stays = self.keeps_chosen && chosen.is_none();
        let left = self.chosen.filter(|id| stays && is_there(*id));
        let kept = if left.is_some() { None } else { chosen.or_else(|| find(self.shown)) };
        let was_on = self.at.saturating_sub(self.offset);
        let is_seen = self.is_seen();
        let at = kept.unwrap_or(self.at.min(rows.len().saturating_sub(1)));
        if is_seen && self.offset > 0 {
            self.offset = at.saturating_sub(was_on);
        }
        self.shown = left.or_else(|| rows.get(at).copied());
        self.is_listed = left.is_none() && self.shown.is_some();
        self.at = at;
        self.rows = rows;
        if is_seen {
            self.follow();
        }
        self.offset = self.offset.min(self.last_offset());
    }

    /// Selects the row this many lines further down. From one that is not listed it goes to those around its place.
    pub(super) fn go(&mut self, by: isize) {
        let by = if self.is_listed || by <= 0 { by } else { by - 1 };
        self.select(self.at.saturating_add_signed(by));
    }

    /// Selects the next row of the same grader for which `is_wanted` holds, the first ones after the last; none is selected if
    /// there is none.
    pub(super) fn next(&mut self, is_wanted: impl Fn(VerdictId) -> bool) -> Option<VerdictId> {
        let grader = self.shown?.grader;
        let all = self.rows.len();
        let after = (usize::from(self.is_listed)..all).map(|by| (self.at + by) % all);
        let mut own = after.filter(|at| self.rows[*at].grader == grader).take(MOST_LOOKED_AT);
        let at = own.find(|at| is_wanted(self.rows[*at]))?;
        self.select(at);
        self.shown
    }

    /// Selects this line, or the last one.
    pub(super) fn select(&mut self, at: usize) {
        let at = at.min(self.rows.len().saturating_sub(1));
        if let Some(row) = self.rows.get(at) {
            self.shown = Some(*row);
            self.choose();
            self.is_listed = true;
            self.at = at;
            self.follow();
        }
    }

    /// Selects the row on this line of the screen.
    pub(super) fn click(&mut self, y: u16) {
        let at = self.offset + usize::from(y.saturating_sub(self.area.y));
        if at < self.rows.len() {
            self.select(at);
        }
    }

    /// Scrolls this many lines down, and leaves the selection alone.
    pub(super) fn scroll(&mut self, by: isize) {
        self.offset = self.offset.saturating_add_signed(by).min(self.last_offset());
    }

    /// Another part of the list is shown: what is not in it is not selected until it is listed again.
    pub(super) fn forget(&mut self) {
        self.keeps_chosen = false;
    }

    /// Begins at the top, for another list.
    pub(super) fn restart(&mut self) {
        self.chosen = None;
        self.shown = None;
        self.at = 0;
        self.offset = 0;
    }

    /// The lines that are seen at once.
    pub(super) fn page(&self) -> isize {
        isize::try_from(self.height).unwrap_or(1).max(1)
    }

    fn is_seen(&self) -> bool {
        (self.offset..self.offset + self.height.max(1)).contains(&self.at)
    }

    fn follow(&mut self) {
        let height = self.height.max(1);
        self.offset = self.offset.clamp((self.at + 1).saturating_sub(height), self.at);
    }

    fn last_offset(&self) -> usize {
        self.rows.len().saturating_sub(self.height.max(1))
    }

    /// Renders the filters, the titles and the rows that fit.
    pub(super) fn draw(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Rect,
        look: ListContext<'_>,
        board: &dyn Board,
    ) {
        let theme = canvas.theme;
        let place = ListPlace { at: self.is_listed.then_some(self.at), all: self.rows.len() };
        let panel = list_panel(area.width, look, place, theme);
        let inner = panel.inner(area);
        canvas.render(panel, area);
        let has_titles = area.height >= TITLES_FROM;
        let titles_height = Constraint::Length(u16::from(has_titles));
        let [_, rows] = Layout::vertical([titles_height, Constraint::Fill(1)]).areas(inner);
        self.area = rows;
        // What was seen is seen at another height too.
        let was_seen = self.is_seen();
        self.height = usize::from(self.area.height);
        if was_seen {
            self.follow();
        }
        self.offset = self.offset.min(self.last_offset());
        let seen = self.rows.iter().skip(self.offset).take(self.height);
        let is_to_label = look.query.filter == VerdictFilter::ToLabel;
        let rows = seen.map(|id| {
            Some(ListedRow {
                row: board.row(*id)?,
                text: board.text(*id).unwrap_or_default(),
                to_label: if is_to_label { board.to_label(*id) } else { None },
            })
        });
        let rows: Vec<Option<ListedRow>> = rows.collect();
        self.widths.grow(rows.iter().flatten());
        let columns = fitted(self.widths.columns(look, usize::from(area.width)), area.width);
        let rows = rows.iter().map(|of| match of {
            Some(of) => row(&columns, of, theme),
            None => Row::new([Span::styled(" gone", theme.faint())]),
        });
        let mut table = table(&columns, rows, "▌", theme).row_highlight_style(theme.selected());
        if has_titles {
            table = table.header(titles(&columns, theme));
        }
        let selected = self.at.checked_sub(self.offset);
        let selected = selected.filter(|line| *line < self.height && self.is_listed);
        // The selection is not that of the scroll bar.
        let inner = Rect { width: inner.width.saturating_sub(1), ..inner };
        canvas.table(table, inner, selected);
        if self.rows.is_empty() {
            let nothing = Span::styled(nothing(look), theme.faint()).into();
            let nothing = cut_line(nothing, usize::from(self.area.width));
            canvas.render(Text::from_iter([Line::default(), nothing]), self.area);
        }
        canvas.scrollbar(self.area, self.offset, self.rows.len());
    }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;

    use super::VerdictList;
    use crate::board::VerdictId;

    fn ids(cases: &[u128]) -> Vec<VerdictId> {
        cases.iter().map(|case| VerdictId { case: *case, grader: 0 }).collect()
    }

    fn listed(cases: &[u128]) -> VerdictList {
        let mut list =
            VerdictList { area: Rect::new(0, 5, 20, 3), height: 3, ..VerdictList::default() };
        list.set(ids(cases), |_| false);
        list
    }

    /// The case that is selected, and the line of the screen it stands on.
    fn seen(list: &VerdictList) -> (Option<u128>, usize) {
        (list.selected().map(|id| id.case), list.at - list.offset)
    }

    #[test]
    fn the_selection_stays_with_its_row() {
        let mut list = listed(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(seen(&list), (Some(1), 0));
        list.go(4);
        assert_eq!((seen(&list), list.offset), ((Some(5), 2), 2));
        list.set(ids(&[9, 1, 2, 3, 4, 5, 6]), |_| false);
        assert_eq!((seen(&list), list.offset), ((Some(5), 2), 3));
        // One that is gone leaves the selection where it was, and takes it back when it comes again.
        list.set(ids(&[9, 1, 2, 3, 4, 6]), |_| false);
        assert_eq!(seen(&list).0, Some(6));
        list.set(ids(&[5, 9]), |_| false);
        assert_eq!(seen(&list), (Some(5), 0));
        list.set(Vec::new(), |_| false);
        assert_eq!(seen(&list), (None, 0));
        list.set(ids(&[7, 5]), |_| false);
        assert_eq!(seen(&list), (Some(5), 1));
    }

    #[test]
    fn what_the_user_chose_stays_selected_where_it_is_not_listed() {
        let mut list = listed(&[1, 2, 3, 4]);
        list.go(2);
        let is_there = |id: VerdictId| id.case != 9;
        list.set(ids(&[1, 2, 4, 6]), is_there);
        assert_eq!((seen(&list).0, list.is_listed()), (Some(3), false));
        list.set(Vec::new(), is_there);
        assert_eq!((seen(&list).0, list.is_listed()), (Some(3), false));
        list.set(ids(&[1, 3, 4, 6]), is_there);
        assert_eq!((seen(&list), list.is_listed()), ((Some(3), 1), true));
        // From where it was, keys go to what stands around.
        for (by, expected) in [(1, 4), (-1, 1), (2, 6), (isize::MIN, 1), (isize::MAX, 6)] {
            let mut list = listed(&[1, 3, 4, 6]);
            list.go(1);
            list.set(ids(&[1, 4, 6]), is_there);
            list.go(by);
            assert_eq!((seen(&list).0, list.is_listed()), (Some(expected), true), "{by}");
        }
        list.set(ids(&[1, 4]), is_there);
        assert_eq!(list.next(|_| true).map(|id| id.case), Some(4), "none is skipped");
        // A search shows what it finds, and what was chosen comes back after it.
        list.forget();
        list.set(ids(&[6]), is_there);
        assert_eq!((seen(&list).0, list.is_listed()), (Some(6), true));
        list.set(ids(&[1, 4, 6]), is_there);
        assert_eq!(seen(&list).0, Some(4));
    }

    #[test]
    fn the_selection_follows_its_grader() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let row = |case, grader| VerdictId { case, grader };
        let mut list = listed(&[]);
        list.follow_graders(names(&["quality", "tone"]));
        list.set(vec![row(1, 0), row(1, 1)], |_| true);
        list.go(1);
        list.follow_graders(names(&["exact", "quality", "tone"]));
        list.set(vec![row(1, 0), row(1, 1), row(1, 2)], |_| true);
        assert_eq!((list.selected(), list.at), (Some(row(1, 2)), 2));
        list.follow_graders(names(&["exact", "quality"]));
        list.set(vec![row(1, 0), row(1, 1)], |_| true);
        assert_eq!(list.selected(), Some(row(1, 1)), "the nearest one");
    }

    #[test]
    fn what_comes_in_at_the_top_is_seen() {
        let mut list = listed(&[4, 5]);
        list.set(ids(&[3, 4, 5]), |_| false);
        assert_eq!((seen(&list), list.offset), ((Some(4), 1), 0));
    }

    #[test]
    fn scrolling_leaves_the_selection_alone() {
        let mut list = listed(&[1, 2, 3, 4, 5, 6]);
        list.scroll(100);
        assert_eq!((list.offset, list.selected().map(|id| id.case)), (3, Some(1)));
        list.set(ids(&[1, 2, 3, 4, 5, 6, 7]), |_| false);
        assert_eq!(list.offset, 3);
        list.click(6);
        assert_eq!(seen(&list), (Some(5), 1));
        list.click(60);
        list.go(isize::MAX);
        assert_eq!(seen(&list), (Some(7), 2));
        list.go(isize::MIN);
        assert_eq!(seen(&list), (Some(1), 0));
    }
}
