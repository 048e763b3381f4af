//! Actions that are missing under their keys and stored under others: those of an earlier version, or those of another
//! endpoint with the same model and prompt.
//!
//! Which endpoints there are is read off stored judgments; whether they answered is a look at the key that an action would
//! have there.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

use super::waiting::WaitingAction;
use crate::session::Session;
use evalrs_eval::action::Action;
use evalrs_eval::evaluate::{BallotId, Purpose};
use evalrs_eval::judge::{JudgeAction, KIND};
use evalrs_graph::inputs::CellId;
use evalrs_graph::queries;
use evalrs_graph::results::{self, RenderedAction};
use evalrs_model::key::{ActionKey, Ingredient, KeyMap, KeySet, KeyVersion};
use evalrs_store::OutcomeStore;

/// How many stored judgments are read for their endpoints. Keys are spread evenly: an endpoint that answered one in a
/// hundred is found.
const READ: usize = 4_096;
/// Actions that are looked up at once.
const LOOKED_UP: usize = 2_048;

/// The endpoint of a stored judgment, and the endpoint it would be requested from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherEndpoint {
    /// The endpoint in the key that is missing.
    pub asked: String,
    /// The endpoint in the key that is stored.
    pub stored: String,
}

/// The keys among those of `missing` whose actions are stored for another endpoint.
pub(crate) fn stored_elsewhere(
    session: &Session,
    store: &dyn OutcomeStore,
    endpoints: &OnceCell<StoredEndpoints>,
    missing: &[WaitingAction],
) -> KeyMap<Arc<OtherEndpoint>> {
    let judgments: Vec<&WaitingAction> =
        missing.iter().filter(|waiting| waiting.purpose == Purpose::Grade).collect();
    let mut found = KeyMap::default();
    for batch in judgments.chunks(LOOKED_UP) {
        let endpoints = endpoints.get_or_init(|| StoredEndpoints::of(store));
        let mut pairs = BTreeMap::new();
        for waiting in batch {
            for (key, endpoint) in candidates(session, waiting, endpoints) {
                pairs.insert(key, (waiting.key, endpoint));
            }
        }
        let keys: Vec<ActionKey> = pairs.keys().copied().collect();
        let held = pairs.into_values().zip(store.lines_of(&keys));
        found.extend(held.filter(|(_, line)| line.is_some()).map(|(candidate, _)| candidate));
    }
    found
}

/// The keys that an action would have at the other endpoints of its model.
fn candidates(
    session: &Session,
    waiting: &WaitingAction,
    endpoints: &StoredEndpoints,
) -> Vec<(ActionKey, Arc<OtherEndpoint>)> {
    let WaitingAction { cell, ballot, .. } = *waiting;
    let db = &session.db;
    let Some(grader) = session.grader(cell.grader) else { return Vec::new() };
    let Some(judge) = queries::ready(db, grader).judge() else { return Vec::new() };
    let Some(seat) = judge.seats.get(judge.ballot(ballot.ballot).judge) else { return Vec::new() };
    let others = endpoints.beside(seat.model_settings());
    // Only where there are some is the prompt rendered again.
    if others.is_empty() {
        return Vec::new();
    }
    let Some(Action::Judge(mut action)) =
        results::action_of(db, cell.chunk, cell.case, grader, ballot)
    else {
        return Vec::new();
    };
    let keyed = others.into_iter().map(|endpoint| {
        action.endpoint.clone_from(&endpoint.stored);
        (Action::Judge(action.clone()).key(), endpoint)
    });
    keyed.collect()
}

#[derive(Debug, Default)]
pub(crate) struct StoredEndpoints(BTreeMap<(String, String), BTreeSet<String>>);

impl StoredEndpoints {
    fn of(store: &dyn OutcomeStore) -> Self {
        let mut endpoints = Self::default();
        let keys = store.keys();
        let step = keys.len() / READ + 1;
        let read: Vec<ActionKey> = keys.into_iter().step_by(step).collect();
        for keys in read.chunks(LOOKED_UP) {
            for line in store.lines_of(keys).into_iter().flatten() {
                if let Ok(body) = serde_json::from_str::<BodyIngredients>(line.outline()) {
                    endpoints.add(&body.ingredients);
                }
            }
        }
        endpoints
    }

    /// Those for another endpoint than `asked`.
    fn beside(&self, asked: &JudgeAction) -> Vec<Arc<OtherEndpoint>> {
        let all = self.0.get(&(asked.provider.clone(), asked.model.clone())).into_iter().flatten();
        let others = all.filter(|stored| **stored != asked.endpoint).cloned();
        let asked = &asked.endpoint;
        others.map(|stored| Arc::new(OtherEndpoint { asked: asked.clone(), stored })).collect()
    }

    fn add(&mut self, ingredients: &[Ingredient]) {
        let of = |name: &str| {
            let found = ingredients.iter().find(|one| one.name == name);
            found.filter(|one| one.digest.is_none()).and_then(|one| one.preview.clone())
        };
        if of("kind").is_some_and(|kind| kind == KIND)
            && let (Some(provider), Some(model), Some(endpoint)) =
                (of("provider"), of("model"), of("endpoint"))
        {
            self.0.entry((provider, model)).or_default().insert(endpoint);
        }
    }
}

/// What a stored body says that its key is made of.
#[derive(Deserialize)]
struct BodyIngredients {
    ingredients: Vec<Ingredient>,
}

/// The keys among those of `missing` whose actions have outcomes under earlier keys.
pub(crate) fn superseded<'a>(
    session: &Session,
    store: &dyn OutcomeStore,
    missing: impl IntoIterator<Item = &'a WaitingAction>,
) -> KeySet {
    let mut found = KeySet::default();
    let missing: Vec<&WaitingAction> = missing.into_iter().collect();
    // A first run has no earlier judgments, and nothing need be rendered to know it. To ask the store costs its size: not
    // where nothing is missing.
    if missing.is_empty() || store.is_empty() {
        return found;
    }
    for batch in missing.chunks(LOOKED_UP) {
        let pairs = batch.iter().filter_map(|waiting| {
            let WaitingAction { cell, ballot, purpose, key, .. } = **waiting;
            Some((earlier_key(session, cell, ballot, purpose)?, key))
        });
        let (earlier, current): (Vec<ActionKey>, Vec<ActionKey>) = pairs.unzip();
        let held = current.into_iter().zip(store.lines_of(&earlier));
        found.extend(held.filter(|(_, line)| line.is_some()).map(|(current, _)| current));
    }
    found
}

/// The key that an action of a grade had in the version before.
pub(crate) fn earlier_key(
    session: &Session,
    cell: CellId,
    ballot: BallotId,
    purpose: Purpose,
) -> Option<ActionKey> {
    let CellId { chunk, case, grader } = cell;
    let grader = session.grader(grader)?;
    let wanted = RenderedAction { ballot, purpose, version: KeyVersion::Superseded };
    let action = results::action_for(&session.db, chunk, case, grader, wanted)?;
    Some(action.superseded_key())
}
