//! Calls of one program, and what came of them in the order of the calls: what commands without a graph rest on.
//!
//! Calls are looked up in the store a batch at a time, what is not there is executed, many at once, and every outcome is
//! durable before it counts. What comes first is received first, whatever lands first; how far the rest may run ahead has
//! a bound. A stored failure is no reason to fail again: calling a command again asks for another attempt.

use std::collections::{BTreeSet, VecDeque};
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::sync::Arc;

use super::in_flight::{InFlight, InFlightEvent, WrittenAction};
use super::look_up::standing;
use super::prepare::PreparedProgram;
use super::settings::{ActionKind, AskPolicy};
use crate::session::programs::outputs::program_now;
use evalrs_eval::action::Action;
use evalrs_eval::program::ProgramAction;
use evalrs_exec::{EndpointId, Executor, Launch, Notice, ProgramLaunch, Room};
use evalrs_model::key::{ActionKey, KeyMap, KeySet};
use evalrs_model::outcome::{Failure, FailureKind, Outcome};
use evalrs_store::{Entry, OutcomeStore, StoreError};
use evalrs_system::System;

/// Calls looked up at once.
const LOOKED_UP: usize = 512;
/// How far calls run ahead of the first one that has no outcome.
const AHEAD: usize = 8 * LOOKED_UP;
/// Fewer calls than these are not left waiting while there are more to look up.
const LOW: usize = LOOKED_UP / 2;

/// Who is called, and how.
pub struct Calls<'a> {
    /// What executes the calls.
    pub executor: &'a dyn Executor,
    /// The clock.
    pub system: &'a dyn System,
    /// The program.
    pub prepared: &'a PreparedProgram,
    /// Calls under way at once, at least 1.
    pub max_concurrent: usize,
    /// What may be executed.
    pub ask: AskPolicy,
    /// Whether what is stored is called again.
    pub refresh: bool,
}

/// What takes outcomes of calls, or sequences that are over.
pub trait Receiver<T> {
    /// Takes the next. No other is wanted after a break.
    fn receive(&mut self, next: T) -> ControlFlow<()>;
    /// Hears what the executor has to say.
    fn notice(&mut self, notice: Notice);
}

/// How calls ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every outcome was received.
    Done,
    /// The receiver wanted no more.
    Refused,
    /// It was stopped.
    Interrupted,
}

/// What became of calls.
pub struct CallsEnd {
    /// How it ended; an error where outcomes could not be kept.
    pub end: Result<End, StoreError>,
    /// Calls that the store answered.
    pub cached: u64,
    /// Calls that were executed.
    pub executed: u64,
    /// The keys of all that were looked up, each once, in order.
    pub keys: Vec<ActionKey>,
    /// Why calls that were made again left what was stored as it was, a sentence each.
    pub in_vain: Vec<String>,
}

/// Has every action of `actions` called that the store does not answer, and gives all outcomes to `receiver`.
pub async fn call_in_order<'a>(
    calls: &'a Calls<'a>,
    store: Arc<dyn OutcomeStore>,
    actions: impl Iterator<Item = ProgramAction>,
    receiver: &mut dyn Receiver<Outcome>,
    stop: impl Future<Output = ()>,
) -> CallsEnd {
    let mut stop = pin!(stop);
    let mut ordered = OrderedCalls::new(calls, store, actions.fuse());
    let end = loop {
        // First, because it makes room for what is looked up.
        if ordered.hand_over(receiver).is_break() {
            break Ok(End::Refused);
        }
        let is_more = ordered.look_up();
        for notice in calls.executor.limits().take_notices() {
            receiver.notice(notice);
        }
        ordered.write_landed();
        ordered.launch();
        if ordered.is_over() {
            break Ok(End::Done);
        }
        match ordered.next(stop.as_mut(), is_more).await {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => break Ok(End::Interrupted),
            Err(error) => break Err(error),
        }
    };
    ordered.finish(end).await
}

/// A call that the store does not answer.
struct MissingCall {
    action: ProgramAction,
    key: ActionKey,
    generation: u32,
}

/// The calls in their order, from the first that was not received.
struct OrderedCalls<'a, I> {
    calls: &'a Calls<'a>,
    actions: I,
    is_read: bool,
    outcomes: VecDeque<Option<Outcome>>,
    /// The ordinal of the first of these.
    first: usize,
    missing: VecDeque<MissingCall>,
    /// The ordinals that wait for a key which is not durable yet.
    waiting: KeyMap<Vec<usize>>,
    in_flight: InFlight<'a, ()>,
    store: Arc<dyn OutcomeStore>,
    /// What was executed and is durable by now: it is not called again once more.
    executed_keys: KeySet,
    seen: KeySet,
    keys: Vec<ActionKey>,
    cached: u64,
    executed: u64,
    in_vain: Vec<String>,
}

impl<'a, I: Iterator<Item = ProgramAction>> OrderedCalls<'a, I> {
    fn new(calls: &'a Calls<'a>, store: Arc<dyn OutcomeStore>, actions: I) -> Self {
        Self {
            calls,
            actions,
            is_read: false,
            outcomes: VecDeque::new(),
            first: 0,
            missing: VecDeque::new(),
            waiting: KeyMap::default(),
            in_flight: InFlight::new(Arc::clone(&store), calls.executor),
            store,
            executed_keys: KeySet::default(),
            seen: KeySet::default(),
            keys: Vec::new(),
            cached: 0,
            executed: 0,
            in_vain: Vec::new(),
        }
    }

    /// Looks the next batch up if there is room. Says whether there may be more to look up at
    /// once.
    fn look_up(&mut self) -> bool {
        let room = AHEAD.saturating_sub(self.outcomes.len()).min(LOOKED_UP);
        if self.is_read || room == 0 || self.missing.len() >= LOW {
            return false;
        }
        let batch: Vec<ProgramAction> = self.actions.by_ref().take(room).collect();
        self.is_read = batch.len() < room;
        let keys: Vec<ActionKey> =
            batch.iter().map(|action| Action::Program(action.clone()).key()).collect();
        let held = self.store.get_many(&keys);
        for ((key, action), held) in keys.into_iter().zip(batch).zip(held) {
            if self.seen.insert(key) {
                self.keys.push(key);
            }
            let answer = self.answer(key, action, held);
            self.outcomes.push_back(answer);
        }
        !self.is_read
    }

    /// Answers a call from the store, or queues it.
    fn answer(
        &mut self,
        key: ActionKey,
        action: ProgramAction,
        held: Option<Entry>,
    ) -> Option<Outcome> {
        let ordinal = self.first + self.outcomes.len();
        if let Some(ordinals) = self.waiting.get_mut(&key) {
            ordinals.push(ordinal);
            return None;
        }
        let Calls { ask, refresh, .. } = *self.calls;
        let was_executed = self.executed_keys.contains(&key);
        let (stored, generation) =
            standing(held, was_executed, refresh, ask.may_ask(ActionKind::Program));
        if stored.is_some() {
            self.cached += 1;
            return stored;
        }
        if let Some(flag) = ask.flag() {
            let message = format!("no cached grade, and {flag} forbids calling the grader");
            return Some(Outcome::Failure(Failure::new(FailureKind::NotStored, message)));
        }
        self.waiting.insert(key, vec![ordinal]);
        self.missing.push_back(MissingCall { action, key, generation });
        None
    }

    /// Gives the receiver what is next as long as that is known.
    fn hand_over(&mut self, receiver: &mut dyn Receiver<Outcome>) -> ControlFlow<()> {
        while let Some(outcome) = self.outcomes.pop_front_if(|next| next.is_some()).flatten() {
            self.first += 1;
            receiver.receive(outcome)?;
        }
        ControlFlow::Continue(())
    }

    fn write_landed(&mut self) {
        // What a program loads is durable before what it gave.
        let discovered = self.calls.executor.loader().take_discovered();
        if !discovered.is_empty() {
            let Calls { prepared, system, .. } = self.calls;
            self.in_flight.keep_also(prepared.discovered(&discovered, *system));
        }
        let system = self.calls.system;
        let none = BTreeSet::new();
        self.in_flight.write_landed(system, &|identity| program_now(identity, &none, "", system));
    }

    fn launch(&mut self) {
        while self.in_flight.executing() < self.calls.max_concurrent.max(1)
            && self.in_flight.has_room()
            && !self.missing.is_empty()
        {
            match self.calls.executor.limits().room(EndpointId::Program) {
                Room::Now => {}
                Room::Full | Room::Later => return,
                Room::Closed(reason) => return self.give_up(&reason),
            }
            let Some(MissingCall { action, key, generation }) = self.missing.pop_front() else {
                return;
            };
            let start = Arc::clone(&self.calls.prepared.start);
            let launch = Launch::Program(ProgramLaunch { action, start });
            self.executed += 1;
            self.in_flight.launch((), key, generation, launch);
        }
    }

    /// Nothing more is called: what waits for it ends with the reason.
    fn give_up(&mut self, reason: &str) {
        for call in std::mem::take(&mut self.missing) {
            let failure = Failure::new(FailureKind::NotAsked, format!("not called: {reason}"));
            self.settle(call.key, &Outcome::Failure(failure));
        }
    }

    fn settle(&mut self, key: ActionKey, outcome: &Outcome) {
        for ordinal in self.waiting.remove(&key).into_iter().flatten() {
            self.outcomes[ordinal - self.first] = Some(outcome.clone());
        }
    }

    fn is_over(&self) -> bool {
        self.is_read && self.outcomes.is_empty() && self.in_flight.is_over()
    }

    /// Waits for what happens next; where there `is_more` to do at once, only until others had their turn.
    async fn next(
        &mut self,
        stop: Pin<&mut impl Future<Output = ()>>,
        is_more: bool,
    ) -> Result<ControlFlow<()>, StoreError> {
        let is_ready = is_more || matches!(self.outcomes.front(), Some(Some(_)));
        let event = tokio::select! {
            biased;
            () = stop => return Ok(ControlFlow::Break(())),
            event = self.in_flight.next() => event,
            () = tokio::task::yield_now(), if is_ready => return Ok(ControlFlow::Continue(())),
        };
        if let InFlightEvent::Written(batch, result) = event {
            result?;
            for WrittenAction { key, outcome, in_vain, .. } in batch {
                self.executed_keys.insert(key);
                self.in_vain.extend(in_vain);
                self.settle(key, &outcome);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Cancels what is being executed and keeps what has landed.
    async fn finish(mut self, mut end: Result<End, StoreError>) -> CallsEnd {
        self.in_flight.stop();
        self.write_landed();
        while end.is_ok() && !self.in_flight.is_over() {
            let event = self.in_flight.next().await;
            if let InFlightEvent::Written(_, Err(error)) = event {
                end = Err(error);
            }
            self.write_landed();
        }
        CallsEnd {
            end,
            cached: self.cached,
            executed: self.executed,
            keys: self.keys,
            in_vain: self.in_vain,
        }
    }
}

#[cfg(test)]
mod tests;
