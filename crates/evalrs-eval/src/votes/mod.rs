//! Votes and judgments that others gave, as plain data, and how rows of a file say them.
//!
//! Which answer a vote is of is found by whoever has the answers; how votes become a grade is the business of graders.

pub mod judgments;
pub mod score_map;

use std::sync::Arc;

use score_map::VoteValue;

/// A vote that somebody gave.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenVote {
    /// The score, or that there is none.
    pub value: VoteValue,
    /// Why; empty if not given.
    pub rationale: String,
    /// The digest of the answer that it is of; none where that is not known.
    pub answer: Option<String>,
}

/// The votes on one answer, each at the place of its voter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GivenVotes {
    /// The votes; none where a voter gave none.
    pub votes: Vec<Option<GivenVote>>,
    /// Who the voters are; empty where that is not known.
    pub voters: Arc<[String]>,
}

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

/// What a vote says of the answer that it is of, so that it does not count for another one.
pub fn answer_digest(answer: &str) -> String {
    blake3::hash(answer.as_bytes()).to_hex()[..16].to_owned()
}
