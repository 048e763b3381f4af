//! Judgments that are stored and were sent again in a batch: what it answers replaces them.

use std::collections::HashSet;

use crate::resolve::resolver::Resolver;
use crate::resolve::waiting::WaitingAction;
use evalrs_graph::inputs::Chunk;
use evalrs_graph::planned_actions::planned_actions;
use evalrs_model::key::{ActionKey, KeyMap};
use evalrs_store::OpenBatch;

/// Stored judgments that batches answer again.
#[derive(Default)]
pub(crate) struct RepeatedActions {
    /// Each with the generation of what replaces it.
    pub actions: KeyMap<WaitingAction>,
    /// The chunks whose grades rest on each.
    chunks: KeyMap<Vec<Chunk>>,
}

impl RepeatedActions {
    /// Those that some of these batches have, but for what is `wanted` anyway.
    pub(crate) fn of(
        resolver: &Resolver<'_>,
        open: &[OpenBatch],
        wanted: &KeyMap<WaitingAction>,
    ) -> Self {
        let session = &resolver.session;
        let mut all = Self::default();
        for action in planned_actions(&session.db, session.root) {
            let is_sent = || open.iter().any(|batch| batch.keys.have(action.key));
            if !wanted.contains_key(&action.key) && is_sent() {
                let waiting = WaitingAction::new(action.cell, action.ballot, action.key);
                all.actions.entry(action.key).or_insert(waiting);
                all.chunks.entry(action.key).or_default().push(action.cell.chunk);
            }
        }
        let keys: Vec<ActionKey> = all.actions.keys().copied().collect();
        for (key, held) in keys.iter().zip(resolver.world.store.get_many(&keys)) {
            let sent = open.iter().filter_map(|batch| batch.generation(*key)).max();
            let newer = held.zip(sent).filter(|(held, sent)| held.generation < *sent);
            match (newer, all.actions.get_mut(key)) {
                (Some((_, sent)), Some(waiting)) => waiting.generation = sent,
                // What is as new as the batch has been collected before.
                _ => _ = all.actions.remove(key),
            }
        }
        all
    }

    /// The chunks whose grades rest on these, in any order.
    pub(crate) fn chunks_of(&self, keys: impl Iterator<Item = ActionKey>) -> Vec<Chunk> {
        let all = keys.filter_map(|key| self.chunks.get(&key)).flatten();
        all.copied().collect::<HashSet<Chunk>>().into_iter().collect()
    }
}
