//! The history of a suite as it was told last.

use serde_json::Value;

/// A history as it was told last: pairing the samples of two runs reads both.
pub(super) struct HeldHistory {
    /// The suite's name.
    pub suite: String,
    /// Of the bytes of its file.
    pub digest: blake3::Hash,
    /// What was told.
    pub told: Value,
}
