//! The pipeline of one case: record → submission → plan → grade.
//!
//! Pure functions of one record; they know nothing of chunks or of the database. Planning and joining with
//! outcomes are apart on purpose: an outcome that arrives renders no prompt again.

pub mod asking;
mod ballots;
pub mod baseline;
pub mod case;
mod case_part;
pub mod criteria;
pub mod conversation;
pub mod join;
pub mod needs;
mod pairwise;
mod pick;
pub mod plan;
pub mod planned;
pub mod programs;
pub mod ready;
pub mod rewards;
mod sample_members;
pub mod scope;
mod similarity;
pub mod sought;
pub mod submission;
#[cfg(test)]
mod tests;

pub use asking::{action, following};
pub use case::Case;
pub use conversation::UnansweredCase;
pub use join::{ballot_scores, cell, each_wanted, extracted, grade, list_cost, split_votes};
pub use pick::submission;
pub use plan::plan;
pub use planned::{BallotId, FinishedGrade, GradePlan, Outcomes, Purpose};
pub use ready::{Method, ReadyGrader, ReadyReward, ReadyTool};
pub use submission::{HeldSubmission, Submission};
