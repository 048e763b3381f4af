//! Sequences of actions, each made of what came of the one before: an agent is run, and what it answered is graded. What
//! commands without a graph rest on that run agents.
//!
//! Many sequences are under way at once, each with one action at a time; they end in any order. An action that the store
//! answers is not executed, and every outcome is durable before it counts.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;

use super::calls::{End, Receiver};
use super::in_flight::{InFlight, InFlightEvent};
use super::look_up::standing;
use super::prepare::PreparedProgram;
use crate::session::programs::outputs::program_now;
use evalrs_exec::{Executor, Launch};
use evalrs_model::key::{ActionKey, KeyMap, KeySet};
use evalrs_model::outcome::{Failure, FailureKind, Outcome};
use evalrs_store::{OutcomeStore, StoreError};
use evalrs_system::System;

/// The result of an action.
#[derive(Clone, Debug)]
pub struct SequenceStep {
    /// Its outcome.
    pub outcome: Outcome,
    /// Whether it was executed by this command.
    pub is_new: bool,
}

/// What is to be executed.
pub struct NextAction {
    /// The action.
    pub launch: Launch,
    /// Whether it is executed although the store answers it.
    pub anew: bool,
}

/// Actions one after another.
pub trait Sequence {
    /// Takes what came of the last action, none at the beginning, and reports what is next; none: it is
    /// over.
    fn next(&mut self, last: Option<SequenceStep>) -> Option<NextAction>;
}

/// How sequences are run.
pub struct SequenceRun<'a> {
    /// What executes the actions.
    pub executor: &'a dyn Executor,
    /// The clock.
    pub system: &'a dyn System,
    /// The program that grades, if one does.
    pub grader: Option<&'a PreparedProgram>,
    /// The program of the agent, if it has one.
    pub agent: Option<&'a PreparedProgram>,
    /// Sequences under way at once, at least 1.
    pub max_concurrent: usize,
    /// Whether nothing is executed.
    pub is_frozen: bool,
}

/// What became of sequences.
pub struct SequencesEnd {
    /// How it ended; an error where outcomes could not be kept.
    pub end: Result<End, StoreError>,
    /// The keys of all actions, each once.
    pub keys: Vec<ActionKey>,
    /// Why actions that were executed again left what was stored as it was.
    pub in_vain: Vec<String>,
    /// What was found out of the agent, a sentence each.
    pub told: Vec<String>,
}

/// Runs all of `sequences`, begun in their order, and gives each to `receiver` when it is over.
pub async fn run_sequences<S: Sequence>(
    run: &SequenceRun<'_>,
    store: Arc<dyn OutcomeStore>,
    sequences: impl Iterator<Item = S>,
    receiver: &mut dyn Receiver<S>,
    stop: impl Future<Output = ()>,
) -> SequencesEnd {
    let mut stop = pin!(stop);
    let mut sequences = sequences.enumerate().fuse();
    let mut under_way = SequencesUnderWay::new(run, store);
    let end = loop {
        let mut flow = ControlFlow::Continue(());
        while flow.is_continue() && under_way.active.len() < run.max_concurrent.max(1) {
            let Some((id, sequence)) = sequences.next() else { break };
            under_way.active.insert(id, sequence);
            flow = under_way.advance(id, None, receiver);
        }
        if flow.is_break() {
            break Ok(End::Refused);
        }
        for notice in run.executor.limits().take_notices() {
            receiver.notice(notice);
        }
        under_way.write_landed();
        if under_way.active.is_empty() && under_way.in_flight.is_over() {
            break Ok(End::Done);
        }
        let event = tokio::select! {
            biased;
            () = stop.as_mut() => break Ok(End::Interrupted),
            event = under_way.in_flight.next() => event,
        };
        match under_way.take(event, receiver) {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => break Ok(End::Refused),
            Err(error) => break Err(error),
        }
    };
    let ended = under_way.finish(end).await;
    // What is left behind is told where commands end.
    let _left = run.executor.close().await;
    ended
}

struct SequencesUnderWay<'a, S> {
    run: &'a SequenceRun<'a>,
    active: BTreeMap<usize, S>,
    /// Who waits for a key: two prompts may be the same.
    waiting: KeyMap<Vec<usize>>,
    in_flight: InFlight<'a, ()>,
    store: Arc<dyn OutcomeStore>,
    /// What was executed: it is not executed again once more.
    executed: KeySet,
    seen: KeySet,
    keys: Vec<ActionKey>,
    in_vain: Vec<String>,
    told: Vec<String>,
}

impl<'a, S: Sequence> SequencesUnderWay<'a, S> {
    fn new(run: &'a SequenceRun<'a>, store: Arc<dyn OutcomeStore>) -> Self {
        Self {
            run,
            active: BTreeMap::new(),
            waiting: KeyMap::default(),
            in_flight: InFlight::new(Arc::clone(&store), run.executor),
            store,
            executed: KeySet::default(),
            seen: KeySet::default(),
            keys: Vec::new(),
            in_vain: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Goes on with a sequence as far as the store answers it.
    fn advance(
        &mut self,
        id: usize,
        mut last: Option<SequenceStep>,
        receiver: &mut dyn Receiver<S>,
    ) -> ControlFlow<()> {
        loop {
            let Some(sequence) = self.active.get_mut(&id) else { return ControlFlow::Continue(()) };
            let Some(next) = sequence.next(last) else {
                let sequence = self.active.remove(&id);
                return sequence.map_or(ControlFlow::Continue(()), |done| receiver.receive(done));
            };
            last = self.found_or_launched(id, next);
            if last.is_none() {
                return ControlFlow::Continue(());
            }
        }
    }

    /// What is known of an action; none if it has to be waited for.
    fn found_or_launched(&mut self, id: usize, next: NextAction) -> Option<SequenceStep> {
        let NextAction { launch, anew } = next;
        let key = launch.action().key();
        if self.seen.insert(key) {
            self.keys.push(key);
        }
        if let Some(waiting) = self.waiting.get_mut(&key) {
            waiting.push(id);
            return None;
        }
        let held = self.store.get_many(&[key]).pop().flatten();
        let is_new = self.executed.contains(&key);
        let (stored, generation) = standing(held, is_new, anew, !self.run.is_frozen);
        if let Some(outcome) = stored {
            return Some(SequenceStep { outcome, is_new });
        }
        if self.run.is_frozen {
            let message = "nothing is cached for it, and --frozen forbids running it";
            let outcome = Outcome::Failure(Failure::new(FailureKind::NotStored, message));
            return Some(SequenceStep { outcome, is_new: false });
        }
        self.waiting.insert(key, vec![id]);
        self.in_flight.launch((), key, generation, launch);
        None
    }

    fn take(
        &mut self,
        event: InFlightEvent<()>,
        receiver: &mut dyn Receiver<S>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let InFlightEvent::Written(batch, result) = event else {
            return Ok(ControlFlow::Continue(()));
        };
        result?;
        for written in batch {
            if matches!(written.outcome, Outcome::Reply(_)) {
                self.executed.insert(written.key);
            }
            if self.seen.insert(written.kept_under) {
                self.keys.push(written.kept_under);
            }
            self.in_vain.extend(written.in_vain);
            for id in self.waiting.remove(&written.key).into_iter().flatten() {
                let step = SequenceStep { outcome: written.outcome.clone(), is_new: true };
                if self.advance(id, Some(step), receiver).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn write_landed(&mut self) {
        let SequenceRun { executor, system, grader, agent, .. } = self.run;
        // What a program loads is durable before what it gave.
        let discovered = executor.loader().take_discovered().into_iter();
        let (loaded, written): (Vec<_>, Vec<_>) =
            discovered.partition(|(_, discovered)| discovered.outputs.is_empty());
        if let Some(grader) = grader
            && !loaded.is_empty()
        {
            self.in_flight.keep_also(grader.discovered(&loaded, *system));
        }
        for (_, discovered) in written {
            let new = agent.and_then(|agent| agent.written(&discovered.outputs, *system));
            let Some((entry, told)) = new else { continue };
            self.in_flight.keep_also([entry]);
            self.told.extend(told);
        }
        let none = BTreeSet::new();
        self.in_flight.write_landed(*system, &|identity| match agent {
            Some(agent) if identity.spec == agent.identity.spec => agent.now(*system),
            _ => program_now(identity, &none, "", *system),
        });
    }

    /// Cancels what is being executed and keeps what has landed.
    async fn finish(mut self, mut end: Result<End, StoreError>) -> SequencesEnd {
        self.in_flight.stop();
        self.write_landed();
        while end.is_ok() && !self.in_flight.is_over() {
            let event = self.in_flight.next().await;
            if let InFlightEvent::Written(_, Err(error)) = event {
                end = Err(error);
            }
            self.write_landed();
        }
        SequencesEnd { end, keys: self.keys, in_vain: self.in_vain, told: self.told }
    }
}
