//! The grades that a gate is decided on.

use crate::metric::Observation;

/// The grades of a grader, and what is known of those with errors.
#[derive(Clone, Copy, Debug)]
pub struct GatedGrades<'a> {
    pub grades: &'a [Observation],
    /// In the order of results; those without may have any score.
    pub bounds: &'a [ErrorBounds],
}

/// What a grade might have been that could not be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBounds {
    /// The ordinal of its result, as in the observation.
    pub result: u32,
    pub least: f64,
    pub greatest: f64,
    /// The grader's own verdict, if both ends have the same.
    pub passes: Option<bool>,
}
