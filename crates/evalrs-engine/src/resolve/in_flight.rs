//! What is in flight: actions being executed, and outcomes on their way to the disk. Sessions and commands without a suite
//! launch and persist alike; `T` is what they note of an action meanwhile.
//!
//! While a batch is written, what lands gathers into the next one. So a slow disk makes larger batches, and only at last
//! a slower judge: what is paid for and not safe yet has a bound.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Aborted, abortable};
use futures_util::stream::{FuturesOrdered, FuturesUnordered};

use super::persist::{LandedAction, StoreWriter};
use super::waiting::WaitingAction;
use crate::session::programs::outputs::ProgramNow;
use crate::session::programs::read_program::ReadProgram;
use evalrs_base::price::{Cost, Prices};
use evalrs_eval::action::Action;
use evalrs_eval::program::ProgramIdentity;
use evalrs_eval::target::TargetIdentity;
use evalrs_exec::programs::changed_meanwhile;
use evalrs_exec::{DiscoveredFiles, EndpointId, Executor, Launch};
use evalrs_graph::inputs::Program;
use evalrs_model::key::{ActionKey, KeyMap};
use evalrs_model::outcome::{Failure, FailureKind, Outcome, Usage};
use evalrs_store::{Entry, OutcomeStore, StoreError};
use evalrs_system::System;

/// The most outcomes that may wait for the disk before calls stop.
const MAX_UNWRITTEN: usize = 100;

/// The same of actions that cost nothing.
const MAX_UNPAID: usize = 2_000;

/// This many of those are written at once; fewer wait a moment for more.
const BATCH: usize = MAX_UNPAID / 2;

pub(crate) enum InFlightEvent<T> {
    /// An action landed; it is not durable yet.
    Landed(Arrival<T>),
    /// The executor has something new.
    Changed,
    Loaded(Program, Result<DiscoveredFiles, Failure>),
    Written(Vec<WrittenAction<T>>, Result<(), StoreError>),
}

/// An action whose outcome is durable, or cannot be kept.
#[derive(Debug)]
pub(crate) struct WrittenAction<T = WaitingAction> {
    pub waiting: T,
    pub key: ActionKey,
    pub(crate) kept_under: ActionKey,
    pub outcome: Outcome,
    /// Why its retry failed, if a reply from before stays.
    pub in_vain: Option<String>,
    pub superseded: bool,
}

/// What is known of an action as soon as it lands.
#[derive(Debug)]
pub(crate) struct Arrival<T = WaitingAction> {
    pub waiting: T,
    pub endpoint: EndpointId,
    pub usage: Usage,
    /// What its tokens cost at list price.
    pub list_cost: Option<Cost>,
    /// Why it has no reply, if it has none.
    pub failure: Option<(FailureKind, String)>,
    pub superseded: bool,
}

type Execution<'a> = Pin<Box<dyn Future<Output = Result<LandedAction, Aborted>> + 'a>>;
type LoadingProgram<'a> =
    Pin<Box<dyn Future<Output = (Program, Result<DiscoveredFiles, Failure>)> + 'a>>;

/// Actions being executed, and outcomes being written.
pub(crate) struct InFlight<'a, T = WaitingAction> {
    executor: &'a dyn Executor,
    /// What judges and models of targets cost.
    pub prices: Arc<Prices>,
    executing: FuturesUnordered<Execution<'a>>,
    loading: FuturesOrdered<LoadingProgram<'a>>,
    /// Every action from its launch until it is durable.
    actions: KeyMap<ActionInFlight<T>>,
    launched: u64,
    landed: Vec<LandedAction>,
    /// How many of those cost nothing.
    unpaid: usize,
    /// Further entries to be written, before what has landed.
    also: Vec<Entry>,
    writer: StoreWriter,
    stopped: bool,
}

/// An action that was launched and is not durable yet.
#[derive(Debug)]
struct ActionInFlight<T> {
    waiting: T,
    endpoint: EndpointId,
    ordinal: u64,
    /// Whether nothing waits for it any more.
    superseded: bool,
    has_landed: bool,
    abort: AbortHandle,
}

impl<'a, T: Copy> InFlight<'a, T> {
    pub(crate) fn new(store: Arc<dyn OutcomeStore>, executor: &'a dyn Executor) -> Self {
        Self {
            executor,
            prices: Arc::default(),
            executing: FuturesUnordered::new(),
            loading: FuturesOrdered::new(),
            actions: KeyMap::default(),
            launched: 0,
            landed: Vec::new(),
            unpaid: 0,
            also: Vec::new(),
            writer: StoreWriter::new(store),
            stopped: false,
        }
    }

    /// Whether one more action may start, as far as the disk has a say.
    pub(crate) fn has_room(&self) -> bool {
        let paid = self.landed.len() - self.unpaid;
        !self.stopped && paid < MAX_UNWRITTEN && self.unpaid < MAX_UNPAID
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Starts the action under `key`, whose outcome is to be kept under `generation`.
    pub(crate) fn launch(&mut self, waiting: T, key: ActionKey, generation: u32, launch: Launch) {
        let launch = match launch {
            Launch::Target(target) => Launch::Target(Box::new(target.priced(&self.prices))),
            launch @ (Launch::Judge(_) | Launch::Program(_)) => launch,
        };
        let action = launch.action();
        let endpoint = launch.endpoint();
        // It takes its place at once, before room is looked for again.
        let executing = self.executor.execute(launch);
        let prices = Arc::clone(&self.prices);
        let (executing, abort) = abortable(executing);
        let executing = async move {
            let outcome = executing.await?.priced(&prices, action.model());
            Ok(LandedAction { key, kept_under: key, generation, action, outcome, in_vain: None })
        };
        let in_flight = ActionInFlight {
            waiting,
            endpoint,
            ordinal: self.launched,
            superseded: false,
            has_landed: false,
            abort,
        };
        self.launched += 1;
        self.actions.insert(key, in_flight);
        self.executing.push(Box::pin(executing));
    }

    pub(crate) fn load(&mut self, program: Program, read: &ReadProgram) {
        let loading = self.executor.loader().load(Arc::clone(&read.start), read.base());
        self.loading.push_back(Box::pin(async move { (program, loading.await) }));
    }

    pub(crate) fn is_loading(&self) -> bool {
        !self.loading.is_empty()
    }

    /// What is in flight is superseded, but for what is adopted. What is being loaded is cancelled.
    pub(crate) fn supersede(&mut self) {
        self.loading = FuturesOrdered::new();
        self.actions.values_mut().for_each(|action| action.superseded = true);
    }

    /// Cancels the superseded action that was launched last, one of `endpoint` if there is one, and reports which. None
    /// if something is in flight there that is waited for, or one that was cancelled is not gone yet: a place will be
    /// free soon.
    pub(crate) fn make_room(&mut self, endpoint: EndpointId) -> Option<(T, EndpointId)> {
        let executing = || self.actions.iter().filter(|(_, action)| !action.has_landed);
        let is_one_going = self.executing.len() > executing().count();
        if is_one_going
            || executing().any(|(_, action)| action.endpoint == endpoint && !action.superseded)
        {
            return None;
        }
        let superseded = executing().filter(|(_, action)| action.superseded);
        let (key, _) =
            superseded.max_by_key(|(_, action)| (action.endpoint == endpoint, action.ordinal))?;
        let key = *key;
        let cancelled = self.actions.remove(&key)?;
        cancelled.abort.abort();
        Some((cancelled.waiting, cancelled.endpoint))
    }

    /// How many actions are executed that are waited for, and how many that are not.
    pub(crate) fn under_way(&self) -> (u64, u64) {
        let executing = self.actions.values().filter(|action| !action.has_landed);
        executing.fold((0, 0), |(wanted, superseded), action| {
            let is_superseded = u64::from(action.superseded);
            (wanted + 1 - is_superseded, superseded + is_superseded)
        })
    }

    /// Who waits for what is executed, in no order.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = T> {
        let actions = self.actions.values();
        actions
            .filter(|action| !action.superseded && !action.has_landed)
            .map(|action| action.waiting)
    }

    /// Whether everything that is waited for is durable.
    pub(crate) fn waits_for_nothing(&self) -> bool {
        self.actions.values().all(|action| action.superseded)
    }

    /// Has these entries written, before whatever lands from now on.
    pub(crate) fn keep_also(&mut self, entries: impl IntoIterator<Item = Entry>) {
        self.also.extend(entries);
    }

    /// Sends what has landed to the disk, unless a batch is on its way. Of programs, only what rests on the files that are
    /// there by `now`.
    pub(crate) fn write_landed(
        &mut self,
        system: &dyn System,
        now: &dyn Fn(&ProgramIdentity) -> ProgramNow,
    ) {
        let is_idle = self.landed.is_empty() && self.also.is_empty();
        if is_idle || self.writer.is_writing() || self.waits_for_more() {
            return;
        }
        let mut batch = std::mem::take(&mut self.landed);
        let at = system.now().to_string();
        let also = std::mem::take(&mut self.also);
        drop_outdated(&mut batch, now);
        self.unpaid = 0;
        self.writer.write(also, batch, at);
    }

    /// Whether what has landed is better written with what lands in a moment: it cost nothing, and more is to come.
    fn waits_for_more(&self) -> bool {
        let is_unpaid = self.unpaid == self.landed.len() && self.also.is_empty();
        let is_more = self.unpaid < BATCH && !self.executing.is_empty();
        is_unpaid && is_more && self.writer.is_early()
    }

    /// Whether nothing is under way, neither executed nor written.
    pub(crate) fn is_over(&self) -> bool {
        self.executing.is_empty()
            && self.landed.is_empty()
            && self.also.is_empty()
            && !self.writer.is_writing()
    }

    pub(crate) fn executing(&self) -> usize {
        self.executing.len()
    }

    /// Waits for what happens next. Nothing is lost if it is dropped while it waits.
    pub(crate) async fn next(&mut self) -> InFlightEvent<T> {
        let waits = !self.landed.is_empty();
        tokio::select! {
            biased;
            // What lands makes room for the next action: that does not wait until what others have given is looked at.
            Some(landed) = self.executing.next() => match landed {
                Ok(landed) => self.land(landed),
                Err(Aborted) => InFlightEvent::Changed,
            },
            written = self.writer.next(waits) => {
                let Some((mut batch, result)) = written else { return InFlightEvent::Changed };
                if let Err(error) = &result {
                    self.stopped = true;
                    for landed in &mut batch {
                        landed.give_up(error);
                    }
                }
                let written = batch.into_iter().filter_map(|landed| self.written(landed));
                InFlightEvent::Written(written.collect(), result)
            }
            Some((program, result)) = self.loading.next() => InFlightEvent::Loaded(program, result),
            () = self.executor.limits().changed(), if !self.stopped => InFlightEvent::Changed,
        }
    }

    /// Cancels what is being executed, and reports what of it was waited for; nothing starts any more. What has landed
    /// is still to be written.
    pub(crate) fn stop(&mut self) -> Vec<T> {
        self.stopped = true;
        self.executing.clear();
        self.loading = FuturesOrdered::new();
        let executing = self.actions.extract_if(|_, action| !action.has_landed);
        let wanted = executing.filter(|(_, action)| !action.superseded);
        wanted.map(|(_, action)| action.waiting).collect()
    }

    fn land(&mut self, landed: LandedAction) -> InFlightEvent<T> {
        let Some(action) = self.actions.get_mut(&landed.key) else {
            return InFlightEvent::Changed;
        };
        action.has_landed = true;
        let ActionInFlight { waiting, endpoint, superseded, .. } = *action;
        let failure = match &landed.outcome {
            Outcome::Reply(_) => None,
            Outcome::Failure(failure) => Some((failure.kind, failure.told())),
        };
        let usage = landed.outcome.usage();
        let list_cost = landed.action.cost(&landed.outcome, &self.prices);
        self.unpaid += usize::from(landed.action.is_free());
        self.landed.push(landed);
        let arrival = Arrival { waiting, endpoint, usage, list_cost, failure, superseded };
        InFlightEvent::Landed(arrival)
    }

    fn written(&mut self, landed: LandedAction) -> Option<WrittenAction<T>> {
        let ActionInFlight { waiting, superseded, .. } = self.actions.remove(&landed.key)?;
        let LandedAction { key, kept_under, outcome, in_vain, .. } = landed;
        Some(WrittenAction { waiting, key, kept_under, outcome, in_vain, superseded })
    }
}

impl InFlight<'_> {
    /// Whether the action is in flight already; then it is `waiting` that waits for it from now on.
    pub(crate) fn adopt(&mut self, waiting: &WaitingAction) -> bool {
        let Some(action) = self.actions.get_mut(&waiting.key) else { return false };
        action.waiting = WaitingAction { expected: action.waiting.expected, ..*waiting };
        action.superseded = false;
        true
    }
}

/// If the files of a program changed while it ran, its result does not belong to its key. What they are found to write
/// is not part of the keys that it is kept under.
fn drop_outdated(batch: &mut [LandedAction], now: &dyn Fn(&ProgramIdentity) -> ProgramNow) {
    let mut known: Vec<(Arc<ProgramIdentity>, Rc<ProgramNow>)> = Vec::new();
    let mut now = |identity: &Arc<ProgramIdentity>| {
        let found = known.iter().find(|(other, _)| Arc::ptr_eq(other, identity));
        if let Some((_, now)) = found {
            return Rc::clone(now);
        }
        let now = Rc::new(now(identity));
        known.push((Arc::clone(identity), Rc::clone(&now)));
        now
    };
    for landed in batch {
        let programs = match &landed.action {
            Action::Program(action) => vec![&action.identity],
            Action::Target(action) => {
                let TargetIdentity { program, setup, .. } = action.identity.as_ref();
                std::iter::once(program).chain(setup).collect()
            }
            Action::Judge(action) => {
                action.program.iter().map(|program| &program.identity).collect()
            }
            Action::Dependencies(_) => Vec::new(),
        };
        let all: Vec<Rc<ProgramNow>> = programs.into_iter().map(&mut now).collect();
        let changed = all.iter().find_map(|now| match now.as_ref() {
            ProgramNow::Changed(path) => Some(path),
            ProgramNow::Same | ProgramNow::Without(_) => None,
        });
        if let Some(path) = changed {
            let is_of_target = matches!(landed.action, Action::Target(_));
            landed.outcome = Outcome::Failure(changed_meanwhile(path, is_of_target));
        } else if let Action::Target(action) = &mut landed.action
            && let Some(ProgramNow::Without(program)) = all.first().map(Rc::as_ref)
        {
            let program = Arc::clone(program);
            action.identity =
                Arc::new(TargetIdentity { program, ..action.identity.as_ref().clone() });
            landed.kept_under = landed.action.key();
        }
    }
}
