//! Numbers that only rounding parts are equal where ranks and categories are made of them: `2/3` and `1 - 1/3` are one score.
//!
//! Owns that tolerance, which goes by the size of the numbers alone: what two small ones differ by is not lost.

use super::kappa::ScorePair;

/// Numbers that differ by less, as a part of the larger, are equal.
const TOLERANCE: f64 = 1e-12;

/// The numbers that occur, each with those that are equal to it.
pub struct EqualNumbers {
    /// The least of those that are equal, rising.
    least: Vec<f64>,
}

impl EqualNumbers {
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut least: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        least.sort_by(f64::total_cmp);
        least.dedup_by(|next, first| {
            (*next - *first).abs() <= TOLERANCE * next.abs().max(first.abs())
        });
        Self { least }
    }

    /// The class of numbers equal to `value`, which is one of those that occur.
    pub fn level(&self, value: f64) -> f64 {
        let above = self.least.partition_point(|least| *least <= value);
        match above.checked_sub(1).and_then(|at| self.least.get(at)) {
            Some(least) if value.is_finite() => *least,
            _ => value,
        }
    }
}

/// Pairs in which numbers that are equal, on either side, are the same.
pub fn levelled(pairs: &[ScorePair]) -> Vec<ScorePair> {
    let numbers = EqualNumbers::of(pairs.iter().flat_map(|pair| [pair.one, pair.other]));
    pairs
        .iter()
        .map(|pair| ScorePair { one: numbers.level(pair.one), other: numbers.level(pair.other) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::EqualNumbers;

    #[test]
    fn numbers_that_only_rounding_parts_are_one() {
        let third = 1.0 - 2.0_f64 / 3.0;
        assert!(third.total_cmp(&(1.0 / 3.0)).is_ne());
        let all = [0.3, 0.1 + 0.2, third, 1.0 / 3.0, 1e-15, 2e-15, 0.0, -2.0, 0.3 + 1e-10];
        let numbers = EqualNumbers::of(all.into_iter());
        let leveled = all.map(|value| numbers.level(value));
        let least = (1.0 / 3.0_f64).min(third);
        let expected = [0.3, 0.3, least, least, 1e-15, 2e-15, 0.0, -2.0, 0.3 + 1e-10];
        assert_eq!(leveled.map(f64::to_bits), expected.map(f64::to_bits));
        assert!(numbers.level(f64::NAN).is_nan());
    }
}
