//! Krippendorff's alpha: the agreement of any number of raters, with whatever ratings are missing, at four levels of
//! measurement.
//!
//! Owns the formulas. Sums over pairs of ratings are written as counts and sums of squares but for ratios, which need the pairs.

use serde::{Deserialize, Serialize};

use crate::base::exact::{mean, sum};

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
    let mut units: Vec<Vec<f64>> = units
        .iter()
        .filter(|unit| unit.len() > 1)
        // Adding zero turns -0.0 into 0.0: they are one rating.
        .map(|unit| unit.iter().map(|rating| rating + 0.0).collect())
        .collect();
    if units.iter().flatten().any(|rating| !rating.is_finite()) {
        return None;
    }
    let mut ratings = distinct(units.concat());
    match level {
        MeasurementLevel::Ordinal => {
            into_ranks(&mut units, &ratings);
            ratings = distinct(units.concat());
        }
        MeasurementLevel::Ratio if ratings.first().is_none_or(|least| least.value < 0.0) => {
            return None;
        }
        MeasurementLevel::Ratio if ratings.len() > MAX_RATIO_VALUES => return None,
        _ => {}
    }
    let n: f64 = ratings.iter().map(|rating| rating.count).sum();
    let observed = units
        .iter()
        .map(|unit| difference(&distinct(unit.clone()), level) / (unit.len() - 1) as f64);
    let alpha = 1.0 - (n - 1.0) * sum(observed) / difference(&ratings, level);
    (ratings.len() > 1 && alpha.is_finite()).then_some(alpha)
}

/// A rating and how often it was given.
struct RatingCount {
    value: f64,
    count: f64,
}

fn distinct(mut ratings: Vec<f64>) -> Vec<RatingCount> {
    ratings.sort_by(f64::total_cmp);
    let count = |run: &[f64]| RatingCount { value: run[0], count: run.len() as f64 };
    ratings.chunk_by(|one, other| one.total_cmp(other).is_eq()).map(count).collect()
}

/// Each rating becomes the middle of the ranks of those equal to it.
fn into_ranks(units: &mut [Vec<f64>], ratings: &[RatingCount]) {
    let mut below = 0.0;
    let mut ranks = Vec::with_capacity(ratings.len());
    for rating in ratings {
        ranks.push(below + rating.count / 2.0);
        below += rating.count;
    }
    for rating in units.iter_mut().flatten() {
        let at = ratings.partition_point(|known| known.value.total_cmp(rating).is_lt());
        *rating = ranks[at];
    }
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
    let square = |rating: &RatingCount| {
        let distance = rating.value - centre;
        rating.count * distance * distance
    };
    2.0 * n * sum(ratings.iter().map(square))
}

#[cfg(test)]
mod tests {
    use super::{MeasurementLevel, krippendorff_alpha};

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
