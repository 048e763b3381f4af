//! Declared metrics of two evaluations, in words: the cells of their table, and what it leaves out.

use crate::intervals::{or_dash, signed, signed_range, value_or_dash};
use evalrs_base::text::enumerated;
use evalrs_metrics::diff::Diff;
use evalrs_metrics::diff::declared::{DeclaredDiff, DeclaredNumber, NoInterval};

/// A value with its interval.
fn number(number: &DeclaredNumber) -> String {
    let interval = match number.interval {
        None => "no interval".to_owned(),
        Some(found) => [Some(found.low), Some(found.high)].map(value_or_dash).join(" to "),
    };
    format!("{} ({interval})", value_or_dash(number.value))
}

/// Kind, both numbers, the change, and its interval.
pub(super) fn cells(metric: &DeclaredDiff) -> [String; 4] {
    let numbers = [metric.before.value, metric.now.value].map(value_or_dash).join(" → ");
    let change = or_dash(metric.change, |change| signed(change, 3));
    let bounds = metric.interval.map(|found| (found.low, found.high));
    [metric.kind.clone(), numbers, change, signed_range(bounds, 3)]
}

/// What the table does not say, a sentence each.
pub(super) fn remarks(diff: &Diff) -> Vec<String> {
    let uncompared = diff.declared.0.iter().filter_map(|(name, metric)| {
        let why = match metric.no_interval? {
            NoInterval::Redefined => "the suite says something else of it now",
            NoInterval::NoDraws => "one of the two keeps no draws to compare it by",
            NoInterval::NoNumber | NoInterval::Unknown => return None,
        };
        let [before, now] = [&metric.before, &metric.now].map(number);
        Some(format!("{name}: {why}; {before} before, {now} now"))
    });
    let only = |which: &str, names: &[String]| {
        (!names.is_empty()).then(|| format!("metrics {which}: {}", enumerated(names, "and")))
    };
    uncompared
        .chain(only("that the new adds", &diff.declared_only_now))
        .chain(only("that only the old has", &diff.declared_only_before))
        .collect()
}
