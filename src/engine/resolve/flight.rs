//! What is under way: actions being executed, and outcomes on their way to the disk.
//!
//! While a batch is written, what lands gathers into the next one. So a slow disk makes larger batches, and only at last
//! a slower judge: what is paid for and not safe yet has a bound.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Aborted, abortable};
use futures_util::stream::FuturesUnordered;

use super::errand::Errand;
use super::keep::ToKeep;
use super::waiting::Waiting;
use crate::base::price::Prices;
use crate::base::system::System;
use crate::effects::exec::{Changed, Discovered, EndpointId, Executor, Launch, Loading};
use crate::effects::store::{Entry, OutcomeStore, StoreError};
use crate::engine::session::programs::changed_meanwhile;
use crate::graph::inputs::Program;
use crate::pipeline::action::Action;
use crate::pipeline::key::KeyMap;
use crate::pipeline::outcome::{Failure, FailureKind, Outcome, Usage};
use crate::pipeline::program::Identity;

/// The most outcomes that have landed and wait for the disk before nothing more is asked.
const MOST_UNWRITTEN: usize = 100;

/// The same of actions that nobody is paid for.
const MOST_UNPAID: usize = 2_000;

/// So many of those are written at once; fewer wait a moment for more.
const BATCH: usize = MOST_UNPAID / 2;

/// An action that landed.
#[derive(Debug)]
pub(crate) struct Landed {
    /// What waited for it.
    pub(crate) waiting: Waiting,
    /// What came of it.
    pub(crate) outcome: Outcome,
    /// Why it was asked again in vain, if a reply from before stands.
    pub(crate) in_vain: Option<String>,
    /// Whether nobody waited for it any more when it was written.
    pub(crate) superseded: bool,
    action: Action,
    endpoint: EndpointId,
}

impl Landed {
    /// What cannot be kept is no verdict that a later run would find. What was paid for is told all the same.
    fn give_up(&mut self, error: &StoreError) {
        let Outcome::Reply(reply) = &mut self.outcome else { return };
        if self.action.is_repeated() {
            return;
        }
        let message = format!("what was answered cannot be kept: {error}");
        let (reply, usage) = (Some(std::mem::take(&mut reply.text)), reply.usage);
        let failure = Failure::new(FailureKind::NotKept, message);
        self.outcome = Outcome::Failure(Failure { reply, usage, ..failure });
    }
}

/// What happened next.
pub(crate) enum Step {
    /// Somebody said stop: nothing is under way any more. What was, is dropped.
    Stopped(Vec<Waiting>),
    /// An action landed; it is not durable yet.
    Landed(Arrival),
    /// The executor has something new.
    Changed,
    /// A program was loaded, or cannot be.
    Loaded(Program, Result<Discovered, Failure>),
    /// A batch was written, or could not be.
    Written(Vec<Landed>, Result<(), StoreError>),
}

/// What is known of an action as soon as it lands.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// What waited for it.
    pub(crate) waiting: Waiting,
    /// Who was asked.
    pub(crate) endpoint: EndpointId,
    /// What it used.
    pub(crate) usage: Usage,
    /// Why it has no reply, if it has none.
    pub(crate) failure: Option<(FailureKind, String)>,
    /// Whether nobody waited for it any more.
    pub(crate) superseded: bool,
}

type Flying<'a> = Pin<Box<dyn Future<Output = Result<Landed, Aborted>> + 'a>>;
type LoadingProgram<'a> =
    Pin<Box<dyn Future<Output = (Program, Result<Discovered, Failure>)> + 'a>>;

/// Actions being executed, and outcomes being written.
pub(crate) struct Flight<'a> {
    flying: FuturesUnordered<Flying<'a>>,
    loading: FuturesUnordered<LoadingProgram<'a>>,
    /// What is aboard, from its launch until it is durable.
    aboard: KeyMap<Aboard>,
    /// Actions launched so far.
    launched: u64,
    landed: Vec<Landed>,
    /// How many of those nobody is paid for.
    unpaid: usize,
    /// Further entries to be written, before what has landed.
    also: Vec<Entry>,
    store: Errand<Vec<Landed>>,
    stopped: bool,
    interrupted: bool,
}

/// An action that was launched and is not durable yet.
#[derive(Debug)]
struct Aboard {
    waiting: Waiting,
    endpoint: EndpointId,
    ordinal: u64,
    /// Whether nobody waits for it any more.
    superseded: bool,
    has_landed: bool,
    abort: AbortHandle,
}

impl<'a> Flight<'a> {
    /// A flight that writes to `store`.
    pub(crate) fn new(store: Box<dyn OutcomeStore>) -> Self {
        Self {
            flying: FuturesUnordered::new(),
            loading: FuturesUnordered::new(),
            aboard: KeyMap::default(),
            launched: 0,
            landed: Vec::new(),
            unpaid: 0,
            also: Vec::new(),
            store: Errand::new(store),
            stopped: false,
            interrupted: false,
        }
    }

    /// Whether one more action may start, as far as the disk has a say.
    pub(crate) fn has_room(&self) -> bool {
        let paid = self.landed.len() - self.unpaid;
        !self.stopped && paid < MOST_UNWRITTEN && self.unpaid < MOST_UNPAID
    }

    /// Whether no action will start any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Starts an action.
    pub(crate) fn launch(
        &mut self,
        waiting: Waiting,
        launch: Launch,
        executor: &'a dyn Executor,
        prices: &Arc<Prices>,
    ) {
        let (action, endpoint) = (launch.action(), launch.endpoint());
        // It takes its place at once, before anybody asks for room again.
        let executing = executor.execute(launch);
        let prices = Arc::clone(prices);
        let (executing, abort) = abortable(executing);
        let flying = async move {
            let outcome = executing.await?;
            let outcome = outcome.priced(&prices, action.model());
            let (in_vain, superseded) = (None, false);
            Ok(Landed { waiting, outcome, in_vain, superseded, action, endpoint })
        };
        let (ordinal, superseded, has_landed) = (self.launched, false, false);
        let aboard = Aboard { waiting, endpoint, ordinal, superseded, has_landed, abort };
        self.launched += 1;
        self.aboard.insert(waiting.key, aboard);
        self.flying.push(Box::pin(flying));
    }

    /// Loads a program.
    pub(crate) fn load(&mut self, program: Program, loading: Loading<'a>) {
        self.loading.push(Box::pin(async move { (program, loading.await) }));
    }

    /// Whether programs are being loaded.
    pub(crate) fn is_loading(&self) -> bool {
        !self.loading.is_empty()
    }

    /// Nobody waits for what is aboard any more, but for what is adopted. What is being loaded is dropped.
    pub(crate) fn supersede(&mut self) {
        self.loading.clear();
        self.aboard.values_mut().for_each(|aboard| aboard.superseded = true);
    }

    /// Whether the action is aboard already; then it is `waiting` that waits for it from now on.
    pub(crate) fn adopt(&mut self, waiting: &Waiting) -> bool {
        let Some(aboard) = self.aboard.get_mut(&waiting.key) else { return false };
        let Waiting { generation, expected, .. } = aboard.waiting;
        aboard.waiting = Waiting { generation, expected, ..*waiting };
        aboard.superseded = false;
        true
    }

    /// Drops the action that was launched last of those that nobody waits for, one of `endpoint` if there is one, and
    /// says which. None if something is under way there that is waited for, or one that was dropped is not gone yet: a
    /// place will be free soon.
    pub(crate) fn make_room(&mut self, endpoint: EndpointId) -> Option<(Waiting, EndpointId)> {
        let flying = || self.aboard.values().filter(|aboard| !aboard.has_landed);
        let is_one_going = self.flying.len() > flying().count();
        if is_one_going || flying().any(|aboard| aboard.endpoint == endpoint && !aboard.superseded)
        {
            return None;
        }
        let superseded = flying().filter(|aboard| aboard.superseded);
        let last = superseded.max_by_key(|aboard| (aboard.endpoint == endpoint, aboard.ordinal));
        let key = last?.waiting.key;
        let dropped = self.aboard.remove(&key)?;
        dropped.abort.abort();
        Some((dropped.waiting, dropped.endpoint))
    }

    /// How many actions are executed that are waited for, and how many that are not.
    pub(crate) fn under_way(&self) -> (u64, u64) {
        let flying = self.aboard.values().filter(|aboard| !aboard.has_landed);
        flying.fold((0, 0), |(wanted, superseded), aboard| {
            let is_superseded = u64::from(aboard.superseded);
            (wanted + 1 - is_superseded, superseded + is_superseded)
        })
    }

    /// Who waits for what is executed, in no order.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = Waiting> {
        let aboard = self.aboard.values();
        aboard
            .filter(|aboard| !aboard.superseded && !aboard.has_landed)
            .map(|aboard| aboard.waiting)
    }

    /// Whether everything that is waited for is durable.
    pub(crate) fn waits_for_nothing(&self) -> bool {
        self.aboard.values().all(|aboard| aboard.superseded)
    }

    /// The store, unless it is away writing.
    pub(crate) fn store(&mut self) -> Option<&mut dyn OutcomeStore> {
        self.store.store()
    }

    /// Has these entries written, before whatever lands from now on.
    pub(crate) fn keep_also(&mut self, entries: Vec<Entry>) {
        self.also.extend(entries);
    }

    /// Sends what has landed to the disk, unless a batch is on its way. Of programs, only what `is_current`.
    pub(crate) fn write_landed(
        &mut self,
        system: &dyn System,
        is_current: &dyn Fn(&Identity) -> bool,
    ) {
        let is_idle = self.landed.is_empty() && self.also.is_empty();
        if is_idle || !self.store.is_here() || self.waits_for_more() {
            return;
        }
        let (mut batch, at) = (std::mem::take(&mut self.landed), system.now());
        let also = std::mem::take(&mut self.also);
        drop_outdated(&mut batch, is_current);
        self.unpaid = 0;
        self.store.write(batch, move |store, batch| keep(store, (also, batch), &at));
    }

    /// Whether what has landed is better written with what lands in a moment: nobody is paid for it, and more is to come.
    fn waits_for_more(&self) -> bool {
        let is_unpaid = self.unpaid == self.landed.len() && self.also.is_empty();
        let is_more = self.unpaid < BATCH && !self.flying.is_empty();
        is_unpaid && is_more && self.store.is_early()
    }

    /// Whether nothing is under way, neither executed nor written.
    pub(crate) fn is_over(&self) -> bool {
        self.flying.is_empty()
            && self.landed.is_empty()
            && self.also.is_empty()
            && self.store.is_here()
    }

    /// Gives the store back, once it is over.
    pub(crate) async fn into_store(self) -> Box<dyn OutcomeStore> {
        self.store.end().await.0
    }

    /// Waits for what happens next. Being told to stop drops what is under way; what has landed is still written.
    pub(crate) async fn next(
        &mut self,
        stop: Pin<&mut impl Future<Output = ()>>,
        changed: Changed<'_>,
    ) -> Step {
        let waits = !self.landed.is_empty();
        tokio::select! {
            biased;
            () = stop, if !self.interrupted => {
                Step::Stopped(self.stop())
            }
            written = self.store.next(waits) => {
                let Some((mut batch, result)) = written else { return Step::Changed };
                self.stopped |= result.is_err();
                for landed in &mut batch {
                    if let Some(aboard) = self.aboard.remove(&landed.waiting.key) {
                        landed.waiting = aboard.waiting;
                        landed.superseded = aboard.superseded;
                    }
                    if let Err(error) = &result {
                        landed.give_up(error);
                    }
                }
                Step::Written(batch, result)
            }
            Some(landed) = self.flying.next() => match landed {
                Ok(landed) => self.land(landed),
                Err(Aborted) => Step::Changed,
            },
            Some((program, result)) = self.loading.next() => Step::Loaded(program, result),
            () = changed, if !self.stopped => Step::Changed,
        }
    }

    /// Drops what is being executed, and says what of it was waited for; nothing starts any more. What has landed is
    /// still to be written.
    pub(crate) fn stop(&mut self) -> Vec<Waiting> {
        self.stopped = true;
        self.interrupted = true;
        self.flying.clear();
        self.loading.clear();
        let flying = self.aboard.extract_if(|_, aboard| !aboard.has_landed);
        let wanted = flying.filter(|(_, aboard)| !aboard.superseded);
        let mut dropped: Vec<_> =
            wanted.map(|(_, aboard)| (aboard.ordinal, aboard.waiting)).collect();
        dropped.sort_by_key(|(ordinal, _)| *ordinal);
        dropped.into_iter().map(|(_, waiting)| waiting).collect()
    }

    fn land(&mut self, mut landed: Landed) -> Step {
        let failure = match &landed.outcome {
            Outcome::Reply(_) => None,
            Outcome::Failure(failure) => Some((failure.kind, failure.told())),
        };
        let mut superseded = false;
        if let Some(aboard) = self.aboard.get_mut(&landed.waiting.key) {
            aboard.has_landed = true;
            landed.waiting = aboard.waiting;
            superseded = aboard.superseded;
        }
        let (waiting, endpoint) = (landed.waiting, landed.endpoint);
        let usage = landed.outcome.usage();
        self.unpaid += usize::from(landed.action.model().is_none());
        self.landed.push(landed);
        Step::Landed(Arrival { waiting, endpoint, usage, failure, superseded })
    }
}

/// What programs gave whose files have changed is no result of what their keys say.
fn drop_outdated(batch: &mut [Landed], is_current: &dyn Fn(&Identity) -> bool) {
    let mut known: Vec<(Arc<Identity>, bool)> = Vec::new();
    for landed in batch {
        let Action::Program(action) = &landed.action else { continue };
        let identity = &action.identity;
        let found = known.iter().find(|(other, _)| Arc::ptr_eq(other, identity));
        let is_current = match found {
            Some((_, is_current)) => *is_current,
            None => {
                known.push((Arc::clone(identity), is_current(identity)));
                known.last().is_some_and(|(_, is_current)| *is_current)
            }
        };
        if !is_current {
            landed.outcome = Outcome::Failure(changed_meanwhile());
        }
    }
}

/// Makes a batch durable, after further entries; what another process has kept meanwhile takes the place of what landed
/// here.
fn keep(
    store: &mut dyn OutcomeStore,
    (also, batch): (Vec<Entry>, &mut [Landed]),
    at: &str,
) -> Result<(), StoreError> {
    let batch = batch.iter_mut().map(|landed| ToKeep {
        action: &landed.action,
        key: landed.waiting.key,
        generation: landed.waiting.generation,
        outcome: &mut landed.outcome,
        in_vain: &mut landed.in_vain,
    });
    super::keep::keep(store, (also, batch), at)
}
