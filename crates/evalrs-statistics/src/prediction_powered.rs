//! The mean that people would have given, where they labelled a random part and a judge scored all.
//!
//! Prediction-powered inference with the tuning of Angelopoulos, Duchi and Zrnic 2023, "PPI++: Efficient Prediction-Powered
//! Inference": the mean of labels, plus `tuning` times how much higher the judge's mean is on what nobody labelled than on what
//! people did. A judge that says nothing is left out by a tuning of 0, and a perfect one stands for all labels that are missing.

use serde::{Deserialize, Serialize};

use super::distribution::student_t_quantile;
use super::interval::{
    ClusteredValue, ConfidenceInterval, IntervalMethod, ValueRange, mean_interval,
};
use evalrs_base::exact::{mean, sum};

/// An item that people labelled and the judge scored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LabelledItem {
    /// Its sample.
    pub cluster: u32,
    /// What people say.
    pub label: f64,
    /// What the judge says.
    pub prediction: f64,
}

/// An estimate of the mean of labels of all items, labelled or not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionPoweredMean {
    /// The estimate.
    pub mean: f64,
    /// Its standard error; trials of a sample are one cluster.
    pub stderr: f64,
    /// Its interval: Student's t of the samples that have labels; the one of the labels alone where the judge does not count.
    pub interval: ConfidenceInterval,
    /// How far the judge counts, 0..=1.
    pub tuning: f64,
    /// The mean of the labels alone.
    pub labels_mean: f64,
    /// Its standard error, made likewise.
    pub labels_stderr: f64,
    /// The interval of the mean of the labels alone, as fits their number: [`mean_interval`].
    pub labels_interval: ConfidenceInterval,
    /// How much higher the judge scores than people, on what both did.
    pub bias: f64,
    /// The share of labels that the judge saves: labels alone would need `n / (1 - saved)` for an interval as narrow.
    pub saved: f64,
    /// The most that this judge could save, were there scores of it without end: the squared correlation with people.
    pub most_saved: f64,
}

/// The estimate, for a level between 0.0 and 1.0; none for labels of fewer than two samples, or where a value is not finite.
///
/// `tuning` is `cov(label, prediction) / ((1 + n / N) var(prediction))`, within 0..=1, for n labelled and N other items, its
/// variance taken over both. Where that would make the estimate less sure than labels alone are, it is 0.
///
/// Where people and a good judge differ a few times only, the differences that were seen tell too little of those that were not:
/// the interval counts one more in either direction, by a half each. `stderr` does not.
pub fn prediction_powered_mean(
    labelled: &[LabelledItem],
    others: &[ClusteredValue],
    range: ValueRange,
    level: f64,
) -> Option<PredictionPoweredMean> {
    let parts = Parts::of(labelled, others)?;
    let labels_variance = parts.variance(0.0)?;
    let tuned = parts.tuning();
    let tuned_variance = parts.variance(tuned)?;
    let labels_interval = parts.labels_interval(range, level)?;
    let powered = parts.powered_interval(tuned, tuned_variance, range, level)?;
    let is_surer = tuned_variance < labels_variance;
    let tuning = if is_surer { tuned } else { 0.0 };
    let variance = if is_surer { tuned_variance } else { labels_variance };
    let estimate = parts.estimate(tuning);
    let saved = if labels_variance > 0.0 { 1.0 - variance / labels_variance } else { 0.0 };
    Some(PredictionPoweredMean {
        mean: estimate.clamp(range.least, range.greatest),
        stderr: variance.sqrt(),
        interval: if is_surer { powered } else { labels_interval },
        tuning,
        labels_mean: parts.labels_mean,
        labels_stderr: labels_variance.sqrt(),
        labels_interval,
        bias: parts.predictions_mean - parts.labels_mean,
        saved,
        most_saved: parts.squared_correlation(),
    })
}

impl PredictionPoweredMean {
    /// The same, or the estimate of the labels alone if its interval is not wider.
    #[must_use]
    pub fn or_labels_alone(self) -> Self {
        let width = |interval: ConfidenceInterval| interval.high - interval.low;
        if width(self.interval) < width(self.labels_interval) {
            return self;
        }
        Self {
            mean: self.labels_mean,
            stderr: self.labels_stderr,
            interval: self.labels_interval,
            tuning: 0.0,
            saved: 0.0,
            ..self
        }
    }
}

/// What both parts come to.
struct Parts<'a> {
    labelled: &'a [LabelledItem],
    others: &'a [ClusteredValue],
    labels_mean: f64,
    predictions_mean: f64,
    others_mean: f64,
}

impl<'a> Parts<'a> {
    fn of(labelled: &'a [LabelledItem], others: &'a [ClusteredValue]) -> Option<Self> {
        let labels: Vec<f64> = labelled.iter().map(|item| item.label).collect();
        let predictions: Vec<f64> = labelled.iter().map(|item| item.prediction).collect();
        let unlabelled: Vec<f64> = others.iter().map(|item| item.value).collect();
        let all = labels.iter().chain(&predictions).chain(&unlabelled);
        if all.clone().any(|value| !value.is_finite()) {
            return None;
        }
        let predictions_mean = mean(&predictions)?;
        Some(Self {
            labelled,
            others,
            labels_mean: mean(&labels)?,
            predictions_mean,
            others_mean: mean(&unlabelled).unwrap_or(predictions_mean),
        })
    }

    fn estimate(&self, tuning: f64) -> f64 {
        self.labels_mean + tuning * (self.others_mean - self.predictions_mean)
    }

    /// As fits their number and kind.
    fn labels_interval(&self, range: ValueRange, level: f64) -> Option<ConfidenceInterval> {
        let value =
            |item: &LabelledItem| ClusteredValue { cluster: item.cluster, value: item.label };
        mean_interval(self.labelled.iter().map(value).collect(), range, level)
    }

    fn powered_interval(
        &self,
        tuning: f64,
        variance: f64,
        range: ValueRange,
        level: f64,
    ) -> Option<ConfidenceInterval> {
        let cautious = variance + self.unseen_variance(tuning, range);
        let reach = student_t_quantile(level, self.samples() - 1.0)? * cautious.sqrt();
        let estimate = self.estimate(tuning);
        let method = IntervalMethod::PredictionPowered;
        Some(range.interval(estimate - reach, estimate + reach, level, method).rounded())
    }

    /// How many samples have labels.
    fn samples(&self) -> f64 {
        let mut samples: Vec<u32> = self.labelled.iter().map(|item| item.cluster).collect();
        samples.sort_unstable();
        samples.dedup();
        samples.len() as f64
    }

    fn covariance(&self) -> f64 {
        let products = self.labelled.iter().map(|item| {
            (item.label - self.labels_mean) * (item.prediction - self.predictions_mean)
        });
        sum(products) / self.labelled.len() as f64
    }

    fn tuning(&self) -> f64 {
        if self.others.is_empty() {
            return 0.0;
        }
        let labelled = self.labelled.len() as f64;
        let others = self.others.len() as f64;
        let predictions = || {
            let of_labelled = self.labelled.iter().map(|item| item.prediction);
            of_labelled.chain(self.others.iter().map(|item| item.value))
        };
        let centre = sum(predictions()) / (labelled + others);
        let squares = sum(predictions().map(|value| (value - centre).powi(2)));
        let spread = squares / (labelled + others - 1.0);
        let best = self.covariance() / ((1.0 + labelled / others) * spread);
        if best.is_finite() { best.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The variance of the estimate with this tuning: the squares of what each sample adds to its residuals, `G / (G - 1)`
    /// times for the G samples with labels. Trials of a sample may be of both parts. None for fewer than two samples.
    fn variance(&self, tuning: f64) -> Option<f64> {
        let samples = self.samples();
        if samples < 2.0 {
            return None;
        }
        let labelled = self.labelled.len() as f64;
        let others = self.others.len() as f64;
        let centre = self.labels_mean - tuning * self.predictions_mean;
        let mut residuals = Vec::with_capacity(self.labelled.len() + self.others.len());
        residuals.extend(self.labelled.iter().map(|item| {
            let residual = item.label - tuning * item.prediction - centre;
            ClusteredValue { cluster: item.cluster, value: residual / labelled }
        }));
        let counted = self.others.iter().filter(|_| tuning > 0.0);
        residuals.extend(counted.map(|item| {
            let residual = tuning * (item.value - self.others_mean);
            ClusteredValue { cluster: item.cluster, value: residual / others }
        }));
        residuals.sort_by_key(|item| item.cluster);
        let of_samples = residuals.chunk_by(|left, right| left.cluster == right.cluster);
        let squares = of_samples.map(|own| match own {
            [only] => only.value * only.value,
            own => sum(own.iter().map(|item| item.value)).powi(2),
        });
        Some(sum(squares) * samples / (samples - 1.0))
    }

    /// What half a label more would add to the variance in each direction, as far from the judge as can be.
    fn unseen_variance(&self, tuning: f64, range: ValueRange) -> f64 {
        let centre = self.labels_mean - tuning * self.predictions_mean;
        let ends = [range.greatest - tuning * range.least, range.least - tuning * range.greatest];
        let squares = sum(ends.into_iter().map(|end| (end - centre).powi(2)));
        squares / 2.0 / (self.labelled.len() as f64).powi(2)
    }

    fn squared_correlation(&self) -> f64 {
        let spread = |value: fn(&LabelledItem) -> f64, centre: f64| {
            let squares = self.labelled.iter().map(|item| (value(item) - centre).powi(2));
            sum(squares) / self.labelled.len() as f64
        };
        let of_labels = spread(|item| item.label, self.labels_mean);
        let of_predictions = spread(|item| item.prediction, self.predictions_mean);
        let squared = self.covariance().powi(2) / (of_labels * of_predictions);
        if squared.is_finite() { squared.min(1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ClusteredValue, ConfidenceInterval, LabelledItem, ValueRange, prediction_powered_mean,
    };
    use evalrs_base::random::SplitMix;

    fn labelled(pairs: &[(f64, f64)]) -> Vec<LabelledItem> {
        let item = |(cluster, (label, prediction)): (u32, &(f64, f64))| LabelledItem {
            cluster,
            label: *label,
            prediction: *prediction,
        };
        (0..).zip(pairs).map(item).collect()
    }

    fn others(values: &[f64]) -> Vec<ClusteredValue> {
        (100..)
            .zip(values)
            .map(|(cluster, value)| ClusteredValue { cluster, value: *value })
            .collect()
    }

    #[test]
    fn a_judge_counts_as_far_as_it_agrees() {
        let unit = |labelled: &[LabelledItem], others: &[ClusteredValue]| {
            prediction_powered_mean(labelled, others, ValueRange::UNIT, 0.95)
        };
        let perfect = labelled(&[(1.0, 1.0), (0.0, 0.0)].repeat(10));
        let many: Vec<f64> = (0..400).map(|at| f64::from(at % 4 > 0)).collect();
        let found = unit(&perfect, &others(&many)).unwrap();
        assert!(found.tuning > 0.95 && (found.mean - 0.75).abs() < 0.02, "{found:?}");
        assert!((found.most_saved - 1.0).abs() < 1e-12 && found.saved > 0.9, "{found:?}");
        assert!(found.bias.abs() < 1e-12);

        let opposite = labelled(&[(1.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, 1.0)]);
        let found = unit(&opposite, &others(&many)).unwrap();
        assert_eq!((found.tuning, found.mean, found.saved), (0.0, 0.5, 0.0));

        let same = labelled(&[(1.0, 0.5), (0.0, 0.5), (1.0, 0.5)]);
        let found = unit(&same, &others(&[0.5, 0.5])).unwrap();
        assert_eq!((found.tuning, found.mean, found.most_saved), (0.0, 2.0 / 3.0, 0.0));
        assert_eq!(unit(&same, &[]), Some(found));

        assert_eq!(unit(&[], &others(&[0.5])), None);
        assert_eq!(unit(&labelled(&[(1.0, 1.0)]), &others(&[0.5])), None);
        assert_eq!(unit(&labelled(&[(1.0, f64::NAN), (0.0, 0.0)]), &[]), None);
    }

    /// Trials that all say what the first says are no further evidence.
    #[test]
    fn trials_of_a_sample_are_one_cluster() {
        let pairs = [(1.0, 1.0), (0.0, 0.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1.0)];
        let once = labelled(&pairs);
        let rest = others(&[1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
        let thrice = |items: &[LabelledItem]| [items, items, items].concat();
        let single = prediction_powered_mean(&once, &rest, ValueRange::UNIT, 0.95).unwrap();
        let all = [&rest[..], &rest, &rest].concat();
        let repeated =
            prediction_powered_mean(&thrice(&once), &all, ValueRange::UNIT, 0.95).unwrap();
        assert!((single.mean - repeated.mean).abs() < 0.03, "{single:?} {repeated:?}");
        assert!((single.labels_stderr - repeated.labels_stderr).abs() < 1e-12);
        assert!((single.stderr - repeated.stderr).abs() < 0.01, "{single:?} {repeated:?}");
    }

    /// 1,000 draws: the true mean is held as often as the interval says, which is never wider than that of labels alone.
    #[test]
    fn intervals_hold_the_mean_of_people() {
        for (labels, right, rate) in
            [(50, 0.9, 0.5), (100, 0.8, 0.7), (200, 0.6, 0.3), (50, 0.95, 0.8), (50, 0.97, 0.96)]
        {
            let mut generator = SplitMix::new(7);
            let mut held = 0;
            let draws = 1_000;
            for _ in 0..draws {
                let mut chance =
                    |share: f64| (generator.below(1 << 20) as f64) < share * f64::from(1 << 20);
                let mut pairs = Vec::new();
                for _ in 0..500 {
                    let label = chance(rate);
                    let prediction = if chance(right) { label } else { !label };
                    pairs.push((f64::from(label), f64::from(prediction)));
                }
                let rest: Vec<f64> = pairs[labels..].iter().map(|pair| pair.1).collect();
                let found = prediction_powered_mean(
                    &labelled(&pairs[..labels]),
                    &others(&rest),
                    ValueRange::UNIT,
                    0.95,
                );
                let found = found.unwrap().or_labels_alone();
                assert!(found.stderr <= found.labels_stderr);
                let width = |of: ConfidenceInterval| of.high - of.low;
                assert!(width(found.interval) <= width(found.labels_interval));
                held += usize::from(found.interval.low <= rate && rate <= found.interval.high);
            }
            let share = f64::from(held as u32) / f64::from(draws);
            assert!(share >= 0.93, "{labels} labels, right in {right}: {share}");
        }
    }
}
