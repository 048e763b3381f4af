//! A store over another one, which is left as it is: what is found out over it ends with the process.

use std::sync::Arc;

use crate::entry::keep_winner;
use crate::{Entry, MemoryStore, OutcomeStore, StoreError};
use evalrs_model::key::ActionKey;

/// Outcomes in memory over a store that is only read.
pub struct OverlayStore {
    /// What was found out.
    pub above: MemoryStore,
    below: Arc<dyn OutcomeStore>,
}

impl OverlayStore {
    /// Nothing over `below`.
    pub fn over(below: Arc<dyn OutcomeStore>) -> Self {
        Self { above: MemoryStore::default(), below }
    }
}

impl OutcomeStore for OverlayStore {
    fn get_many(&self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
        let mut found = self.below.get_many(keys);
        for (place, above) in found.iter_mut().zip(self.above.get_many(keys)) {
            if let Some(above) = above {
                keep_winner(place, above);
            }
        }
        found
    }

    fn put_many(&self, entries: &[Entry]) -> Result<(), StoreError> {
        self.above.put_many(entries)
    }

    fn keys(&self) -> Vec<ActionKey> {
        let mut keys = self.below.keys();
        keys.extend(self.above.keys());
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    fn take_warnings(&self) -> Vec<String> {
        self.below.take_warnings()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::OverlayStore;
    use crate::{Entry, MemoryStore, OutcomeStore};
    use evalrs_model::key::ActionKey;

    fn entry(number: u8, generation: u32) -> Entry {
        Entry { key: ActionKey([number; 32]), generation, body: "{\"a\":1}".to_owned() }
    }

    #[test]
    fn the_store_below_is_read_and_never_written() {
        let below = Arc::new(MemoryStore::default());
        below.put_many(&[entry(1, 0), entry(2, 0)]).unwrap();
        let over = OverlayStore::over(Arc::clone(&below) as Arc<dyn OutcomeStore>);
        over.put_many(&[entry(2, 1), entry(3, 0)]).unwrap();
        let keys = over.keys();
        let found: Vec<Option<Entry>> = over.get_many(&keys);
        assert_eq!(found, [Some(entry(1, 0)), Some(entry(2, 1)), Some(entry(3, 0))]);
        assert_eq!(below.get_many(&keys), [Some(entry(1, 0)), Some(entry(2, 0)), None]);
    }
}
