//! Why an outcome could not be kept, and how much is said of what could not be read.

use evalrs_model::key::ActionKey;

/// How many warnings a store gives: a file of garbage has millions of bad lines.
pub(crate) const WARNING_LIMIT: usize = 1000;

/// Why an outcome could not be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store's files cannot be written.
    #[error("cannot write the store at `{path}`: {reason}")]
    Write {
        /// The file or folder.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The entry does not fit the format; nothing of its batch was written.
    #[error("cannot keep the outcome of `{key}`: its body {reason}")]
    Body {
        /// Whose entry it is.
        key: ActionKey,
        /// What is wrong with the body.
        reason: &'static str,
    },
}
