//! How a score is compared with a threshold: the one comparison of gates, passes and conditions.
//!
//! Scores and thresholds are decimals to those who write them, and the nearest binary fractions to a machine: the
//! exact mean of 0.7, 0.7 and 1.0 rounds to one bit below 0.8. So values that differ by less than `TOLERANCE` are
//! equal here. Nowhere else: reports and records keep every bit.

use std::cmp::Ordering;

/// Values that differ by less are equal: absolute up to 1, and relative to the larger of the two above.
pub(crate) const TOLERANCE: f64 = 1e-12;

/// How `value` compares with `threshold`.
pub fn compare(value: f64, threshold: f64) -> Ordering {
    let scale = value.abs().max(threshold.abs()).max(1.0);
    if (value - threshold).abs() < TOLERANCE * scale {
        Ordering::Equal
    } else {
        value.total_cmp(&threshold)
    }
}

/// Whether `score` is `threshold` or more.
pub fn reaches(score: f64, threshold: f64) -> bool {
    compare(score, threshold).is_ge()
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering::{Equal, Greater, Less};

    use super::{compare, reaches};

    #[test]
    fn what_only_rounding_parts_is_equal() {
        for (value, threshold, expected) in [
            (0.8, 0.8, Equal),
            ((0.7 + 0.7 + 1.0) / 3.0, 0.8, Equal),
            (0.1 + 0.2, 0.3, Equal),
            (-0.0, 0.0, Equal),
            (0.8 - 2e-12, 0.8, Less),
            (0.8 + 2e-12, 0.8, Greater),
            (0.0, 1e-13, Equal),
            (0.0, 1e-11, Less),
            (1e20, 1e20 + 1e7, Equal),
            (1e20, 1e20 + 1e9, Less),
            (-1e20, -1e20 - 1e9, Greater),
            (f64::MAX, f64::MIN, Greater),
        ] {
            assert_eq!(compare(value, threshold), expected, "{value} {threshold}");
            assert_eq!(compare(threshold, value), expected.reverse(), "{threshold} {value}");
            assert_eq!(reaches(value, threshold), expected.is_ge(), "{value} {threshold}");
        }
    }
}
