//! How far the settling of a save may be, and what it may have come to.

use evalrs_model::outcome::{ActionTally, Usage};

/// How far the settling of the last save is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveState {
    /// Not everything is planned yet.
    Planning,
    /// Judges are asked.
    Asking,
    /// So many actions wait for a word of the user.
    Held(u64),
    /// Nothing is left to do.
    Done,
    /// Nothing more is asked, and why.
    Stopped(String),
}

/// What became of the actions of the last save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResolveProgress {
    /// What the actions of all graders came to so far.
    pub tally: ActionTally,
    /// Being executed.
    pub under_way: u64,
    /// Still to be launched.
    pub waiting: u64,
    /// Being executed, though they are superseded.
    pub superseded: u64,
    /// Launched since the session began.
    pub calls: u64,
    /// What was used since the session began.
    pub used: Usage,
}
