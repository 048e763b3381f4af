//! The list of saves, the newest first: what each came to, by one grader, and which of them is looked at.

use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::agreement::{judged_of_all, kappa, points};
use super::header::gate_status;
use super::paint::{Canvas, TableColumn, fitted, panel, row, table, titles};
use super::theme::{STRONG, Theme, used};
use crate::board::{MetricRow, Overview, SaveRow};
use evalrs_base::text::{cut, grouped, percent, score_or_dash};
use evalrs_metrics::metric::labels::LabelAgreement;

/// The most columns of the names of files.
const FILES: usize = 60;

/// What is listed, and what of it is seen.
#[derive(Debug, Default)]
pub(super) struct SavesList {
    /// The area of its rows; empty while they are not shown.
    pub area: Rect,
    pub selected: u32,
    /// The grader whose numbers are shown.
    pub grader: usize,
    newest: u32,
    offset: usize,
}

/// A save and what one grader came to in it.
struct SaveLine<'a> {
    save: &'a SaveRow,
    metric: Option<&'a MetricRow>,
    /// How far the share of verdicts that agree moved since the save before, where both are of as many labels.
    agreement_change: Option<f64>,
    is_shown: bool,
}

impl SavesList {
    /// Begins at the save that is looked at, with the numbers of this grader.
    pub(super) fn open(&mut self, overview: &Overview, grader: usize) {
        self.selected = overview.save;
        self.newest = overview.newest;
        self.grader = grader;
        self.offset = 0;
    }

    /// Selects the save this many lines further down.
    pub(super) fn go(&mut self, by: isize) {
        // The newest is the first one.
        let at = (self.newest - self.selected.min(self.newest)) as usize;
        let to = at.saturating_add_signed(by).min(self.newest as usize);
        self.selected = self.newest - to as u32;
    }

    /// Selects the row on this line of the screen.
    pub(super) fn click(&mut self, y: u16) {
        let at = self.offset + usize::from(y.saturating_sub(self.area.y));
        if let Some(save) = u32::try_from(at).ok().and_then(|at| self.newest.checked_sub(at)) {
            self.selected = save;
        }
    }

    /// The lines that are seen at once.
    pub(super) fn page(&self) -> isize {
        isize::try_from(self.area.height).unwrap_or(1).max(1)
    }

    /// Renders the titles and the saves that fit.
    pub(super) fn draw(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Rect,
        saves: &[SaveRow],
        overview: &Overview,
    ) {
        let theme = canvas.theme;
        self.newest = overview.newest;
        self.selected = self.selected.min(self.newest);
        let name = overview.metrics.get(self.grader).map(|metric| metric.label.as_str());
        let of_grader = name.filter(|_| overview.metrics.len() > 1);
        let block = panel(area.width, false, title(of_grader, theme), kept(saves, theme), theme);
        let inner = block.inner(area);
        canvas.render(block, area);
        let [_, rows] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(inner);
        self.area = rows;
        let height = usize::from(rows.height).max(1);
        let selected = (self.newest - self.selected) as usize;
        self.offset = self.offset.clamp((selected + 1).saturating_sub(height), selected);
        self.offset = self.offset.min(saves.len().saturating_sub(height));
        let lines: Vec<SaveLine<'_>> = lines(saves, self.grader, overview.save);
        let has_labels = lines.iter().any(|line| line.labels().is_some());
        let columns = fitted(columns(has_labels), area.width);
        let seen = lines.iter().rev().skip(self.offset).take(height);
        let table = table(&columns, seen.map(|line| row(&columns, line, theme)), "▌", theme)
            .row_highlight_style(theme.selected())
            .header(titles(&columns, theme));
        // The selection is not that of the scroll bar.
        let inner = Rect { width: inner.width.saturating_sub(1), ..inner };
        canvas.table(table, inner, selected.checked_sub(self.offset));
        canvas.scrollbar(rows, self.offset, saves.len());
    }
}

impl<'a> SaveLine<'a> {
    fn labels(&self) -> Option<&'a LabelAgreement> {
        self.metric?.labels.as_ref()
    }
}

fn title(of_grader: Option<&str>, theme: Theme) -> Line<'static> {
    let grader = of_grader.map_or_else(String::new, |name| format!("by {} ", cut(name, 24)));
    Line::from_iter([Span::styled(" saves ", STRONG), Span::styled(grader, theme.faint())])
}

/// Of which saves there are verdicts, if not of all.
fn kept(saves: &[SaveRow], theme: Theme) -> Line<'static> {
    let kept = saves.iter().filter(|save| save.has_verdicts).count();
    if kept == saves.len() {
        return Line::default();
    }
    Span::styled(format!(" verdicts are kept of {kept} of {} ", saves.len()), theme.faint()).into()
}

/// The saves with the numbers of one grader, the first evaluation first.
fn lines(saves: &[SaveRow], grader: usize, shown: u32) -> Vec<SaveLine<'_>> {
    let name = saves.last().and_then(|newest| newest.metrics.get(grader)).map(|of| &of.grader);
    let mut lines: Vec<SaveLine<'_>> = Vec::with_capacity(saves.len());
    for save in saves {
        let metric = save.metrics.iter().find(|metric| Some(&metric.grader) == name);
        let mut line =
            SaveLine { save, metric, agreement_change: None, is_shown: save.save == shown };
        let before = lines.last().and_then(SaveLine::labels);
        let both = line.labels().zip(before).filter(|(now, then)| now.n == then.n);
        line.agreement_change = both.and_then(|(now, then)| Some(now.accuracy? - then.accuracy?));
        lines.push(line);
    }
    lines
}

/// All columns, the most telling ones with the lowest ranks.
fn columns<'a>(has_labels: bool) -> Vec<TableColumn<SaveLine<'a>>> {
    let mut all = vec![
        TableColumn::text("", 1, 1, 0, |line: &SaveLine<'_>, _, theme| {
            Span::styled(if line.is_shown { "●" } else { "" }, theme.accent()).into()
        }),
        TableColumn::text("save", 5, 5, 0, number),
        TableColumn::text("time", 5, 5, 7, |line, _, theme| {
            Span::styled(line.save.time.clone(), theme.faint()).into()
        }),
    ];
    if has_labels {
        all.push(TableColumn::number("agrees", 6, 1, |line, _, _| {
            let share = line.labels().and_then(|labels| labels.accuracy);
            Span::styled(percent(share), STRONG).into()
        }));
        all.push(TableColumn::number("by", 7, 3, |line, _, theme| {
            points(line.agreement_change, theme)
        }));
        all.push(TableColumn::number("kappa", 5, 4, |line, _, _| {
            line.labels().map_or_else(|| "-".to_owned(), kappa).into()
        }));
    }
    all.push(TableColumn::number("mean", 5, 2, |line, _, _| {
        score_or_dash(line.metric.and_then(|metric| metric.mean)).into()
    }));
    all.push(TableColumn::number("by", 8, 5, |line, _, theme| {
        let theme = if line.labels().is_some() { theme.neutral() } else { theme };
        theme.change(line.metric.and_then(|metric| metric.since_last)).into()
    }));
    all.push(TableColumn::text("gate", 11, 11, 6, gate));
    all.push(TableColumn::number("judged", 9, 8, judged));
    all.push(TableColumn::number("made", 6, 10, |line, _, theme| {
        Span::styled(grouped(line.save.actions.asked), theme.faint()).into()
    }));
    all.push(TableColumn::number("spent", 8, 9, |line, width, theme| {
        Span::styled(cut(&used(line.save.spent), width), theme.faint()).into()
    }));
    all.push(TableColumn::text("files", 12, FILES, 3, |line, width, theme| {
        Span::styled(cut(&line.save.files.join(", "), width), theme.faint()).into()
    }));
    all
}

fn number(line: &SaveLine<'_>, _: usize, theme: Theme) -> Line<'static> {
    let name = if line.save.save == 0 { "start".to_owned() } else { line.save.save.to_string() };
    let style = if line.save.has_verdicts { Style::new() } else { theme.faint() };
    Span::styled(name, style).into()
}

/// The status of the gate: in colour where there is no agreement with labels to show.
fn gate(line: &SaveLine<'_>, width: usize, theme: Theme) -> Line<'static> {
    let theme = if line.labels().is_some() { theme.neutral() } else { theme };
    let (sign, word, style) = gate_status(line.save.gate, theme);
    Span::styled(cut(&format!("{sign}{word}"), width), style).into()
}

fn judged(line: &SaveLine<'_>, _: usize, theme: Theme) -> Line<'static> {
    let judged = line.metric.map_or_else(|| "-".to_owned(), judged_of_all);
    Span::styled(judged, theme.faint()).into()
}
