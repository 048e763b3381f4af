//! What a run leaves of the store for others: a note of what it used, so that `cache gc` keeps it, and few segments.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::context::SuiteContext;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_engine::session::Session;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::planned_actions::each_planned_key;
use evalrs_model::key::ActionKey;
use evalrs_store as store;
use evalrs_store::OutcomeStore;
use evalrs_system::System;

/// Outcomes that are looked up at once.
const AT_ONCE: usize = 1_024;

/// A note of use that is written beside other work.
#[derive(Debug)]
pub struct UseNote(Option<JoinHandle<Option<String>>>);

impl UseNote {
    /// Waits until it is written; says why if it cannot be.
    pub fn warning(self) -> Option<String> {
        self.0?.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// Notes the outcomes that a settled session rests on, so that `cache gc` knows what is in use.
pub fn note_used(
    session: &mut Session,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> UseNote {
    let is_narrowed = is_narrowed(session);
    note(session, surroundings, system, is_narrowed)
}

/// The same of a trial: what the suite uses otherwise stays in use.
pub(super) fn note_tried(
    session: &mut Session,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> UseNote {
    note(session, surroundings, system, true)
}

fn note(
    session: &mut Session,
    surroundings: &SuiteContext,
    system: &dyn System,
    is_part: bool,
) -> UseNote {
    let Some(suite) = session.suite().map(|suite| suite.name.clone()) else { return UseNote(None) };
    let keys = planned_keys(session, system);
    let outcomes = Arc::clone(&session.db.outcomes);
    // Without them nobody would know the keys of what programs gave.
    let listing = session.listing_keys();
    let path = session.root.suite(&session.db).path(&session.db);
    let of = surroundings.in_workspace(path, system);
    let dir = surroundings.cache_dir.clone();
    let now = system.now();
    UseNote(Some(std::thread::spawn(move || {
        let mut keys = sorted(keys);
        let planned = keys.len();
        keys.retain(|key| outcomes.is_kept(*key));
        let is_whole = keys.len() == planned && !is_part;
        keys.extend(listing);
        let run = store::RunNote { of: &of, is_whole };
        let noted = store::note_used(Path::new(&dir), &suite, Some(run), now, &keys);
        noted.err().map(|error| format!("`cache gc` will not know what this run used: {error}"))
    })))
}

/// Whose outcomes of a shared cache a settled session rests on: writer → how many. What was made here, too, is none of theirs.
pub(super) fn outcome_writers(
    session: &mut Session,
    surroundings: &SuiteContext,
    store: &dyn OutcomeStore,
    system: &dyn System,
) -> OrderedMap<u64> {
    if surroundings.workspace.shared_cache.is_none() {
        return OrderedMap::default();
    }
    let keys = sorted(planned_keys(session, system));
    let mut writers: BTreeMap<Arc<str>, u64> = BTreeMap::new();
    for keys in keys.chunks(AT_ONCE) {
        for writer in store.writers_of(keys).into_iter().flatten() {
            *writers.entry(writer).or_default() += 1;
        }
    }
    OrderedMap(writers.into_iter().map(|(writer, count)| (writer.to_string(), count)).collect())
}

fn sorted(mut keys: Vec<ActionKey>) -> Vec<ActionKey> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Packs the segments that earlier runs have left in a store, where there are many; says why if it cannot.
pub(super) fn pack_store(dir: &str) -> Option<String> {
    let packed = store::pack_many(Path::new(dir));
    packed.err().map(|error| format!("the store at `{dir}` was not packed: {error}"))
}

/// Whether the command line leaves part of the suite out.
pub(super) fn is_narrowed(session: &Session) -> bool {
    let overrides: &Overrides = session.root.overrides(&session.db);
    !(overrides.has_every_case() && overrides.graders.is_empty())
}

/// The keys of everything that is planned. Plans wait for files that rows name until those are read.
pub(super) fn planned_keys(session: &mut Session, system: &dyn System) -> Vec<ActionKey> {
    loop {
        let db = &session.db;
        let root = session.root;
        let mut keys: Vec<ActionKey> = Vec::new();
        each_planned_key(db, root, &mut |key| keys.push(key));
        if !session.read_unread(system) {
            return keys;
        }
    }
}
