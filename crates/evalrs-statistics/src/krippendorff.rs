//! Krippendorff's alpha: the agreement of any number of raters, with whatever ratings are missing, at four levels of
//! measurement.
//!
//! Owns the formulas. Sums over pairs of ratings are written as counts and sums of squares but for ratios, which need the pairs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use evalrs_base::exact::{mean, sum};

/// More distinct ratings have no alpha of ratios: their pairs would take too long.
const MAX_RATIO_VALUES: usize = 10_000;

/// What differences between ratings mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasurementLevel {
    /// Ratings are names: equal or not.
    Nominal,
    /// Ratings have an order: by how many ratings lie between them.
    Ordinal,
    /// Differences between ratings have a size.
    Interval,
    /// Ratings have a zero: differences count by their share of the sum. No rating may be below 0.
    Ratio,
}

/// Krippendorff's alpha, at most 1, of units with the ratings each got; units with fewer than two are left out. None where no
/// rating differs from another, where one is not finite, or where a difference is not defined at this level.
///
/// `1 - D_o / D_e`, Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"; Hayes and Krippendorff 2007, "Answering the
/// Call for a Standard Reliability Measure for Coding Data". The ordinal difference of two ratings is that of the middles of
/// their ranks.
pub fn krippendorff_alpha(units: &[Vec<f64>], level: MeasurementLevel) -> Option<f64> {
    let all: Vec<usize> = (0..units.len()).collect();
    RatedUnits::new(units, level).alpha(&all)
}

/// Units as counts of ratings, for the alpha of many resamples of them.
#[derive(Clone, Debug)]
pub struct RatedUnits {
    level: MeasurementLevel,
    /// The finite ratings that occur, rising.
    values: Vec<f64>,
    units: Vec<RatedUnit>,
}

/// The ratings of a unit; none of one with fewer than two.
#[derive(Clone, Debug)]
struct RatedUnit {
    /// Places among the values, rising, each with how often the unit has it.
    counts: Vec<(usize, f64)>,
    /// How many ratings it has.
    n: f64,
    /// Its differences over all ordered pairs of ratings, by `n - 1`; of ordinal ratings these depend on all units.
    difference: f64,
    is_finite: bool,
}

impl RatedUnits {
    /// The ratings of each unit, at a level of measurement.
    pub fn new(units: &[Vec<f64>], level: MeasurementLevel) -> Self {
        // Adding zero turns -0.0 into 0.0: they are one rating.
        let finite = units.iter().flatten().filter(|rating| rating.is_finite());
        let mut values: Vec<f64> = finite.map(|rating| rating + 0.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup_by(|one, other| one.total_cmp(other).is_eq());
        let units = units.iter().map(|unit| RatedUnit::new(unit, &values, level)).collect();
        Self { level, values, units }
    }

    /// The alpha of the units at these places, each as often as it is named.
    pub fn alpha(&self, drawn: &[usize]) -> Option<f64> {
        let units = || drawn.iter().map(|at| &self.units[*at]);
        if units().any(|unit| !unit.is_finite) {
            return None;
        }
        let mut counts = vec![0.0; self.values.len()];
        for unit in units() {
            for (at, count) in &unit.counts {
                counts[*at] += count;
            }
        }
        let ranks = (self.level == MeasurementLevel::Ordinal).then(|| middle_ranks(&counts));
        let values = ranks.as_ref().unwrap_or(&self.values);
        let occurring = values.iter().zip(&counts).filter(|(_, count)| **count > 0.0);
        let ratings: Vec<RatingCount> =
            occurring.map(|(value, count)| RatingCount { value: *value, count: *count }).collect();
        if self.level == MeasurementLevel::Ratio {
            let is_below_zero = ratings.first().is_none_or(|least| least.value < 0.0);
            if is_below_zero || ratings.len() > MAX_RATIO_VALUES {
                return None;
            }
        }
        let n: f64 = ratings.iter().map(|rating| rating.count).sum();
        let observed = sum(units().map(|unit| match &ranks {
            Some(ranks) => unit.difference_of(ranks, self.level),
            None => unit.difference,
        }));
        let alpha = 1.0 - (n - 1.0) * observed / difference(&ratings, self.level);
        (ratings.len() > 1 && alpha.is_finite()).then_some(alpha)
    }
}

impl RatedUnit {
    fn new(ratings: &[f64], values: &[f64], level: MeasurementLevel) -> Self {
        let mut unit = Self { counts: Vec::new(), n: 0.0, difference: 0.0, is_finite: true };
        if ratings.len() < 2 {
            return unit;
        }
        let mut counts: BTreeMap<usize, f64> = BTreeMap::new();
        for rating in ratings.iter().map(|rating| rating + 0.0) {
            let at = values.partition_point(|known| known.total_cmp(&rating).is_lt());
            unit.is_finite &= rating.is_finite();
            *counts.entry(at).or_default() += 1.0;
        }
        if !unit.is_finite {
            return unit;
        }
        unit.n = ratings.len() as f64;
        unit.counts = counts.into_iter().collect();
        unit.difference = unit.difference_of(values, level);
        unit
    }

    fn difference_of(&self, values: &[f64], level: MeasurementLevel) -> f64 {
        let count = |(at, count): &(usize, f64)| RatingCount { value: values[*at], count: *count };
        let ratings: Vec<RatingCount> = self.counts.iter().map(count).collect();
        if ratings.len() < 2 { 0.0 } else { difference(&ratings, level) / (self.n - 1.0) }
    }
}

/// A rating and how often it was given.
struct RatingCount {
    value: f64,
    count: f64,
}

/// The middle of the ranks of those that are equal, for each value that is given so often.
fn middle_ranks(counts: &[f64]) -> Vec<f64> {
    let mut below = 0.0;
    let rank = |count: &f64| {
        let middle = below + count / 2.0;
        below += count;
        middle
    };
    counts.iter().map(rank).collect()
}

/// The sum of differences over all ordered pairs of ratings.
fn difference(ratings: &[RatingCount], level: MeasurementLevel) -> f64 {
    let n: f64 = ratings.iter().map(|rating| rating.count).sum();
    match level {
        MeasurementLevel::Nominal => {
            n * n - ratings.iter().map(|rating| rating.count * rating.count).sum::<f64>()
        }
        MeasurementLevel::Ordinal | MeasurementLevel::Interval => squares(ratings, n),
        MeasurementLevel::Ratio => {
            let pair = |one: &RatingCount, other: &RatingCount| {
                let ratio = (one.value - other.value) / (one.value + other.value);
                if one.value > other.value {
                    2.0 * one.count * other.count * ratio * ratio
                } else {
                    0.0
                }
            };
            sum(ratings.iter().map(|one| sum(ratings.iter().map(|other| pair(one, other)))))
        }
    }
}

/// The sum of squared differences over all ordered pairs: twice n times the sum of squares around the mean.
fn squares(ratings: &[RatingCount], n: f64) -> f64 {
    if ratings.len() < 2 {
        return 0.0;
    }
    let weighted: Vec<f64> = ratings.iter().map(|rating| rating.value * rating.count).collect();
    let centre = mean(&weighted).unwrap_or_default() * weighted.len() as f64 / n;
    2.0 * n
        * sum(ratings.iter().map(|rating| {
            let distance = rating.value - centre;
            rating.count * distance * distance
        }))
}

#[cfg(test)]
mod tests {
    use super::{MeasurementLevel, RatedUnits, krippendorff_alpha};

    const ALL: [MeasurementLevel; 4] = [
        MeasurementLevel::Nominal,
        MeasurementLevel::Ordinal,
        MeasurementLevel::Interval,
        MeasurementLevel::Ratio,
    ];

    #[test]
    fn alpha_is_that_of_its_author() {
        // Four observers, twelve units: Krippendorff 2011, example C, which gives .743, .815, .849 and .797.
        let text = "11.1 2232 3333 3333 2222 1234 4444 1121 2222 .555 ..11 .3..";
        let unit =
            |word: &str| word.chars().filter_map(|char| char.to_digit(10)).map(f64::from).collect();
        let units: Vec<Vec<f64>> = text.split_whitespace().map(unit).collect();
        let found =
            ALL.map(|level| (krippendorff_alpha(&units, level).unwrap() * 1000.0).round() as i32);
        assert_eq!(found, [743, 815, 849, 797]);
    }

    #[test]
    fn a_draw_has_the_alpha_of_its_units() {
        let units: Vec<Vec<f64>> = vec![
            vec![1.0, 2.0, 2.0],
            vec![],
            vec![5.0],
            vec![4.0, 4.0, 3.0, 1.0],
            vec![2.5, -0.0],
            vec![0.0, 4.0],
        ];
        for draw in [vec![0, 1, 2, 3, 4, 5], vec![3, 3, 3, 0], vec![4, 5, 5, 2], vec![2, 1], vec![]]
        {
            for level in ALL {
                let drawn: Vec<Vec<f64>> =
                    draw.iter().map(|at: &usize| units[*at].clone()).collect();
                let of_draw = RatedUnits::new(&units, level).alpha(&draw);
                assert_eq!(of_draw, krippendorff_alpha(&drawn, level), "{draw:?} {level:?}");
            }
        }
    }

    #[test]
    fn where_nothing_differs_there_is_no_alpha() {
        for units in [
            vec![],
            vec![vec![1.0]],
            vec![vec![2.0, 2.0], vec![2.0, 2.0, 2.0]],
            vec![vec![0.0, -0.0]],
            vec![vec![f64::NAN, 1.0]],
        ] {
            assert_eq!(ALL.map(|level| krippendorff_alpha(&units, level)), [None; 4], "{units:?}");
        }
        assert_eq!(krippendorff_alpha(&[vec![-1.0, 1.0]], MeasurementLevel::Ratio), None);
        assert_eq!(
            krippendorff_alpha(&[vec![0.0, 0.0], vec![1.0, 1.0]], MeasurementLevel::Ratio),
            Some(1.0)
        );
    }
}
