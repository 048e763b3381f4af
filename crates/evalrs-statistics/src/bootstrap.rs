//! Bootstrap intervals of means.
//!
//! Owns the draws, which are the same for the same values in whatever order: samples are sorted before they are drawn, and the
//! generator has a fixed seed.

use super::clusters::{ClusterTotal, Clusters};
use super::confidence::{ConfidenceInterval, IntervalMethod};
use super::distribution::{normal_quantile, normal_share};
use evalrs_base::exact::sum;
use evalrs_base::random::SplitMix;

/// The number of resamples.
const RESAMPLES: usize = 1_000;

/// The seed of the resamples.
const SEED: u64 = 0x6576_616c_7273;

/// The bias-corrected and accelerated interval of the mean, drawing samples with all their items; none where it is not defined.
///
/// The bounds are quantiles of the resampled means, at `Φ(z0 + (z0 + z) / (1 - a (z0 + z)))`, with the bias `z0` from the share
/// of resamples below the estimate, those equal to it counted half, and the acceleration `a` from the jackknife. Efron 1987,
/// "Better Bootstrap Confidence Intervals". `reach` is z, how many standard errors the level stands for.
pub(super) fn bootstrap_interval(
    clusters: &Clusters,
    level: f64,
    reach: f64,
) -> Option<ConfidenceInterval> {
    if clusters.totals.len() < 2 || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let mut totals = clusters.totals.clone();
    totals
        .sort_by(|one, other| one.sum.total_cmp(&other.sum).then(one.size.total_cmp(&other.size)));
    let means = resampled(&totals);
    let share = |holds: &dyn Fn(f64) -> bool| {
        means.iter().filter(|mean| holds(**mean)).count() as f64 / RESAMPLES as f64
    };
    let below = share(&|mean| mean < clusters.mean);
    let above = share(&|mean| mean > clusters.mean);
    let bias = normal_quantile(f64::midpoint(below, 1.0 - above));
    let acceleration = acceleration(&totals, clusters.items)?;
    let at = |side: f64| {
        let shifted = bias + side;
        let share = normal_share(bias + shifted / (1.0 - acceleration * shifted));
        quantile(&means, share)
    };
    let low = at(-reach)?;
    let high = at(reach)?;
    let method = if clusters.has_repeats() {
        IntervalMethod::BcaBootstrapClustered
    } else {
        IntervalMethod::BcaBootstrap
    };
    Some(ConfidenceInterval { low, high, level, method })
}

/// The means of resamples, in rising order.
fn resampled(totals: &[ClusterTotal]) -> Vec<f64> {
    let mut generator = SplitMix::new(SEED);
    let draw = |_| {
        let mut drawn = ClusterTotal::default();
        for _ in 0..totals.len() {
            let total = totals[generator.below(totals.len() as u64) as usize];
            drawn.sum += total.sum;
            drawn.size += total.size;
        }
        drawn.sum / drawn.size
    };
    let mut means: Vec<f64> = (0..RESAMPLES).map(draw).collect();
    means.sort_by(f64::total_cmp);
    means
}

/// A sixth of the skewness of the means that lack one sample each; none without any difference between them.
fn acceleration(totals: &[ClusterTotal], items: f64) -> Option<f64> {
    let whole = sum(totals.iter().map(|total| total.sum));
    let without = totals.iter().map(|total| (whole - total.sum) / (items - total.size));
    let without: Vec<f64> = without.collect();
    let centre = sum(without.iter().copied()) / without.len() as f64;
    let power = |exponent: i32| sum(without.iter().map(|mean| (centre - mean).powi(exponent)));
    let acceleration = power(3) / (6.0 * power(2).powf(1.5));
    acceleration.is_finite().then_some(acceleration)
}

/// The value below which a share of sorted values lies, linear between closest ranks; none for no share.
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&share) {
        return None;
    }
    let rank = share * (sorted.len().checked_sub(1)?) as f64;
    let low = sorted.get(rank.floor() as usize)?;
    let high = sorted.get(rank.ceil() as usize)?;
    Some(low + (high - low) * rank.fract())
}
