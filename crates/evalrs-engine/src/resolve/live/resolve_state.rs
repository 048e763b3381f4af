//! How far the settling of a save may be, and what it may have come to.

use evalrs_model::outcome::{ActionTally, Usage};

/// How far the settling of the last save is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveState {
    /// Not everything is planned yet.
    Planning,
    /// Judges are called.
    Asking,
    /// This many actions wait for the user.
    Held(u64),
    /// Nothing is left to do.
    Done,
    /// No further calls are made, and why.
    Stopped(String),
}

/// What became of the actions of the last save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResolveProgress {
    /// The result of the actions of all graders so far.
    pub tally: ActionTally,
    /// Being executed.
    pub under_way: u64,
    /// Still to be launched.
    pub waiting: u64,
    /// Being executed, though they are superseded.
    pub superseded: u64,
    /// Out in a batch.
    pub out: u64,
    /// Launched since the session began.
    pub calls: u64,
    /// What was used since the session began.
    pub used: Usage,
}
