//! What every store of outcomes can do, wherever it keeps them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Entry, EntryLine, StoreError};
use evalrs_model::key::ActionKey;

/// Where outcomes are kept. Threads share a store: one may read while another waits for the disk in [`Self::put_many`].
pub trait OutcomeStore: Send + Sync {
    /// The winning entry of each key, in the order of the keys.
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

    /// Who shares the winning entry of each key with this machine; none where it was made here, or is committed.
    fn writers_of(&self, keys: &[ActionKey]) -> Vec<Option<Arc<str>>> {
        vec![None; keys.len()]
    }

    /// Keeps the entries; they are durable when this returns, and nobody reads them before.
    fn put_many(&self, entries: &[Entry]) -> Result<(), StoreError>;
    /// Tries whether entries can be kept, before somebody is paid for one.
    fn try_writing(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Claims a call before it is sent: its outcome will have this generation. Whoever shares the store waits for it then,
    /// until it is released or the process ends.
    fn claim(&self, _key: ActionKey, _generation: u32) -> CallClaim {
        CallClaim::Own
    }

    /// Releases calls, once their outcomes are stored or given up.
    fn release(&self, _keys: &[ActionKey]) {}

    /// Those of `keys` that no other live process has in flight.
    fn unclaimed(&self, keys: &[ActionKey]) -> Vec<ActionKey> {
        keys.to_vec()
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
    fn take_warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Who makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallClaim {
    /// This process.
    Own,
    /// Another process has it in flight.
    Elsewhere,
    /// Nobody: another process has stored an outcome since.
    Stored,
}

/// What a lock guards. A thread that panicked ends the process anyway, so what it left is as good as any.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
