//! The store of a run: one store that is written, over committed judgments that are only read.
//!
//! No layer hides another: what wins does so wherever it stands, so that a judgment that a colleague
//! refreshed and committed is not lost behind an older one in the local store.

use std::sync::{Arc, Mutex};

use crate::entry::keep_winner;
use crate::line::entry_line::keep_winning_line;
use crate::outcome_store::lock;
use crate::{CallClaim, CommittedStore, Entry, EntryLine, OutcomeStore, StoreError};
use evalrs_model::key::ActionKey;

/// A store over committed judgments.
pub struct LayeredStore {
    store: Box<dyn OutcomeStore>,
    /// Each problem there is reported once.
    committed: Mutex<CommittedStore>,
}

impl LayeredStore {
    /// Reads from both and writes to `store`.
    pub fn new(store: Box<dyn OutcomeStore>, committed: CommittedStore) -> Self {
        Self { store, committed: Mutex::new(committed) }
    }
}

impl OutcomeStore for LayeredStore {
    fn get_many(&self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
        let mut found = Vec::with_capacity(keys.len());
        self.visit_many(keys, &mut |_, entry| found.push(entry));
        found
    }

    fn visit_many(&self, keys: &[ActionKey], visit: &mut dyn FnMut(usize, Option<Entry>)) {
        self.store.visit_many(keys, &mut |place, mut found| {
            if let Some(entry) = lock(&self.committed).get(&keys[place]) {
                keep_winner(&mut found, entry.clone());
            }
            visit(place, found);
        });
    }

    fn lines_of(&self, keys: &[ActionKey]) -> Vec<Option<EntryLine>> {
        let mut found = self.store.lines_of(keys);
        let mut committed = lock(&self.committed);
        for (key, place) in keys.iter().zip(&mut found) {
            if let Some(entry) = committed.get(key) {
                keep_winning_line(place, entry.clone().into());
            }
        }
        found
    }

    fn all_of(&self, key: ActionKey) -> Vec<Entry> {
        let mut all = self.store.all_of(key);
        all.extend(lock(&self.committed).get(&key).cloned());
        all
    }

    fn writers_of(&self, keys: &[ActionKey]) -> Vec<Option<Arc<str>>> {
        let mut committed = lock(&self.committed);
        // Only where somebody shares an outcome does it matter what is here.
        let shared = (0..keys.len()).filter(|place| committed.shared(&keys[*place]).is_some());
        let places: Vec<usize> = shared.collect();
        let shared_keys: Vec<ActionKey> = places.iter().map(|place| keys[*place]).collect();
        let mut writers = vec![None; keys.len()];
        self.store.visit_many(&shared_keys, &mut |at, own| {
            let shared = committed.shared(&shared_keys[at]);
            let shared = shared.filter(|(_, entry)| own.is_none_or(|own| entry.wins_over(&own)));
            writers[places[at]] = shared.map(|(writer, _)| writer);
        });
        writers
    }

    fn put_many(&self, entries: &[Entry]) -> Result<(), StoreError> {
        self.store.put_many(entries)
    }

    fn try_writing(&self) -> Result<(), StoreError> {
        self.store.try_writing()
    }

    fn claim(&self, key: ActionKey, generation: u32) -> CallClaim {
        self.store.claim(key, generation)
    }

    fn release(&self, keys: &[ActionKey]) {
        self.store.release(keys);
    }

    fn unclaimed(&self, keys: &[ActionKey]) -> Vec<ActionKey> {
        self.store.unclaimed(keys)
    }

    fn others_wrote(&self) -> bool {
        self.store.others_wrote()
    }

    fn keys(&self) -> Vec<ActionKey> {
        let mut keys = self.store.keys();
        keys.extend(lock(&self.committed).keys());
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn take_warnings(&self) -> Vec<String> {
        let mut warnings = self.store.take_warnings();
        warnings.append(&mut lock(&self.committed).take_warnings());
        warnings
    }
}
