//! Declared metrics of two evaluations: a table, and what it leaves out.

use super::graders::change;
use crate::intervals::{value_or_dash, value_within};
use crate::page::{Column, Table, Text, quoted, text};
use evalrs_metrics::diff::Diff;
use evalrs_metrics::diff::declared::{DeclaredDiff, NoInterval};

/// A row for each metric that both have.
pub(super) fn table(diff: &Diff) -> Table {
    let names = [Column::names("metric"), Column::words("kind")];
    let numbers = ["old → new", "change [95 %]"].map(Column::numbers);
    let mut table = Table::new(names.into_iter().chain(numbers));
    for (name, metric) in &diff.declared.0 {
        let interval = metric.interval.map(|found| (found.low, found.high));
        table.row([
            quoted(name),
            metric.kind.as_str().into(),
            [metric.before.value, metric.now.value].map(value_or_dash).join(" → ").into(),
            change(metric.change, interval, 3),
        ]);
    }
    for (name, metric) in &diff.declared.0 {
        table.extend_notes(uncompared(name, metric));
    }
    let only = |side: &str, names: &[String]| {
        let names = Text::joined(names.iter().map(|name| quoted(name)), ", ");
        (!names.is_empty()).then(|| text![format!("metrics only in the {side}: "), names])
    };
    table.extend_notes(only("new", &diff.declared_only_now));
    table.extend_notes(only("old", &diff.declared_only_before));
    table
}

/// Why a change has no interval, and the intervals of both numbers.
fn uncompared(name: &str, metric: &DeclaredDiff) -> Option<Text> {
    let why = match metric.no_interval? {
        NoInterval::Redefined => "its definition changed",
        NoInterval::NoDraws => "one of the two has no resamples to compare it by",
        NoInterval::NoNumber | NoInterval::Unknown => return None,
    };
    let [before, now] =
        [&metric.before, &metric.now].map(|number| value_within(number.value, number.interval));
    Some(text![quoted(name), format!(": {why}: {before} → {now}")])
}
