//! Judgments that are missing here and stored for another endpoint: the same model and prompt, asked elsewhere.
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
use evalrs_eval::evaluate::Purpose;
use evalrs_eval::judge::{JudgeAction, KIND};
use evalrs_graph::{queries, results};
use evalrs_model::key::{ActionKey, Ingredient, KeyMap};
use evalrs_store::OutcomeStore;

/// How many stored judgments are read for their endpoints. Keys are spread evenly: an endpoint that answered one in a
/// hundred is found.
const READ: usize = 4_096;
/// How many keys are looked up at once.
const LOOKED_UP: usize = 2_048;

/// Where a judgment is stored, and where it would be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherEndpoint {
    /// The endpoint in the key that is missing.
    pub asked: String,
    /// The endpoint in the key that is stored.
    pub stored: String,
}

/// The keys among those of `missing` whose actions are stored for another endpoint.
pub(crate) fn stored_elsewhere<'a>(
    session: &Session,
    store: &dyn OutcomeStore,
    endpoints: &OnceCell<StoredEndpoints>,
    missing: impl IntoIterator<Item = &'a WaitingAction>,
) -> KeyMap<Arc<OtherEndpoint>> {
    let mut found = KeyMap::default();
    let judgments = missing.into_iter().filter(|waiting| waiting.purpose == Purpose::Grade);
    let mut judgments = judgments.peekable();
    if judgments.peek().is_none() {
        return found;
    }
    let endpoints = endpoints.get_or_init(|| StoredEndpoints::of(store));
    let mut pairs: BTreeMap<ActionKey, ElsewhereKey> = BTreeMap::new();
    for waiting in judgments {
        for (key, candidate) in candidates(session, waiting, endpoints) {
            pairs.insert(key, candidate);
        }
        if pairs.len() >= LOOKED_UP {
            look_up(&mut pairs, store, &mut found);
        }
    }
    look_up(&mut pairs, store, &mut found);
    found
}

/// An action that is missing, as it would be stored elsewhere.
struct ElsewhereKey {
    missing: ActionKey,
    endpoint: Arc<OtherEndpoint>,
}

fn look_up(
    pairs: &mut BTreeMap<ActionKey, ElsewhereKey>,
    store: &dyn OutcomeStore,
    found: &mut KeyMap<Arc<OtherEndpoint>>,
) {
    let pairs = std::mem::take(pairs);
    let keys: Vec<ActionKey> = pairs.keys().copied().collect();
    for (candidate, line) in pairs.into_values().zip(store.lines_of(&keys)) {
        if line.is_some() {
            found.insert(candidate.missing, candidate.endpoint);
        }
    }
}

/// The keys that an action would have at the other endpoints of its model.
fn candidates(
    session: &Session,
    waiting: &WaitingAction,
    endpoints: &StoredEndpoints,
) -> Vec<(ActionKey, ElsewhereKey)> {
    let WaitingAction { cell, ballot, key: missing, .. } = *waiting;
    let db = &session.db;
    let Some(grader) = session.grader(cell.grader) else { return Vec::new() };
    let Some(judge) = queries::ready(db, grader).judge() else { return Vec::new() };
    let Some(seat) = judge.seats.get(judge.ballot(ballot.ballot).judge) else { return Vec::new() };
    let asked = seat.model_settings();
    let others = endpoints.beside(asked);
    // Only where there are some is the prompt rendered again.
    if others.is_empty() {
        return Vec::new();
    }
    let Some(Action::Judge(mut action)) =
        results::action_of(db, cell.chunk, cell.case, grader, ballot)
    else {
        return Vec::new();
    };
    let mut keyed = Vec::new();
    for endpoint in others {
        action.endpoint.clone_from(&endpoint.stored);
        let action = Action::Judge(action.clone());
        keyed.push((action.key(), ElsewhereKey { missing, endpoint }));
    }
    keyed
}

/// The endpoints of stored judgments, by provider and model.
#[derive(Debug, Default)]
pub(crate) struct StoredEndpoints(BTreeMap<(String, String), BTreeSet<String>>);

impl StoredEndpoints {
    /// Those of the judgments of a store.
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

    /// Those that are not where `asked` goes.
    fn beside(&self, asked: &JudgeAction) -> Vec<Arc<OtherEndpoint>> {
        let of = (asked.provider.clone(), asked.model.clone());
        let all = self.0.get(&of).into_iter().flatten();
        let others = all.filter(|stored| **stored != asked.endpoint);
        let other = |stored: &String| OtherEndpoint {
            asked: asked.endpoint.clone(),
            stored: stored.clone(),
        };
        others.map(|stored| Arc::new(other(stored))).collect()
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
