//! What a person says of a submission.

use crate::base::threshold::reaches;

/// What a person says of a submission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Label {
    /// Whether it passes.
    Pass(bool),
    /// How good it is, 0.0..=1.0.
    Score(f64),
}

impl Label {
    /// Whether it passes where scores of at least `threshold` do.
    pub fn passes(self, threshold: f64) -> bool {
        match self {
            Self::Pass(pass) => pass,
            Self::Score(score) => reaches(score, threshold),
        }
    }
}
