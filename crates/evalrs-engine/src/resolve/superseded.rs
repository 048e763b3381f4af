//! Which of the actions that the store does not answer it has under the key of an earlier version.

use super::waiting::WaitingAction;
use crate::session::Session;
use evalrs_eval::evaluate::{BallotId, Purpose};
use evalrs_graph::inputs::CellId;
use evalrs_graph::results::{self, RenderedAction};
use evalrs_model::key::{ActionKey, KeySet, KeyVersion};
use evalrs_store::OutcomeStore;

/// How many keys are looked up at once.
const LOOKED_UP: usize = 2_048;

/// The keys among those of `missing` whose actions have outcomes under earlier keys.
pub(crate) fn superseded<'a>(
    session: &Session,
    store: &dyn OutcomeStore,
    missing: impl IntoIterator<Item = &'a WaitingAction>,
) -> KeySet {
    let mut found = KeySet::default();
    let mut missing = missing.into_iter().peekable();
    // A first run has no earlier judgments, and nothing need be rendered to know it.
    if missing.peek().is_none() || store.is_empty() {
        return found;
    }
    let mut pairs = Vec::new();
    let mut look_up = |pairs: &mut Vec<KeyPair>| {
        let earlier: Vec<ActionKey> = pairs.iter().map(|pair| pair.earlier).collect();
        let lines = store.lines_of(&earlier);
        let held = pairs.drain(..).zip(lines).filter(|(_, line)| line.is_some());
        found.extend(held.map(|(pair, _)| pair.current));
    };
    for waiting in missing {
        let WaitingAction { cell, ballot, purpose, key: current, .. } = *waiting;
        let earlier = earlier_key(session, cell, ballot, purpose);
        pairs.extend(earlier.map(|earlier| KeyPair { current, earlier }));
        if pairs.len() == LOOKED_UP {
            look_up(&mut pairs);
        }
    }
    look_up(&mut pairs);
    found
}

/// The keys of one action in two versions.
struct KeyPair {
    current: ActionKey,
    earlier: ActionKey,
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
