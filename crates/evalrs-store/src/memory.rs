//! A store that forgets at the end of the process: for tests and for runs that may not touch the disk.
//!
//! It refuses what the store on disk refuses, so that a test with it cannot pass where the real one fails.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::line;
use crate::outcome_store::lock;
use crate::{Entry, OutcomeStore, StoreError};
use evalrs_model::key::ActionKey;

/// Outcomes in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    winners: Mutex<BTreeMap<ActionKey, Entry>>,
}

/// Puts an entry in the place of its key if it wins there.
pub(super) fn insert(winners: &mut BTreeMap<ActionKey, Entry>, entry: Entry) {
    if winners.get(&entry.key).is_none_or(|held| entry.wins_over(held)) {
        winners.insert(entry.key, entry);
    }
}

impl OutcomeStore for MemoryStore {
    fn get_many(&self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
        let winners = lock(&self.winners);
        keys.iter().map(|key| winners.get(key).cloned()).collect()
    }

    fn put_many(&self, entries: &[Entry]) -> Result<(), StoreError> {
        entries.iter().try_for_each(|entry| line::check(entry).map(drop))?;
        let mut winners = lock(&self.winners);
        for entry in entries {
            insert(&mut winners, entry.clone());
        }
        Ok(())
    }

    fn keys(&self) -> Vec<ActionKey> {
        lock(&self.winners).keys().copied().collect()
    }
}
