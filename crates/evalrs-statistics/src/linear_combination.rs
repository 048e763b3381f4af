//! The interval of a weighted mean of numbers that have intervals of their own: MOVER, the method of variance estimates recovery.
//!
//! Zou and Donner 2008, "Construction of confidence limits about effect measures: a general approach" (Statistics in Medicine
//! 27); for sums of several, Zou, Huang and Zhang 2009, "A note on confidence interval estimation for a linear function of
//! binomial proportions" (Computational Statistics & Data Analysis 53). How far each end of an interval lies from its number
//! tells how that number varies near there, so that exact intervals of rates near 0 and 1 stay what they are.
//!
//! Of many numbers that is not what their mean does: ten exact intervals `[0.69, 1]` have no room above, and their mean, which
//! is nearly normal, has. MOVER then holds it too seldom: 89 % of the draws of 57 rates of 0.95 over ten samples each. So what one
//! side reaches further than the other fades as the skewness of a mean does, with the number of independent numbers.

use super::interval::{ConfidenceInterval, IntervalMethod};
use evalrs_base::exact::sum;

/// A number of a weighted mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CombinedTerm {
    /// Its share of the mean, 0.0 or more; those of all terms have the sum 1.0.
    pub weight: f64,
    /// The number.
    pub value: f64,
    /// Where its true value lies.
    pub interval: ConfidenceInterval,
    /// Terms of the same group rest on the same samples; those of different groups are independent.
    pub group: usize,
}

/// The interval of the mean of `terms`; none of nothing, or if their intervals are not of one level.
///
/// With w the weights, a number of a group reaches `a = sum of w (value - low)` below, `b = sum of w (high - value)` above and `h =
/// (a + b) / 2` on average: as if its numbers rose and fell together, which is the widest that it can be. Of K groups the mean
/// reaches `sqrt(sum of (a² / K + (1 - 1 / K) h²))` below, and likewise with b above: of one group that is its own interval. Where
/// groups differ in width, K is their effective number, `(sum of h)² / sum of h²`. No end lies outside the mean of the ends.
pub fn combination_interval(terms: &[CombinedTerm]) -> Option<ConfidenceInterval> {
    let level = terms.first()?.interval.level;
    if terms.iter().any(|term| term.interval.level.total_cmp(&level).is_ne()) {
        return None;
    }
    let mean = sum(terms.iter().map(|term| term.weight * term.value));
    let reaches = group_reaches(terms);
    let far = |distance: fn(&GroupReach) -> f64| sum(reaches.iter().map(distance));
    let most = far(GroupReach::half);
    let squares = sum(reaches.iter().map(|group| group.half() * group.half()));
    let own = if most > 0.0 { squares / (most * most) } else { 1.0 };
    let reach = |distance: fn(&GroupReach) -> f64| {
        let square = |group: &GroupReach| {
            let one = distance(group);
            own * one * one + (1.0 - own) * group.half() * group.half()
        };
        sum(reaches.iter().map(square)).sqrt().min(far(distance))
    };
    let interval = ConfidenceInterval {
        low: mean - reach(|group| group.below),
        high: mean + reach(|group| group.above),
        level,
        method: IntervalMethod::Mover,
    };
    (interval.low.is_finite() && interval.high.is_finite()).then(|| interval.rounded())
}

/// How far the weighted numbers of a group reach.
#[derive(Clone, Copy, Debug, Default)]
struct GroupReach {
    below: f64,
    above: f64,
}

impl GroupReach {
    fn half(&self) -> f64 {
        f64::midpoint(self.below, self.above)
    }
}

/// In the order of groups. An end that lies on the wrong side of its number reaches nowhere.
fn group_reaches(terms: &[CombinedTerm]) -> Vec<GroupReach> {
    let mut sorted: Vec<&CombinedTerm> = terms.iter().collect();
    sorted.sort_by_key(|term| term.group);
    let of_group = |group: &[&CombinedTerm]| {
        let far = |distance: fn(&CombinedTerm) -> f64| {
            sum(group.iter().map(|term| term.weight * distance(term).max(0.0)))
        };
        GroupReach {
            below: far(|term| term.value - term.interval.low),
            above: far(|term| term.interval.high - term.value),
        }
    };
    sorted.chunk_by(|left, right| left.group == right.group).map(of_group).collect()
}

#[cfg(test)]
mod tests {
    use super::{CombinedTerm, combination_interval};
    use crate::LEVEL;
    use crate::interval::{
        ClusteredValue, ConfidenceInterval, IntervalMethod, ValueRange, mean_interval,
        rate_interval,
    };
    use evalrs_base::random::SplitMix;

    /// How often of so many draws the interval must hold the mean. The share has a standard error of 0.005.
    const DRAWS: usize = 2000;
    const LEAST: f64 = LEVEL - 0.01;

    fn term(weight: f64, value: f64, interval: ConfidenceInterval, group: usize) -> CombinedTerm {
        CombinedTerm { weight, value, interval, group }
    }

    fn close(actual: f64, expected: f64) -> bool {
        (actual - expected).abs() < 1e-6
    }

    #[test]
    fn the_bounds_are_those_of_the_formula() {
        // Of two numbers whose intervals are as wide, half of what one side reaches further than the other is left.
        let interval = |low, high| ConfidenceInterval {
            low,
            high,
            level: LEVEL,
            method: IntervalMethod::ClopperPearson,
        };
        let terms = [term(0.5, 0.9, interval(0.5, 1.0), 0), term(0.5, 0.4, interval(0.3, 0.8), 1)];
        let found = combination_interval(&terms).unwrap();
        // Below 0.2 and 0.05, above 0.05 and 0.2, on average 0.125 and 0.125.
        let reach = (0.5 * (0.04 + 0.0025) + 0.5 * 2.0 * 0.015_625_f64).sqrt();
        assert!(close(found.low, 0.65 - reach) && close(found.high, 0.65 + reach), "{found:?}");
        // Symmetric intervals are added as standard errors are.
        let terms = [term(0.3, 0.5, interval(0.4, 0.6), 0), term(0.7, 0.2, interval(0.1, 0.3), 1)];
        let found = combination_interval(&terms).unwrap();
        let reach = (0.0009_f64 + 0.0049).sqrt();
        assert!(close(found.low, 0.29 - reach) && close(found.high, 0.29 + reach), "{found:?}");
        // No end lies beyond that of all together.
        let terms = [0, 1, 2].map(|at| term(1.0 / 3.0, 1.0, interval(0.7, 1.0), at));
        let found = combination_interval(&terms).unwrap();
        assert!(close(found.high, 1.0) && found.low > 0.7, "{found:?}");
    }

    #[test]
    fn one_number_has_its_own_interval_and_numbers_of_one_group_the_mean_of_their_bounds() {
        let one = rate_interval(3, 10, LEVEL).unwrap();
        let other = rate_interval(9, 10, LEVEL).unwrap();
        let alone = combination_interval(&[term(1.0, 0.3, one, 0)]).unwrap();
        assert!(close(alone.low, one.low) && close(alone.high, one.high), "{alone:?}");
        let terms = [term(0.25, 0.3, one, 4), term(0.75, 0.9, other, 4)];
        let dependent = combination_interval(&terms).unwrap();
        assert!(close(dependent.low, 0.25 * one.low + 0.75 * other.low), "{dependent:?}");
        assert!(close(dependent.high, 0.25 * one.high + 0.75 * other.high), "{dependent:?}");
        let independent = [term(0.25, 0.3, one, 4), term(0.75, 0.9, other, 5)];
        let independent = combination_interval(&independent).unwrap();
        assert!(independent.low > dependent.low && independent.high < dependent.high);
        let level = ConfidenceInterval { level: 0.9, ..other };
        assert_eq!(combination_interval(&[term(0.5, 0.3, one, 0), term(0.5, 0.9, level, 1)]), None);
        assert_eq!(combination_interval(&[]), None);
    }

    /// A suite that is drawn from: samples, the chance that one passes, and its weight.
    struct DrawnSuite {
        samples: usize,
        rate: f64,
        weight: f64,
    }

    fn share(generator: &mut SplitMix) -> f64 {
        generator.below(1 << 53) as f64 / (1u64 << 53) as f64
    }

    /// How often the interval of the mean of rates holds the mean of the true rates.
    fn coverage_of_rates(suites: &[DrawnSuite], generator: &mut SplitMix) -> f64 {
        let truth: f64 = suites.iter().map(|suite| suite.weight * suite.rate).sum();
        let mut holds = 0;
        for _ in 0..DRAWS {
            let terms: Vec<CombinedTerm> = suites
                .iter()
                .enumerate()
                .map(|(at, suite)| {
                    let passes = (0..suite.samples).filter(|_| share(generator) < suite.rate);
                    let passes = passes.count();
                    let interval = rate_interval(passes, suite.samples, LEVEL).unwrap();
                    term(suite.weight, passes as f64 / suite.samples as f64, interval, at)
                })
                .collect();
            let found = combination_interval(&terms).unwrap();
            holds += usize::from(found.low <= truth && truth <= found.high);
        }
        holds as f64 / DRAWS as f64
    }

    #[test]
    fn means_of_rates_are_held_as_often_as_the_interval_says() {
        let mut generator = SplitMix::new(1);
        let suite = |samples, rate, weight| DrawnSuite { samples, rate, weight };
        for (name, suites) in [
            ("two of 30", vec![suite(30, 0.5, 0.5), suite(30, 0.8, 0.5)]),
            ("two of 10", vec![suite(10, 0.5, 0.5), suite(10, 0.9, 0.5)]),
            ("10 and 300", vec![suite(10, 0.7, 0.5), suite(300, 0.6, 0.5)]),
            ("weights 0.9 and 0.1", vec![suite(100, 0.98, 0.9), suite(20, 0.5, 0.1)]),
            ("five of 20", (0..5).map(|_| suite(20, 0.6, 0.2)).collect()),
            ("ten of 10 near 1", (0..10).map(|_| suite(10, 0.95, 0.1)).collect()),
            ("57 of 10 near 1", (0..57).map(|_| suite(10, 0.95, 1.0 / 57.0)).collect()),
            (
                "57 of 100",
                (0..57).map(|at| suite(100, 0.3 + 0.01 * f64::from(at), 1.0 / 57.0)).collect(),
            ),
        ] {
            let found = coverage_of_rates(&suites, &mut generator);
            println!("{name}: {:.1} %", found * 100.0);
            assert!(found >= LEAST, "{name}: {found}");
        }
    }

    #[test]
    fn means_of_scores_are_held_as_often_as_the_interval_says() {
        let mut generator = SplitMix::new(2);
        // Uniform scores beside skewed ones, whose mean is 0.8.
        let truth = f64::midpoint(0.5, 0.8);
        for samples in [[15, 15], [10, 100], [50, 200]] {
            let mut holds = 0;
            for _ in 0..DRAWS / 2 {
                let terms = [0, 1].map(|at: usize| {
                    let values: Vec<f64> = (0..samples[at])
                        .map(|_| share(&mut generator))
                        .map(|drawn| if at == 0 { drawn } else { 1.0 - drawn.powi(4) })
                        .collect();
                    let mean = values.iter().sum::<f64>() / values.len() as f64;
                    let items = (0..).zip(values);
                    let items = items.map(|(cluster, value)| ClusteredValue { cluster, value });
                    let interval = mean_interval(items.collect(), ValueRange::UNIT, LEVEL).unwrap();
                    term(0.5, mean, interval, at)
                });
                let found = combination_interval(&terms).unwrap();
                holds += usize::from(found.low <= truth && truth <= found.high);
            }
            let found = holds as f64 / (DRAWS / 2) as f64;
            println!("scores of {samples:?}: {:.1} %", found * 100.0);
            assert!(found >= LEAST - 0.01, "{samples:?}: {found}");
        }
    }
}
