//! Makes outcomes durable, whoever had them made.

use crate::action::{Action, ActionKey};
use crate::outcome::{Outcome, Stored, read_body};
use crate::store::{Entry, OutcomeStore, StoreError};

/// An outcome that is to be kept.
pub(super) struct ToKeep<'a> {
    /// The action.
    pub(super) action: &'a Action,
    /// Its key.
    pub(super) key: ActionKey,
    /// The generation it is kept under.
    pub(super) generation: u32,
    /// What came of it.
    pub(super) outcome: &'a mut Outcome,
}

/// Makes a batch durable. Where another process has kept an outcome meanwhile, that one stands: then both report
/// the same. Failures that may pass are not kept, nor is what is executed in every evaluation. `also` is written before.
pub(super) fn keep<'a>(
    store: &mut dyn OutcomeStore,
    (also, batch): (Vec<Entry>, impl Iterator<Item = ToKeep<'a>>),
    at: &str,
) -> Result<(), StoreError> {
    let batch: Vec<ToKeep<'a>> = batch.collect();
    let keys: Vec<ActionKey> = batch.iter().map(|to_keep| to_keep.key).collect();
    let mut entries = also;
    entries.reserve(batch.len());
    for (ToKeep { action, key, generation, outcome }, held) in
        batch.into_iter().zip(store.get_many(&keys))
    {
        if action.is_repeated() {
            continue;
        }
        let held = held.filter(|held| held.generation >= generation);
        if let Some(held) = held.and_then(|held| read_body(&held.body).ok()) {
            *outcome = held;
        } else if outcome.is_kept() {
            let stored = Stored::new(action, outcome.clone(), at.to_owned());
            entries.push(Entry { key, generation, body: stored.to_body() });
        }
    }
    store.put_many(&entries)
}
