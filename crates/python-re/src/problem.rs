//! What is wrong with a pattern, or with matching it.

use std::fmt;

/// Steps the backtracking engine may take in one search.
pub(super) const MAX_STEPS: usize = 5_000_000;

/// What is wrong with a pattern, or with matching it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegexProblem {
    /// Python would refuse it too.
    Syntax {
        /// What is wrong.
        message: String,
        /// Where, in characters from 0.
        position: usize,
    },
    /// It is too long, too deep, or too much when its repetitions are written out.
    TooLarge,
    /// Python would take it, the engines do not.
    Unsupported(String),
    /// Matching was given up.
    TooManySteps,
}

impl fmt::Display for RegexProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { message, position } => write!(f, "{message} at position {position}"),
            Self::TooLarge => f.write_str("the pattern is too large"),
            Self::Unsupported(what) => {
                write!(f, "the pattern uses something that is not supported: {what}")
            }
            Self::TooManySteps => {
                write!(f, "the pattern took too many steps (more than {MAX_STEPS})")
            }
        }
    }
}

impl std::error::Error for RegexProblem {}
