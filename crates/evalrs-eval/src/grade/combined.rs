//! Several votes on one submission as one score, and how far they agree.

use evalrs_base::exact::mean;
use evalrs_model::spec::Combine;

/// One score of several; none of none.
pub(crate) fn combined(combine: Combine, mut scores: Vec<f64>) -> Option<f64> {
    scores.sort_by(f64::total_cmp);
    let above = scores.get(scores.len() / 2)?;
    match combine {
        Combine::Mean => mean(&scores),
        Combine::Median => Some(f64::midpoint(scores[(scores.len() - 1) / 2], *above)),
        Combine::Majority => {
            let most = equal(&scores).map(<[f64]>::len).max().unwrap_or(0);
            let modes = equal(&scores).filter(|alike| alike.len() == most);
            mean(&modes.filter_map(|alike| alike.first().copied()).collect::<Vec<_>>())
        }
    }
}

/// Runs of equal scores among sorted ones.
fn equal(sorted: &[f64]) -> impl Iterator<Item = &[f64]> {
    sorted.chunk_by(|left, right| left.total_cmp(right).is_eq())
}

/// The share of pairs of scores that are equal; none without a pair. It is the observed agreement of Fleiss' kappa
/// for one item.
pub(crate) fn pair_agreement(scores: &[f64]) -> Option<f64> {
    let pairs = |count: usize| (count * count.saturating_sub(1) / 2) as f64;
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    let alike: f64 = equal(&sorted).map(|alike| pairs(alike.len())).sum();
    (scores.len() > 1).then(|| alike / pairs(scores.len()))
}

/// How far the highest score is above the lowest; none without scores.
pub(crate) fn spread(scores: &[f64]) -> Option<f64> {
    let lowest = scores.iter().copied().min_by(f64::total_cmp)?;
    let highest = scores.iter().copied().max_by(f64::total_cmp)?;
    Some(highest - lowest)
}
