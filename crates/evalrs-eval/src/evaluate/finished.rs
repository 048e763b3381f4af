//! A grade that waits for nothing, and where what came of actions is found.

use std::sync::Arc;

use crate::grade::Grade;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Outcome;

/// A finished grade.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedGrade {
    /// The verdict.
    pub grade: Grade,
    /// The grades of single turns.
    pub per_turn: Option<Vec<Grade>>,
}

/// Where grading finds what came of actions.
pub type Outcomes<'a> = &'a dyn Fn(ActionKey) -> Option<Arc<Outcome>>;
