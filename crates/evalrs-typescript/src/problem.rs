//! Why a source is not TypeScript, or cannot be run.

#[cfg(feature = "typescript")]
use oxc_diagnostics::OxcDiagnostic;

/// Why a source is not TypeScript, or cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxProblem {
    /// What is wrong.
    pub message: String,
    /// Where, counted from 1.
    pub line: usize,
    /// Where in the line, in characters counted from 1.
    pub column: usize,
}

#[cfg(feature = "typescript")]
impl SyntaxProblem {
    /// What oxc says of a source.
    pub fn of(source: &str, diagnostic: &OxcDiagnostic) -> Self {
        let offset = diagnostic.labels.first().map_or(0, |label| label.offset() as usize);
        Self::at(source, offset, diagnostic.message.to_string())
    }

    /// A problem at a byte of a source.
    pub fn at(source: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = source.get(..offset.min(source.len())).unwrap_or(source);
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            message: message.into(),
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[begin..].chars().count() + 1,
        }
    }
}
