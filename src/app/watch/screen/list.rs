//! The list of verdicts: which one is selected, which lines are seen, and how a line is drawn.
//!
//! The board is asked for the rows that are seen and no others. The selection is a row, not a line: whatever comes in
//! above it, it stays where it is on the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Row, StatefulWidget, TableState, Widget};

use super::paint::{TableColumn, cut_line, fitted, fitting, panel, row, scrollbar, table, titles};
use super::theme::{STRONG, Theme, label};
use crate::app::watch::board::{Board, VerdictFilter, VerdictId, VerdictRow};
use crate::base::text::{columns, cut, cut_middle, grouped, sanitize, score};
use crate::pipeline::delta::{Cell, Movement};
use crate::pipeline::metric::label_change::AgreementMove;

/// The most columns of a sample's id, a model, a grader.
const SAMPLE: usize = 48;
const MODEL: usize = 20;
const GRADER: usize = 20;

/// The fewest columns in which a sample's id can be told from others.
const MIN_SAMPLE: usize = 20;

/// From this height on the columns have titles.
const TITLES_FROM: u16 = 10;

/// The most rows that are looked at for the next one without a label.
const MOST_LOOKED_AT: usize = 10_000;

/// Stands before the id of a pinned sample.
const PIN: &str = "★ ";

/// Every filter with its key and its name, in the order of the tab key.
pub(super) const FILTERS: [(VerdictFilter, char, &str); 7] = [
    (VerdictFilter::Moved, 'm', "moved"),
    (VerdictFilter::Failing, 'f', "failing"),
    (VerdictFilter::Disagreeing, 'd', "disagree"),
    (VerdictFilter::FalsePass, 'P', "false pass"),
    (VerdictFilter::FalseFail, 'F', "false fail"),
    (VerdictFilter::Errors, 'x', "errors"),
    (VerdictFilter::All, 'a', "all"),
];

/// Whether a filter lists something only where there are labels.
pub(super) fn needs_labels(filter: VerdictFilter) -> bool {
    matches!(filter, VerdictFilter::FalsePass | VerdictFilter::FalseFail)
}

/// What is listed, and what of it is seen.
#[derive(Debug, Default)]
pub(super) struct VerdictList {
    /// The filter the user chose; before that, what is worth seeing.
    pub(super) filter: Option<VerdictFilter>,
    /// The search, as typed.
    pub(super) search: String,
    /// Where its rows were drawn; empty while they are not.
    pub(super) area: Rect,
    /// How many rows were seen when it was drawn last.
    height: usize,
    rows: Vec<VerdictId>,
    /// The selected row, and where it is in `rows`.
    shown: Option<VerdictId>,
    at: usize,
    /// The row that the user selected. It is selected again when it comes back.
    chosen: Option<VerdictId>,
    offset: usize,
    widths: ColumnWidths,
}

/// The widest texts so far: columns grow, and never shrink while one scrolls.
#[derive(Clone, Copy, Debug, Default)]
struct ColumnWidths {
    sample: usize,
    model: usize,
    grader: usize,
}

/// What the whole list has in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListContext {
    pub(super) theme: Theme,
    /// What is listed now.
    pub(super) filter: VerdictFilter,
    /// Whether any verdict has a label.
    pub(super) has_labels: bool,
    /// Whether the suite has several graders.
    pub(super) has_graders: bool,
    /// Whether verdicts may still come in.
    pub(super) is_open: bool,
}

impl VerdictList {
    /// The selected row.
    pub(super) fn selected(&self) -> Option<VerdictId> {
        self.shown
    }

    /// Lists these rows. The selected one stays, and stays where it is on the screen.
    pub(super) fn set(&mut self, rows: Vec<VerdictId>) {
        let find = |id: Option<VerdictId>| id.and_then(|id| rows.iter().position(|row| *row == id));
        let kept = find(self.chosen).or_else(|| find(self.shown));
        let was_on = self.at.saturating_sub(self.offset);
        let is_seen = self.is_seen();
        let at = kept.unwrap_or(self.at.min(rows.len().saturating_sub(1)));
        if is_seen && self.offset > 0 {
            self.offset = at.saturating_sub(was_on);
        }
        self.shown = rows.get(at).copied();
        self.at = at;
        self.rows = rows;
        if is_seen {
            self.follow();
        }
        self.offset = self.offset.min(self.last_offset());
    }

    /// Selects the row that is so many lines further down.
    pub(super) fn go(&mut self, by: isize) {
        self.select(self.at.saturating_add_signed(by));
    }

    /// Selects the next row of the same grader for which `is_wanted` holds, the first ones after the last; none is selected if
    /// there is none.
    pub(super) fn next(&mut self, is_wanted: impl Fn(VerdictId) -> bool) -> Option<VerdictId> {
        let grader = self.shown?.grader;
        let all = self.rows.len();
        let after = (1..all).map(|by| (self.at + by) % all);
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
            self.chosen = Some(*row);
            self.at = at;
            self.follow();
        }
    }

    /// Selects what stands on this line of the screen.
    pub(super) fn click(&mut self, y: u16) {
        let at = self.offset + usize::from(y.saturating_sub(self.area.y));
        if at < self.rows.len() {
            self.select(at);
        }
    }

    /// Shows what is so many lines further down, and leaves the selection alone.
    pub(super) fn scroll(&mut self, by: isize) {
        self.offset = self.offset.saturating_add_signed(by).min(self.last_offset());
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

    /// Draws the filters, the titles and the rows that fit.
    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        look: ListContext,
        board: &dyn Board,
    ) {
        let theme = look.theme;
        let panel = self.panel(area.width, look);
        let inner = panel.inner(area);
        panel.render(area, buffer);
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
        let rows: Vec<Option<VerdictRow>> = seen.map(|id| board.row(*id)).collect();
        self.widths.grow(rows.iter().flatten());
        let columns = fitted(self.columns(look, usize::from(area.width)), area.width);
        let rows = rows.iter().map(|of| match of {
            Some(of) => row(&columns, of, theme),
            None => Row::new([Span::styled(" gone", theme.faint())]),
        });
        let mut table = table(&columns, rows, "▌", theme).row_highlight_style(theme.selected());
        if has_titles {
            table = table.header(titles(&columns, theme));
        }
        let selected = self.at.checked_sub(self.offset).filter(|line| *line < self.height);
        let mut state = TableState::new().with_selected(selected);
        // The selection is not that of the scroll bar.
        let inner = Rect { width: inner.width.saturating_sub(1), ..inner };
        StatefulWidget::render(table, inner, buffer, &mut state);
        if self.rows.is_empty() {
            let nothing = cut_line(self.nothing(look), usize::from(self.area.width));
            Text::from_iter([Line::default(), nothing]).render(self.area, buffer);
        }
        scrollbar(buffer, self.area, self.offset, self.rows.len(), theme.faint());
    }

    /// The filters on a line across, and which of how many rows is selected.
    fn panel(&self, width: u16, look: ListContext) -> Block<'static> {
        let theme = look.theme;
        let place = match self.rows.len() {
            0 => " 0 ".to_owned(),
            all => format!(" {} of {} ", grouped(self.at as u64 + 1), grouped(all as u64)),
        };
        let mut at_right = Line::from(Span::styled(place, theme.faint()));
        if !self.search.is_empty() {
            let search = format!(" /{} ", cut(&self.search, 24));
            at_right.spans.insert(0, Span::styled("─", theme.faint()));
            at_right.spans.insert(0, Span::styled(search, theme.accent()));
        }
        let is_of_use = |filter| look.has_labels || !needs_labels(filter) || filter == look.filter;
        let all = FILTERS.iter().filter(|(filter, ..)| is_of_use(*filter)).enumerate();
        let room = usize::from(width).saturating_sub(at_right.width() + 2);
        let rank = |at: usize, filter| if filter == look.filter { 0 } else { at as u8 + 1 };
        let shown = fitting(all.collect(), room, |(at, (filter, _, name))| {
            (name.len() + 2, rank(*at, *filter))
        });
        let tabs = shown.into_iter().map(|(_, (filter, _, name))| {
            if *filter == look.filter {
                Span::styled(format!("[{name}]"), STRONG.patch(theme.accent()))
            } else {
                Span::styled(format!(" {name} "), theme.faint())
            }
        });
        panel(width, false, tabs.collect(), at_right, theme)
    }

    fn nothing(&self, look: ListContext) -> Line<'static> {
        let nothing = match look.filter {
            VerdictFilter::Moved => "nothing moved",
            VerdictFilter::Failing => "nothing fails",
            VerdictFilter::Disagreeing if look.has_labels => "nothing disagrees with its label",
            VerdictFilter::FalsePass if look.has_labels => "nothing passes that a person fails",
            VerdictFilter::FalseFail if look.has_labels => "nothing fails that a person passes",
            VerdictFilter::Disagreeing | VerdictFilter::FalsePass | VerdictFilter::FalseFail => {
                "no row has a label"
            }
            VerdictFilter::Errors => "no errors",
            VerdictFilter::All => "there are no verdicts",
        };
        let so_far = if look.is_open { " so far" } else { "" };
        let found = if self.search.is_empty() {
            format!("   {nothing}{so_far}")
        } else {
            format!("   nothing here holds `{}`; Esc ends the search", cut(&self.search, 24))
        };
        Span::styled(found, look.theme.faint()).into()
    }

    /// All columns of a list of this width, the most telling ones with the lowest ranks.
    fn columns(&self, look: ListContext, width: usize) -> Vec<TableColumn<VerdictRow>> {
        let ColumnWidths { sample, model, grader } = self.widths;
        let mut all = vec![
            TableColumn::text("", 3, 3, 0, verdict),
            TableColumn::text("moved", 8, if look.has_labels { 16 } else { 8 }, 6, moved),
            TableColumn::number("before    now", 13, 2, scores),
            TableColumn::number("by", 6, 5, change),
        ];
        if look.has_labels {
            all.push(TableColumn::text("person", 6, 6, 3, person));
        }
        all.push(TableColumn::text("sample", sample.min(MIN_SAMPLE), sample, 1, sample_id));
        if model > 0 {
            all.push(TableColumn::text("model", model, model, 7, |row, width, theme| {
                Span::styled(cut_middle(&model_and_trial(row), width), theme.faint()).into()
            }));
        }
        if look.has_graders {
            let grader = grader.min(width / 6);
            all.push(TableColumn::text("grader", grader, grader, 4, |row, width, theme| {
                Span::styled(cut(&row.grader, width), theme.faint()).into()
            }));
        }
        all
    }
}

impl ColumnWidths {
    fn grow<'r>(&mut self, rows: impl Iterator<Item = &'r VerdictRow>) {
        let width = |text: &str, most: usize| columns(&sanitize(text)).min(most);
        for row in rows {
            let pin = if row.pinned { columns(PIN) } else { 0 };
            self.sample = self.sample.max(width(&row.sample_id, SAMPLE) + pin);
            self.grader = self.grader.max(width(&row.grader, GRADER));
            self.model = self.model.max(width(&model_and_trial(row), MODEL));
        }
    }
}

/// What did not move says nothing.
fn is_told(row: &VerdictRow) -> bool {
    let is_quiet = [Movement::Same, Movement::Pending, Movement::NotApplicable];
    !is_quiet.contains(&row.movement)
}

/// The sign of the verdict, and that of its movement. An error has the same for both. Beside the label of a person colours
/// say whether the verdict agrees with it, not whether it passes.
fn verdict(row: &VerdictRow, _: usize, theme: Theme) -> Line<'static> {
    let (sign, style) = theme.verdict(row.now, row.under_way);
    let style = match row.label {
        Some(_) if row.now.is_verdict() && !row.under_way && row.disagrees => theme.bad(),
        Some(_) if row.now.is_verdict() && !row.under_way => theme.good(),
        _ => style,
    };
    let (movement, _, moved) = movement_of(row, theme);
    let movement = if is_told(row) && row.movement != Movement::Errored { movement } else { "" };
    Line::from_iter([Span::styled(sign, style), Span::raw(" "), Span::styled(movement, moved)])
}

/// How the verdict moved against the label of a person, else by itself. What has a label and agrees or disagrees as before
/// moved neither for the better nor for the worse.
pub(super) fn movement_of(row: &VerdictRow, theme: Theme) -> (&'static str, &'static str, Style) {
    match row.agreement {
        Some(moved) => theme.agreement(moved),
        None if row.label.is_some() && row.now.is_verdict() => {
            theme.neutral().movement(row.movement)
        }
        None => theme.movement(row.movement),
    }
}

fn moved(row: &VerdictRow, width: usize, theme: Theme) -> Line<'static> {
    let (_, word, style) = movement_of(row, theme);
    let short = match row.agreement {
        Some(AgreementMove::NowAgrees) => "agrees",
        Some(AgreementMove::NoLongerAgrees) => "differs",
        None => word,
    };
    let word = if columns(word) > width { short } else { word };
    Span::styled(if is_told(row) { word } else { "" }, style).into()
}

/// Old score and new one; the old one only where it is another.
fn scores(row: &VerdictRow, _: usize, theme: Theme) -> Line<'static> {
    let number = |cell: Cell| match cell {
        cell if cell.is_verdict() => score(cell.score),
        cell if cell.is_known() => "error".to_owned(),
        _ => "-".to_owned(),
    };
    let before = row.before.filter(|before| before.is_known() && Some(row.now) != row.before);
    let before = before.map_or_else(String::new, |before| format!("{} → ", number(before)));
    Line::from_iter([
        Span::styled(before, theme.faint()),
        Span::raw(format!("{:>5}", number(row.now))),
    ])
}

fn change(row: &VerdictRow, _: usize, theme: Theme) -> Line<'static> {
    let by = score_change(row).filter(|by| *by != 0.0);
    let text = by.map_or_else(String::new, |by| format!("{by:+.3}"));
    let theme = if row.label.is_some() { theme.neutral() } else { theme };
    Span::styled(text, theme.change(by).style).into()
}

fn person(row: &VerdictRow, _: usize, theme: Theme) -> Line<'static> {
    if row.label.is_none() && row.has_stale_label {
        return Span::styled("  old", theme.faint()).into();
    }
    let says = row.label.map(label).unwrap_or_default();
    if row.disagrees {
        Span::styled(format!("≠ {says}"), theme.bad()).into()
    } else {
        Span::styled(format!("  {says}"), theme.faint()).into()
    }
}

fn sample_id(row: &VerdictRow, width: usize, theme: Theme) -> Line<'static> {
    let pin = Span::styled(if row.pinned { PIN } else { "" }, theme.accent());
    let id = cut_middle(&row.sample_id, width.saturating_sub(pin.width()));
    Line::from_iter([pin, Span::raw(id)])
}

/// By how much the score changed, where both are verdicts.
pub(super) fn score_change(row: &VerdictRow) -> Option<f64> {
    let before = row.before.filter(|before| before.is_verdict() && row.now.is_verdict());
    before.map(|before| row.now.score - before.score)
}

/// The model and, from the second one on, the trial.
pub(super) fn model_and_trial(row: &VerdictRow) -> String {
    let model = row.model.as_deref().map(sanitize).unwrap_or_default();
    if row.trial == 0 { model } else { format!("{model}#{}", row.trial + 1) }
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;

    use super::VerdictList;
    use crate::app::watch::board::VerdictId;

    fn ids(cases: &[u128]) -> Vec<VerdictId> {
        cases.iter().map(|case| VerdictId { case: *case, grader: 0 }).collect()
    }

    fn listed(cases: &[u128]) -> VerdictList {
        let mut list =
            VerdictList { area: Rect::new(0, 5, 20, 3), height: 3, ..VerdictList::default() };
        list.set(ids(cases));
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
        list.set(ids(&[9, 1, 2, 3, 4, 5, 6]));
        assert_eq!((seen(&list), list.offset), ((Some(5), 2), 3));
        // One that is gone leaves the selection where it was, and takes it back when it comes again.
        list.set(ids(&[9, 1, 2, 3, 4, 6]));
        assert_eq!(seen(&list).0, Some(6));
        list.set(ids(&[5, 9]));
        assert_eq!(seen(&list), (Some(5), 0));
        list.set(Vec::new());
        assert_eq!(seen(&list), (None, 0));
        list.set(ids(&[7, 5]));
        assert_eq!(seen(&list), (Some(5), 1));
    }

    #[test]
    fn what_comes_in_at_the_top_is_seen() {
        let mut list = listed(&[4, 5]);
        list.set(ids(&[3, 4, 5]));
        assert_eq!((seen(&list), list.offset), ((Some(4), 1), 0));
    }

    #[test]
    fn scrolling_leaves_the_selection_alone() {
        let mut list = listed(&[1, 2, 3, 4, 5, 6]);
        list.scroll(100);
        assert_eq!((list.offset, list.selected().map(|id| id.case)), (3, Some(1)));
        list.set(ids(&[1, 2, 3, 4, 5, 6, 7]));
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
