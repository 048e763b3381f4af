//! Percentiles without interpolation, and bootstrap intervals (Efron, "Bootstrap Methods: Another Look at the Jackknife",
//! The Annals of Statistics, 1979): percentile intervals of the mean, 95 %, of resamples that the same seed reproduces.

use serde::Serialize;

use crate::words::fixed;
use evalrs_base::random::SplitMix;

const SEED: u64 = 0;

/// The value below which a share of the sorted values lies; 0 of none.
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share).floor() as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

pub(crate) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The mean; 0 of none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// How long something took, in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LatencyStats {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub mean: f64,
    min: f64,
    max: f64,
}

impl LatencyStats {
    /// Of these values; all 0 of none.
    pub(crate) fn of(values: &[f64]) -> Self {
        let sorted = sorted(values.iter().copied());
        Self {
            p50: percentile(&sorted, 0.5),
            p90: percentile(&sorted, 0.9),
            p99: percentile(&sorted, 0.99),
            mean: mean(values),
            min: sorted.first().copied().unwrap_or(0.0),
            max: sorted.last().copied().unwrap_or(0.0),
        }
    }
}

/// An interval: its lower and its upper end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Interval(pub f64, pub f64);

impl Interval {
    /// With this many decimals.
    pub(crate) fn shown(self, decimals: usize) -> String {
        format!("[{}, {}]", fixed(self.0, decimals), fixed(self.1, decimals))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bootstrap {
    pub iterations: usize,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { iterations: 1_000 }
    }
}

/// The result of resamples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ResampledStatistic {
    pub median: f64,
    pub interval: Interval,
}

impl Bootstrap {
    /// The means of resamples, each as `of` has it.
    pub(crate) fn resample(self, values: &[f64], of: impl Fn(f64) -> f64) -> ResampledStatistic {
        if let [] | [_] = values {
            let value = values.first().map_or(0.0, |value| of(*value));
            return ResampledStatistic { median: value, interval: Interval(value, value) };
        }
        let mut generator = SplitMix::new(SEED);
        let count = values.len();
        let draw = |generator: &mut SplitMix| {
            let sum: f64 = (0..count).map(|_| values[generator.below(count as u64) as usize]).sum();
            of(sum / count as f64)
        };
        let means = sorted((0..self.iterations).map(|_| draw(&mut generator)));
        let at = |share: f64| percentile(&means, share);
        ResampledStatistic { median: at(0.5), interval: Interval(at(0.025), at(0.975)) }
    }

    /// The interval of the mean.
    pub(crate) fn interval(self, values: &[f64]) -> Interval {
        self.resample(values, |mean| mean).interval
    }
}
