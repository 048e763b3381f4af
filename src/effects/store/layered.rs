//! The store of a run: one store that is written, over committed judgments that are only read.
//!
//! No layer hides another: what wins does so wherever it stands, so that a judgment that a colleague
//! refreshed and committed is not lost behind an older one in the local store.

use super::{Committed, Entry, OutcomeStore, StoreError, keep_winner};
use crate::pipeline::key::ActionKey;

/// A store over committed judgments.
pub struct Layered {
    store: Box<dyn OutcomeStore>,
    committed: Committed,
}

impl Layered {
    /// Reads from both and writes to `store`.
    pub fn new(store: Box<dyn OutcomeStore>, committed: Committed) -> Self {
        Self { store, committed }
    }
}

impl OutcomeStore for Layered {
    fn get_many(&mut self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
        let mut found = self.store.get_many(keys);
        for (key, place) in keys.iter().zip(&mut found) {
            if let Some(entry) = self.committed.get(key) {
                keep_winner(place, entry.clone());
            }
        }
        found
    }

    fn put_many(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        self.store.put_many(entries)
    }

    fn try_writing(&mut self) -> Result<(), StoreError> {
        self.store.try_writing()
    }

    fn others_wrote(&mut self) -> bool {
        self.store.others_wrote()
    }

    fn keys(&mut self) -> Vec<ActionKey> {
        let mut keys = self.store.keys();
        keys.extend(self.committed.keys());
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn take_warnings(&mut self) -> Vec<String> {
        let mut warnings = self.store.take_warnings();
        warnings.append(&mut self.committed.take_warnings());
        warnings
    }
}
