//! The graders: their aggregates, how these moved, and how far they agree with people.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::paint::{Pen, StyledText, fitting, lines_of, rule, split_right};
use super::theme::{STRONG, Theme, curve};
use crate::app::watch::board::{MetricRow, Overview};
use crate::base::text::{columns, cut, grouped, percent, sanitize, score_or_dash};
use crate::pipeline::delta::{Movement, MovementCounts};
use crate::pipeline::metric::labels::LabelAgreement;

/// The fewest and the most columns of a grader's name, and of a curve.
const GRADER: (usize, usize) = (10, 28);
const CURVE: (usize, usize) = (8, 32);

/// The columns between two, and before the first.
const GAP: usize = 2;
const MARK: usize = 2;

/// The columns of the confusion table, and the width from which on there is room for it.
const CONFUSION: usize = 38;
const CONFUSION_FROM: u16 = 130;

/// Whether any grader has labels to agree with.
pub(super) fn has_labels(overview: &Overview) -> bool {
    overview.metrics.iter().any(|metric| metric.labels.is_some())
}

/// Whether the confusion table is shown at this width.
pub(super) fn has_confusion(overview: &Overview, width: u16) -> bool {
    width >= CONFUSION_FROM && has_labels(overview)
}

/// The lines of the panel that are of use.
pub(super) fn height(overview: &Overview, width: u16) -> usize {
    let least = if has_confusion(overview, width) { 3 } else { 1 };
    1 + overview.metrics.len().max(least)
}

/// Which graders are shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MetricsTable {
    /// The first.
    pub(super) offset: usize,
    /// The one of the selected verdict.
    pub(super) selected: Option<usize>,
}

/// Draws the panel.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    overview: &Overview,
    shown: MetricsTable,
    theme: Theme,
) {
    rule(buffer, lines_of(area, 0, 1), theme.faint());
    let confusion = has_confusion(overview, area.width) && area.height >= 4;
    let (table, right) = split_right(area, if confusion { CONFUSION } else { 0 });
    let metrics = &overview.metrics;
    let height = usize::from(table.height).saturating_sub(1);
    let offset = shown.offset.min(metrics.len().saturating_sub(height));
    let columns = fitted(overview, usize::from(table.width));
    let mut pen = Pen::new(buffer, table);
    pen.skip(1);
    let mut hidden = metrics.len().saturating_sub(height);
    for MetricColumn { title, width, right, .. } in &columns {
        // How many more there are stands beside the first title.
        let more = if hidden > 0 { format!(" +{hidden}") } else { String::new() };
        hidden = 0;
        let title = format!(" {title}{more} ");
        let width = width + GAP;
        if *right {
            let before = width.saturating_sub(self::columns(&title));
            pen.skip(before).cell(&title, width - before, theme.faint());
        } else {
            pen.put(&title, theme.faint()).skip(width.saturating_sub(self::columns(&title)));
        }
    }
    for (line, (at, metric)) in metrics.iter().enumerate().skip(offset).take(height).enumerate() {
        let is_selected = shown.selected == Some(at);
        draw_row(buffer, lines_of(table, line + 1, 1), &columns, metric, is_selected, theme);
    }
    if confusion {
        let selected = shown.selected.and_then(|at| metrics.get(at));
        let labelled = selected.or_else(|| metrics.iter().find(|metric| metric.labels.is_some()));
        draw_confusion(buffer, right, labelled, theme);
    }
}

fn draw_row(
    buffer: &mut Buffer,
    area: Rect,
    columns: &[MetricColumn],
    metric: &MetricRow,
    is_selected: bool,
    theme: Theme,
) {
    let mut pen = Pen::new(buffer, area);
    pen.cell(if is_selected { "▸" } else { "" }, MARK, theme.accent());
    for MetricColumn { width, right, cell, .. } in columns {
        let (text, style) = cell(metric, *width, theme);
        if *right {
            pen.cell_right(&text, *width, style);
        } else {
            pen.cell(&text, *width, style);
        }
        pen.skip(GAP);
    }
}

struct MetricColumn {
    title: &'static str,
    width: usize,
    /// The greater, the earlier it is left out.
    rank: u8,
    right: bool,
    cell: fn(&MetricRow, usize, Theme) -> StyledText,
}

/// The columns for which there is room.
fn fitted(overview: &Overview, width: usize) -> Vec<MetricColumn> {
    let all = all_columns(overview);
    let room = width.saturating_sub(MARK);
    let taken: Vec<(usize, u8)> =
        all.iter().map(|column| (column.width + GAP, column.rank)).collect();
    let fits = fitting(&taken, room);
    let chosen = all.into_iter().zip(fits).filter_map(|(column, fits)| fits.then_some(column));
    let mut columns: Vec<MetricColumn> = chosen.collect();
    let used: usize = columns.iter().map(|column| column.width + GAP).sum();
    let mut left = room.saturating_sub(used);
    let widest = overview.metrics.iter().map(|metric| self::columns(&sanitize(&metric.label)));
    let widest = widest.max().unwrap_or(0).min(GRADER.1);
    for column in &mut columns {
        let most = match column.title {
            "grader" => widest,
            "means" => CURVE.1,
            _ => continue,
        };
        let wider = most.saturating_sub(column.width).min(left);
        column.width += wider;
        left -= wider;
    }
    columns
}

fn all_columns(overview: &Overview) -> Vec<MetricColumn> {
    let column = |title, width, rank, cell| MetricColumn { title, width, rank, right: true, cell };
    let mut columns = vec![
        MetricColumn { right: false, ..column("grader", GRADER.0, 0, grader) },
        column("mean", 5, 1, mean),
        column("since last", 10, 2, since_last),
        column("since start", 11, 6, since_start),
        column("pass", 6, 3, pass),
        column("judged", judged_width(overview), 7, judged),
        column("errors", 6, 5, errors),
        MetricColumn { right: false, ..column("means", CURVE.0, 9, means) },
    ];
    if has_labels(overview) {
        columns.push(column("agrees", 6, 4, agrees));
        columns.push(column("kappa, 95 %", 21, 8, kappa));
    }
    columns
}

fn judged_width(overview: &Overview) -> usize {
    let widths = overview.metrics.iter().map(|metric| grouped(metric.total as u64).len() * 2 + 1);
    widths.max().unwrap_or(0).max(6)
}

fn grader(metric: &MetricRow, width: usize, _: Theme) -> StyledText {
    (cut(&metric.label, width), STRONG)
}

fn mean(metric: &MetricRow, _: usize, _: Theme) -> StyledText {
    (score_or_dash(metric.mean), STRONG)
}

fn since_last(metric: &MetricRow, _: usize, theme: Theme) -> StyledText {
    theme.change(metric.since_last)
}

fn since_start(metric: &MetricRow, _: usize, theme: Theme) -> StyledText {
    theme.change(metric.since_start)
}

fn pass(metric: &MetricRow, _: usize, _: Theme) -> StyledText {
    (percent(metric.pass_rate), Style::new())
}

fn judged(metric: &MetricRow, _: usize, theme: Theme) -> StyledText {
    let judged = grouped(metric.judged as u64);
    let total = grouped(metric.total as u64);
    let is_whole = metric.judged + metric.errors == metric.total;
    (format!("{judged}/{total}"), if is_whole { theme.faint() } else { theme.accent() })
}

fn errors(metric: &MetricRow, _: usize, theme: Theme) -> StyledText {
    match metric.errors {
        0 => ("0".to_owned(), theme.faint()),
        errors => (format!("! {}", grouped(errors as u64)), theme.doubtful()),
    }
}

fn means(metric: &MetricRow, width: usize, theme: Theme) -> StyledText {
    (curve(&metric.history, width), theme.accent())
}

fn agrees(metric: &MetricRow, _: usize, _: Theme) -> StyledText {
    (percent(metric.labels.and_then(|labels| labels.accuracy)), Style::new())
}

fn kappa(metric: &MetricRow, _: usize, _: Theme) -> StyledText {
    let Some(labels) = metric.labels else { return ("-".to_owned(), Style::new()) };
    let kappa = labels.kappa.map_or_else(|| "-".to_owned(), |kappa| format!("{kappa:.2}"));
    let interval = labels.kappa_interval;
    let interval =
        interval.map_or_else(String::new, |(low, high)| format!(" ({low:.2} to {high:.2})"));
    (kappa + &interval, Style::new())
}

/// How often the grader and people say the same, two by two.
fn draw_confusion(buffer: &mut Buffer, area: Rect, metric: Option<&MetricRow>, theme: Theme) {
    const NUMBER: usize = 10;
    let Some(metric) = metric else { return };
    let mut titles = Pen::new(buffer, lines_of(area, 0, 1));
    titles.put("┬", theme.faint()).skip(1).put(" a person says ", theme.faint());
    titles.skip(1).put(" ✓ pass ", theme.faint()).skip(2).put(" ✗ fail ", theme.faint());
    let labels = metric.labels.unwrap_or_default();
    let LabelAgreement { both_pass, false_pass, false_fail, both_fail, .. } = labels;
    let name = cut(&metric.label, 10);
    let rows = [("✓ pass", [both_pass, false_pass]), ("✗ fail", [false_fail, both_fail])];
    for (line, (says, counts)) in rows.into_iter().enumerate() {
        let mut pen = Pen::new(buffer, lines_of(area, line + 1, 1));
        pen.put("│ ", theme.faint()).cell(&format!(" {name} {says}"), 18, theme.faint());
        for (at, n) in counts.into_iter().enumerate() {
            let style = if at == line { Style::new() } else { STRONG.patch(theme.doubtful()) };
            let style = if n == 0 { theme.faint() } else { style };
            pen.cell_right(&grouped(n as u64), if at == 0 { 6 } else { NUMBER }, style);
        }
    }
    let kappa = match labels.kappa {
        Some(_) => kappa(metric, 0, theme).0,
        None => "not defined".to_owned(),
    };
    let notes = [
        format!(" kappa {kappa} of {}", grouped(labels.n as u64)),
        match labels.without_verdict {
            0 => String::new(),
            n => format!(" {} more without a verdict", grouped(n as u64)),
        },
    ];
    for line in 3..usize::from(area.height) {
        let mut pen = Pen::new(buffer, lines_of(area, line, 1));
        let note = notes.get(line - 3).map_or("", String::as_str);
        pen.put("│ ", theme.faint()).put(note, theme.faint());
    }
}

/// Draws how many verdicts moved in which way, the important ones first.
pub(super) fn draw_counts(buffer: &mut Buffer, area: Rect, counts: &MovementCounts, theme: Theme) {
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
    let is_rare = |movement| matches!(movement, Movement::Answered | Movement::New);
    let shown = all.into_iter().filter(|(movement, n, _)| *n > 0 || !is_rare(*movement));
    let is_wide = area.width >= 100;
    let mut pen = Pen::new(buffer, area);
    pen.skip(MARK);
    for (movement, n, word) in shown {
        let (sign, _, style) = theme.movement(movement);
        let is_loud = n > 0 && !matches!(movement, Movement::Same | Movement::Pending);
        let style = if is_loud { STRONG.patch(style) } else { theme.faint() };
        let text = format!("{sign} {} {word}", grouped(n as u64));
        if pen.room() < columns(&text) {
            break;
        }
        pen.put(&text, style).skip(if is_wide { 3 } else { 2 });
    }
}
