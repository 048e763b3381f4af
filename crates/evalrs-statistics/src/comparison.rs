//! How often one side wins over another.
//!
//! Owns what a comparison is, and the rate of wins; strengths that follow from many comparisons are next door.

use serde::Serialize;

use super::interval::{ClusteredValue, ConfidenceInterval, ValueRange, mean_interval};
use evalrs_base::exact::mean;

/// How one comparison of two players ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairwiseOutcome {
    /// The number of the sample it is about.
    pub sample: u32,
    /// The number of the first player.
    pub one: usize,
    /// The number of the second.
    pub other: usize,
    /// 1.0 where the first won, 0.0 where the second did, 0.5 for a tie, or how likely the first is the better one.
    pub outcome: f64,
}

/// How often a side won.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WinRate {
    /// Comparisons.
    pub n: usize,
    /// Outcomes above 0.5.
    pub wins: usize,
    /// Outcomes of 0.5.
    pub ties: usize,
    /// Outcomes below 0.5.
    pub losses: usize,
    /// The mean outcome, 0..=1, a tie counting half; none of nothing.
    pub rate: Option<f64>,
    /// Its interval.
    pub interval: Option<ConfidenceInterval>,
}

/// The rate of wins of outcomes (0.0..=1.0), each of a sample; others are left out.
pub fn win_rate(outcomes: &[ClusteredValue], level: f64) -> WinRate {
    let counted: Vec<ClusteredValue> =
        outcomes.iter().filter(|item| (0.0..=1.0).contains(&item.value)).copied().collect();
    let count = |holds: fn(f64) -> bool| counted.iter().filter(|item| holds(item.value)).count();
    let values: Vec<f64> = counted.iter().map(|item| item.value).collect();
    WinRate {
        n: counted.len(),
        wins: count(|outcome| outcome > 0.5),
        losses: count(|outcome| outcome < 0.5),
        ties: count(|outcome| outcome.total_cmp(&0.5).is_eq()),
        rate: mean(&values),
        interval: mean_interval(counted, ValueRange::UNIT, level),
    }
}

/// The rate of wins of one player over all others that it met.
pub fn win_rate_of(player: usize, comparisons: &[PairwiseOutcome], level: f64) -> WinRate {
    let outcome = |comparison: &PairwiseOutcome| {
        let value = match comparison {
            PairwiseOutcome { one, other, .. } if one == other => return None,
            PairwiseOutcome { one, outcome, .. } if *one == player => *outcome,
            PairwiseOutcome { other, outcome, .. } if *other == player => 1.0 - outcome,
            _ => return None,
        };
        Some(ClusteredValue { cluster: comparison.sample, value })
    };
    win_rate(&comparisons.iter().filter_map(outcome).collect::<Vec<_>>(), level)
}

#[cfg(test)]
mod tests {
    use super::{PairwiseOutcome, WinRate, win_rate_of};

    #[test]
    fn ties_count_half_on_both_sides() {
        let outcome = |sample: u32, one: usize, other: usize, outcome: f64| PairwiseOutcome {
            sample,
            one,
            other,
            outcome,
        };
        let comparisons = [
            outcome(0, 0, 1, 1.0),
            outcome(1, 1, 0, 0.5),
            outcome(2, 1, 2, 0.25),
            outcome(3, 0, 1, f64::NAN),
            outcome(4, 0, 0, 1.0),
        ];
        let of = |player| {
            let found = win_rate_of(player, &comparisons, 0.95);
            (found.n, found.wins, found.ties, found.losses, found.rate)
        };
        assert_eq!(of(0), (2, 1, 1, 0, Some(0.75)));
        assert_eq!(of(1), (3, 0, 1, 2, Some(0.25)));
        assert_eq!(of(2), (1, 1, 0, 0, Some(0.75)));
        assert_eq!(win_rate_of(7, &comparisons, 0.95), WinRate::default());
    }
}
