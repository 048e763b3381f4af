//! Judgments whose requests are out in a batch, or wait to be sent in one.
//!
//! A batch outlives the process. So its intent is on disk before anything is sent, and whatever happens then is found out at
//! the provider: `find` looks for a batch whose reply was lost, `collect` brings in what has ended, `submit` sends what is
//! missing. Actions that are out count as in flight: nobody calls them, and a run that needs them is not complete.

pub mod access;
pub(crate) mod collect;
pub(crate) mod find;
pub(crate) mod repeated;
pub mod submit;

use std::collections::BTreeSet;
use tokio::time::Instant;

use super::credentials::JudgeAccess;
use super::queues::QueueId;
use super::settings::BatchSettings;
use super::waiting::WaitingAction;
use evalrs_eval::judge::provider::batches;
use evalrs_model::key::{ActionKey, KeyMap};
use evalrs_store::OpenBatches;
use evalrs_system::System;

/// In how many batches a process sends an action before it calls it alone: the reply of a model may never be a verdict.
pub(crate) const MOST_ATTEMPTS: u8 = 2;

/// The batches of a session.
#[derive(Debug, Default)]
pub(crate) struct BatchWork {
    /// Those that are out.
    pub open: OpenBatches,
    /// What waits for them.
    pub out: Vec<WaitingAction>,
    /// What is to be sent in one, each with the queue that it would stand in.
    pub held: Vec<(QueueId, WaitingAction)>,
    /// The first action of each queue, which is called alone: what its endpoint refuses is known before hundreds are sent.
    pub first: Vec<(QueueId, ActionKey)>,
    /// The queues with too few for a batch.
    pub live: BTreeSet<QueueId>,
    /// How often each action was sent in a batch by this process; at the most where it is to be called alone.
    pub attempts: KeyMap<u8>,
    /// How long is waited for batches, once somebody waits.
    pub until: Option<Instant>,
}

impl BatchWork {
    /// Notes what other processes have sent meanwhile, or collected.
    pub(crate) fn refresh(&mut self, settings: &BatchSettings, system: &dyn System) {
        if let Some(open) = settings.ledger.read(&self.open, system) {
            self.open = open;
        }
    }

    /// Whether an action waits for a batch, or is to be sent in one. If so, it is taken over.
    pub(crate) fn holds(
        &mut self,
        settings: &BatchSettings,
        access: &JudgeAccess<'_>,
        queue: QueueId,
        waiting: &WaitingAction,
    ) -> bool {
        let is_open = batches::are_open_to(access.spec, access.base_url);
        let has_failed = self.attempts.get(&waiting.key).is_some_and(|sent| *sent >= MOST_ATTEMPTS);
        let may_be = is_open && !has_failed && !self.live.contains(&queue);
        let Some(least) = settings.least.filter(|_| may_be) else {
            return false;
        };
        if least > 1 && self.first.iter().all(|(of, _)| *of != queue) {
            self.first.push((queue, waiting.key));
            return false;
        }
        self.held.push((queue, *waiting));
        true
    }
}
