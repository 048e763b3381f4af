//! Intervals of numbers without their own formula: samples are resampled with all their results.

use std::collections::BTreeMap;

use super::LEVEL;
use super::bootstrap::quantile;
use super::interval::{ConfidenceInterval, IntervalMethod};
use evalrs_base::random::SplitMix;

/// How many times all samples are resampled; fewer for many samples, to bound the time.
const MOST_DRAWS: usize = 1_000;
/// How few are still worth it.
const LEAST_DRAWS: usize = 200;
/// The number of resampled results in total.
const MOST_DRAWN: usize = 10_000_000;

const SEED: u64 = 0x6d65_7472_6963;

/// Sample → its items; `samples` are those of the items.
pub fn by_sample<T: Copy>(samples: &[u32], items: &[T]) -> BTreeMap<u32, Vec<T>> {
    let mut clusters: BTreeMap<u32, Vec<T>> = BTreeMap::new();
    for (sample, item) in samples.iter().zip(items) {
        clusters.entry(*sample).or_default().push(*item);
    }
    clusters
}

/// The percentile bootstrap interval of `estimate` at the usual level; none for fewer than two samples, for more than 50,000
/// items, or where most resamples have no estimate. Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter
/// 13.
pub fn percentile_interval<T: Copy>(
    samples: &[u32],
    items: &[T],
    estimate: impl Fn(&[T]) -> Option<f64>,
) -> Option<ConfidenceInterval> {
    let clusters: Vec<Vec<T>> = by_sample(samples, items).into_values().collect();
    let draws = MOST_DRAWS.min(MOST_DRAWN / samples.len().max(1));
    if clusters.len() < 2 || draws < LEAST_DRAWS {
        return None;
    }
    let mut generator = SplitMix::new(SEED);
    let mut drawn = Vec::with_capacity(samples.len());
    let mut estimates = Vec::with_capacity(draws);
    for _ in 0..draws {
        drawn.clear();
        for _ in 0..clusters.len() {
            drawn.extend(&clusters[generator.below(clusters.len() as u64) as usize]);
        }
        estimates.extend(estimate(&drawn).filter(|value| value.is_finite()));
    }
    if estimates.len() * 2 < draws {
        return None;
    }
    estimates.sort_by(f64::total_cmp);
    let interval = ConfidenceInterval {
        low: quantile(&estimates, 0.5 - LEVEL / 2.0)?,
        high: quantile(&estimates, 0.5 + LEVEL / 2.0)?,
        level: LEVEL,
        method: IntervalMethod::PercentileBootstrap,
    };
    interval.finite()
}
