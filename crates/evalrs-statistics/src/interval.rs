//! Confidence intervals of rates and means, each by a method that fits how many items there are and of which kind.
//!
//! Owns which method is picked, and those that have a closed form; the bootstrap is next door. Items may come in clusters, as
//! trials of one sample do: then samples are what is independent, and not items. An interval is about samples like these: it
//! knows nothing of how a judge errs.

pub use super::clusters::ClusteredValue;
pub use super::confidence::{ConfidenceInterval, IntervalMethod, ValueRange, read_interval};

use super::bootstrap::bootstrap_interval;
use super::clusters::Clusters;
use super::distribution::{beta_quantile, normal_quantile, student_t_quantile};
use evalrs_base::exact::sum;

/// Below this many passes or fails a rate has the exact interval.
const FEW: f64 = 10.0;

/// From this skewness on, either way, values are far from symmetric.
const SKEWED: f64 = 0.5;

/// Means of this many clusters are bootstrapped if their values are far from symmetric: fewer have too few values to resample.
const BOOTSTRAPPED: std::ops::Range<usize> = 10..100;

/// The interval of a rate of `passes` among `n` independent items; none of nothing, for more passes than items, or for a level
/// that is not between 0.0 and 1.0.
///
/// Clopper and Pearson's where fewer than ten passed or failed, Wilson's elsewhere: near 0 and 1 that one holds the true rate
/// less often than it says. Brown, Cai and DasGupta 2001, "Interval Estimation for a Binomial Proportion".
pub fn rate_interval(passes: usize, n: usize, level: f64) -> Option<ConfidenceInterval> {
    if passes > n {
        return None;
    }
    let rate = EffectiveRate { passes: passes as f64, items: n as f64 };
    let is_few = rate.passes.min(rate.items - rate.passes) < FEW;
    let found = if is_few { clopper_pearson(rate, level) } else { wilson(rate, level) };
    found.map(ConfidenceInterval::rounded)
}

/// Wilson's score interval of a rate of `passes` among `n`; none as in [`rate_interval`].
pub fn wilson_interval(passes: usize, n: usize, level: f64) -> Option<ConfidenceInterval> {
    let rate = EffectiveRate { passes: passes as f64, items: n as f64 };
    wilson(rate, level).filter(|_| passes <= n)
}

/// Clopper and Pearson's exact interval of a rate of `passes` among `n`; none as in [`rate_interval`].
pub fn clopper_pearson_interval(passes: usize, n: usize, level: f64) -> Option<ConfidenceInterval> {
    let rate = EffectiveRate { passes: passes as f64, items: n as f64 };
    clopper_pearson(rate, level).filter(|_| passes <= n)
}

/// The interval of the mean of these values, in any order, as fits their number and kind; none of nothing, where a value or a
/// bound is not finite, or for a level that is not between 0.0 and 1.0.
///
/// - Values that are all 0 or 1 are a rate: [`rate_interval`], with the effective number of items where samples repeat.
/// - Equal values: no spread can be estimated. The exact interval of how many items may differ, which may then have any
///   value of the range.
/// - Ten to 99 samples that are far from symmetric: the bootstrap, expanded for few samples.
/// - Others: Student's t.
pub fn mean_interval(
    values: Vec<ClusteredValue>,
    range: ValueRange,
    level: f64,
) -> Option<ConfidenceInterval> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    interval_of(values, range, level)?.rounded().finite()
}

fn interval_of(
    values: Vec<ClusteredValue>,
    range: ValueRange,
    level: f64,
) -> Option<ConfidenceInterval> {
    let is_rate = range == ValueRange::UNIT
        && values.iter().all(|item| item.value.total_cmp(&1.0).is_eq() || item.value == 0.0);
    let clusters = Clusters::of(values)?;
    if is_rate {
        return clustered_rate(&clusters, level);
    }
    let count = clusters.count();
    if clusters.least >= clusters.greatest || count < 2.0 {
        return equal_values(&clusters, range, level);
    }
    let is_small = BOOTSTRAPPED.contains(&clusters.totals.len());
    let bootstrapped = (is_small && clusters.skewness().abs() > SKEWED)
        .then(|| bootstrap_interval(&clusters, level, expanded(count, level)?))
        .flatten();
    bootstrapped
        .map(|found| range.interval(found.low, found.high, level, found.method))
        .or_else(|| student_t(&clusters, range, level))
}

/// The interval of a mean from its standard error and the samples it rests on; none for fewer than two. The error is one of
/// `n - 1`, or a clustered one with its correction for few samples.
pub fn student_t_interval(
    values: Vec<ClusteredValue>,
    range: ValueRange,
    level: f64,
) -> Option<ConfidenceInterval> {
    student_t(&Clusters::of(values)?, range, level)
}

/// The bias-corrected and accelerated bootstrap interval of a mean, with the same resamples for the same values; none where it
/// is not defined: for fewer than two samples, or without any difference between them.
pub fn bca_interval(values: Vec<ClusteredValue>, level: f64) -> Option<ConfidenceInterval> {
    bootstrap_interval(&Clusters::of(values)?, level, normal_quantile(f64::midpoint(level, 1.0)))
}

/// How many standard errors a bootstrap interval of few samples is to reach, that it is as wide as Student's t is: a resample
/// varies less than a sample. Hesterberg 2015, "What Teachers Should Know About the Bootstrap".
fn expanded(samples: f64, level: f64) -> Option<f64> {
    Some(student_t_quantile(level, samples - 1.0)? * (samples / (samples - 1.0)).sqrt())
}

fn student_t(clusters: &Clusters, range: ValueRange, level: f64) -> Option<ConfidenceInterval> {
    let reach = student_t_quantile(level, clusters.count() - 1.0)? * clusters.variance()?.sqrt();
    let method = if clusters.has_repeats() {
        IntervalMethod::StudentTClustered
    } else {
        IntervalMethod::StudentT
    };
    Some(range.interval(clusters.mean - reach, clusters.mean + reach, level, method))
}

/// A rate of items that are independent of each other. Neither number need be whole.
#[derive(Clone, Copy, Debug)]
struct EffectiveRate {
    passes: f64,
    items: f64,
}

fn wilson(rate: EffectiveRate, level: f64) -> Option<ConfidenceInterval> {
    if rate.items <= 0.0 || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let reach = normal_quantile(f64::midpoint(level, 1.0));
    let squared = reach * reach;
    let fails = rate.items - rate.passes;
    let whole = rate.items + squared;
    let centre = (rate.passes + squared / 2.0) / whole;
    let half = reach / whole * (rate.passes * fails / rate.items + squared / 4.0).sqrt();
    let unit = ValueRange::UNIT;
    Some(unit.interval(centre - half, centre + half, level, IntervalMethod::Wilson))
}

fn clopper_pearson(rate: EffectiveRate, level: f64) -> Option<ConfidenceInterval> {
    if rate.items <= 0.0 || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let fails = rate.items - rate.passes;
    let tail = (1.0 - level) / 2.0;
    let low = if rate.passes <= 0.0 { 0.0 } else { beta_quantile(tail, rate.passes, fails + 1.0)? };
    let high =
        if fails <= 0.0 { 1.0 } else { beta_quantile(1.0 - tail, rate.passes + 1.0, fails)? };
    Some(ConfidenceInterval { low, high, level, method: IntervalMethod::ClopperPearson })
}

/// The interval of a rate of items in clusters: that of as many independent items as would have the same standard error.
///
/// `n* = p (1 - p) / SE²`, between what n would be were all items of a sample alike and n, times `(t(n - 1) / t(G - 1))²` for
/// G samples. Where fewer than ten samples hold the rarer outcome, all items of a sample are taken to be alike: so few do not
/// tell how far they depend on each other.
fn clustered_rate(clusters: &Clusters, level: f64) -> Option<ConfidenceInterval> {
    if !clusters.has_repeats() {
        let passes = clusters.mean * clusters.items;
        return rate_interval(passes.round() as usize, clusters.items as usize, level);
    }
    let items = effective_items(clusters, level)?;
    let rate = EffectiveRate { passes: clusters.mean * items, items };
    let is_few = rate.passes.min(items - rate.passes) < FEW;
    let found = if is_few { clopper_pearson(rate, level)? } else { wilson(rate, level)? };
    let method = if is_few {
        IntervalMethod::ClopperPearsonClustered
    } else {
        IntervalMethod::WilsonClustered
    };
    Some(ConfidenceInterval { method, ..found })
}

fn effective_items(clusters: &Clusters, level: f64) -> Option<f64> {
    let squares = sum(clusters.totals.iter().map(|total| total.size * total.size));
    let alike = clusters.items * clusters.items / squares;
    let with_pass = clusters.totals.iter().filter(|total| total.sum > 0.0).count();
    let with_fail = clusters.totals.iter().filter(|total| total.sum < total.size).count();
    if (with_pass.min(with_fail) as f64) < FEW {
        return Some(alike);
    }
    let spread = clusters.mean * (1.0 - clusters.mean);
    let variance = clusters.variance()?;
    let equivalent = if variance > 0.0 { spread / variance } else { clusters.items };
    let ratio = student_t_quantile(level, clusters.items - 1.0)?
        / student_t_quantile(level, clusters.count() - 1.0)?;
    Some(equivalent.clamp(alike, clusters.items) * ratio * ratio)
}

/// The interval of a mean of items that are all alike, or of one sample: a share of other items that is too small to show may
/// have any value.
fn equal_values(clusters: &Clusters, range: ValueRange, level: f64) -> Option<ConfidenceInterval> {
    let none = EffectiveRate { passes: 0.0, items: clusters.count() };
    let others = clopper_pearson(none, level)?;
    let to = |bound: f64| clusters.mean + others.high * (bound - clusters.mean);
    let method = if clusters.has_repeats() {
        IntervalMethod::ClopperPearsonClustered
    } else {
        IntervalMethod::ClopperPearson
    };
    Some(range.interval(to(range.least), to(range.greatest), level, method))
}
