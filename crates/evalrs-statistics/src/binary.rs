//! How well a score separates two classes, and how well it predicts the probability of one of them.
//!
//! Owns the formulas over a score and what is true; ties count half, and bins have equal width.

use serde::Serialize;

use evalrs_base::exact::sum;

/// A score and whether its item is of the positive class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredOutcome {
    /// The higher, the likelier positive.
    pub score: f64,
    /// Whether it is.
    pub positive: bool,
}

/// What falls into one bin of scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CalibrationBin {
    /// The bin holds scores above this one, the first also 0.
    pub above: f64,
    /// And up to this one.
    pub to: f64,
    /// How many items it has.
    pub n: usize,
    /// Their mean score.
    pub mean_score: f64,
    /// The share of them that is positive.
    pub share: f64,
}

/// The area under the receiver operating characteristic (0..=1): the chance that a positive item has a higher score than a
/// negative one, equal scores counting half. None where a class is missing, or where a score is NaN.
///
/// Hanley and McNeil 1982, "The Meaning and Use of the Area under a Receiver Operating Characteristic (ROC) Curve"; the
/// statistic of Mann and Whitney 1947, counted in whole numbers.
pub fn area_under_curve(items: &[ScoredOutcome]) -> Option<f64> {
    if items.iter().any(|item| item.score.is_nan()) {
        return None;
    }
    let mut sorted: Vec<(f64, bool)> =
        items.iter().map(|item| (item.score + 0.0, item.positive)).collect();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
    let [mut positives, mut negatives, mut twice_won] = [0u128; 3];
    for ties in sorted.chunk_by(|one, other| one.0.total_cmp(&other.0).is_eq()) {
        let positive = ties.iter().filter(|(_, positive)| *positive).count() as u128;
        let negative = ties.len() as u128 - positive;
        twice_won += positive * (2 * negatives + negative);
        positives += positive;
        negatives += negative;
    }
    let pairs = positives * negatives;
    (pairs > 0).then(|| twice_won as f64 / (2 * pairs) as f64)
}

/// The bins of scores (0..=1) that have items, in rising order; none without a bin, or where a score is beyond 0..=1.
pub fn calibration_bins(items: &[ScoredOutcome], bins: usize) -> Option<Vec<CalibrationBin>> {
    if bins == 0 || items.iter().any(|item| !(0.0..=1.0).contains(&item.score)) {
        return None;
    }
    let edge = |at: usize| at as f64 / bins as f64;
    let place = |score: f64| {
        // Off by one where the product is rounded: the edges themselves decide.
        let mut at = ((score * bins as f64).ceil() as usize).clamp(1, bins);
        while at > 1 && score <= edge(at - 1) {
            at -= 1;
        }
        while at < bins && score > edge(at) {
            at += 1;
        }
        at
    };
    let mut placed: Vec<(usize, ScoredOutcome)> =
        items.iter().map(|item| (place(item.score), *item)).collect();
    placed.sort_by_key(|(at, _)| *at);
    let bin = |group: &[(usize, ScoredOutcome)]| {
        let n = group.len();
        let at = group.first().map_or(1, |(at, _)| *at);
        let positive = group.iter().filter(|(_, item)| item.positive).count();
        CalibrationBin {
            above: edge(at - 1),
            to: edge(at),
            n,
            mean_score: sum(group.iter().map(|(_, item)| item.score)) / n as f64,
            share: positive as f64 / n as f64,
        }
    };
    Some(placed.chunk_by(|one, other| one.0 == other.0).map(bin).collect())
}

/// The expected calibration error (0..=1): the distance of the mean score of a bin from its share of positive items, each bin
/// counting by its items. None of nothing, without a bin, or where a score is beyond 0..=1.
///
/// Naeini, Cooper and Hauskrecht 2015, "Obtaining Well Calibrated Probabilities Using Bayesian Binning"; bins of equal width,
/// open below, as in Guo et al. 2017, "On Calibration of Modern Neural Networks".
pub fn expected_calibration_error(items: &[ScoredOutcome], bins: usize) -> Option<f64> {
    let found = calibration_bins(items, bins)?;
    let gaps = found.iter().map(|bin| bin.n as f64 * (bin.mean_score - bin.share).abs());
    (!items.is_empty()).then(|| sum(gaps) / items.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::{ScoredOutcome, area_under_curve, calibration_bins, expected_calibration_error};

    fn items(items: &[(f64, bool)]) -> Vec<ScoredOutcome> {
        items.iter().map(|&(score, positive)| ScoredOutcome { score, positive }).collect()
    }

    #[test]
    fn one_class_alone_has_no_curve() {
        for case in [
            &[][..],
            &[(0.5, true), (0.7, true)],
            &[(0.1, false)],
            &[(f64::NAN, true), (0.0, false)],
        ] {
            assert_eq!(area_under_curve(&items(case)), None);
        }
        assert_eq!(area_under_curve(&items(&[(0.5, true), (0.5, false)])), Some(0.5));
        assert_eq!(area_under_curve(&items(&[(0.0, true), (-0.0, false)])), Some(0.5));
        assert_eq!(area_under_curve(&items(&[(f64::INFINITY, true), (1.0, false)])), Some(1.0));
    }

    #[test]
    fn bins_are_open_below() {
        let found =
            items(&[(0.0, false), (0.1, true), (0.3, true), (0.300_000_1, false), (1.0, true)]);
        let bins = calibration_bins(&found, 10).unwrap();
        let shown: Vec<(f64, f64, usize)> =
            bins.iter().map(|bin| (bin.above, bin.to, bin.n)).collect();
        assert_eq!(shown, [(0.0, 0.1, 2), (0.2, 0.3, 1), (0.3, 0.4, 1), (0.9, 1.0, 1)]);
        assert_eq!(expected_calibration_error(&found, 0), None);
        assert_eq!(expected_calibration_error(&[], 10), None);
        assert_eq!(expected_calibration_error(&items(&[(1.5, true)]), 10), None);
    }
}
