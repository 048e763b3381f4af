//! What a session wants of a store: the entries behind its grades, without asking anybody.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::session::Session;
use crate::action::ActionKey;
use crate::db::queries::{self, Threshold};
use crate::evaluate::{Outcomes, each_wanted};
use crate::outcome::read_body;
use crate::store::{Entry, OutcomeStore};
use crate::system::System;

/// Every action that the session's plans want by what the store knows, sorted by key, each with its entry if the
/// store has one.
pub fn wanted(
    session: &mut Session,
    system: &dyn System,
    store: &mut dyn OutcomeStore,
) -> Vec<(ActionKey, Option<Entry>)> {
    let mut known: BTreeMap<ActionKey, Option<Entry>> = BTreeMap::new();
    loop {
        let outcomes = |key| {
            let entry = known.get(&key)?.as_ref()?;
            read_body(&entry.body).ok().map(Arc::new)
        };
        let mut missing = Vec::new();
        each_key(session, &outcomes, &mut |key| {
            if !known.contains_key(&key) {
                missing.push(key);
            }
        });
        // Plans wait for files that rows name until those are read.
        let has_read = session.read_unread(system);
        if missing.is_empty() && !has_read {
            return known.into_iter().collect();
        }
        let found = store.get_many(&missing);
        known.extend(missing.into_iter().zip(found));
    }
}

fn each_key(session: &Session, outcomes: Outcomes<'_>, visit: &mut dyn FnMut(ActionKey)) {
    let (db, root) = (&session.db, session.root);
    for chunk in root.chunks(db) {
        for grader in queries::graders(db, root) {
            let (ready, Threshold(threshold)) =
                (queries::ready(db, *grader), grader.pass_threshold(db));
            for planned in queries::plans(db, *chunk, *grader).iter() {
                each_wanted(planned, ready, (outcomes, threshold), &mut |_, _, key| visit(key));
            }
        }
    }
}
