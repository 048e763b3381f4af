//! Kappas: agreement beyond that of chance, of two raters or of any number.
//!
//! Owns the formulas over places of categories in their order. Weights are those of ranks among the categories that are given,
//! as in scikit-learn; the quadratic kappa of votes in `metric::agreement` goes by the scores themselves, which is the same
//! where no score between two others is missing.

use serde::Serialize;

use evalrs_base::exact::{mean, sum};

/// What a disagreement weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KappaWeights {
    /// Each the same.
    Plain,
    /// By how many ranks they differ.
    Linear,
    /// By the square of that.
    Quadratic,
}

/// The categories that two raters gave one item: places in the order of categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CategoryPair {
    /// That of the first.
    pub one: usize,
    /// That of the second.
    pub other: usize,
}

/// Two scores of one item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScorePair {
    /// That of the first.
    pub one: f64,
    /// That of the second.
    pub other: f64,
}

/// The places of scores among those that occur on either side, in rising order; scores that are not finite are left out.
pub fn ranked(scores: &[ScorePair]) -> Vec<CategoryPair> {
    let finite = |pair: &&ScorePair| pair.one.is_finite() && pair.other.is_finite();
    // Adding zero turns -0.0 into 0.0: they are one category.
    let both = |pair: &ScorePair| [pair.one + 0.0, pair.other + 0.0];
    let mut occurring: Vec<f64> = scores.iter().filter(finite).flat_map(both).collect();
    occurring.sort_by(f64::total_cmp);
    occurring.dedup_by(|one, other| one.total_cmp(other).is_eq());
    let place = |score: f64| occurring.partition_point(|known| known.total_cmp(&score).is_lt());
    let pair = |[one, other]: [f64; 2]| CategoryPair { one: place(one), other: place(other) };
    scores.iter().filter(finite).map(both).map(pair).collect()
}

/// Cohen's kappa (-1..=1) of pairs in any order: `1 - sum(w_ij o_ij) / sum(w_ij e_ij)`, `w` being 1, the distance of ranks, or
/// its square. None where chance alone leaves nothing to disagree about: without items, or where both only ever gave one and
/// the same category. Where one of them did, it is 0.
///
/// Cohen 1960, "A Coefficient of Agreement for Nominal Scales", and 1968, "Weighted Kappa". Sums over pairs of categories are
/// written as sums over categories, in whole numbers.
pub fn cohen_kappa(pairs: &[CategoryPair], weights: KappaWeights) -> Option<f64> {
    let n = i128::try_from(pairs.len()).ok()?;
    let ones = occurrences(pairs.iter().map(|pair| pair.one));
    let others = occurrences(pairs.iter().map(|pair| pair.other));
    let distance = |pair: &CategoryPair| pair.one.abs_diff(pair.other) as i128;
    let observed: i128 = pairs.iter().map(|pair| weigh(distance(pair), weights)).sum();
    let expected = match weights {
        KappaWeights::Plain => n * n - products(&ones, &others),
        KappaWeights::Linear => distances(&ones, &others),
        KappaWeights::Quadratic => {
            let moment = |side: &[Occurrence], power: u32| -> i128 {
                side.iter().map(|found| found.count * found.place.pow(power)).sum()
            };
            n * moment(&ones, 2) + n * moment(&others, 2)
                - 2 * moment(&ones, 1) * moment(&others, 1)
        }
    };
    (expected > 0).then(|| (expected - observed * n) as f64 / expected as f64)
}

fn weigh(distance: i128, weights: KappaWeights) -> i128 {
    match weights {
        KappaWeights::Plain => i128::from(distance > 0),
        KappaWeights::Linear => distance,
        KappaWeights::Quadratic => distance * distance,
    }
}

/// A category and how often it was given.
struct Occurrence {
    place: i128,
    count: i128,
}

fn occurrences(places: impl Iterator<Item = usize>) -> Vec<Occurrence> {
    let mut places: Vec<usize> = places.collect();
    places.sort_unstable();
    let one = |run: &[usize]| Occurrence { place: run[0] as i128, count: run.len() as i128 };
    places.chunk_by(|one, other| one == other).map(one).collect()
}

/// The sum of products of counts of the same category.
fn products(ones: &[Occurrence], others: &[Occurrence]) -> i128 {
    let count = |place: i128| {
        let at = others.binary_search_by_key(&place, |found| found.place);
        at.map_or(0, |at| others[at].count)
    };
    ones.iter().map(|found| found.count * count(found.place)).sum()
}

/// The sum of distances over all pairs of one and other: at each step from a category to the next, the pairs that it parts.
fn distances(ones: &[Occurrence], others: &[Occurrence]) -> i128 {
    let total = |side: &[Occurrence]| -> i128 { side.iter().map(|found| found.count).sum() };
    let mut places: Vec<i128> = ones.iter().chain(others).map(|found| found.place).collect();
    places.sort_unstable();
    places.dedup();
    let counts = |place: i128, side: &[Occurrence]| {
        side.binary_search_by_key(&place, |found| found.place).map_or(0, |at| side[at].count)
    };
    let [mut below_one, mut below_other, mut sum] = [0; 3];
    for step in places.windows(2) {
        below_one += counts(step[0], ones);
        below_other += counts(step[0], others);
        let parted =
            below_one * (total(others) - below_other) + below_other * (total(ones) - below_one);
        sum += parted * (step[1] - step[0]);
    }
    sum
}

/// Fleiss' kappa (at most 1) of a table with an item in each row and, for each category, how many raters gave it. Who they are
/// need not be the same for two items. None unless an item has two ratings or more, and not all are of one category.
///
/// Fleiss 1971, "Measuring Nominal Scale Agreement among Many Raters", where items have the same number of ratings. Where they
/// have not, as Gwet 2014, "Handbook of Inter-Rater Reliability", chapter 2, and the package irrCAC: agreement is the mean over
/// items with two ratings or more, and a category's share is the mean over all rated items of its share there.
pub fn fleiss_kappa(table: &[&[usize]]) -> Option<f64> {
    let ratings = |row: &&&[usize]| row.iter().sum::<usize>();
    let table: Vec<&[usize]> = table.iter().filter(|row| ratings(row) > 0).copied().collect();
    let raters = ratings(&table.first()?);
    if table.iter().any(|row| ratings(&row) != raters) {
        return unequal_fleiss_kappa(&table);
    }
    let raters = raters as i128;
    if raters < 2 {
        return None;
    }
    let items = table.len() as i128;
    let square = |count: usize| (count as i128) * (count as i128);
    let equal: i128 = table.iter().copied().flatten().map(|count| square(*count)).sum();
    let columns = table.iter().map(|row| row.len()).max().unwrap_or(0);
    let column = |at: usize| table.iter().filter_map(|row| row.get(at)).sum::<usize>();
    let by_chance: i128 = (0..columns).map(|at| square(column(at))).sum();
    // P = (equal - N n) / (N n (n - 1)) and P_e = by_chance / (N n)², over their common denominator.
    let all = items * raters;
    let observed = (equal - all) as f64 / (all * (raters - 1)) as f64;
    let expected = by_chance as f64 / (all * all) as f64;
    (by_chance < all * all).then(|| (observed - expected) / (1.0 - expected))
}

/// The same of rated items with different numbers of ratings.
fn unequal_fleiss_kappa(table: &[&[usize]]) -> Option<f64> {
    let ratings = |row: &[usize]| row.iter().sum::<usize>() as f64;
    let alike = |row: &&[usize]| {
        let n = ratings(row);
        let pairs: usize = row.iter().map(|count| count * count.saturating_sub(1)).sum();
        (n > 1.0).then(|| pairs as f64 / (n * (n - 1.0)))
    };
    let observed = mean(&table.iter().filter_map(alike).collect::<Vec<f64>>())?;
    let share = |at: usize| {
        let of_item =
            |row: &&[usize]| row.get(at).map_or(0.0, |count| *count as f64 / ratings(row));
        mean(&table.iter().map(of_item).collect::<Vec<f64>>())
    };
    let columns = table.iter().map(|row| row.len()).max().unwrap_or(0);
    let expected = sum((0..columns).filter_map(share).map(|share| share * share));
    (expected < 1.0).then(|| (observed - expected) / (1.0 - expected))
}

#[cfg(test)]
mod tests {
    use super::{KappaWeights, ScorePair, cohen_kappa, fleiss_kappa, ranked};

    #[test]
    fn what_leaves_nothing_to_disagree_about_has_no_kappa() {
        let all = [KappaWeights::Plain, KappaWeights::Linear, KappaWeights::Quadratic];
        let pairs = |scores: &[(f64, f64)]| {
            let scores: Vec<ScorePair> =
                scores.iter().map(|&(one, other)| ScorePair { one, other }).collect();
            ranked(&scores)
        };
        for weights in all {
            assert_eq!(cohen_kappa(&[], weights), None);
            assert_eq!(cohen_kappa(&pairs(&[(1.0, 1.0), (1.0, 1.0)]), weights), None);
            assert_eq!(cohen_kappa(&pairs(&[(1.0, 1.0), (1.0, 2.0)]), weights), Some(0.0));
            assert_eq!(cohen_kappa(&pairs(&[(1.0, 2.0), (2.0, 1.0)]), weights), Some(-1.0));
            assert_eq!(
                cohen_kappa(&pairs(&[(-0.0, 0.0), (f64::NAN, 1.0), (2.0, 2.0)]), weights),
                Some(1.0)
            );
        }
    }

    #[test]
    fn fleiss_needs_two_ratings_of_an_item_and_two_categories() {
        let tables: [&[&[usize]]; 5] =
            [&[], &[&[]], &[&[1, 0], &[0, 1]], &[&[2, 0], &[1, 0]], &[&[2, 0], &[2, 0], &[0, 0]]];
        for table in tables {
            assert_eq!(fleiss_kappa(table), None, "{table:?}");
        }
        assert_eq!(fleiss_kappa(&[&[2, 0], &[0, 2], &[0, 0]]), Some(1.0));
    }

    #[test]
    fn fleiss_takes_items_with_different_numbers_of_ratings() {
        // Agreement is over the three items with pairs of ratings, shares are over all four.
        let found = fleiss_kappa(&[&[2, 0], &[2, 1], &[2, 2], &[0, 1]]).unwrap();
        let observed = (1.0 + 1.0 / 3.0 + 1.0 / 3.0) / 3.0;
        let share = (1.0 + 2.0 / 3.0 + 0.5) / 4.0;
        let expected = share * share + (1.0 - share) * (1.0 - share);
        let by_hand = (observed - expected) / (1.0 - expected);
        assert!((found - by_hand).abs() < 1e-12, "{found} {by_hand}");
        // One rating less of a hundred items changes little.
        let mut items = vec![vec![3, 2]; 50];
        items.extend(vec![vec![1, 4]; 50]);
        let rows: Vec<&[usize]> = items.iter().map(Vec::as_slice).collect();
        let equal = fleiss_kappa(&rows).unwrap();
        items[0] = vec![2, 2];
        let rows: Vec<&[usize]> = items.iter().map(Vec::as_slice).collect();
        assert!((fleiss_kappa(&rows).unwrap() - equal).abs() < 0.01);
    }
}
