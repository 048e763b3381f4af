//! Loads programs before anything of them is keyed, and completes the keys of those that turn out to load more.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::future::join_all;

use super::settings::{ActionKind, AskPolicy, Refresh};
use super::settle::{CannotAsk, Settling};
use crate::effects::store::{Entry, OutcomeStore, StoreError};
use crate::engine::session::Session;
use crate::graph::inputs::CellId;
use crate::graph::planned_actions::planned_actions;
use crate::graph::{Db, programs, queries, results};
use crate::pipeline::evaluate::{BallotId, Planned, Submission};
use crate::pipeline::key::{ActionKey, KeySet};
use crate::pipeline::outcome::{FailureKind, Outcome, Stored};

/// The most outcomes that are copied to other keys at once: so many bodies are in memory.
pub(crate) const MAX_MOVED: usize = 2_000;

/// An action of a plan.
type PlannedCall = (CellId, BallotId);

impl Settling<'_> {
    /// Finds out which files programs load: from the store, else by loading them, if anything may be executed. One that
    /// cannot be loaded ends the evaluation before anybody is paid.
    pub(crate) async fn load_programs(
        &mut self,
        stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<(), CannotAsk> {
        let system = self.world.system;
        self.session.learn_dependencies(self.store.as_ref(), system);
        if self.settings.refresh == Refresh::All {
            let entries = self.session.forget_reads(system);
            self.write_now(&entries);
        }
        if !self.settings.ask.may_ask(ActionKind::Program) {
            self.session.assume_no_dependencies(system);
            return Ok(());
        }
        let to_load = self.session.to_load();
        if to_load.is_empty() {
            return Ok(());
        }
        let executor = self.world.executor;
        let load = |(_, start, base): &(_, Arc<_>, _)| executor.load(Arc::clone(start), *base);
        let loading = to_load.iter().map(load);
        let loaded = tokio::select! {
            biased;
            () = stop => {
                self.settled.interrupted = true;
                self.session.assume_no_dependencies(system);
                return Ok(());
            }
            loaded = join_all(loading) => loaded,
        };
        let mut entries = Vec::new();
        for ((program, start, _), result) in to_load.into_iter().zip(loaded) {
            if let Err(failure) = &result {
                return Err(CannotAsk::Unloadable {
                    program: start.spec.shown(),
                    message: failure.message.clone(),
                    details: failure.stderr.clone(),
                });
            }
            entries.extend(self.session.loaded(program, result, system));
        }
        self.write_now(&entries);
        Ok(())
    }

    /// Where no judge may be asked but programs may run, gives up what judges were to be asked.
    pub(crate) fn leave_out_judges(&mut self) {
        if self.settings.ask != AskPolicy::Offline {
            return;
        }
        let queue = std::mem::take(&mut self.list.queue);
        let (judges, programs): (Vec<_>, _) =
            queue.into_iter().partition(|waiting| self.judge_of(waiting).is_some());
        self.list.queue = programs.into();
        let message = "no stored judgment, and --offline forbids asking".to_owned();
        self.give_up(judges, FailureKind::NotStored, &message);
    }

    /// Programs that were seen to load more than their keys hold get whole keys, and what they gave is kept under those
    /// too: else the next evaluation would call them again for everything.
    pub(crate) fn complete_keys(&mut self) {
        let outgrown = self.session.outgrown();
        if outgrown.is_empty() || self.settled.write_error.is_some() {
            return;
        }
        let extracted = extractions(self.session);
        let planned = plans(self.session);
        for (program, known) in outgrown {
            self.session.know_all(program, known);
        }
        // What is extracted comes first, and rewards last: their keys are made of what came of the others.
        let now = extractions(self.session);
        self.keep_under(&extracted, &now);
        for _ in ["grades", "rewards"] {
            let now = plans(self.session);
            self.keep_under(&planned, &now);
        }
    }

    /// Keeps what came of each action of `before` under the key that it has in `now` as well.
    fn keep_under(
        &mut self,
        before: &[(PlannedCall, ActionKey)],
        now: &[(PlannedCall, ActionKey)],
    ) {
        // By their seats: what rests on others wants nothing until those are there, so `now` may be shorter.
        let before: HashMap<PlannedCall, ActionKey> = before.iter().copied().collect();
        let db = &self.session.db;
        let at = self.world.system.now().to_string();
        let graders = queries::graders(db, self.session.root);
        let mut outcomes = Vec::new();
        let mut waiting = Vec::new();
        let mut moving = Moving {
            entries: Vec::new(),
            store: self.store.as_ref(),
            error: &mut self.settled.write_error,
        };
        let mut moved = KeySet::default();
        for (call, new) in now {
            let Some(old) = before.get(call).filter(|old| *old != new) else { continue };
            if db.outcome(*new).is_some() {
                continue;
            }
            let Some(outcome) = db.outcome(*old) else { continue };
            let (cell, ballot) = *call;
            waiting.push(cell.chunk);
            // Graders with one extractor have one key for what it gives, as have equal submissions.
            if !moved.insert(*new) {
                continue;
            }
            if outcome.is_kept()
                && let Some(action) =
                    results::action_of(db, cell.chunk, cell.case, graders[cell.grader], ballot)
                && !action.is_repeated()
            {
                let body = Stored::new(action.ingredients(), Outcome::clone(&outcome), at.clone())
                    .to_body();
                moving.push(Entry { key: *new, generation: 0, body });
            }
            outcomes.push((*new, outcome));
        }
        waiting.dedup();
        moving.write();
        self.apply_to(outcomes, waiting);
    }

    fn write_now(&mut self, entries: &[Entry]) {
        if let Err(error) = self.store.put_many(entries) {
            self.settled.write_error.get_or_insert(error);
        }
    }
}

/// Entries on their way to the store, never too many of them at once.
struct Moving<'a> {
    entries: Vec<Entry>,
    store: &'a dyn OutcomeStore,
    /// The first error; after that nothing more is written.
    error: &'a mut Option<StoreError>,
}

impl Moving<'_> {
    fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
        if self.entries.len() >= MAX_MOVED {
            self.write();
        }
    }

    fn write(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        if self.error.is_none() {
            *self.error = self.store.put_many(&entries).err();
        }
    }
}

/// The actions that extract submissions, in order.
fn extractions(session: &Session) -> Vec<(PlannedCall, ActionKey)> {
    let db = &session.db;
    let root = session.root;
    let mut all = Vec::new();
    for chunk in root.chunks(db) {
        for (ordinal, grader) in queries::graders(db, root).iter().enumerate() {
            for (case, submission) in programs::calls(db, *chunk, *grader).iter().enumerate() {
                let cell = CellId { chunk: *chunk, case, grader: ordinal };
                let mut add = |turn, submission: &Submission| {
                    if let Submission::Pending(Some(key)) = submission {
                        all.push(((cell, BallotId { turn, ballot: 0 }), *key));
                    }
                };
                match submission {
                    Submission::Turns(turns) => {
                        turns
                            .iter()
                            .enumerate()
                            .for_each(|(turn, submission)| add(turn, submission));
                    }
                    submission => add(0, submission),
                }
            }
        }
    }
    all
}

/// The actions of all plans, in order.
fn plans(session: &Session) -> Vec<(PlannedCall, ActionKey)> {
    let db = &session.db;
    let root = session.root;
    planned_actions(db, root)
        .filter(|action| matches!(action.planned, Planned::Ask(_) | Planned::Turns(_)))
        .map(|action| ((action.cell, action.ballot), action.key))
        .collect()
}
