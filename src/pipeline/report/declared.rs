//! The metrics that a suite declares, as the reports for people show them: a table of numbers with their intervals.

use std::io::{self, Write};

use super::intervals;
use super::markdown::code;
use super::terminal::{TITLE, error_cell, faint, title};
use crate::base::ordered_map::Ordered;
use crate::base::text::table::{TableCell, lines, number, words};
use crate::base::text::{count, cut, cut_middle};
use crate::pipeline::metric::declared::{GroupValue, MetricValue};
use crate::pipeline::statistics::interval::ConfidenceInterval;

/// The columns that the name of a metric or group may take.
const NAME: usize = 32;

/// The groups of one metric that are shown.
const GROUPS: usize = 12;

/// The largest confusion matrix that is shown, in classes.
const CLASSES: usize = 8;

/// A row of the table.
struct DeclaredRow {
    name: String,
    kind: String,
    value: String,
    interval: String,
    n: usize,
    errors: Option<usize>,
}

/// The table for a terminal of so many columns; nothing where no metric is declared.
pub(super) fn declared_lines(metrics: &Ordered<MetricValue>, width: usize) -> Vec<String> {
    if metrics.0.is_empty() {
        return Vec::new();
    }
    let titles = ["value [95 %]", "n", "errors"];
    let mut header = vec![title("metric"), title("kind")];
    header.extend(titles.map(|text| number(text).styled(TITLE)));
    let mut rows = vec![header];
    let mut after = Vec::new();
    for (name, metric) in &metrics.0 {
        rows.extend(metric_rows(name, metric).iter().map(cells));
        after.extend(remarks(name, metric));
    }
    let mut table = lines(&rows, width);
    table.extend(methods(metrics).map(|methods| faint(&cut(&methods, width))));
    table.extend(after);
    table
}

/// The same as Markdown.
pub(super) fn write_declared(
    metrics: &Ordered<MetricValue>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if metrics.0.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n| metric | kind | value | {} | n | errors |", intervals::TITLE)?;
    writeln!(out, "|:--|:--|--:|--:|--:|--:|")?;
    for (name, metric) in &metrics.0 {
        for row in metric_rows(name, metric) {
            let errors = row.errors.map_or_else(String::new, |errors| errors.to_string());
            let DeclaredRow { kind, value, interval, n, .. } = &row;
            let name = code(row.name.trim());
            writeln!(out, "| {name} | {kind} | {value} | {interval} | {n} | {errors} |")?;
        }
    }
    if let Some(methods) = methods(metrics) {
        writeln!(out, "\n{methods}")?;
    }
    for (name, metric) in &metrics.0 {
        for line in remarks(name, metric) {
            writeln!(out, "\n{}", code(line.trim()))?;
        }
    }
    Ok(())
}

fn metric_rows(name: &str, metric: &MetricValue) -> Vec<DeclaredRow> {
    let whole = DeclaredRow {
        name: cut_middle(name, NAME),
        kind: metric.kind.clone(),
        value: shown(metric.value),
        interval: interval(metric.interval.as_ref()),
        n: metric.n,
        errors: Some(metric.errors),
    };
    let group = |(name, group): &(String, GroupValue)| DeclaredRow {
        name: format!("  {}", cut_middle(name, NAME)),
        kind: String::new(),
        value: shown(group.value),
        interval: interval(group.interval.as_ref()),
        n: group.n,
        errors: None,
    };
    std::iter::once(whole).chain(metric.groups.0.iter().take(GROUPS).map(group)).collect()
}

fn cells(row: &DeclaredRow) -> Vec<TableCell> {
    let errors = row.errors.map_or_else(|| words(""), error_cell);
    let within = match row.interval.as_str() {
        "-" => row.value.clone(),
        interval => format!("{} {interval}", row.value),
    };
    vec![words(&row.name), words(&row.kind), number(within), number(row.n.to_string()), errors]
}

/// What stands below the table: why there is no number, groups that are not shown, the classes.
fn remarks(name: &str, metric: &MetricValue) -> Vec<String> {
    let name = cut_middle(name, NAME);
    let problem = metric.problem.iter().map(|problem| format!("{name}: {problem}"));
    let more = metric.groups.0.len().saturating_sub(GROUPS);
    let more = (more > 0).then(|| format!("{name}: {} not shown", count(more, "group")));
    let native =
        metric.native.map(|native| format!("{name}: {} on its own scale", shown(Some(native))));
    problem.chain(native).chain(more).chain(confusion(&name, metric)).collect()
}

/// A line a class: what results of it were taken for.
fn confusion(name: &str, metric: &MetricValue) -> Vec<String> {
    let Some(matrix) = metric.confusion.as_ref().filter(|matrix| matrix.classes.len() <= CLASSES)
    else {
        return Vec::new();
    };
    let of_class = |(class, counts): (&String, &Vec<usize>)| {
        let taken = matrix.classes.iter().zip(counts).filter(|(_, count)| **count > 0);
        let taken: Vec<String> = taken.map(|(other, count)| format!("{count} {other}")).collect();
        (!taken.is_empty()).then(|| {
            format!("{name}: of {}, taken for {}", cut_middle(class, NAME), taken.join(", "))
        })
    };
    matrix.classes.iter().zip(&matrix.counts).filter_map(of_class).collect()
}

/// Three decimals, as scores have; of large numbers fewer.
pub(crate) fn shown(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.abs() >= 1000.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.3}"),
    }
}

fn interval(interval: Option<&ConfidenceInterval>) -> String {
    interval.map_or_else(
        || "-".to_owned(),
        |found| format!("[{}, {}]", shown(Some(found.low)), shown(Some(found.high))),
    )
}

/// How the intervals of all that is shown were made.
fn methods(metrics: &Ordered<MetricValue>) -> Option<String> {
    let of_metric = |metric: &'_ MetricValue| {
        let groups = metric.groups.0.iter().take(GROUPS).filter_map(|(_, group)| group.interval);
        metric.interval.into_iter().chain(groups).collect::<Vec<ConfidenceInterval>>()
    };
    intervals::methods_of(metrics.0.iter().flat_map(|(_, metric)| of_metric(metric)))
}
