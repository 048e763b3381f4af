//! The rate of wins that remains if both answers were equally long.
//!
//! Owns the regression of AlpacaEval 2: Dubois, Galambosi, Liang and Hashimoto 2024, "Length-Controlled AlpacaEval: A Simple Way
//! to Debias Automatic Evaluators". The outcome of each comparison is fitted by a logistic model of who answered, of how much
//! longer the answer is, `tanh(difference / standard deviation of differences)`, and of how hard the task is where that is
//! known; the rate is the mean of what the model says at a difference of 0.
//!
//! Here the fit is the one of maximum likelihood. The published leaderboard has an L1 penalty chosen by cross-validation and, in
//! its variant with regularization, judgments of a lengthened baseline: it differs in decimals of a percent. Their difficulties
//! were fitted over all models of their leaderboard and are given, not fitted, here too.

use serde::Serialize;

use super::distribution::normal_quantile;
use super::interval::{ConfidenceInterval, IntervalMethod};
use super::linear::{maximum, solve};
use evalrs_base::exact::{mean, sum};

/// Who is this far from even is beyond what the data tell: the model is separable.
const MAX_LOG_ODDS: f64 = 30.0;

/// One comparison of an answer with that of a baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthComparison {
    /// How likely the answer is better than the baseline's, 0.0..=1.0; 0.5 for a tie.
    pub outcome: f64,
    /// How much longer it is than the baseline's, in characters or tokens.
    pub longer: f64,
    /// How hard the task is; 0.0 where nothing is known.
    pub difficulty: f64,
}

/// The rate of wins at equal length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LengthControlledRate {
    /// Comparisons.
    pub n: usize,
    /// The rate of wins as it is.
    pub raw: f64,
    /// The rate at equal length.
    pub rate: f64,
    /// Its interval, by the delta method on the scale of log odds, with variances that do not suppose the model to be true.
    pub interval: ConfidenceInterval,
    /// What a difference in length of many standard deviations changes of the log odds.
    pub length_effect: f64,
}

/// The length-controlled rate of wins; none for fewer than two comparisons, where a value is not finite or an outcome beyond
/// 0.0..=1.0, or where the fit has no maximum, as where one side always wins.
///
/// Comparisons of equal length throughout have no effect of length, and the rate is the raw one.
pub fn length_controlled_win_rate(
    comparisons: &[LengthComparison],
    level: f64,
) -> Option<LengthControlledRate> {
    let is_valid = |item: &LengthComparison| {
        (0.0..=1.0).contains(&item.outcome)
            && item.longer.is_finite()
            && item.difficulty.is_finite()
    };
    if comparisons.len() < 2 || !comparisons.iter().all(is_valid) || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let outcomes: Vec<f64> = comparisons.iter().map(|item| item.outcome).collect();
    let features = features(comparisons)?;
    let regression = Regression { rows: &features, outcomes: &outcomes };
    let coefficients = regression.fit()?;
    let even = |row: &[f64]| {
        if row.len() > 1 { [&[row[0], 0.0], &row[2..]].concat() } else { row.to_vec() }
    };
    let at_even: Vec<Vec<f64>> = features.iter().map(|row| even(row)).collect();
    let chances: Vec<f64> = at_even.iter().map(|row| chance(dot(row, &coefficients))).collect();
    let rate = mean(&chances)?;
    let slope = |at: usize| {
        let terms =
            at_even.iter().zip(&chances).map(|(row, chance)| row[at] * chance * (1.0 - chance));
        sum(terms) / chances.len() as f64
    };
    let slope: Vec<f64> = (0..coefficients.len()).map(slope).collect();
    let error = regression.error_along(&coefficients, &slope)?;
    Some(LengthControlledRate {
        n: comparisons.len(),
        raw: mean(&outcomes)?,
        rate,
        interval: interval(rate, error, level)?,
        length_effect: coefficients.get(1).copied().unwrap_or(0.0),
    })
}

/// An interval of a rate around its log odds.
fn interval(rate: f64, error: f64, level: f64) -> Option<ConfidenceInterval> {
    let reach = normal_quantile(f64::midpoint(level, 1.0)) * error / (rate * (1.0 - rate));
    let odds = (rate / (1.0 - rate)).ln();
    (odds.is_finite() && reach.is_finite()).then(|| ConfidenceInterval {
        low: chance(odds - reach),
        high: chance(odds + reach),
        level,
        method: IntervalMethod::Wald,
    })
}

/// A row for each comparison: 1, how much longer, how hard. Columns that are constant say nothing and are left out; where
/// lengths are, so is the difficulty's place beside them kept by a zero.
fn features(comparisons: &[LengthComparison]) -> Option<Vec<Vec<f64>>> {
    let longer: Vec<f64> = comparisons.iter().map(|item| item.longer).collect();
    let centre = mean(&longer)?;
    let squares = sum(longer.iter().map(|value| (value - centre) * (value - centre)));
    let deviation = (squares / (longer.len() - 1) as f64).sqrt();
    let has_lengths = deviation > 0.0;
    let has_difficulty = comparisons
        .windows(2)
        .any(|pair| pair[0].difficulty.total_cmp(&pair[1].difficulty).is_ne());
    let row = |item: &LengthComparison| {
        let length = if has_lengths { (item.longer / deviation).tanh() } else { 0.0 };
        let mut row = vec![1.0];
        if has_lengths || has_difficulty {
            row.push(length);
        }
        if has_difficulty {
            row.push(item.difficulty);
        }
        row
    };
    Some(comparisons.iter().map(row).collect())
}

/// A logistic regression of outcomes between 0 and 1.
struct Regression<'a> {
    rows: &'a [Vec<f64>],
    outcomes: &'a [f64],
}

impl Regression<'_> {
    /// None where it runs off.
    fn fit(&self) -> Option<Vec<f64>> {
        let step = |coefficients: &[f64]| {
            if coefficients.iter().any(|value| value.abs() > MAX_LOG_ODDS) {
                return None;
            }
            self.solve(coefficients, &self.slope(coefficients))
        };
        let start = vec![0.0; self.rows.first()?.len()];
        maximum(start, step, |coefficients| self.likelihood(coefficients))
    }

    fn likelihood(&self, coefficients: &[f64]) -> f64 {
        sum(self.rows.iter().zip(self.outcomes).map(|(row, outcome)| {
            let odds = dot(row, coefficients);
            // log(1 + exp(x)) without overflow.
            outcome * odds - (odds.max(0.0) + (-odds.abs()).exp().ln_1p())
        }))
    }

    fn slope(&self, coefficients: &[f64]) -> Vec<f64> {
        let residuals: Vec<f64> = self
            .rows
            .iter()
            .zip(self.outcomes)
            .map(|(row, outcome)| outcome - chance(dot(row, coefficients)))
            .collect();
        (0..coefficients.len())
            .map(|at| sum(self.rows.iter().zip(&residuals).map(|(row, rest)| row[at] * rest)))
            .collect()
    }

    /// What the information makes of a vector; columns without any value are left at 0.
    fn solve(&self, coefficients: &[f64], right: &[f64]) -> Option<Vec<f64>> {
        let weight = |row: &[f64]| {
            let chance = chance(dot(row, coefficients));
            chance * (1.0 - chance)
        };
        let cell = |one: usize, other: usize| {
            let total = sum(self.rows.iter().map(|row| row[one] * row[other] * weight(row)));
            let is_empty = one == other && self.rows.iter().all(|row| row[one] == 0.0);
            if is_empty { 1.0 } else { total }
        };
        let size = coefficients.len();
        let matrix: Vec<Vec<f64>> =
            (0..size).map(|one| (0..size).map(|other| cell(one, other)).collect()).collect();
        solve(&matrix, right)
    }

    /// The standard error of what moves along `slope`, by the sandwich of Huber 1967 and White 1980.
    fn error_along(&self, coefficients: &[f64], slope: &[f64]) -> Option<f64> {
        let bread = self.solve(coefficients, slope)?;
        let term = |(row, outcome): (&Vec<f64>, &f64)| {
            let moved = (outcome - chance(dot(row, coefficients))) * dot(row, &bread);
            moved * moved
        };
        Some(sum(self.rows.iter().zip(self.outcomes).map(term)).sqrt())
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn chance(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

#[cfg(test)]
mod tests {
    use super::{LengthComparison, length_controlled_win_rate};

    fn item(outcome: f64, longer: f64) -> LengthComparison {
        LengthComparison { outcome, longer, difficulty: 0.0 }
    }

    #[test]
    fn equal_lengths_leave_the_rate_as_it_is() {
        let found =
            length_controlled_win_rate(&[item(1.0, 5.0), item(0.0, 5.0), item(1.0, 5.0)], 0.95)
                .unwrap();
        assert!((found.rate - 2.0 / 3.0).abs() < 1e-9 && found.length_effect == 0.0, "{found:?}");
        assert!(found.interval.low < found.rate && found.rate < found.interval.high);
    }

    #[test]
    fn length_alone_wins_nothing_at_equal_length() {
        let longer = (0..40).map(|at| item(if at % 4 == 0 { 0.0 } else { 1.0 }, 100.0));
        let shorter = (0..40).map(|at| item(if at % 4 == 0 { 1.0 } else { 0.0 }, -100.0));
        let items: Vec<LengthComparison> =
            longer.chain(shorter).chain([item(1.0, 100.0), item(1.0, 80.0)]).collect();
        let found = length_controlled_win_rate(&items, 0.95).unwrap();
        assert!(found.raw > 0.5 && (found.rate - 0.5).abs() < 0.01, "{found:?}");
        assert!(found.length_effect > 0.5);
    }

    #[test]
    fn what_has_no_maximum_has_no_rate() {
        for items in [
            &[][..],
            &[item(1.0, 3.0)],
            &[item(1.0, 3.0), item(1.0, 4.0)],
            &[item(1.0, 5.0), item(0.0, -5.0)],
            &[item(f64::NAN, 1.0), item(0.0, 1.0)],
            &[item(2.0, 1.0), item(0.0, 1.0)],
        ] {
            assert_eq!(length_controlled_win_rate(items, 0.95), None, "{items:?}");
        }
    }
}
