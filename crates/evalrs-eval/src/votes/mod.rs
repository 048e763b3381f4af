//! Votes and judgments that others gave, as plain data, and how rows of a file say them.
//!
//! Which answer a vote is of is found by whoever has the answers; how votes become a grade is the business of graders.

pub mod judgments;
pub mod score_map;
pub mod split;

use std::sync::Arc;

use score_map::VoteValue;

/// A vote that somebody gave.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenVote {
    /// The score, or that there is none.
    pub value: VoteValue,
    /// Why; empty if nothing is said.
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

/// What a vote says of the answer that it is of, so that it does not count for another one.
pub fn answer_digest(answer: &str) -> String {
    blake3::hash(answer.as_bytes()).to_hex()[..16].to_owned()
}
