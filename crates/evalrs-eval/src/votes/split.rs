//! Votes that lie on both sides of the pass threshold.

/// Votes on both sides of the pass threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitVotes {
    /// The turn, from 0, where turns are graded.
    pub turn: Option<usize>,
    /// Votes that reach the threshold.
    pub passes: usize,
    /// Votes that did not fail.
    pub votes: usize,
}
