//! The graders and the declared metrics of an evaluation: their numbers with intervals, and how far they moved.

use anstyle::Style;

use super::styles::{error_cell, title};
use crate::board::{DeclaredMetricRow, MetricRow, Overview};
use evalrs_base::text::table::{TableCell, lines, number, words};
use evalrs_report::intervals::{percent_within, value_within};
use evalrs_report::page::terminal::{BAD, GOOD, TITLE};

/// A column of a table of `R`s, which may be left out.
struct PlainColumn<R> {
    is_shown: bool,
    title: &'static str,
    cell: fn(&R) -> TableCell,
}

impl<R> PlainColumn<R> {
    fn new(is_shown: bool, title: &'static str, cell: fn(&R) -> TableCell) -> Self {
        Self { is_shown, title, cell }
    }
}

/// A row a grader, then a row a declared metric. What matters least stands at the right, where a narrow terminal leaves columns
/// out.
pub(super) fn lines_of(overview: &Overview, width: usize) -> Vec<String> {
    let mut shown = grader_lines(overview, width);
    shown.extend(declared_lines(overview, width));
    shown
}

fn grader_lines(overview: &Overview, width: usize) -> Vec<String> {
    let metrics = &overview.metrics;
    let has = |is: fn(&MetricRow) -> bool| metrics.iter().any(is);
    // After the first save both changes are the same.
    let has_start = overview.save > 1 && has(|metric| metric.since_start.is_some());
    let columns = [
        PlainColumn::new(true, "mean [95 %]", |metric: &MetricRow| {
            number(value_within(metric.mean, metric.interval))
        }),
        PlainColumn::new(has(|metric| metric.since_last.is_some()), "since last", |metric| {
            change_cell(metric.since_last)
        }),
        PlainColumn::new(true, "pass [95 %]", |metric| {
            number(percent_within(metric.pass_rate, metric.pass_rate_interval))
        }),
        PlainColumn::new(true, "errors", |metric| error_cell(metric.errors)),
        PlainColumn::new(true, "judged", |metric| {
            number(format!("{}/{}", metric.judged, metric.total))
        }),
        PlainColumn::new(has(|metric| metric.not_applicable > 0), "n/a", |metric| {
            number(metric.not_applicable.to_string())
        }),
        PlainColumn::new(has_start, "since start", |metric| change_cell(metric.since_start)),
    ];
    table_lines("grader", metrics, &columns, |metric| &metric.label, width)
}

fn declared_lines(overview: &Overview, width: usize) -> Vec<String> {
    let metrics = &overview.declared;
    let has = |is: fn(&DeclaredMetricRow) -> bool| metrics.iter().any(is);
    let has_start = overview.save > 1 && has(|metric| metric.since_start.is_some());
    let columns = [
        PlainColumn::new(true, "value [95 %]", |metric: &DeclaredMetricRow| {
            number(value_within(metric.value, metric.interval))
        }),
        PlainColumn::new(has(|metric| metric.since_last.is_some()), "since last", |metric| {
            change_cell(metric.since_last)
        }),
        PlainColumn::new(true, "n", |metric| number(metric.n.to_string())),
        PlainColumn::new(true, "errors", |metric| error_cell(metric.errors)),
        PlainColumn::new(has_start, "since start", |metric| change_cell(metric.since_start)),
    ];
    table_lines("metric", metrics, &columns, |metric| &metric.name, width)
}

fn table_lines<R>(
    first: &str,
    items: &[R],
    columns: &[PlainColumn<R>],
    name: fn(&R) -> &String,
    width: usize,
) -> Vec<String> {
    if items.is_empty() {
        return Vec::new();
    }
    let shown = || columns.iter().filter(|column| column.is_shown);
    let mut rows = vec![vec![title(first)]];
    rows[0].extend(shown().map(|column| number(column.title).styled(TITLE)));
    for item in items {
        let mut row = vec![words(name(item))];
        row.extend(shown().map(|column| (column.cell)(item)));
        rows.push(row);
    }
    lines(&rows, width)
}

fn change_cell(change: Option<f64>) -> TableCell {
    let text = change.map_or_else(|| "-".to_owned(), signed);
    let style = match text.as_bytes() {
        [b'+', ..] => GOOD,
        [b'-', _, ..] => BAD,
        _ => Style::new(),
    };
    number(text).styled(style)
}

/// A difference of scores with its sign; what is rounded to nothing has none.
pub(super) fn signed(change: f64) -> String {
    let text = format!("{change:+.3}");
    if text.ends_with("0.000") { "0.000".to_owned() } else { text }
}
