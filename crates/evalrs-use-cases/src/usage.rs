//! What a run leaves of the store for others: a note of what it used, so that `cache gc` keeps it, and few segments.

use std::path::Path;

use super::context::SuiteContext;
use evalrs_engine::session::Session;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::planned_actions::each_planned_key;
use evalrs_model::key::ActionKey;
use evalrs_store as store;
use evalrs_system::System;

/// Notes the outcomes that a settled session rests on, so that `cache gc` knows what is in use; says why if it cannot.
pub fn note_used(
    session: &mut Session,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> Option<String> {
    let suite = session.suite()?.name.clone();
    let mut keys = planned_keys(session, system);
    let planned = keys.len();
    keys.retain(|key| session.db.outcomes.is_kept(*key));
    let is_whole = keys.len() == planned && !is_narrowed(session);
    // Without them nobody would know the keys of what programs gave.
    keys.extend(session.listing_keys());
    let path = session.root.suite(&session.db).path(&session.db);
    let of = &surroundings.in_workspace(path, system);
    let run = store::RunNote { of, is_whole };
    let dir = Path::new(&surroundings.cache_dir);
    let noted = store::note_used(dir, &suite, Some(run), system.now(), &keys);
    noted.err().map(|error| format!("`cache gc` will not know what this run used: {error}"))
}

/// Packs the segments that earlier runs have left in a store, where there are many; says why if it cannot.
pub(super) fn pack_store(dir: &str) -> Option<String> {
    let packed = store::pack_many(Path::new(dir));
    packed.err().map(|error| format!("the store at `{dir}` was not packed: {error}"))
}

/// Whether the command line leaves part of the suite out.
pub(super) fn is_narrowed(session: &Session) -> bool {
    let Overrides { max_samples, tags, samples, graders, trials, .. } =
        session.root.overrides(&session.db);
    let is_whole = tags.is_empty() && samples.is_empty() && graders.is_empty();
    !is_whole || max_samples.is_some() || trials.is_some()
}

/// The keys of everything that is planned, sorted. Plans wait for files that rows name until those are read.
fn planned_keys(session: &mut Session, system: &dyn System) -> Vec<ActionKey> {
    loop {
        let db = &session.db;
        let root = session.root;
        let mut keys: Vec<ActionKey> = Vec::new();
        each_planned_key(db, root, &mut |key| keys.push(key));
        if !session.read_unread(system) {
            keys.sort_unstable();
            keys.dedup();
            return keys;
        }
    }
}
