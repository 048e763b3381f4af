//! How far judges must agree with people.

use serde::{Deserialize, Serialize};

/// Bounds of the agreement between a judge and labels of people; none where nothing is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CalibrationBounds {
    /// The least kappa (-1.0..=1.0).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_kappa: Option<f64>,
    /// The least share of verdicts that agree (0.0..=1.0).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_agreement: Option<f64>,
}

impl CalibrationBounds {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These, and those of `other` where these say nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            min_kappa: self.min_kappa.or(other.min_kappa),
            min_agreement: self.min_agreement.or(other.min_agreement),
        }
    }
}
