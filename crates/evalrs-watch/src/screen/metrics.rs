//! The graders: their aggregates, how these moved, and how far they agree with people.

use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Row, Table};

use super::agreement::{judged_of_all, kappa_within};
use super::agreement_columns;
use super::paint::{Canvas, TableColumn, fitted, grader_name, panel, row, table, titles};
use super::theme::{STRONG, Theme, curve};
use crate::board::{AgreementMoves, DeclaredMetricRow, MetricRow, Overview};
use evalrs_base::text::{columns, grouped, percent, sanitize};
use evalrs_metrics::metric::label_change::AgreementMove;
use evalrs_model::delta::{Movement, MovementCounts};
use evalrs_report::intervals::{percent_interval, value_interval, value_or_dash};

/// The fewest and the most columns of a grader's name, and of a curve.
const GRADER: (usize, usize) = (10, 28);
const CURVE: (usize, usize) = (8, 32);

/// The columns of the confusion table, and the width from which on there is room for it.
const CONFUSION: u16 = 38;
const CONFUSION_FROM: u16 = 130;

fn has_confusion(overview: &Overview, width: u16) -> bool {
    width >= CONFUSION_FROM && overview.has_labels()
}

/// The lines of the panel that are of use.
pub(super) fn height(overview: &Overview, width: u16) -> u16 {
    let least = if has_confusion(overview, width) { 3 } else { 1 };
    let rows = overview.metrics.len() + overview.declared.len();
    u16::try_from(rows.max(least) + 1).unwrap_or(u16::MAX)
}

/// Which graders are shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MetricsTable {
    /// Their area; empty while they are not shown.
    pub area: Rect,
    pub(super) offset: usize,
    /// The one of the selected verdict.
    pub selected: Option<usize>,
}

impl MetricsTable {
    /// Shows the grader of another selection, and leaves alone what was scrolled for the same.
    pub(super) fn follow(&mut self, selected: Option<usize>) {
        let height = usize::from(self.area.height).saturating_sub(1).max(1);
        if selected != self.selected {
            self.selected = selected;
            if let Some(at) = selected {
                self.offset = self.offset.clamp((at + 1).saturating_sub(height), at);
            }
        }
    }

    pub(super) fn draw(&self, canvas: &mut Canvas<'_>, overview: &Overview) {
        let theme = canvas.theme;
        let metrics = rows_of(overview);
        let has_confusion = has_confusion(overview, self.area.width) && self.area.height >= 4;
        let confusion_width = Constraint::Length(if has_confusion { CONFUSION } else { 0 });
        let [area, confusion] =
            Layout::horizontal([Constraint::Fill(1), confusion_width]).areas(self.area);
        let height = usize::from(area.height).saturating_sub(1);
        let hidden = metrics.len().saturating_sub(height);
        let offset = self.offset.min(hidden);
        // How many more there are stands beside the first title.
        let more = if hidden > 0 { format!("+{hidden} ") } else { String::new() };
        let title = Line::styled(format!(" grader {more}"), theme.faint());
        canvas.render(panel(area.width, false, title, Line::default(), theme), area);
        let columns = fitted(all_columns(&metrics, overview.has_labels()), area.width);
        let rows = metrics.iter().skip(offset).take(height);
        let table = table(&columns, rows.map(|metric| row(&columns, metric, theme)), "▸", theme)
            .header(titles(&columns, theme));
        let selected = self.selected.and_then(|at| at.checked_sub(offset));
        canvas.table(table, area, selected.filter(|line| *line < height));
        let selected = self.selected.and_then(|at| metrics.get(at));
        let labelled = selected.or_else(|| metrics.iter().find(|metric| metric.labels.is_some()));
        if let Some(metric) = labelled.filter(|_| has_confusion) {
            draw_confusion(canvas, confusion, metric);
        }
    }
}

/// The graders, then the declared metrics as if they were graders: their numbers stand in the same columns.
fn rows_of(overview: &Overview) -> Vec<MetricRow> {
    let of_metric = |metric: &DeclaredMetricRow| MetricRow {
        label: metric.name.clone(),
        mean: metric.value,
        interval: metric.interval,
        judged: metric.n,
        errors: metric.errors,
        total: metric.n + metric.errors,
        since_last: metric.since_last,
        since_start: metric.since_start,
        history: metric.history.clone(),
        ..MetricRow::default()
    };
    overview.metrics.iter().cloned().chain(overview.declared.iter().map(of_metric)).collect()
}

fn all_columns(metrics: &[MetricRow], has_labels: bool) -> Vec<TableColumn<MetricRow>> {
    let widest_of = |text: fn(&MetricRow) -> String| {
        metrics.iter().map(|metric| columns(&text(metric))).max().unwrap_or(0)
    };
    let mean = widest_of(|metric| value_or_dash(metric.mean)).max(5);
    let interval = widest_of(|metric| value_interval(metric.interval)).max(5);
    let pass_interval = widest_of(|metric| percent_interval(metric.pass_rate_interval)).max(5);
    let widest = widest_of(|metric| sanitize(&metric.label)).min(GRADER.1);
    let total_width = widest_of(|metric| grouped(metric.total as u64));
    let judged_width = (total_width * 2 + 1).max(6);
    let mut columns = vec![
        TableColumn::text("", GRADER.0, widest, 0, |metric: &MetricRow, width, _| {
            Span::styled(grader_name(&metric.label, width), STRONG).into()
        }),
        TableColumn::number("mean", mean, 1, |metric, _, _| {
            Span::styled(value_or_dash(metric.mean), STRONG).into()
        }),
        TableColumn::number("95 %", interval, 2, |metric, _, theme| {
            Span::styled(value_interval(metric.interval), theme.faint()).into()
        }),
        TableColumn::number("since last", 10, 3, |metric, _, theme| {
            theme_of(metric, theme).change(metric.since_last).into()
        }),
        TableColumn::number("since start", 11, 9, |metric, _, theme| {
            theme_of(metric, theme).change(metric.since_start).into()
        }),
        TableColumn::number("pass", 6, 4, |metric, _, _| percent(metric.pass_rate).into()),
        TableColumn::number("95 %", pass_interval, 5, |metric, _, theme| {
            Span::styled(percent_interval(metric.pass_rate_interval), theme.faint()).into()
        }),
        TableColumn::number("judged", judged_width, 7, judged),
        TableColumn::text("means", CURVE.0, CURVE.1, 10, |metric, width, theme| {
            Span::styled(curve(&metric.history, width), theme.accent()).into()
        }),
    ];
    let before_means = columns.len() - 1;
    if metrics.iter().any(|metric| metric.not_applicable > 0) {
        let column = TableColumn::number("n/a", 5, 6, |metric: &MetricRow, _, _| {
            grouped(metric.not_applicable as u64).into()
        });
        columns.insert(before_means, column);
    }
    if metrics.iter().any(|metric| metric.errors > 0) {
        columns.insert(before_means, TableColumn::number("errors", 6, 6, errors_of));
    }
    if has_labels {
        let others = columns.split_off(1);
        columns.extend(agreement_columns::all(metrics));
        columns.extend(others.into_iter().map(|column| column.after(agreement_columns::RANKS)));
    }
    columns
}

/// A mean of a grader with labels has no colour: a higher one is not a better one there.
fn theme_of(metric: &MetricRow, theme: Theme) -> Theme {
    if metric.labels.is_some() { theme.neutral() } else { theme }
}

fn errors_of(metric: &MetricRow, _: usize, theme: Theme) -> Line<'static> {
    match metric.errors {
        0 => Span::styled("0", theme.faint()).into(),
        errors => Span::styled(format!("! {}", grouped(errors as u64)), theme.doubtful()).into(),
    }
}

fn judged(metric: &MetricRow, _: usize, theme: Theme) -> Line<'static> {
    let is_whole = metric.judged + metric.errors == metric.total;
    let style = if is_whole { theme.faint() } else { theme.accent() };
    Span::styled(judged_of_all(metric), style).into()
}

/// How often the grader and people say the same, two by two.
fn draw_confusion(canvas: &mut Canvas<'_>, area: Rect, metric: &MetricRow) {
    let theme = canvas.theme;
    let labels = metric.labels.unwrap_or_default();
    let block = panel(area.width, true, Line::default(), Line::default(), theme);
    let inner = block.inner(area);
    canvas.render(block, area);
    let cell = |text: String, style: Style| {
        Line::styled(format!("{text} "), style).alignment(Alignment::Right)
    };
    let number = |n: usize, is_agreement: bool| {
        let style = match n {
            0 => theme.faint(),
            _ if is_agreement => Style::new(),
            _ => STRONG.patch(theme.doubtful()),
        };
        cell(grouped(n as u64), style)
    };
    let name = grader_name(&metric.label, 10);
    let says = |word: &str| Line::styled(format!("  {name} {word}"), theme.faint());
    let title = |text: &str| cell(format!(" {text}"), theme.faint());
    let rows = [
        [says("✓ pass"), number(labels.both_pass, true), number(labels.false_pass, false)],
        [says("✗ fail"), number(labels.false_fail, false), number(labels.both_fail, true)],
    ];
    let header = [Line::styled("─ human label ", theme.faint()), title("✓ pass"), title("✗ fail")];
    let widths = [19, 9, 9];
    let on_line = Rect { y: area.y, height: area.height, ..inner };
    let table = Table::new(rows.map(Row::new), widths).header(Row::new(header)).column_spacing(0);
    canvas.render(table, on_line);
    let kappa = labels.kappa.map_or_else(|| "not defined".to_owned(), |_| kappa_within(&labels));
    let mut notes = vec![format!("  kappa {kappa} of {}", grouped(labels.n as u64))];
    if labels.without_verdict > 0 {
        let more = grouped(labels.without_verdict as u64);
        notes.push(format!("  {more} more without a verdict"));
    }
    let [_, below] = Layout::vertical([Constraint::Length(2), Constraint::Fill(1)]).areas(inner);
    canvas.render(Text::from_iter(notes).style(theme.faint()), below);
}

/// How many verdicts moved in which way, the important ones first, as many as fit into `width` columns. Where labels are,
/// what moved towards them and away from them comes first, and nothing else has a colour.
pub(super) fn counts(overview: &Overview, width: usize, theme: Theme) -> Line<'static> {
    let gap = if width >= 100 { "   " } else { "  " };
    let mut line = Line::from("  ");
    let mut parts = Vec::new();
    let has_labels = overview.has_labels() && overview.newest > 0;
    if has_labels {
        parts.extend(agreement_moves(overview.agreement_moves(), theme));
    }
    let theme = if has_labels { theme.neutral() } else { theme };
    parts.extend(movements(&overview.counts, theme));
    for part in parts {
        if line.width() + part.width() > width {
            break;
        }
        line.extend([part, Span::raw(gap)]);
    }
    line
}

fn agreement_moves(moves: AgreementMoves, theme: Theme) -> [Span<'static>; 2] {
    let AgreementMoves { now_agree, no_longer_agree } = moves;
    [
        (now_agree, AgreementMove::NowAgrees, "now"),
        (no_longer_agree, AgreementMove::NoLongerAgrees, "no longer"),
    ]
    .map(|(n, moved, when)| {
        let (sign, _, style) = theme.agreement(moved);
        let style = if n > 0 { STRONG.patch(style) } else { theme.faint() };
        let agree = if n == 1 { "agrees" } else { "agree" };
        Span::styled(format!("{sign} {} {when} {agree}", grouped(n as u64)), style)
    })
}

fn movements(counts: &MovementCounts, theme: Theme) -> Vec<Span<'static>> {
    let all = [
        (Movement::Fixed, counts.fixed, "fixed"),
        (Movement::Broken, counts.broken, "broken"),
        (Movement::Raised, counts.raised, "raised"),
        (Movement::Lowered, counts.lowered, "lowered"),
        (Movement::Errored, counts.errored, if counts.errored == 1 { "error" } else { "errors" }),
        (Movement::Answered, counts.answered, "answered"),
        (Movement::New, counts.new, "new"),
        (Movement::Same, counts.unchanged, "unchanged"),
        (Movement::Pending, counts.pending, "pending"),
    ];
    // Those that are rare have a place only where they are.
    let shown = all.into_iter().filter(|(movement, n, _)| {
        *n > 0 || !matches!(movement, Movement::Answered | Movement::New)
    });
    let parts = shown.map(|(movement, n, word)| {
        let (sign, _, style) = theme.movement(movement);
        let is_loud = n > 0 && !matches!(movement, Movement::Same | Movement::Pending);
        let style = if is_loud { STRONG.patch(style) } else { theme.faint() };
        Span::styled(format!("{sign} {} {word}", grouped(n as u64)), style)
    });
    parts.collect()
}
