//! Why a value cannot be read as a trajectory, and where in it.

use std::fmt;

/// What was read, or why it cannot be.
pub type ReadResult<T = ()> = Result<T, TrajectoryProblem>;

/// What makes a value unreadable as a trajectory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TrajectoryProblem {
    /// The JSON Pointer (RFC 6901) of the place; empty for the value as a whole. In JSON Lines text the
    /// first step is the index of the line, from 0, blank lines not counted.
    pub pointer: String,
    /// What was expected there, with its article.
    pub expected: &'static str,
    /// The kind of the value there, with its article.
    pub found: &'static str,
}

impl fmt::Display for TrajectoryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, expected, found } = self;
        match pointer.as_str() {
            "" => write!(f, "expected {expected}, found {found}"),
            _ => write!(f, "expected {expected} at `{pointer}`, found {found}"),
        }
    }
}
