//! The range of the scores of a hosted eval's grader.

use serde_json::Value;

use crate::reading::first;

/// From where to where scores go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScoreRange {
    pub min: f64,
    pub max: f64,
}

impl ScoreRange {
    pub(super) const UNIT: Self = Self { min: 0.0, max: 1.0 };

    /// The range that a grader says.
    pub(super) fn of(grader: &Value) -> Option<Self> {
        let range = first(grader, &["/range"]).and_then(Value::as_array)?;
        let bound =
            |at: usize, default: f64| range.get(at).and_then(Value::as_f64).unwrap_or(default);
        Some(Self { min: bound(0, 0.0), max: bound(1, 1.0) })
    }
}
