//! Calls that another process over the same store has in flight: they wait here, and take no place of an endpoint and nothing
//! of the budget. What the other process stores is brought in like any stored outcome. What it gives up, or leaves when it
//! ends, is queued again.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::resolver::Resolver;
use super::settings::{Refresh, Settings};
use super::waiting::{ScannedPlans, WaitingAction};
use crate::progress::Event;
use evalrs_model::key::{ActionKey, KeySet};
use evalrs_store::{CallClaim, OutcomeStore};

/// How often is looked whether they have landed: not felt beside a call, and next to nothing in processor time.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The calls that this process leaves to others.
#[derive(Debug, Default)]
pub(crate) struct SharedCalls {
    waiting: Vec<WaitingAction>,
    /// Those that were stored, as far as the index of the store knows: if they cannot be read, they are made here.
    looked_up: KeySet,
    looked_at: Option<Instant>,
}

impl SharedCalls {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether this process makes the call. If so, others wait for it from now on.
    pub(crate) fn claim(&mut self, store: &dyn OutcomeStore, waiting: &WaitingAction) -> bool {
        match store.claim(waiting.key, waiting.generation) {
            CallClaim::Own => true,
            CallClaim::Stored => !self.looked_up.insert(waiting.key),
            CallClaim::Elsewhere => false,
        }
    }

    pub(crate) fn is_waiting_for(&self, key: ActionKey) -> bool {
        self.waiting.iter().any(|waiting| waiting.key == key)
    }

    /// Nothing waits for them any more.
    pub(crate) fn take_all(&mut self) -> Vec<WaitingAction> {
        self.looked_up = KeySet::default();
        std::mem::take(&mut self.waiting)
    }

    /// Waits until it is time to look again. For ever if there are none.
    pub(crate) async fn due(&self) {
        if self.waiting.is_empty() {
            std::future::pending::<()>().await;
        }
        let since = self.looked_at.map_or(Duration::ZERO, |at| at.elapsed());
        // In a box, because whoever waits for all that happens has it inside.
        Box::pin(sleep(BETWEEN_LOOKS.saturating_sub(since))).await;
    }

    /// Those that no other process has in flight any more, if it is time to look.
    fn take_free(&mut self, store: &dyn OutcomeStore) -> Vec<WaitingAction> {
        let is_early = self.looked_at.is_some_and(|at| at.elapsed() < BETWEEN_LOOKS);
        if self.waiting.is_empty() || is_early {
            return Vec::new();
        }
        self.looked_at = Some(Instant::now());
        let free: KeySet = store.unclaimed(&keys_of(&self.waiting)).into_iter().collect();
        self.waiting.extract_if(.., |waiting| free.contains(&waiting.key)).collect()
    }
}

fn keys_of(waiting: &[WaitingAction]) -> Vec<ActionKey> {
    waiting.iter().map(|waiting| waiting.key).collect()
}

/// Who repeats what is stored does not take what another process finds out meanwhile.
pub(crate) fn are_shared(settings: &Settings) -> bool {
    settings.refresh == Refresh::None && !settings.refresh_target
}

impl Resolver<'_> {
    /// Leaves a call to the process that has it in flight.
    pub(crate) fn leave(&mut self, waiting: WaitingAction) {
        self.outstanding.remove(waiting.cell.grader);
        self.shared.waiting.push(waiting);
        self.show_shared(0);
    }

    /// Brings in what other processes have stored. True if something is to be queued because of that: what they gave up, and
    /// what comes after it.
    pub(crate) fn take_shared(&mut self) -> bool {
        let free = self.shared.take_free(self.world.store.as_ref());
        if free.is_empty() {
            return false;
        }
        let wanted = free.len();
        let chunks = free.iter().flat_map(|waiting| self.list.chunks_of(waiting.key));
        let chunks = chunks.copied().collect();
        self.list.look_up_again(free);
        self.bring_in(&ScannedPlans::Of(chunks));
        self.show_shared(wanted.saturating_sub(self.list.queue.len()) as u64);
        !self.list.queue.is_empty()
    }

    fn show_shared(&mut self, found: u64) {
        let waiting = self.shared.waiting.len();
        self.world.progress.event(&Event::Shared { found, waiting });
    }
}
