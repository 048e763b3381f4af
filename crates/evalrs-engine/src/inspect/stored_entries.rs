//! What a session wants of a store: the actions behind its grades. Nothing is asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::session::Session;
use evalrs_eval::evaluate::{Outcomes, each_wanted};
use evalrs_graph::change::Change;
use evalrs_graph::programs;
use evalrs_graph::queries::{self, Threshold};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Outcome, is_of_target, read_body};
use evalrs_store::{Entry, OutcomeStore};
use evalrs_system::System;

/// Entries that are read at once.
const BATCH: usize = 1_024;

/// Whether the store has an outcome, and of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredKind {
    /// It has none.
    Missing,
    /// The reply of a judge or the result of a program.
    Judgment,
    /// What a live target did.
    Conversation,
}

/// An action that is wanted, and what the store has of it.
#[derive(Debug)]
pub struct WantedAction {
    pub key: ActionKey,
    pub stored: StoredKind,
}

/// What is known of an action while it is looked for what is wanted then. Entries are not held: together they may take
/// more memory than everything else.
struct KnownAction {
    stored: StoredKind,
    /// None of what is missing or cannot be read, and of conversations, which may be large.
    outcome: Option<Arc<Outcome>>,
}

impl KnownAction {
    fn of(entry: Option<&Entry>) -> Self {
        let Some(entry) = entry else {
            return Self { stored: StoredKind::Missing, outcome: None };
        };
        if is_of_target(&entry.body) {
            return Self { stored: StoredKind::Conversation, outcome: None };
        }
        let outcome = read_body(&entry.body).ok().map(Arc::new);
        Self { stored: StoredKind::Judgment, outcome }
    }

    fn outcome(&self, key: ActionKey, store: &dyn OutcomeStore) -> Option<Arc<Outcome>> {
        if self.stored != StoredKind::Conversation {
            return self.outcome.clone();
        }
        let entry = store.get_many(&[key]).pop().flatten()?;
        read_body(&entry.body).ok().map(Arc::new)
    }
}

/// Every action that the session's plans want by what the store knows, sorted by key.
pub fn wanted_actions(
    session: &mut Session,
    system: &dyn System,
    store: &dyn OutcomeStore,
) -> Vec<WantedAction> {
    let mut known: BTreeMap<ActionKey, KnownAction> = BTreeMap::new();
    session.learn_dependencies(store, system);
    session.assume_no_dependencies(system);
    let listings = session.listing_keys();
    let found = store.get_many(&listings);
    known.extend(
        listings.into_iter().zip(found.iter().map(|found| KnownAction::of(found.as_ref()))),
    );
    loop {
        let outcomes = |key| known.get(&key)?.outcome(key, store);
        let mut missing = Vec::new();
        each_key(session, &outcomes, &mut |key| {
            if !known.contains_key(&key) {
                missing.push(key);
            }
        });
        // Plans wait for files that rows name until those are read.
        let has_read = session.read_unread(system);
        if missing.is_empty() && !has_read {
            let wanted = known.into_iter();
            return wanted.map(|(key, known)| WantedAction { key, stored: known.stored }).collect();
        }
        let rests_on_outcomes = rests_on_outcomes(session);
        let mut outcomes = Vec::new();
        for keys in missing.chunks(BATCH) {
            store.visit_many(keys, &mut |place, entry| {
                let key = keys[place];
                if rests_on_outcomes {
                    let body = entry.as_ref().and_then(|entry| read_body(&entry.body).ok());
                    outcomes.extend(body.map(|outcome| (key, Arc::new(outcome))));
                }
                known.insert(key, KnownAction::of(entry.as_ref()));
            });
        }
        if rests_on_outcomes {
            let root = session.root;
            let waiting = root.chunks(&session.db).clone();
            Change { outcomes, waiting, ..Change::default() }.apply(&mut session.db, root);
        }
    }
}

/// Whether plans rest on outcomes, which must be in the graph then.
fn rests_on_outcomes(session: &Session) -> bool {
    let db = &session.db;
    session.graders().iter().any(|grader| programs::rests_on_outcomes(db, *grader))
}

fn each_key(session: &Session, outcomes: Outcomes<'_>, visit: &mut dyn FnMut(ActionKey)) {
    let db = &session.db;
    let root = session.root;
    for chunk in root.chunks(db) {
        for grader in session.graders() {
            let ready = queries::ready(db, *grader);
            let Threshold(threshold) = grader.pass_threshold(db);
            for planned in queries::plans(db, *chunk, *grader).iter() {
                each_wanted(planned, ready, outcomes, threshold, &mut |_, key| visit(key));
            }
        }
    }
}
