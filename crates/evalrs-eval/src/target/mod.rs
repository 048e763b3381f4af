//! Conversations of a live target: what one depends on, and what came of it.
//!
//! A conversation is an action like any other: with one sample, one model and one trial. `identity` is the target as keys know
//! it, `action` a conversation with it, `answer` what is kept of one, in the form of a row that was recorded; `exchange` is what
//! a server is sent, and what is found in its replies. Processes and requests are in `exec`.

pub mod action;
pub mod answer;
pub mod exchange;
pub mod handed;
pub mod identity;
pub mod placeholders;
#[cfg(test)]
mod tests;
mod walk;

pub use action::TargetAction;
pub use identity::TargetIdentity;
