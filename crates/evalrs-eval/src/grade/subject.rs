//! What a deterministic grader sees of one sample.

use serde_json::Value;

use crate::votes::GivenVotes;
use evalrs_base::path::Row;
use evalrs_base::price::Cost;
use evalrs_trajectory::Trajectory;

/// One of several outputs of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOutput<'a> {
    /// Its model.
    pub model: &'a str,
    /// Its place among them, from 0.
    pub at: usize,
    /// How many there are.
    pub of: usize,
}

impl RowOutput<'_> {
    /// What `value` says of this output: the member of its model, or the entry at its place where it is a list with one for
    /// each; anything else is of all of them.
    pub fn own(self, value: Value) -> Option<Value> {
        match value {
            Value::Object(mut members) if members.contains_key(self.model) => {
                members.remove(self.model)
            }
            Value::Array(mut items) if items.len() == self.of => Some(items.swap_remove(self.at)),
            value => Some(value),
        }
    }
}

/// What a deterministic grader sees of one sample.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// What the extractor picked.
    pub submission: &'a str,
    /// The reference answer, after `ground_truth_pattern`.
    pub ground_truth: Option<&'a str>,
    /// Everything the target did.
    pub trajectory: &'a Trajectory,
    /// The dataset row as written.
    pub row: Row<'a>,
    /// Which of the row's outputs is graded, where it has several.
    pub output: Option<RowOutput<'a>>,
    /// Whether calls made by sub-agents count.
    pub include_subagents: bool,
    /// What a file of votes has on the answer; none where the grader reads none, or nobody voted.
    pub votes: Option<&'a GivenVotes>,
    /// What the conversation of a target that is run cost, where the grader asks for it.
    pub cost: Option<&'a ConversationCost>,
}

/// What the conversation of a target cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationCost {
    /// So much.
    Known(Cost),
    /// It is not known: why.
    Unknown(String),
}
