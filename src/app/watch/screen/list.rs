//! The list of verdicts: which one is selected, which lines are seen, and how a line is drawn.
//!
//! The board is asked for the rows that are seen and no others. The selection is a row, not a line: whatever comes in
//! above it, it stays where it is on the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::paint::{Pen, VisibleRows, cut_middle, fitting, lines_of, rule, scrollbar, split_right};
use super::theme::{STRONG, Theme, label};
use crate::app::watch::board::{Board, VerdictFilter, VerdictId, VerdictRow};
use crate::base::text::{columns, cut, grouped, sanitize, score};
use crate::pipeline::delta::Movement;

/// The most columns of a sample's id, a model, a grader.
const SAMPLE: usize = 48;
const MODEL: usize = 20;
const GRADER: usize = 20;

/// The fewest columns in which a sample's id can be told from others.
const MIN_SAMPLE: usize = 20;

/// From this height on the columns have titles.
const TITLES_FROM: u16 = 10;

/// The columns of the mark of the selection and the mark of pinned samples.
const MARKS: usize = 3;

/// Every filter with its key and its name, in the order of the tab key.
pub(super) const FILTERS: [(VerdictFilter, char, &str); 5] = [
    (VerdictFilter::Moved, 'm', "moved"),
    (VerdictFilter::Failing, 'f', "failing"),
    (VerdictFilter::Disagreeing, 'd', "disagreeing"),
    (VerdictFilter::Errors, 'x', "errors"),
    (VerdictFilter::All, 'a', "all"),
];

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
        if let Some(row) = rows.get(at) {
            self.shown = Some(*row);
            self.at = at;
        } else {
            self.shown = None;
            self.at = 0;
            self.offset = 0;
        }
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
        self.draw_tabs(buffer, lines_of(area, 0, 1), look);
        let titles = usize::from(area.height >= TITLES_FROM);
        self.area = lines_of(area, 1 + titles, usize::from(area.height));
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
        let columns = self.columns(look, usize::from(area.width));
        if titles > 0 {
            draw_titles(buffer, lines_of(area, 1, 1), &columns, look.theme);
        }
        for (line, row) in rows.iter().enumerate() {
            let area = lines_of(self.area, line, 1);
            let is_selected = self.offset + line == self.at;
            draw_row(buffer, area, &columns, row.as_ref(), is_selected, look.theme);
        }
        if self.rows.is_empty() {
            self.draw_nothing(buffer, look);
        }
        let seen = VisibleRows { offset: self.offset, total: self.rows.len() };
        scrollbar(buffer, self.area, seen, look.theme.faint());
    }

    /// The filters on a line across, and which of how many rows is selected.
    fn draw_tabs(&self, buffer: &mut Buffer, area: Rect, look: ListContext) {
        let theme = look.theme;
        rule(buffer, area, theme.faint());
        let place = match self.rows.len() {
            0 => " 0 ".to_owned(),
            all => format!(" {} of {} ", grouped(self.at as u64 + 1), grouped(all as u64)),
        };
        let (area, right) = split_right(area, columns(&place) + 1);
        Pen::new(buffer, right).put(&place, theme.faint());
        let search = sanitize(&self.search);
        let search = if search.is_empty() { search } else { format!(" /{} ", cut(&search, 24)) };
        let (tabs, right) = split_right(area, columns(&search) + usize::from(!search.is_empty()));
        Pen::new(buffer, right).put(&search, theme.accent());
        let all: usize = FILTERS.iter().map(|(_, _, name)| name.len() + 2).sum();
        let all_fit = all < usize::from(tabs.width);
        let mut pen = Pen::new(buffer, tabs);
        pen.skip(1);
        for (filter, _, name) in FILTERS {
            if filter == look.filter {
                pen.put(&format!("[{name}]"), STRONG.patch(theme.accent()));
            } else if all_fit {
                pen.put(&format!(" {name} "), theme.faint());
            }
        }
    }

    fn draw_nothing(&self, buffer: &mut Buffer, look: ListContext) {
        let nothing = match look.filter {
            VerdictFilter::Moved => "nothing moved",
            VerdictFilter::Failing => "nothing fails",
            VerdictFilter::Disagreeing if look.has_labels => "nothing disagrees with its label",
            VerdictFilter::Disagreeing => "no row has a label",
            VerdictFilter::Errors => "no errors",
            VerdictFilter::All => "there are no verdicts",
        };
        let so_far = if look.is_open { " so far" } else { "" };
        let found = match sanitize(&self.search) {
            search if search.is_empty() => format!("{nothing}{so_far}"),
            search => format!("nothing here holds `{}`; Esc ends the search", cut(&search, 24)),
        };
        let line = lines_of(self.area, usize::from(self.area.height > 2), 1);
        Pen::new(buffer, line).skip(MARKS).put(&found, look.theme.faint());
    }

    /// The columns that fit, the most telling ones first.
    fn columns(&self, look: ListContext, width: usize) -> Vec<ListColumn> {
        let widths = self.widths;
        let mut all = vec![
            (ColumnKind::Sign, 1, 0),
            (ColumnKind::MovementSign, 1, 2),
            (ColumnKind::Movement, 8, 7),
            (ColumnKind::Scores, 13, 3),
            (ColumnKind::Change, 6, 6),
        ];
        if look.has_labels {
            all.push((ColumnKind::Label, 6, 4));
        }
        all.push((ColumnKind::Sample, widths.sample.min(MIN_SAMPLE), 1));
        if widths.model > 0 {
            all.push((ColumnKind::Model, widths.model, 8));
        }
        if look.has_graders {
            all.push((ColumnKind::Grader, widths.grader.min(width / 6), 5));
        }
        let taken: Vec<(usize, u8)> =
            all.iter().map(|(kind, width, rank)| (width + kind.gap(), *rank)).collect();
        // The last column is that of the scroll bar.
        let room = width.saturating_sub(MARKS + 1);
        let fits = fitting(&taken, room);
        let used: usize =
            taken.iter().zip(&fits).filter(|(_, fits)| **fits).map(|(t, _)| t.0).sum();
        let left = room.saturating_sub(used);
        let chosen = all.into_iter().zip(fits).filter(|(_, fits)| *fits);
        let wider = |kind: ColumnKind, width: usize| match kind {
            ColumnKind::Sample => (width + left).min(widths.sample),
            _ => width,
        };
        chosen.map(|((kind, width, _), _)| ListColumn { kind, width: wider(kind, width) }).collect()
    }
}

impl ColumnWidths {
    fn grow<'r>(&mut self, rows: impl Iterator<Item = &'r VerdictRow>) {
        for row in rows {
            let widths = [(&row.sample_id, SAMPLE), (&row.grader, GRADER)];
            let [sample, grader] = widths.map(|(text, most)| columns(&sanitize(text)).min(most));
            self.sample = self.sample.max(sample);
            self.grader = self.grader.max(grader);
            self.model = self.model.max(columns(&model(row)).min(MODEL));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    Sign,
    MovementSign,
    Movement,
    Scores,
    Change,
    Label,
    Sample,
    Model,
    Grader,
}

impl ColumnKind {
    fn gap(self) -> usize {
        match self {
            Self::Sign => 0,
            Self::MovementSign | Self::Movement | Self::Change => 1,
            _ => 2,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Sign | Self::MovementSign => "",
            Self::Movement => "moved",
            Self::Scores => "before    now",
            Self::Change => "by",
            Self::Label => "person",
            Self::Sample => "sample",
            Self::Model => "model",
            Self::Grader => "grader",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct ListColumn {
    kind: ColumnKind,
    width: usize,
}

fn draw_titles(buffer: &mut Buffer, area: Rect, columns: &[ListColumn], theme: Theme) {
    let mut pen = Pen::new(buffer, area);
    pen.skip(MARKS);
    for ListColumn { kind, width } in columns {
        pen.skip(kind.gap());
        match kind {
            ColumnKind::Change => pen.cell_right(kind.title(), *width, theme.faint()),
            _ => pen.cell(kind.title(), *width, theme.faint()),
        };
    }
}

fn draw_row(
    buffer: &mut Buffer,
    area: Rect,
    columns: &[ListColumn],
    row: Option<&VerdictRow>,
    is_selected: bool,
    theme: Theme,
) {
    let mut pen = Pen::new(buffer, area);
    pen.put(if is_selected { "▌" } else { " " }, theme.accent());
    if let Some(row) = row {
        pen.put(if row.pinned { "★ " } else { "  " }, theme.accent());
        for column in columns {
            pen.skip(column.kind.gap());
            draw_cell(&mut pen, *column, row, theme);
        }
    } else {
        pen.skip(2).put("gone", theme.faint());
    }
    if is_selected {
        let (area, _) = split_right(area, 1);
        buffer.set_style(area, theme.selected());
    }
}

fn draw_cell(pen: &mut Pen<'_>, column: ListColumn, row: &VerdictRow, theme: Theme) {
    let width = column.width;
    let (sign, word, moved) = theme.movement(row.movement);
    // What did not move says nothing.
    let is_told = !matches!(row.movement, Movement::Same | Movement::Pending);
    match column.kind {
        ColumnKind::Sign => {
            let (sign, style) = theme.verdict(row.now, row.under_way);
            pen.cell(sign, width, style)
        }
        // The verdict has the sign of an error already.
        ColumnKind::MovementSign if row.movement == Movement::Errored => pen.skip(width),
        ColumnKind::MovementSign => pen.cell(if is_told { sign } else { "" }, width, moved),
        ColumnKind::Movement => pen.cell(if is_told { word } else { "" }, width, moved),
        ColumnKind::Scores => draw_scores(pen, row, theme),
        ColumnKind::Change => {
            let by = score_change(row).filter(|by| *by != 0.0);
            let text = by.map_or_else(String::new, |by| format!("{by:+.3}"));
            pen.cell_right(&text, width, theme.change(by).1)
        }
        ColumnKind::Label => {
            let said = row.label.map(label).unwrap_or_default();
            let (sign, style) =
                if row.disagrees { ("≠ ", theme.doubtful()) } else { ("  ", theme.faint()) };
            pen.cell(&format!("{sign}{said}"), width, style)
        }
        ColumnKind::Sample => pen.cell(&cut_middle(&row.sample_id, width), width, Style::new()),
        ColumnKind::Model => pen.cell(&cut_middle(&model(row), width), width, theme.faint()),
        ColumnKind::Grader => pen.cell(&row.grader, width, theme.faint()),
    };
}

/// Old score and new one; the old one only where it is another.
fn draw_scores<'p, 'b>(pen: &'p mut Pen<'b>, row: &VerdictRow, theme: Theme) -> &'p mut Pen<'b> {
    let number = |cell: crate::pipeline::delta::Cell| match cell {
        cell if cell.is_verdict() => score(cell.score),
        cell if cell.is_known() => "error".to_owned(),
        _ => "-".to_owned(),
    };
    let before = row.before.filter(|before| before.is_known() && Some(row.now) != row.before);
    if let Some(before) = before {
        pen.cell_right(&number(before), 5, theme.faint()).put(" → ", theme.faint());
    } else {
        pen.skip(8);
    }
    pen.cell_right(&number(row.now), 5, Style::new())
}

/// By how much the score changed, where both are verdicts.
pub(super) fn score_change(row: &VerdictRow) -> Option<f64> {
    let before = row.before.filter(|before| before.is_verdict() && row.now.is_verdict());
    before.map(|before| row.now.score - before.score)
}

/// The model and, from the second one on, the trial.
pub(super) fn model(row: &VerdictRow) -> String {
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
