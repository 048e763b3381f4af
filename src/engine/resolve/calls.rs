//! Calls of one program, and what came of them in the order of the calls: what commands without a graph rest on.
//!
//! Calls are looked up in the store a batch at a time, what is not there is executed, many at once, and every outcome is
//! durable before it counts. What comes first is received first, whatever lands first; how far the rest may run ahead has
//! a bound. A stored failure is no reason to fail again: whoever calls a command again wants another attempt.

use std::collections::VecDeque;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::errand::{Errand, Written};
use super::keep::{ToKeep, keep};
use super::prepare::Prepared;
use super::settings::{ActionKind, AskPolicy};
use crate::base::system::System;
use crate::effects::exec::{EndpointId, Executor, Launch, Notice, ProgramLaunch, Room};
use crate::effects::store::{Entry, OutcomeStore, StoreError};
use crate::engine::session::programs::{changed_meanwhile, is_current};
use crate::pipeline::action::Action;
use crate::pipeline::key::{ActionKey, KeyMap, KeySet};
use crate::pipeline::outcome::{Failure, FailureKind, Outcome, read_body};
use crate::pipeline::program::ProgramAction;

/// Calls looked up at once.
const LOOKED_UP: usize = 512;
/// How far calls run ahead of the first one that has no outcome.
const AHEAD: usize = 8 * LOOKED_UP;
/// Fewer calls than these are not left waiting while there are more to look up.
const LOW: usize = LOOKED_UP / 2;
/// The most outcomes that have landed and wait for the disk before nothing more is called.
const MOST_UNWRITTEN: usize = 1024;

/// Who is called, and how.
pub(crate) struct Calls<'a> {
    /// What executes the calls.
    pub executor: &'a dyn Executor,
    /// The clock.
    pub system: &'a dyn System,
    /// The program.
    pub prepared: &'a Prepared,
    /// Calls under way at once, at least 1.
    pub max_concurrent: usize,
    /// What may be executed.
    pub ask: AskPolicy,
    /// Whether what is stored is called anew.
    pub refresh: bool,
}

/// What takes the outcomes.
pub(crate) trait Receiver {
    /// Takes the outcome of the next call. No other is wanted after a break.
    fn receive(&mut self, outcome: Outcome) -> ControlFlow<()>;
    /// Hears what the executor has to say.
    fn notice(&mut self, notice: Notice);
}

/// How calls ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Every outcome was received.
    Done,
    /// The receiver wanted no more.
    Refused,
    /// Somebody said stop.
    Interrupted,
}

/// What became of calls, whoever received it.
pub(crate) struct Called {
    /// How it ended; an error where outcomes could not be kept.
    pub end: Result<End, StoreError>,
    /// Calls that the store answered.
    pub cached: u64,
    /// Calls that were executed.
    pub executed: u64,
    /// The keys of all that were looked up, each once, in order.
    pub keys: Vec<ActionKey>,
    /// Why calls that were made anew left what was stored as it was, a sentence each.
    pub in_vain: Vec<String>,
    /// The store.
    pub store: Box<dyn OutcomeStore>,
}

/// Has every action of `actions` called that the store does not answer, and gives all outcomes to `receiver`.
pub(crate) async fn call_in_order<'a>(
    calls: &'a Calls<'a>,
    store: Box<dyn OutcomeStore>,
    actions: impl Iterator<Item = ProgramAction>,
    receiver: &mut dyn Receiver,
    stop: impl Future<Output = ()>,
) -> Called {
    let mut stop = pin!(stop);
    let mut row = Row::new(calls, store, actions.fuse());
    let end = loop {
        // First, because it makes room for what is looked up.
        if row.hand_over(receiver).is_break() {
            break Ok(End::Refused);
        }
        let is_more = row.look_up();
        calls.executor.take_notices().into_iter().for_each(|notice| receiver.notice(notice));
        row.write_landed();
        row.launch();
        if row.is_over() {
            break Ok(End::Done);
        }
        match row.next(stop.as_mut(), is_more).await {
            Ok(Next::GoOn) => {}
            Ok(Next::Stop) => break Ok(End::Interrupted),
            Err(error) => break Err(error),
        }
    };
    row.finish(end).await
}

/// A call that was looked up in vain.
struct Missing {
    action: Action,
    key: ActionKey,
    generation: u32,
}

/// A call that was executed.
struct Landed {
    call: Missing,
    outcome: Outcome,
    /// Why it was called again in vain, if a result from before stands.
    in_vain: Option<String>,
}

enum Next {
    GoOn,
    Stop,
}

type Flying<'a> = Pin<Box<dyn Future<Output = Landed> + 'a>>;

/// The calls in their order, from the first that was not received.
struct Row<'a, I> {
    calls: &'a Calls<'a>,
    actions: I,
    is_read: bool,
    /// The outcomes so far.
    places: VecDeque<Option<Outcome>>,
    /// The ordinal of the first place.
    first: usize,
    missing: VecDeque<Missing>,
    /// The ordinals that wait for a key which is not durable yet.
    waiting: KeyMap<Vec<usize>>,
    flying: FuturesUnordered<Flying<'a>>,
    landed: Vec<Landed>,
    /// Further entries to be written, before what has landed.
    also: Vec<Entry>,
    store: Errand<Vec<Landed>>,
    /// What was executed and is durable by now: it is not called anew once more.
    made: KeySet,
    seen: KeySet,
    keys: Vec<ActionKey>,
    cached: u64,
    executed: u64,
    in_vain: Vec<String>,
}

impl<'a, I: Iterator<Item = ProgramAction>> Row<'a, I> {
    fn new(calls: &'a Calls<'a>, store: Box<dyn OutcomeStore>, actions: I) -> Self {
        Self {
            calls,
            actions,
            is_read: false,
            places: VecDeque::new(),
            first: 0,
            missing: VecDeque::new(),
            waiting: KeyMap::default(),
            flying: FuturesUnordered::new(),
            landed: Vec::new(),
            also: Vec::new(),
            store: Errand::new(store),
            made: KeySet::default(),
            seen: KeySet::default(),
            keys: Vec::new(),
            cached: 0,
            executed: 0,
            in_vain: Vec::new(),
        }
    }

    /// Looks the next batch up if the store is here and there is room. Says whether there may be more to look up at
    /// once.
    fn look_up(&mut self) -> bool {
        let room = AHEAD.saturating_sub(self.places.len()).min(LOOKED_UP);
        if self.is_read || room == 0 || self.missing.len() >= LOW {
            return false;
        }
        let Some(store) = self.store.store() else { return false };
        let batch = self.actions.by_ref().take(room).map(Action::Program);
        let batch: Vec<(ActionKey, Action)> = batch.map(|action| (action.key(), action)).collect();
        self.is_read = batch.len() < room;
        let keys: Vec<ActionKey> = batch.iter().map(|(key, _)| *key).collect();
        let held = store.get_many(&keys);
        for ((key, action), held) in batch.into_iter().zip(held) {
            if self.seen.insert(key) {
                self.keys.push(key);
            }
            let is_last = held.as_ref().is_some_and(|held| held.generation == u32::MAX);
            let generation = held.as_ref().map_or(0, |held| held.generation.saturating_add(1));
            let stored = held.and_then(|held| read_body(&held.body).ok());
            self.place(Missing { action, key, generation }, stored, is_last);
        }
        !self.is_read
    }

    /// A result of the last generation there is could not be replaced, so it stands.
    fn place(&mut self, call: Missing, stored: Option<Outcome>, is_last: bool) {
        let ordinal = self.first + self.places.len();
        if let Some(ordinals) = self.waiting.get_mut(&call.key) {
            ordinals.push(ordinal);
            return self.places.push_back(None);
        }
        let is_fresh = self.made.contains(&call.key);
        let stands = |outcome: &Outcome| match outcome {
            Outcome::Reply(_) => is_fresh || is_last || !self.calls.refresh,
            Outcome::Failure(_) => is_fresh || !self.calls.ask.may_ask(ActionKind::Program),
        };
        let flag = self.calls.ask.flag();
        let found = match (stored.filter(stands), flag) {
            (Some(outcome), _) => {
                self.cached += 1;
                Some(outcome)
            }
            (None, Some(flag)) => Some(Outcome::Failure(Failure::new(
                FailureKind::NotStored,
                format!("no stored grade, and {flag} forbids calling the grader"),
            ))),
            (None, None) => {
                self.waiting.insert(call.key, vec![ordinal]);
                self.missing.push_back(call);
                None
            }
        };
        self.places.push_back(found);
    }

    /// Gives the receiver what is next as long as that is known.
    fn hand_over(&mut self, receiver: &mut dyn Receiver) -> ControlFlow<()> {
        while let Some(Some(_)) = self.places.front() {
            let outcome = self.places.pop_front().flatten();
            self.first += 1;
            if let Some(outcome) = outcome {
                receiver.receive(outcome)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Sends what has landed to the disk, unless a batch is on its way.
    fn write_landed(&mut self) {
        // What a program loads is durable before what it gave.
        let discovered = self.calls.executor.take_discovered();
        if !discovered.is_empty() {
            self.also.extend(self.calls.prepared.discovered(&discovered, self.calls.system));
        }
        let is_idle = self.landed.is_empty() && self.also.is_empty();
        if is_idle || !self.store.is_here() || self.waits_for_more() {
            return;
        }
        let (mut batch, at) = (std::mem::take(&mut self.landed), self.calls.system.now());
        let also = std::mem::take(&mut self.also);
        drop_outdated(self.calls, &mut batch);
        self.store.write(batch, move |store, batch| keep_batch(store, (also, batch), &at));
    }

    /// Whether what has landed is better written with what lands in a moment.
    fn waits_for_more(&self) -> bool {
        let is_more = self.landed.len() < MOST_UNWRITTEN / 2 && !self.flying.is_empty();
        is_more && self.also.is_empty() && self.store.is_early()
    }

    fn launch(&mut self) {
        while self.flying.len() < self.calls.max_concurrent.max(1)
            && self.landed.len() < MOST_UNWRITTEN
            && !self.missing.is_empty()
        {
            match self.calls.executor.room(EndpointId::Program) {
                Room::Now => {}
                Room::Full | Room::Later => return,
                Room::Closed(reason) => return self.give_up(&reason),
            }
            let Some(call) = self.missing.pop_front() else { return };
            let Action::Program(action) = &call.action else { continue };
            let launch = Launch::Program(ProgramLaunch {
                action: action.clone(),
                start: Arc::clone(&self.calls.prepared.start),
            });
            // It takes its place at once, before anybody asks for room again.
            let executing = self.calls.executor.execute(launch);
            self.executed += 1;
            self.flying.push(Box::pin(async move {
                Landed { call, outcome: executing.await, in_vain: None }
            }));
        }
    }

    /// Nothing more is called: whoever waits for it hears why.
    fn give_up(&mut self, reason: &str) {
        for call in std::mem::take(&mut self.missing) {
            let failure = Failure::new(FailureKind::NotAsked, format!("not called: {reason}"));
            self.settle(call.key, &Outcome::Failure(failure));
        }
    }

    fn settle(&mut self, key: ActionKey, outcome: &Outcome) {
        for ordinal in self.waiting.remove(&key).into_iter().flatten() {
            self.places[ordinal - self.first] = Some(outcome.clone());
        }
    }

    fn is_over(&self) -> bool {
        self.is_read && self.places.is_empty() && self.landed.is_empty() && self.store.is_here()
    }

    /// Waits for what happens next; where there `is_more` to do at once, only until others had their turn.
    async fn next(
        &mut self,
        stop: Pin<&mut impl Future<Output = ()>>,
        is_more: bool,
    ) -> Result<Next, StoreError> {
        let is_ready = is_more || matches!(self.places.front(), Some(Some(_)));
        let waits = !self.landed.is_empty();
        let written = tokio::select! {
            biased;
            () = stop => return Ok(Next::Stop),
            written = self.store.next(waits) => match written {
                Some(written) => written,
                None => return Ok(Next::GoOn),
            },
            Some(landed) = self.flying.next() => {
                self.landed.push(landed);
                return Ok(Next::GoOn);
            }
            () = self.calls.executor.changed() => return Ok(Next::GoOn),
            () = tokio::task::yield_now(), if is_ready => return Ok(Next::GoOn),
        };
        self.take_written(written).map(|()| Next::GoOn)
    }

    fn take_written(&mut self, (batch, result): Written<Vec<Landed>>) -> Result<(), StoreError> {
        result?;
        for Landed { call, outcome, in_vain } in batch {
            self.made.insert(call.key);
            self.in_vain.extend(in_vain);
            self.settle(call.key, &outcome);
        }
        Ok(())
    }

    /// Drops what is being executed and keeps what has landed.
    async fn finish(mut self, end: Result<End, StoreError>) -> Called {
        self.flying.clear();
        let (mut store, mut kept) = self.store.end().await;
        if kept.is_ok() && end.is_ok() && !self.landed.is_empty() {
            drop_outdated(self.calls, &mut self.landed);
            kept =
                keep_batch(store.as_mut(), (self.also, &mut self.landed), &self.calls.system.now());
        }
        Called {
            end: end.and_then(|end| kept.map(|()| end)),
            cached: self.cached,
            executed: self.executed,
            keys: self.keys,
            in_vain: self.in_vain,
            store,
        }
    }
}

/// What a program gave while its files changed is no result of what the keys say.
fn drop_outdated(calls: &Calls<'_>, batch: &mut [Landed]) {
    let is_current = || is_current(&calls.prepared.identity, "", calls.system);
    if !batch.is_empty() && !is_current() {
        for landed in batch {
            landed.outcome = Outcome::Failure(changed_meanwhile());
        }
    }
}

fn keep_batch(
    store: &mut dyn OutcomeStore,
    (also, batch): (Vec<Entry>, &mut [Landed]),
    at: &str,
) -> Result<(), StoreError> {
    let batch = batch.iter_mut().map(|Landed { call, outcome, in_vain }| ToKeep {
        action: &call.action,
        key: call.key,
        generation: call.generation,
        outcome,
        in_vain,
    });
    keep(store, (also, batch), at)
}

#[cfg(test)]
mod tests;
