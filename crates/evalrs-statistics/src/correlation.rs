//! Correlations of two series of numbers.
//!
//! Owns the formulas; equal values share the middle of their ranks. A pair with a value that is not finite is left out.

use super::kappa::ScorePair;
use evalrs_base::exact::{mean, sum};

/// Pearson's correlation (-1..=1); none for fewer than two pairs, or where one side is constant.
///
/// Pearson 1895, "Notes on Regression and Inheritance in the Case of Two Parents".
pub fn pearson(pairs: &[ScorePair]) -> Option<f64> {
    let pairs = finite(pairs);
    let ones: Vec<f64> = pairs.iter().map(|pair| pair.one).collect();
    let others: Vec<f64> = pairs.iter().map(|pair| pair.other).collect();
    if is_constant(&ones) || is_constant(&others) {
        return None;
    }
    let ones = centred(&ones)?;
    let others = centred(&others)?;
    let products = sum(ones.iter().zip(&others).map(|(one, other)| one * other));
    let squares = |values: &[f64]| sum(values.iter().map(|value| value * value));
    let correlation = products / (squares(&ones) * squares(&others)).sqrt();
    correlation.is_finite().then(|| correlation.clamp(-1.0, 1.0))
}

/// Spearman's rank correlation (-1..=1): Pearson's of the ranks. None as in [`pearson`].
///
/// Spearman 1904, "The Proof and Measurement of Association between Two Things".
pub fn spearman(pairs: &[ScorePair]) -> Option<f64> {
    let pairs = finite(pairs);
    let ones = ranks(pairs.iter().map(|pair| pair.one).collect());
    let others = ranks(pairs.iter().map(|pair| pair.other).collect());
    let ranked = ones.into_iter().zip(others).map(|(one, other)| ScorePair { one, other });
    pearson(&ranked.collect::<Vec<_>>())
}

/// Kendall's tau-b (-1..=1): pairs of items in the same order less those in the other, over those that are tied on neither side.
/// None as in [`pearson`].
///
/// `(C - D) / sqrt((n0 - n1) (n0 - n2))`, Kendall 1945, "The Treatment of Ties in Ranking Problems", counted as in Knight 1966,
/// "A Computer Method for Calculating Kendall's Tau with Ungrouped Data".
pub fn kendall_tau_b(pairs: &[ScorePair]) -> Option<f64> {
    let mut pairs = finite(pairs);
    let n = i128::try_from(pairs.len()).ok()?;
    pairs.sort_by(|left, right| {
        left.one.total_cmp(&right.one).then(left.other.total_cmp(&right.other))
    });
    let all = n * (n - 1) / 2;
    let tied_ones = tied(&pairs, |pair, next| same(pair.one, next.one));
    let tied_both =
        tied(&pairs, |pair, next| same(pair.one, next.one) && same(pair.other, next.other));
    let mut others: Vec<f64> = pairs.iter().map(|pair| pair.other).collect();
    let discordant = inversions(&mut others);
    let tied_others = tied(&others, |one, next| same(*one, *next));
    // Sorting by both sides, pairs that are tied on the first are in order of the second, and none of them an inversion.
    let concordant = all - tied_ones - tied_others + tied_both - discordant;
    let untied = [all - tied_ones, all - tied_others];
    untied.iter().all(|count| *count > 0).then(|| {
        let scale = (untied[0] as f64).sqrt() * (untied[1] as f64).sqrt();
        ((concordant - discordant) as f64 / scale).clamp(-1.0, 1.0)
    })
}

fn finite(pairs: &[ScorePair]) -> Vec<ScorePair> {
    pairs
        .iter()
        .filter(|pair| pair.one.is_finite() && pair.other.is_finite())
        // Adding zero turns -0.0 into 0.0: they are equal.
        .map(|pair| ScorePair { one: pair.one + 0.0, other: pair.other + 0.0 })
        .collect()
}

fn same(one: f64, other: f64) -> bool {
    one.total_cmp(&other).is_eq()
}

fn is_constant(values: &[f64]) -> bool {
    values.windows(2).all(|pair| same(pair[0], pair[1]))
}

fn centred(values: &[f64]) -> Option<Vec<f64>> {
    let centre = mean(values)?;
    Some(values.iter().map(|value| value - centre).collect())
}

/// The rank of each value from 1, the middle of their ranks for equal ones.
fn ranks(values: Vec<f64>) -> Vec<f64> {
    let mut places: Vec<(f64, usize)> =
        values.into_iter().enumerate().map(|(at, value)| (value, at)).collect();
    places.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut ranks = vec![0.0; places.len()];
    let mut below = 0;
    for ties in places.chunk_by(|one, other| same(one.0, other.0)) {
        for (_, at) in ties {
            ranks[*at] = below as f64 + f64::midpoint(ties.len() as f64, 1.0);
        }
        below += ties.len();
    }
    ranks
}

/// How many pairs of items stand in runs of equal ones.
fn tied<T>(items: &[T], equal: impl Fn(&T, &T) -> bool) -> i128 {
    items.chunk_by(equal).map(|run| (run.len() as i128) * (run.len() as i128 - 1) / 2).sum()
}

/// How many pairs of values stand in falling order; sorts them on the way.
fn inversions(values: &mut [f64]) -> i128 {
    let mut count = 0;
    let mut width = 1;
    let mut merged = Vec::with_capacity(values.len());
    while width < values.len() {
        for run in values.chunks_mut(2 * width) {
            let (left, right) = run.split_at(width.min(run.len()));
            let mut right = right.iter().peekable();
            merged.clear();
            for (at, value) in left.iter().enumerate() {
                while let Some(smaller) = right.next_if(|other| other.total_cmp(value).is_lt()) {
                    merged.push(*smaller);
                    count += (left.len() - at) as i128;
                }
                merged.push(*value);
            }
            merged.extend(right);
            run.copy_from_slice(&merged);
        }
        width *= 2;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::{kendall_tau_b, pearson, spearman};
    use crate::kappa::ScorePair;

    fn all(pairs: &[(f64, f64)]) -> [Option<f64>; 3] {
        let pairs: Vec<ScorePair> =
            pairs.iter().map(|&(one, other)| ScorePair { one, other }).collect();
        [pearson(&pairs), spearman(&pairs), kendall_tau_b(&pairs)]
    }

    #[test]
    fn constants_correlate_with_nothing() {
        for pairs in [
            &[][..],
            &[(1.0, 2.0)],
            &[(0.1, 1.0), (0.1, 2.0), (0.1, 3.0)],
            &[(f64::NAN, 1.0), (1.0, 2.0)],
            &[(0.0, 1.0), (-0.0, 2.0)],
        ] {
            assert_eq!(all(pairs), [None; 3], "{pairs:?}");
        }
    }

    #[test]
    fn what_rises_together_correlates() {
        assert_eq!(all(&[(1.0, 1.0), (2.0, 3.0), (3.0, 5.0)]), [Some(1.0); 3]);
        assert_eq!(
            all(&[(1.0, 5.0), (2.0, 3.0), (3.0, 1.0), (f64::INFINITY, 1.0)]),
            [Some(-1.0); 3]
        );
    }
}
