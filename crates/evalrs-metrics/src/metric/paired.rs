//! What changed between two evaluations of the same cases, each case being compared with itself.
//!
//! Owns the formulas; knows neither runs nor graders. Differences of pairs say more than two means beside each other:
//! what is hard about a case is in both grades and cancels.

use serde::Serialize;

use super::{Observation, clustered_stderr, has_clusters, naive_stderr, sum};
use evalrs_base::exact::mean;
use evalrs_statistics::LEVEL;
use evalrs_statistics::interval::{
    ClusteredValue, ConfidenceInterval, IntervalMethod, ValueRange, mean_interval,
};
use evalrs_statistics::paired::{
    PairedCounts, difference_p_value, minimum_detectable_effect, paired_rate_interval,
};

/// Below this many cases the interval of verdicts that are all pass or fail is Bayesian.
const FEW: usize = 300;

/// Standard errors below this are those of differences that are all alike.
const ROUNDING: f64 = 1e-12;

/// How far two means of scores can lie apart.
const GREATEST_DIFFERENCE: f64 = 1.0;

/// Two verdicts of one case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The ordinal of the sample.
    pub sample: u32,
    /// The verdict of the first evaluation.
    pub before: PairedVerdict,
    /// The verdict of the second.
    pub now: PairedVerdict,
}

impl Pair {
    /// How far the score moved.
    fn difference(&self) -> f64 {
        self.now.score - self.before.score
    }
}

/// A grade that could be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedVerdict {
    /// 0.0..=1.0.
    pub score: f64,
    /// Whether it counts as a pass.
    pub pass: bool,
}

/// One grader's verdicts of the cases that both evaluations judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PairedSummary {
    /// Cases with a verdict in both.
    pub n: usize,
    /// Mean score of these in the first; null if there is none.
    pub mean_before: Option<f64>,
    /// Mean score of these in the second.
    pub mean_now: Option<f64>,
    /// Mean of the differences, second minus first (-1.0..=1.0).
    pub difference: Option<f64>,
    /// Standard error of `difference`: clustered by sample where a sample has several cases. Null for fewer than two
    /// samples.
    pub stderr: Option<f64>,
    /// The bounds of the 95 % confidence interval of `difference` (-1.0..=1.0).
    pub interval: Option<(f64, f64)>,
    /// How it was made: from the posterior for fewer than 300 cases whose scores are all 0 or 1, with one case a sample;
    /// by Student's t or the bootstrap for others.
    pub interval_method: Option<IntervalMethod>,
    /// How often chance alone would give a difference of scores at least so far from 0 (0.0..=1.0): McNemar's exact test where
    /// all scores are 0 or 1, Student's t test of the differences elsewhere. Null where neither is defined.
    pub difference_p_value: Option<f64>,
    /// The least difference that four of five comparisons like this one would tell from chance, at 5 %. Null for fewer than
    /// two samples, where no score moved, and where not even the greatest possible difference would be told.
    pub minimum_detectable_effect: Option<f64>,
    /// Share of passes in the first (0.0..=1.0).
    pub pass_rate_before: Option<f64>,
    /// Share of passes in the second.
    pub pass_rate_now: Option<f64>,
    /// Cases that failed and pass now.
    pub fixed: usize,
    /// Cases that passed and fail now.
    pub broken: usize,
    /// Samples of which more cases pass now.
    pub samples_fixed: usize,
    /// Samples of which fewer cases pass now.
    pub samples_broken: usize,
    /// How often chance alone would change at least this many more samples in one direction than in the
    /// other (0.0..=1.0): McNemar's exact test. Null where no sample changed.
    pub p_value: Option<f64>,
}

impl PairedSummary {
    /// Compares the verdicts of pairs in any order.
    ///
    /// The standard error is that of the mean of paired differences, Miller 2024, "Adding Error Bars to Evals",
    /// and clustered as it says for questions that come in groups where a sample has several cases.
    pub fn of(pairs: &[Pair]) -> Self {
        let n = pairs.len();
        let befores: Vec<f64> = pairs.iter().map(|pair| pair.before.score).collect();
        let nows: Vec<f64> = pairs.iter().map(|pair| pair.now.score).collect();
        // Both exact sums go into one: where no score moved, the difference is 0 and not nearly 0.
        let total = sum(nows.iter().copied().chain(befores.iter().map(|score| -score)));
        let difference = (n > 0).then(|| total / n as f64);
        let stderr = difference.and_then(|difference| stderr(pairs, difference));
        let share = |passes: fn(&&Pair) -> bool| {
            (n > 0).then(|| pairs.iter().filter(passes).count() as f64 / n as f64)
        };
        let (samples_fixed, samples_broken) =
            changed_samples(pairs, |pair| i64::from(pair.now.pass) - i64::from(pair.before.pass));
        let interval = difference_interval(pairs, LEVEL);
        Self {
            n,
            mean_before: mean(&befores),
            mean_now: mean(&nows),
            difference,
            stderr,
            interval: interval.map(|found| (found.low, found.high)),
            interval_method: interval.map(|found| found.method),
            difference_p_value: chance_of_difference(pairs, difference, stderr),
            minimum_detectable_effect: stderr
                .filter(|stderr| *stderr > ROUNDING)
                .and_then(|stderr| minimum_detectable_effect(stderr, samples(pairs), LEVEL))
                .filter(|effect| *effect <= GREATEST_DIFFERENCE),
            pass_rate_before: share(|pair| pair.before.pass),
            pass_rate_now: share(|pair| pair.now.pass),
            fixed: pairs.iter().filter(|pair| !pair.before.pass && pair.now.pass).count(),
            broken: pairs.iter().filter(|pair| pair.before.pass && !pair.now.pass).count(),
            samples_fixed,
            samples_broken,
            p_value: mcnemar_exact(samples_fixed, samples_broken),
        }
    }
}

/// The interval of the mean difference of paired scores, as fits their number and kind.
pub(crate) fn difference_interval(pairs: &[Pair], level: f64) -> Option<ConfidenceInterval> {
    let n = pairs.len();
    if are_rates(pairs) && n < FEW && samples(pairs) == n {
        let fixed = pairs.iter().filter(|pair| pair.now.score > pair.before.score).count();
        let broken = pairs.iter().filter(|pair| pair.now.score < pair.before.score).count();
        return paired_rate_interval(PairedCounts { n, fixed, broken }, level);
    }
    let differences = pairs
        .iter()
        .map(|pair| ClusteredValue { cluster: pair.sample, value: pair.difference() })
        .collect();
    mean_interval(differences, ValueRange::DIFFERENCE, level)
}

/// Whether all scores are 0 or 1.
fn are_rates(pairs: &[Pair]) -> bool {
    let is_binary = |score: f64| score.total_cmp(&1.0).is_eq() || score == 0.0;
    pairs.iter().all(|pair| is_binary(pair.before.score) && is_binary(pair.now.score))
}

/// How likely chance alone does as much to the scores.
fn chance_of_difference(
    pairs: &[Pair],
    difference: Option<f64>,
    stderr: Option<f64>,
) -> Option<f64> {
    if !are_rates(pairs) {
        let stderr = stderr?;
        if stderr > ROUNDING {
            return difference_p_value(difference?, stderr, samples(pairs));
        }
        // Nothing is known of the spread: what is left are the signs.
    }
    let (raised, lowered) = changed_samples(pairs, |pair| {
        i64::from(pair.now.score > pair.before.score)
            - i64::from(pair.now.score < pair.before.score)
    });
    mcnemar_exact(raised, lowered)
}

fn samples(pairs: &[Pair]) -> usize {
    let mut samples: Vec<u32> = pairs.iter().map(|pair| pair.sample).collect();
    samples.sort_unstable();
    samples.dedup();
    samples.len()
}

fn stderr(pairs: &[Pair], difference: f64) -> Option<f64> {
    let differences: Vec<Observation> = pairs
        .iter()
        .map(|pair| Observation {
            sample: pair.sample,
            model: 0,
            score: pair.difference(),
            pass: false,
            errored: false,
            result: 0,
        })
        .collect();
    if has_clusters(&differences) {
        return clustered_stderr(&differences, difference);
    }
    let differences: Vec<f64> = differences.iter().map(|pair| pair.score).collect();
    naive_stderr(&differences, difference)
}

/// How many samples rose and how many fell, by the sum of the `change` of their cases.
fn changed_samples(pairs: &[Pair], change: fn(&Pair) -> i64) -> (usize, usize) {
    let mut by_sample: Vec<(u32, i64)> =
        pairs.iter().map(|pair| (pair.sample, change(pair))).collect();
    by_sample.sort_unstable();
    let mut fixed = 0;
    let mut broken = 0;
    for sample in by_sample.chunk_by(|left, right| left.0 == right.0) {
        let net: i64 = sample.iter().map(|(_, change)| change).sum();
        fixed += usize::from(net > 0);
        broken += usize::from(net < 0);
    }
    (fixed, broken)
}

/// The two-sided p-value (0.0..=1.0) of the changes in one direction against those in the other; none without any.
///
/// McNemar 1947, "Note on the sampling error of the difference between correlated proportions", in its exact form: twice
/// the binomial tail P(X <= min) of `fixed + broken` trials with probability 1/2, at most 1. It takes the
/// changes to be independent. Trials of one sample are not, so that a sample is to be counted once, by the sign of what
/// changed in all; with one case a sample this is the same.
pub(crate) fn mcnemar_exact(fixed: usize, broken: usize) -> Option<f64> {
    let few = fixed.min(broken);
    let n = fixed + broken;
    if n == 0 {
        return None;
    }
    // ln(C(n, few) / 2^n), so that nothing overflows.
    let steps = (0..few).map(|i| ((n - i) as f64 / (i + 1) as f64).ln());
    let largest = sum(steps.chain([-(n as f64) * std::f64::consts::LN_2]));
    // The terms below the largest, each in its proportion to it: every factor is below 1.
    let mut term = 1.0;
    let mut tail = 1.0;
    for i in (1..=few).rev() {
        term *= i as f64 / (n - i + 1) as f64;
        tail += term;
        if term < f64::EPSILON * tail / 4.0 {
            break;
        }
    }
    Some((2.0 * largest.exp() * tail).min(1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, prop};
    use proptest::{prop_assert_eq, proptest};

    use super::{Pair, PairedSummary, PairedVerdict, mcnemar_exact};

    fn close(actual: f64, expected: f64) -> bool {
        (actual - expected).abs() <= 1e-9 * expected.abs().max(1e-6)
    }

    fn pair(sample: u32, before: f64, now: f64) -> Pair {
        let verdict = |score: f64| PairedVerdict { score, pass: score >= 0.75 };
        Pair { sample, before: verdict(before), now: verdict(now) }
    }

    const SCORES: [(f64, f64); 5] = [(0.2, 0.5), (0.9, 0.8), (0.4, 0.9), (1.0, 1.0), (0.75, 0.25)];

    fn pairs(samples: [u32; 5]) -> Vec<Pair> {
        samples.into_iter().zip(SCORES).map(|(sample, (a, b))| pair(sample, a, b)).collect()
    }

    #[test]
    fn differences_are_those_of_pairs() {
        let paired = PairedSummary::of(&pairs([0, 1, 2, 3, 4]));
        let (low, high) = paired.interval.unwrap();
        // SciPy 1.17: `stats.sem` of the differences, `stats.t.interval(0.95, 4)`.
        let expected = [
            (paired.mean_before.unwrap(), 0.65),
            (paired.mean_now.unwrap(), 0.69),
            (paired.difference.unwrap(), 0.04),
            (paired.stderr.unwrap(), 0.172_046_505_340_852_53),
            (low, -0.437_677_678),
            (high, 0.517_677_678),
            (paired.pass_rate_before.unwrap(), 0.6),
            (paired.pass_rate_now.unwrap(), 0.6),
            (paired.p_value.unwrap(), 1.0),
        ];
        for (actual, expected) in expected {
            assert!(close(actual, expected), "{actual} is not {expected}");
        }
        assert_eq!((paired.n, paired.fixed, paired.broken), (5, 1, 1));
    }

    #[test]
    fn cases_of_one_sample_are_one_cluster() {
        let paired = PairedSummary::of(&pairs([0, 2, 1, 0, 2]));
        let (low, high) = paired.interval.unwrap();
        // statsmodels 0.15: OLS of the differences on a constant, `cov_type="cluster"`; the error with
        // `use_correction=False`, the interval with it and `use_t=True`.
        for (actual, expected) in [
            (paired.difference.unwrap(), 0.04),
            (paired.stderr.unwrap(), 0.169_988_234_887_006_12),
            (low, -0.855_778_819),
            (high, 0.935_778_819),
        ] {
            assert!(close(actual, expected), "{actual} is not {expected}");
        }
        let trials: Vec<Pair> = (0..10).map(|_| pair(7, 0.0, 1.0)).collect();
        let paired = PairedSummary::of(&trials);
        assert_eq!((paired.fixed, paired.samples_fixed, paired.p_value), (10, 1, Some(1.0)));
        let nearly_all = Some((-0.95, 1.0));
        assert_eq!((paired.stderr, paired.interval), (None, nearly_all), "one sample says little");
        let undone = [pair(7, 0.0, 1.0), pair(7, 1.0, 0.0), pair(8, 1.0, 0.0)];
        let paired = PairedSummary::of(&undone);
        assert_eq!((paired.fixed, paired.broken), (1, 2));
        assert_eq!((paired.samples_fixed, paired.samples_broken), (0, 1));
    }

    #[test]
    fn nothing_moved_is_nothing() {
        assert_eq!(PairedSummary::of(&[]), PairedSummary::default());
        let same: Vec<Pair> = (0..10).map(|sample| pair(sample, 0.1, 0.1)).collect();
        let paired = PairedSummary::of(&same);
        assert_eq!((paired.difference, paired.stderr), (Some(0.0), Some(0.0)));
        assert_eq!((paired.fixed, paired.broken, paired.p_value), (0, 0, None));
        let far = PairedSummary::of(&[pair(0, 0.0, 1.0), pair(1, 0.0, 0.0)]);
        let (low, high) = far.interval.unwrap();
        assert_eq!(
            (far.stderr, far.interval_method),
            (Some(0.5), Some(super::IntervalMethod::Bayesian))
        );
        assert!((-0.40..-0.33).contains(&low) && (0.63..0.70).contains(&high), "{low} {high}");
    }

    #[test]
    fn differences_that_are_all_alike_are_tested_by_their_signs() {
        let moved: Vec<Pair> = (0..3).map(|sample| pair(sample, 0.9, 0.5)).collect();
        let paired = PairedSummary::of(&moved);
        assert!(close(paired.difference_p_value.unwrap(), 0.25));
        assert_eq!(paired.minimum_detectable_effect, None);
        let half = PairedSummary::of(&pairs([0, 1, 2, 3, 4]));
        // SciPy 1.17: `stats.ttest_1samp` of the differences.
        assert!(close(half.difference_p_value.unwrap(), 0.827_564_719_602_031_9));
    }

    #[test]
    fn chance_is_that_of_the_exact_test() {
        assert_eq!(mcnemar_exact(0, 0), None);
        // SciPy 1.17: `stats.binomtest(min, n, 0.5).pvalue`, equal to `mcnemar(exact=True)` of statsmodels 0.15, and
        // to exact fractions of Python to all digits shown.
        for (fixed, broken, expected) in [
            (0, 1, 1.0),
            (1, 1, 1.0),
            (2, 8, 0.109_375),
            (5, 0, 0.062_5),
            (10, 3, 0.092_285_156_25),
            (0, 12, 0.000_488_281_25),
            (30, 60, 0.002_060_265_680_963),
            (500, 430, 0.023_608_839_292_5),
            (4900, 5100, 0.046_585_527_704_9),
            (40_000, 40_600, 0.034_867_397_51),
        ] {
            for (fixed, broken) in [(fixed, broken), (broken, fixed)] {
                let actual = mcnemar_exact(fixed, broken).unwrap();
                assert!(close(actual, expected), "{fixed} {broken}: {actual} is not {expected}");
            }
        }
        assert!(mcnemar_exact(0, 2000).unwrap() < 1e-300);
        assert_eq!(mcnemar_exact(1_000_000, 1_000_000), Some(1.0));
    }

    proptest! {
        #[test]
        fn order_changes_nothing(
            (pairs, shuffled) in prop::collection::vec((0u32..5, 0.0f64..=1.0, 0.0f64..=1.0), 0..40)
                .prop_flat_map(|pairs| (Just(pairs.clone()), Just(pairs).prop_shuffle())),
        ) {
            let of = |pairs: Vec<(u32, f64, f64)>| {
                let pairs: Vec<Pair> = pairs.into_iter().map(|(s, a, b)| pair(s, a, b)).collect();
                PairedSummary::of(&pairs)
            };
            prop_assert_eq!(of(pairs), of(shuffled));
        }

        #[test]
        fn chance_is_a_probability(fixed in 0usize..3000, broken in 0usize..3000) {
            let p = mcnemar_exact(fixed, broken).unwrap_or(0.0);
            prop_assert_eq!((0.0..=1.0).contains(&p), true);
        }
    }
}
