//! Completes the keys of programs that turn out to load more than was known when they were keyed.

use std::collections::HashMap;

use crate::session::Session;
use evalrs_eval::action::Action;
use evalrs_eval::evaluate::{BallotId, GradePlan};
use evalrs_graph::change::Change;
use evalrs_graph::inputs::{CellId, Chunk};
use evalrs_graph::planned_actions::planned_actions;
use evalrs_graph::{Db, answers, programs, results};
use evalrs_model::key::{ActionKey, KeySet};
use evalrs_model::outcome::{Outcome, StoredOutcome};
use evalrs_store::{Entry, OutcomeStore, StoreError};
use evalrs_system::System;

/// The most outcomes that are copied to other keys at once, which bounds the bodies in memory.
pub(crate) const MAX_MOVED: usize = 2_000;

type PlannedCall = (CellId, BallotId);

/// Gives programs that were seen to load more than their keys hold whole keys, and keeps what they gave under those too:
/// else the next evaluation would call them again for everything.
pub(crate) fn complete_keys(
    session: &mut Session,
    store: &dyn OutcomeStore,
    system: &dyn System,
) -> Result<(), StoreError> {
    let outgrown = session.outgrown();
    if outgrown.is_empty() {
        return Ok(());
    }
    let held = conversations(session);
    let extracted = extractions(session);
    let planned = plans(session);
    for (program, known) in outgrown {
        session.know_all(program, known);
    }
    let at = system.now().to_string();
    let mut moving = MovingEntries { entries: Vec::new(), store, at, result: Ok(()) };
    // Answers come before all that rests on them.
    keep_conversations(session, &held, &mut moving);
    // What is extracted comes first, and rewards last: their keys are made of what came of the others.
    let now = extractions(session);
    keep_under(session, &extracted, &now, &mut moving);
    for _ in ["grades", "rewards"] {
        let now = plans(session);
        keep_under(session, &planned, &now, &mut moving);
    }
    moving.result
}

/// A case, and the key of the conversation that the target holds with it.
type HeldConversation = (Chunk, usize, ActionKey);

fn conversations(session: &Session) -> Vec<HeldConversation> {
    let db = &session.db;
    let mut all = Vec::new();
    for chunk in session.root.chunks(db) {
        let keys = answers::conversation_keys(db, *chunk).into_iter().enumerate();
        all.extend(keys.filter_map(|(case, key)| Some((*chunk, case, key?))));
    }
    all
}

/// Keeps answers of the target under the keys that their conversations have by now as well.
fn keep_conversations(
    session: &mut Session,
    before: &[HeldConversation],
    moving: &mut MovingEntries<'_>,
) {
    let db = &session.db;
    let mut change = Change::default();
    for (chunk, case, old) in before {
        let Some(new) = answers::conversation_key(db, *chunk, *case) else { continue };
        let Some(outcome) = db.outcome(*old).filter(|_| new != *old) else { continue };
        change.waiting.push(*chunk);
        let sample = results::sample_id(db, *chunk, *case).unwrap_or_default();
        let action = answers::conversation_of(db, *chunk, *case, sample).map(Action::Target);
        moving.push(new, action, &outcome);
        change.outcomes.push((new, outcome));
    }
    moving.bring_in(session, change);
}

/// Keeps what came of each action of `before` under the key that it has in `now` as well.
fn keep_under(
    session: &mut Session,
    before: &[(PlannedCall, ActionKey)],
    now: &[(PlannedCall, ActionKey)],
    moving: &mut MovingEntries<'_>,
) {
    // By their places: what rests on others wants nothing until those are there, so `now` may be shorter.
    let before: HashMap<PlannedCall, ActionKey> = before.iter().copied().collect();
    let db = &session.db;
    let mut change = Change::default();
    let mut moved = KeySet::default();
    for (call, new) in now {
        let Some(old) = before.get(call).filter(|old| *old != new) else { continue };
        if db.outcome(*new).is_some() {
            continue;
        }
        let Some(outcome) = db.outcome(*old) else { continue };
        let (cell, ballot) = *call;
        change.waiting.push(cell.chunk);
        // Graders with one extractor have one key for what it gives, as have equal submissions.
        if !moved.insert(*new) {
            continue;
        }
        if outcome.is_kept()
            && let Some(grader) = session.grader(cell.grader)
        {
            let action = results::action_of(db, cell.chunk, cell.case, grader, ballot);
            moving.push(*new, action, &outcome);
        }
        change.outcomes.push((*new, outcome));
    }
    moving.bring_in(session, change);
}

/// Entries on their way to the store, never too many of them at once.
struct MovingEntries<'a> {
    entries: Vec<Entry>,
    store: &'a dyn OutcomeStore,
    at: String,
    /// The first error ends the writing.
    result: Result<(), StoreError>,
}

impl MovingEntries<'_> {
    /// Has an outcome written that is kept.
    fn push(&mut self, key: ActionKey, action: Option<Action>, outcome: &Outcome) {
        let Some(action) = action.filter(|action| outcome.is_kept() && !action.is_repeated())
        else {
            return;
        };
        let stored = StoredOutcome::new(action.ingredients(), outcome.clone(), self.at.clone());
        self.entries.push(Entry { key, generation: 0, body: stored.to_body() });
        if self.entries.len() >= MAX_MOVED {
            self.write();
        }
    }

    fn write(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        if self.result.is_ok() {
            self.result = self.store.put_many(&entries);
        }
    }

    /// Writes what is left, and brings the same into the graph.
    fn bring_in(&mut self, session: &mut Session, mut change: Change) {
        change.waiting.dedup();
        self.write();
        change.apply(&mut session.db, session.root);
    }
}

/// The actions that extract submissions, in order.
fn extractions(session: &Session) -> Vec<(PlannedCall, ActionKey)> {
    let db = &session.db;
    let mut all = Vec::new();
    for chunk in session.root.chunks(db) {
        for (ordinal, grader) in session.graders().iter().enumerate() {
            programs::each_extraction(db, *chunk, *grader, &mut |case, turn, key| {
                let cell = CellId { chunk: *chunk, case, grader: ordinal };
                all.push(((cell, BallotId { turn, ballot: 0 }), key));
            });
        }
    }
    all
}

/// The actions of all plans, in order.
fn plans(session: &Session) -> Vec<(PlannedCall, ActionKey)> {
    planned_actions(&session.db, session.root)
        .filter(|action| matches!(action.planned, GradePlan::Ask(_) | GradePlan::Turns(_)))
        .map(|action| ((action.cell, action.ballot), action.key))
        .collect()
}
