//! The range that judges score in.

use serde::Serialize;

/// A range of scores, from complete failure to full success.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scale {
    /// The score of complete failure.
    pub min: f64,
    /// The score of full success, greater than `min`.
    pub max: f64,
}

impl Scale {
    /// The range of all scores of evalrs.
    pub const UNIT: Self = Self { min: 0.0, max: 1.0 };

    /// Whether a score is on it.
    pub fn contains(self, score: f64) -> bool {
        (self.min..=self.max).contains(&score)
    }

    /// A score from 0.0 to 1.0 as one on it, with all its digits but those that rounding leaves: a whole number that was made
    /// one from 0.0 to 1.0 is whole again.
    pub fn native(self, unit: f64) -> f64 {
        /// What rounding moves a number by, as a part of the greatest that it was computed with.
        const ROUNDING: f64 = 1e-14;
        let native = self.min + unit * (self.max - self.min);
        let short = nine_digits(native);
        let is_rounding = (native - short).abs() <= ROUNDING * self.min.abs().max(self.max.abs());
        if is_rounding { short } else { native }
    }

    /// A score on it as one from 0.0 to 1.0.
    pub fn unit(self, score: f64) -> f64 {
        (score - self.min) / (self.max - self.min)
    }
}

/// Without the digits after the ninth that people write none of; of large numbers, all.
pub fn nine_digits(value: f64) -> f64 {
    const DIGITS: f64 = 1e9;
    if value.abs() < 1e6 { (value * DIGITS).round() / DIGITS } else { value }
}
