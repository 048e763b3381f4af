//! Outcomes on disk, addressed by action key.
//!
//! The store knows keys, generations and opaque JSON bodies; what a body means is the business of
//! [`crate::outcome`]. A read failure is a miss with a warning, a write failure is an error.

mod committed;
mod fates;
mod idx;
mod layered;
mod line;
mod memory;
mod segments;
mod sweep;
mod uses;
mod verify;

use crate::action::ActionKey;

pub use committed::{Committed, render};
pub use layered::Layered;
pub use memory::MemoryStore;
pub use segments::{SegmentStore, Totals};
pub use sweep::{Sweep, SweepError, Swept, sweep};
pub use uses::note_used;
pub use verify::{Check, Checked, VerifyReport, read_lines, verify};

/// How many warnings a store gives: a file of garbage has millions of bad lines.
const WARNING_LIMIT: usize = 1000;

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

impl Entry {
    /// Whether it wins over `other`, an entry of the same key: by generation, then by the greater blake3 digest
    /// of the body, so that processes that asked at the same moment agree afterwards.
    pub fn wins_over(&self, other: &Self) -> bool {
        let digest = |entry: &Self| *blake3::hash(entry.body.as_bytes()).as_bytes();
        let generations = self.generation.cmp(&other.generation);
        generations.then_with(|| digest(self).cmp(&digest(other))).is_gt()
    }
}

/// Where outcomes are kept.
pub trait OutcomeStore: Send {
    /// The winning entry of each key, in the order asked.
    fn get_many(&mut self, keys: &[ActionKey]) -> Vec<Option<Entry>>;
    /// Keeps the entries; they are durable when this returns.
    fn put_many(&mut self, entries: &[Entry]) -> Result<(), StoreError>;
    /// Every key that has an entry, sorted.
    fn keys(&mut self) -> Vec<ActionKey>;
    /// What went wrong while reading since the last call, for a warning.
    fn take_warnings(&mut self) -> Vec<String>;
}

/// Why an outcome could not be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store's files cannot be written.
    #[error("cannot write the store at `{path}`: {reason}")]
    Write {
        /// The file or folder.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The entry does not fit the format; nothing of its batch was written.
    #[error("cannot keep the outcome of `{key}`: its body {reason}")]
    Body {
        /// Whose entry it is.
        key: ActionKey,
        /// What is wrong with the body.
        reason: &'static str,
    },
}

/// Puts `candidate` in `place` if it wins there.
fn keep_winner(place: &mut Option<Entry>, candidate: Entry) {
    if place.as_ref().is_none_or(|held| candidate.wins_over(held)) {
        *place = Some(candidate);
    }
}

#[cfg(test)]
mod tests;
