//! What a session wants of a store: the entries behind its grades. Nothing is asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::system::System;
use crate::effects::store::{Entry, OutcomeStore};
use crate::engine::session::Session;
use crate::graph::change::Change;
use crate::graph::programs;
use crate::graph::queries;
use crate::graph::queries::Threshold;
use crate::pipeline::evaluate::{Outcomes, each_wanted};
use crate::pipeline::key::ActionKey;
use crate::pipeline::outcome::read_body;

/// Every action that the session's plans want by what the store knows, sorted by key, each with its entry if the
/// store has one.
pub(crate) fn stored_entries(
    session: &mut Session,
    system: &dyn System,
    store: &dyn OutcomeStore,
) -> Vec<(ActionKey, Option<Entry>)> {
    let mut known: BTreeMap<ActionKey, Option<Entry>> = BTreeMap::new();
    session.learn_dependencies(store, system);
    session.assume_no_dependencies(system);
    let listings = session.listing_keys();
    known.extend(listings.iter().copied().zip(store.get_many(&listings)));
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
        bring_in(session, &missing, &found);
        known.extend(missing.into_iter().zip(found));
    }
}

/// Where plans rest on outcomes, those must be in the graph.
fn bring_in(session: &mut Session, keys: &[ActionKey], found: &[Option<Entry>]) {
    let db = &session.db;
    let root = session.root;
    if !session.graders().iter().any(|grader| programs::rests_on_outcomes(db, *grader)) {
        return;
    }
    let outcomes = keys
        .iter()
        .zip(found)
        .filter_map(|(key, entry)| Some((*key, Arc::new(read_body(&entry.as_ref()?.body).ok()?))));
    let outcomes = outcomes.collect();
    let waiting = root.chunks(db).clone();
    Change { outcomes, waiting, ..Change::default() }.apply(&mut session.db, root);
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
