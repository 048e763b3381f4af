//! A store that forgets at the end of the process: for tests and for runs that may not touch the disk.
//!
//! It refuses what the store on disk refuses, so that a test with it cannot pass where the real one fails.

use std::collections::BTreeMap;

use super::{Entry, OutcomeStore, StoreError, line};
use crate::pipeline::key::ActionKey;

/// Outcomes in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    pub(super) winners: BTreeMap<ActionKey, Entry>,
}

impl MemoryStore {
    pub(super) fn insert(&mut self, entry: Entry) {
        if self.winners.get(&entry.key).is_none_or(|held| entry.wins_over(held)) {
            self.winners.insert(entry.key, entry);
        }
    }
}

impl OutcomeStore for MemoryStore {
    fn get_many(&mut self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
        keys.iter().map(|key| self.winners.get(key).cloned()).collect()
    }

    fn put_many(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        entries.iter().try_for_each(|entry| line::write(entry, &mut String::new()))?;
        for entry in entries {
            self.insert(entry.clone());
        }
        Ok(())
    }

    fn keys(&mut self) -> Vec<ActionKey> {
        self.winners.keys().copied().collect()
    }

    fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}
