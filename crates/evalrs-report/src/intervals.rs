//! Intervals beside the numbers they belong to, for people.

use std::collections::BTreeSet;

use super::declared::shown;
use evalrs_base::ordered_map::Ordered;
use evalrs_base::text::{enumerated, percent, score, score_or_dash};
use evalrs_metrics::metric::{Metric, NativeMean};
use evalrs_statistics::interval::{ConfidenceInterval, IntervalMethod};

/// The title of a column of intervals.
pub(crate) const TITLE: &str = "95 % interval";

/// A mean and its interval: `0.625 [0.312, 0.861]`.
pub(crate) fn mean_within(metric: &Metric) -> String {
    let mean = score_or_dash(metric.avg_score_attempted);
    metric.interval.map_or_else(|| mean.clone(), |_| format!("{mean} {}", mean_interval(metric)))
}

/// A mean on the scale of its grader: `mean 3.42 [2.98, 3.86] on its scale of 1 to 5`.
pub(crate) fn native_mean(native: &NativeMean) -> String {
    let NativeMean { mean, low, high, min, max } = *native;
    let bounds =
        low.zip(high).map_or_else(String::new, |(low, high)| format!(" [{low:.2}, {high:.2}]"));
    format!("mean {mean:.2}{bounds} on its scale of {min} to {max}")
}

/// The interval of a mean: `[0.312, 0.861]`.
pub(crate) fn mean_interval(metric: &Metric) -> String {
    metric.interval.map_or_else(
        || "-".to_owned(),
        |found| format!("[{}, {}]", score(found.low), score(found.high)),
    )
}

/// A pass rate and its interval: `62.5% [31.2, 86.1]`.
pub(crate) fn rate_within(metric: &Metric) -> String {
    percent_within(metric.accuracy, metric.accuracy_interval)
}

/// A share and its interval, in percent: `62.5% [31.2, 86.1]`.
pub fn percent_within(share: Option<f64>, interval: Option<ConfidenceInterval>) -> String {
    let share = percent(share);
    interval.map_or_else(|| share.clone(), |_| format!("{share} {}", percent_interval(interval)))
}

/// The interval of a pass rate, in percent: `[31.2, 86.1]`.
pub(crate) fn rate_interval(metric: &Metric) -> String {
    percent_interval(metric.accuracy_interval)
}

/// The interval of a share, in percent: `[31.2, 86.1]`.
pub fn percent_interval(interval: Option<ConfidenceInterval>) -> String {
    interval.map_or_else(
        || "-".to_owned(),
        |found| format!("[{:.1}, {:.1}]", found.low * 100.0, found.high * 100.0),
    )
}

/// A number and its interval: `0.625 [0.312, 0.861]`.
pub fn value_within(value: Option<f64>, interval: Option<ConfidenceInterval>) -> String {
    let value = shown(value);
    interval.map_or_else(|| value.clone(), |_| format!("{value} {}", value_interval(interval)))
}

/// The interval of a number: `[0.312, 0.861]`.
pub fn value_interval(interval: Option<ConfidenceInterval>) -> String {
    interval.map_or_else(
        || "-".to_owned(),
        |found| format!("[{}, {}]", shown(Some(found.low)), shown(Some(found.high))),
    )
}

/// How the intervals of metrics of graders were made.
pub(crate) fn methods(metrics: &Ordered<Metric>) -> Option<String> {
    let intervals = metrics
        .0
        .iter()
        .flat_map(|(_, metric)| [metric.interval, metric.accuracy_interval].into_iter().flatten());
    methods_of(intervals)
}

/// How intervals were made: `95 % intervals: Clopper-Pearson and Student t`; none where there is none.
pub(crate) fn methods_of(intervals: impl Iterator<Item = ConfidenceInterval>) -> Option<String> {
    let found: BTreeSet<IntervalMethod> = intervals.map(|interval| interval.method).collect();
    let names: Vec<&str> = found.into_iter().map(IntervalMethod::label).collect();
    (!names.is_empty()).then(|| format!("95 % intervals: {}", enumerated(&names, "and")))
}
