//! Confidence intervals of rates and means, each by a method that fits how many items there are and of which kind.
//!
//! Owns which method is picked, and those that have a closed form; the bootstrap is next door. Items may come in clusters, as
//! trials of one sample do: then samples are what is independent, and not items. An interval is about samples like these: it
//! knows nothing of how a judge errs.

use serde::{Deserialize, Deserializer, Serialize};

use super::bootstrap::bootstrap_interval;
use super::distribution::{beta_quantile, normal_quantile, student_t_quantile};
use evalrs_base::exact::sum;

/// Below so many passes or fails a rate has the exact interval.
const FEW: f64 = 10.0;

/// From this skewness on, either way, values are far from symmetric.
const SKEWED: f64 = 0.5;

/// Means of so many clusters are bootstrapped where their values are far from symmetric: fewer hold too few values to draw from.
const BOOTSTRAPPED: std::ops::Range<usize> = 10..100;

/// Where the true value lies, as far as samples tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    /// The lower bound, on the scale of the estimate.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// How often such intervals hold the true value, 0.0..=1.0.
    pub level: f64,
    /// How it was made.
    pub method: IntervalMethod,
}

impl ConfidenceInterval {
    /// Without the last digits, in which the logarithms of one machine may differ from those of another.
    pub(super) fn rounded(self) -> Self {
        const DIGITS: f64 = 1e9;
        let rounded = |bound: f64| match (bound * DIGITS).round() / DIGITS {
            rounded if rounded.is_finite() => rounded,
            // So large a number has no such digits.
            _ => bound,
        };
        Self { low: rounded(self.low), high: rounded(self.high), ..self }
    }

    /// It, if both of its bounds are numbers: one without a bound says nothing, and no record can hold it.
    pub(crate) fn finite(self) -> Option<Self> {
        (self.low.is_finite() && self.high.is_finite()).then_some(self)
    }
}

/// Reads an interval of a record. Earlier versions wrote null for a bound that is not finite: that is no interval.
pub fn read_interval<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ConfidenceInterval>, D::Error> {
    #[derive(Deserialize)]
    struct WrittenInterval {
        low: Option<f64>,
        high: Option<f64>,
        level: f64,
        method: IntervalMethod,
    }
    let written = Option::<WrittenInterval>::deserialize(deserializer)?;
    Ok(written.and_then(|WrittenInterval { low, high, level, method }| {
        Some(ConfidenceInterval { low: low?, high: high?, level, method })
    }))
}

/// How an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// Score interval of a rate. Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".
    Wilson,
    /// Exact interval of a rate. Clopper and Pearson 1934, "The Use of Confidence or Fiducial Limits Illustrated in the Case
    /// of the Binomial".
    ClopperPearson,
    /// [`Self::Wilson`] with the effective number of items.
    WilsonClustered,
    /// [`Self::ClopperPearson`] with the effective number of items. Korn and Graubard 1998, "Confidence Intervals for
    /// Proportions with Small Expected Number of Positive Counts Estimated from Survey Data".
    ClopperPearsonClustered,
    /// Mean and standard error under Student's t distribution. Student 1908, "The Probable Error of a Mean".
    StudentT,
    /// [`Self::StudentT`] with a standard error clustered by sample, Miller 2024, "Adding Error Bars to Evals", times
    /// `sqrt(G / (G - 1))` for G samples, and G - 1 degrees of freedom.
    StudentTClustered,
    /// Bias-corrected and accelerated bootstrap. Efron 1987, "Better Bootstrap Confidence Intervals".
    BcaBootstrap,
    /// [`Self::BcaBootstrap`] that draws samples with all their items.
    BcaBootstrapClustered,
    /// Percentile bootstrap, drawing samples with all their items. Efron and Tibshirani 1993, "An Introduction to the
    /// Bootstrap".
    PercentileBootstrap,
    /// The difference of two runs over samples that are drawn alike for both, with the standard error of its draws under
    /// Student's t distribution. Chamandy et al. 2012, "Estimating Uncertainty for Massive Data Streams".
    PairedBootstrap,
    /// The mean of labels, made surer by a judge that scored all: [`prediction_powered_mean`].
    ///
    /// [`prediction_powered_mean`]: super::prediction_powered::prediction_powered_mean
    PredictionPowered,
    /// A mean of numbers of several suites, from the interval of each: [`combination_interval`].
    ///
    /// [`combination_interval`]: super::linear_combination::combination_interval
    Mover,
    /// A maximum likelihood estimate and its standard error from the observed information (Wald).
    Wald,
    /// The posterior of a rate or of a difference of rates under uniform priors. Bowyer et al. 2025, "Don't use the CLT in
    /// LLM evals with fewer than a few hundred datapoints".
    Bayesian,
}

impl IntervalMethod {
    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Wilson => "Wilson",
            Self::ClopperPearson => "Clopper-Pearson",
            Self::WilsonClustered => "clustered Wilson",
            Self::ClopperPearsonClustered => "clustered Clopper-Pearson",
            Self::StudentT => "Student t",
            Self::StudentTClustered => "clustered t",
            Self::BcaBootstrap => "BCa bootstrap",
            Self::BcaBootstrapClustered => "clustered BCa bootstrap",
            Self::PercentileBootstrap => "percentile bootstrap",
            Self::PairedBootstrap => "paired bootstrap",
            Self::PredictionPowered => "PPI++",
            Self::Mover => "MOVER",
            Self::Wald => "Wald",
            Self::Bayesian => "Bayesian",
        }
    }
}

/// A value of one item, and the sample it belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusteredValue {
    /// The number of the sample: items of the same are not independent.
    pub cluster: u32,
    /// The value.
    pub value: f64,
}

/// Between which values an estimate can lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRange {
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

impl ValueRange {
    /// Rates and scores.
    pub const UNIT: Self = Self { least: 0.0, greatest: 1.0 };
    /// Numbers that may be anything.
    pub const UNBOUNDED: Self = Self { least: f64::NEG_INFINITY, greatest: f64::INFINITY };
    /// Differences of rates and scores.
    pub const DIFFERENCE: Self = Self { least: -1.0, greatest: 1.0 };

    pub fn interval(
        self,
        low: f64,
        high: f64,
        level: f64,
        method: IntervalMethod,
    ) -> ConfidenceInterval {
        let clamp = |bound: f64| bound.max(self.least).min(self.greatest);
        ConfidenceInterval { low: clamp(low), high: clamp(high), level, method }
    }
}

/// All items of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ClusterTotal {
    /// The sum of their values.
    pub sum: f64,
    /// How many they are.
    pub size: f64,
}

/// The items of an estimate, sample by sample.
pub(super) struct Clusters {
    pub totals: Vec<ClusterTotal>,
    /// How many items there are.
    pub items: f64,
    /// The mean of all items.
    pub mean: f64,
    least: f64,
    greatest: f64,
}

impl Clusters {
    /// In any order; none of nothing, and none where a value is not finite.
    fn of(mut values: Vec<ClusteredValue>) -> Option<Self> {
        if values.is_empty() || values.iter().any(|item| !item.value.is_finite()) {
            return None;
        }
        if !values.is_sorted_by_key(|item| item.cluster) {
            values.sort_by_key(|item| item.cluster);
        }
        let total = |items: &[ClusteredValue]| ClusterTotal {
            sum: match items {
                [item] => item.value,
                items => sum(items.iter().map(|item| item.value)),
            },
            size: items.len() as f64,
        };
        let bound = |fold: fn(f64, f64) -> f64| values.iter().map(|item| item.value).reduce(fold);
        let items = values.len() as f64;
        let totals: Vec<ClusterTotal> =
            values.chunk_by(|left, right| left.cluster == right.cluster).map(total).collect();
        Some(Self {
            mean: sum(totals.iter().map(|total| total.sum)) / items,
            totals,
            items,
            least: bound(f64::min)?,
            greatest: bound(f64::max)?,
        })
    }

    fn count(&self) -> f64 {
        self.totals.len() as f64
    }

    pub(super) fn has_repeats(&self) -> bool {
        self.count() < self.items
    }

    /// The variance of the mean: `G / (G - 1) * sum of (sum of residuals of a sample)² / n²`. None for one sample.
    fn variance(&self) -> Option<f64> {
        let count = self.count();
        let residual = |total: &ClusterTotal| total.sum - total.size * self.mean;
        let squares = sum(self.totals.iter().map(|total| residual(total) * residual(total)));
        (count > 1.0).then(|| count / (count - 1.0) * squares / (self.items * self.items))
    }

    /// The skewness of the samples' residuals; 0 where there is no spread.
    fn skewness(&self) -> f64 {
        let power = |exponent: i32| {
            let residual = |total: &ClusterTotal| total.sum - total.size * self.mean;
            sum(self.totals.iter().map(|total| residual(total).powi(exponent))) / self.count()
        };
        let spread = power(2).powf(1.5);
        if spread > 0.0 { power(3) / spread } else { 0.0 }
    }
}

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

/// The bias-corrected and accelerated bootstrap interval of a mean, of draws that are the same for the same values; none where
/// it is not defined: for fewer than two samples, or without any difference between them.
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
