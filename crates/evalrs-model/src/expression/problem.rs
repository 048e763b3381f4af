//! What is wrong with the text of an expression, and where.

use std::ops::Range;

/// What is wrong with the text of an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionProblem {
    /// What is wrong.
    pub message: String,
    /// The bytes of the text where it is wrong; empty at its end.
    pub at: Range<usize>,
    /// What was probably meant.
    pub hint: Option<String>,
}

impl ExpressionProblem {
    /// The same of a text that begins `by` bytes earlier.
    #[must_use]
    pub fn moved(self, by: usize) -> Self {
        Self { at: self.at.start + by..self.at.end + by, ..self }
    }

    /// The same, with what was probably meant.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// What was read, or what is wrong.
pub(super) type ParseResult<T> = Result<T, ExpressionProblem>;

/// A problem at these bytes.
pub(super) fn problem(at: Range<usize>, message: impl Into<String>) -> ExpressionProblem {
    ExpressionProblem { message: message.into(), at, hint: None }
}
