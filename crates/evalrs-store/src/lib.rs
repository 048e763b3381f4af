//! Outcomes on disk, addressed by action key.
//!
//! The store knows keys, generations and JSON bodies, of which it tells replies from the rest: those win. What else a body
//! means is the business of [`evalrs_model::outcome`]. A read failure is a miss with a warning, a write failure is an error.

pub mod record;
mod bases;
mod blob_reference;
mod blobs;
pub mod committed;
mod elements;
pub mod entry_line;
mod gc_policy;
mod idx;
pub mod import_lock;
mod index;
pub mod layered;
pub mod line;
mod line_batch;
mod lost_blobs;
pub mod memory;
mod outline;
mod own;
pub mod packing;
mod removal_lock;
mod segment_files;
mod segment_layout;
pub mod segments;
mod shared_text;
pub mod survey;
pub mod sweep;
mod sweep_blobs;
pub mod uses;
pub mod verify;
mod written_bases;

use std::sync::{Mutex, MutexGuard, PoisonError};

use evalrs_model::key::ActionKey;

pub use committed::{Committed, render};
pub use entry_line::EntryLine;
pub use import_lock::{ImportLock, lock_imports};
pub use layered::Layered;
pub use line::BODY_LIMIT;
pub use memory::MemoryStore;
pub use packing::pack_many;
pub use segments::{SegmentStore, Totals};
pub use survey::Swept;
pub use sweep::{Sweep, SweepError, sweep};
pub use uses::{Run, note_used};
pub use verify::{Check, EntryCheck, VerifyReport, read_lines, verify};

/// How many warnings a store gives: a file of garbage has millions of bad lines.
const WARNING_LIMIT: usize = 1000;

/// One kept outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is the outcome of.
    pub key: ActionKey,
    /// Which asking it came from: of replies the highest wins, ties by digest of the body.
    pub generation: u32,
    /// The outcome and what is kept with it: compact JSON text of one object, without line breaks.
    pub body: String,
}

impl Entry {
    /// Whether it wins over `other`, an entry of the same key: a reply over what is none, then by generation, then one that
    /// says what its key was made of, then by the greater blake3 digest of the body, so that processes that asked at the same
    /// moment agree afterwards.
    pub fn wins_over(&self, other: &Self) -> bool {
        let digest = |entry: &Self| *blake3::hash(entry.body.as_bytes()).as_bytes();
        let says = |entry: &Self| says_ingredients(&entry.body);
        let by_rank = self.rank().cmp(&other.rank());
        let by_ingredients = || says(self).cmp(&says(other));
        by_rank.then_with(by_ingredients).then_with(|| digest(self).cmp(&digest(other))).is_gt()
    }

    /// What decides which entry of a key wins, but for ties.
    pub fn rank(&self) -> EntryRank {
        EntryRank { is_reply: is_reply(&self.body), generation: self.generation }
    }
}

/// What decides which entry of a key wins, but for ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryRank {
    /// Whether somebody answered: no failure stands over a reply, whatever its generation.
    pub is_reply: bool,
    /// Which asking it came from.
    pub generation: u32,
}

/// Whether a body does not say that its key was made of nothing: that is what is left where the line is damaged that it shared
/// its ingredients with. Inside a text the quotes would be escaped.
fn says_ingredients(body: &str) -> bool {
    memchr::memmem::find(body.as_bytes(), br#""ingredients":[]"#).is_none()
}

/// Whether a body holds a reply. Bodies of evalrs begin with their outcome; those of others are read.
fn is_reply(body: &str) -> bool {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Body {
        outcome: BodyOutcome,
    }
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct BodyOutcome {
        reply: Option<serde::de::IgnoredAny>,
    }
    if let Some(outcome) = body.strip_prefix(r#"{"outcome":{""#) {
        return outcome.starts_with(r#"reply":"#);
    }
    serde_json::from_str::<Body>(body).is_ok_and(|body| body.outcome.reply.is_some())
}

/// Where outcomes are kept. Threads share a store: one may read while another waits for the disk in [`Self::put_many`].
pub trait OutcomeStore: Send + Sync {
    /// The winning entry of each key, in the order asked.
    fn get_many(&self, keys: &[ActionKey]) -> Vec<Option<Entry>>;
    /// The same, one after the other: large bodies are not in memory together.
    fn visit_many(&self, keys: &[ActionKey], visit: &mut dyn FnMut(usize, Option<Entry>)) {
        for (place, entry) in self.get_many(keys).into_iter().enumerate() {
            visit(place, entry);
        }
    }
    /// The same as lines, without opening a blob: for whom an outline of large bodies is enough.
    fn lines_of(&self, keys: &[ActionKey]) -> Vec<Option<EntryLine>> {
        self.get_many(keys).into_iter().map(|entry| entry.map(EntryLine::from)).collect()
    }
    /// What each layer has under a key: what others found out may hold where what was found out here does not.
    fn all_of(&self, key: ActionKey) -> Vec<Entry> {
        self.get_many(&[key]).into_iter().flatten().collect()
    }
    /// Keeps the entries; they are durable when this returns, and nobody reads them before.
    fn put_many(&self, entries: &[Entry]) -> Result<(), StoreError>;
    /// Tries whether entries can be kept, before somebody is paid for one.
    fn try_writing(&self) -> Result<(), StoreError> {
        Ok(())
    }
    /// Looks at what other processes have written since; whether they have written anything since this store was opened.
    fn others_wrote(&self) -> bool {
        false
    }
    /// Every key that has an entry, sorted.
    fn keys(&self) -> Vec<ActionKey>;
    /// Whether no key has an entry.
    fn is_empty(&self) -> bool {
        self.keys().is_empty()
    }
    /// What went wrong while reading since the last call, for a warning.
    fn take_warnings(&self) -> Vec<String>;
}

/// What a lock guards. A thread that panicked ends the process anyway, so what it left is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

/// The same for lines.
fn keep_winning_line(place: &mut Option<EntryLine>, candidate: EntryLine) {
    if place.as_ref().is_none_or(|held| candidate.wins_over(held)) {
        *place = Some(candidate);
    }
}

#[cfg(test)]
mod tests;
