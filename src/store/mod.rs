//! Outcomes on disk, addressed by action key.
//!
//! The store knows keys, generations and opaque JSON bodies; what a body means is the business of
//! [`crate::outcome`]. A read failure is a miss with a warning, a write failure is an error.

use crate::action::ActionKey;

/// One kept outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is the outcome of.
    pub key: ActionKey,
    /// Which asking it came from: the highest wins, ties by digest of the body.
    pub generation: u32,
    /// The outcome and what is kept with it: compact JSON text of one object, without line breaks.
    pub body: String,
}

/// Where outcomes are kept.
pub trait OutcomeStore: Send {
    /// The winning entry of each key, in the order asked.
    fn get_many(&mut self, keys: &[ActionKey]) -> Vec<Option<Entry>>;
    /// Keeps the entries; they are durable when this returns.
    fn put_many(&mut self, entries: &[Entry]) -> Result<(), StoreError>;
    /// What went wrong while reading since the last call, for a warning.
    fn take_warnings(&mut self) -> Vec<String>;
}

/// Why an outcome could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store's files cannot be written.
    #[error("cannot write the store at `{path}`: {reason}")]
    Write {
        /// The file or folder.
        path: String,
        /// What the system said.
        reason: String,
    },
}
