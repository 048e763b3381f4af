//! Intervals beside the numbers they belong to, for people.

use std::collections::BTreeSet;

use evalrs_base::text::{enumerated, percent, score, score_or_dash};
use evalrs_metrics::metric::{Metric, NativeMean};
use evalrs_statistics::interval::{ConfidenceInterval, IntervalMethod};

/// What is shown of a number, or a dash where there is none.
pub fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// A kappa with two decimals.
pub fn kappa_or_dash(kappa: Option<f64>) -> String {
    or_dash(kappa, |kappa| format!("{:.2}", kappa + 0.0))
}

/// How likely chance alone does as much.
pub(crate) fn p_value(p: Option<f64>) -> String {
    or_dash(p, |p| if p < 0.001 { "< 0.001".to_owned() } else { score(p) })
}

/// A number with its sign and so many decimals.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    let text = format!("{:+.decimals$}", value + 0.0);
    // What rounds to zero has no sign.
    let is_zero = text.chars().all(|letter| matches!(letter, '+' | '-' | '0' | '.'));
    if is_zero { text.trim_start_matches(['+', '-']).to_owned() } else { text }
}

/// The interval of a difference: `-0.100 to +0.020`.
pub(crate) fn signed_range(interval: Option<(f64, f64)>, decimals: usize) -> String {
    let bounds = interval.map(|(low, high)| [low, high].map(|bound| signed(bound, decimals)));
    or_dash(bounds, |bounds| bounds.join(" to "))
}

/// Whether the mean of a grader is its pass rate, and so is all that is known of both.
pub(crate) fn is_pass_fail(metric: &Metric) -> bool {
    metric.native.is_none()
        && metric.avg_score_attempted == metric.accuracy
        && metric.interval == metric.accuracy_interval
}

/// The fewest values of which an interval is shown: of less it says nothing.
pub(crate) const FEWEST: usize = 5;

/// The intervals of a grader's mean and of its pass rate, where there are enough grades.
fn intervals_of(metric: &Metric) -> [Option<ConfidenceInterval>; 2] {
    [metric.interval, metric.accuracy_interval]
        .map(|found| found.filter(|_| metric.attempted >= FEWEST))
}

/// A mean and its interval: `0.625 [0.312, 0.861]`.
pub(crate) fn mean_within(metric: &Metric) -> String {
    let mean = score_or_dash(metric.avg_score_attempted);
    let [interval, _] = intervals_of(metric);
    let bounds =
        |found: ConfidenceInterval| format!(" [{}, {}]", score(found.low), score(found.high));
    mean + &interval.map_or_else(String::new, bounds)
}

/// A mean on the scale of its grader: `mean 3.42 [2.98, 3.86] on its scale of 1 to 5`.
pub(crate) fn native_mean(native: &NativeMean) -> String {
    let NativeMean { mean, low, high, min, max } = *native;
    let bounds =
        low.zip(high).map_or_else(String::new, |(low, high)| format!(" [{low:.2}, {high:.2}]"));
    format!("mean {mean:.2}{bounds} on its scale of {min} to {max}")
}

/// A pass rate and its interval: `62.5% [31.2, 86.1]`.
pub(crate) fn rate_within(metric: &Metric) -> String {
    let [_, interval] = intervals_of(metric);
    percent_within(metric.accuracy, interval)
}

/// A share and its interval, in percent: `62.5% [31.2, 86.1]`.
pub fn percent_within(share: Option<f64>, interval: Option<ConfidenceInterval>) -> String {
    let share = percent(share);
    interval.map_or_else(|| share.clone(), |_| format!("{share} {}", percent_interval(interval)))
}

/// The interval of a share, in percent: `[31.2, 86.1]`.
pub fn percent_interval(interval: Option<ConfidenceInterval>) -> String {
    or_dash(interval, |found| format!("[{:.1}, {:.1}]", found.low * 100.0, found.high * 100.0))
}

/// Three decimals, as scores have; of large numbers fewer.
pub fn value_or_dash(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.abs() >= 1000.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.3}"),
    }
}

/// A number and its interval: `0.625 [0.312, 0.861]`.
pub fn value_within(value: Option<f64>, interval: Option<ConfidenceInterval>) -> String {
    let value = value_or_dash(value);
    interval.map_or_else(|| value.clone(), |_| format!("{value} {}", value_interval(interval)))
}

/// The interval of a number: `[0.312, 0.861]`.
pub fn value_interval(interval: Option<ConfidenceInterval>) -> String {
    or_dash(interval, |found| {
        format!("[{}]", [Some(found.low), Some(found.high)].map(value_or_dash).join(", "))
    })
}

/// How the intervals that are shown of graders were made.
pub(crate) fn methods<'m>(metrics: impl Iterator<Item = &'m Metric>) -> Option<String> {
    methods_of(metrics.flat_map(intervals_of).flatten())
}

/// How intervals were made: `95 % intervals: Clopper-Pearson and Student t`; none where there is none.
pub(crate) fn methods_of(intervals: impl Iterator<Item = ConfidenceInterval>) -> Option<String> {
    let found: BTreeSet<IntervalMethod> = intervals.map(|interval| interval.method).collect();
    named_methods(&found)
}

/// The same of methods that are known.
pub(crate) fn named_methods(methods: &BTreeSet<IntervalMethod>) -> Option<String> {
    let names: Vec<&str> = methods.iter().map(|method| method.label()).collect();
    (!names.is_empty()).then(|| format!("95 % intervals: {}", enumerated(&names, "and")))
}
