//! What a session waits for: the actions of its plans that are neither in the graph nor in the store.
//!
//! Plans that were settled before and have not changed are passed over by comparing pointers, so that looking for
//! work costs one comparison a chunk where there is none.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::session::Session;
use super::settle::Tally;
use crate::action::{ActionKey, KeyMap, KeySet};
use crate::db::Db;
use crate::db::inputs::Chunk;
use crate::db::queries;
use crate::evaluate::Planned;
use crate::outcome::Outcome;
use crate::price::Cost;
use crate::store::{Entry, OutcomeStore};

/// Keys looked up at once: their bodies are in memory together.
const LOOKED_UP: usize = 2_048;

/// The plans of one chunk, grader by grader.
type Plans = Box<[Arc<[Planned]>]>;

/// The plans whose every action has an outcome that stays.
#[derive(Debug, Default)]
pub(super) struct SettledPlans(HashMap<Chunk, Plans>);

impl SettledPlans {
    fn has(&self, chunk: Chunk, plans: &[Arc<[Planned]>]) -> bool {
        self.0.get(&chunk).is_some_and(|settled| {
            settled.len() == plans.len()
                && settled.iter().zip(plans).all(|(left, right)| Arc::ptr_eq(left, right))
        })
    }
}

/// An action that waits, and who for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// The chunk that was planned.
    pub(super) chunk: Chunk,
    /// The ordinal of the grader.
    pub(super) grader: u32,
    /// The case in its chunk.
    pub(super) case: u32,
    /// The turn of the case.
    pub(super) turn: u32,
    /// The ballot of its judges.
    pub(super) ballot: u32,
    /// The action.
    pub(super) key: ActionKey,
    /// The generation its outcome is kept under.
    pub(super) generation: u32,
    /// What it is expected to cost, while it is under way.
    pub(super) expected: Cost,
}

/// What a session waits for.
#[derive(Debug, Default)]
pub(super) struct WaitList {
    /// In dataset order, each key once.
    pub(super) queue: VecDeque<Waiting>,
    /// What the actions of each grader come to so far, in the order of the suite.
    pub(super) tallies: Vec<(String, Tally)>,
    scanned: Vec<(Chunk, Plans)>,
    chunks: KeyMap<Vec<Chunk>>,
}

impl WaitList {
    /// Scans the plans that are new since the session was settled last.
    pub(super) fn scan(session: &Session) -> Self {
        let (db, root) = (&session.db, session.root);
        let graders = queries::graders(db, root);
        let tallies =
            graders.iter().map(|grader| (grader.name(db).clone(), Tally::default())).collect();
        let mut list = Self { tallies, ..Self::default() };
        let mut seen = KeySet::default();
        for chunk in root.chunks(db) {
            let plans: Plans =
                graders.iter().map(|grader| queries::plans(db, *chunk, *grader).clone()).collect();
            if !session.settled_plans.has(*chunk, &plans) {
                list.add(session, (*chunk, &plans), &mut seen);
                list.scanned.push((*chunk, plans));
            }
        }
        list
    }

    fn add(&mut self, session: &Session, (chunk, plans): (Chunk, &Plans), seen: &mut KeySet) {
        for (grader, plans) in plans.iter().enumerate() {
            let tally = &mut self.tallies[grader].1;
            for (case, planned) in plans.iter().enumerate() {
                planned.each_key(&mut |turn, ballot, key| {
                    if !seen.insert(key) {
                        return;
                    }
                    tally.total += 1;
                    if session.db.outcome(key).is_some_and(|outcome| outcome.is_kept()) {
                        tally.cached += 1;
                        return;
                    }
                    let (grader, case) = (grader as u32, case as u32);
                    self.queue.push_back(Waiting {
                        chunk,
                        grader,
                        case,
                        turn,
                        ballot,
                        key,
                        generation: 0,
                        expected: Cost::ZERO,
                    });
                });
            }
        }
    }

    /// Takes everything out of the queue that the store has and that is `usable`; returns it with the chunks that
    /// waited.
    pub(super) fn look_up(
        &mut self,
        store: &mut dyn OutcomeStore,
        usable: &mut dyn FnMut(&str, &Entry) -> Option<Outcome>,
    ) -> (Vec<(ActionKey, Arc<Outcome>)>, Vec<Chunk>) {
        let mut found = Vec::new();
        let mut missing = VecDeque::new();
        let mut queue = std::mem::take(&mut self.queue);
        for batch in queue.make_contiguous().chunks(LOOKED_UP) {
            let keys: Vec<ActionKey> = batch.iter().map(|waiting| waiting.key).collect();
            for (waiting, entry) in batch.iter().zip(store.get_many(&keys)) {
                let (name, tally) = &mut self.tallies[waiting.grader as usize];
                if let Some(outcome) = entry.as_ref().and_then(|entry| usable(name, entry)) {
                    tally.cached += 1;
                    tally.saved = tally.saved + outcome.usage();
                    found.push((waiting.key, Arc::new(outcome)));
                } else {
                    let generation = entry.map_or(0, |entry| entry.generation.saturating_add(1));
                    missing.push_back(Waiting { generation, ..*waiting });
                }
            }
        }
        self.queue = missing;
        self.note_waiting_chunks();
        let waited = if found.is_empty() {
            Vec::new()
        } else {
            self.scanned.iter().map(|(chunk, _)| *chunk).collect()
        };
        (found, waited)
    }

    /// Remembers which chunks wait for each key that is still missing.
    fn note_waiting_chunks(&mut self) {
        let missing: KeySet = self.queue.iter().map(|waiting| waiting.key).collect();
        if missing.is_empty() {
            return;
        }
        for (chunk, plans) in &self.scanned {
            for planned in plans.iter().flat_map(|plans| plans.iter()) {
                planned.each_key(&mut |_, _, key| {
                    if missing.contains(&key) {
                        let chunks = self.chunks.entry(key).or_default();
                        if chunks.last() != Some(chunk) {
                            chunks.push(*chunk);
                        }
                    }
                });
            }
        }
    }

    /// The chunks that wait for `key`, if it was not in the store.
    pub(super) fn chunks_of(&self, key: ActionKey) -> &[Chunk] {
        self.chunks.get(&key).map_or(&[], Vec::as_slice)
    }

    /// Remembers the scanned plans whose every action has an outcome that stays: those need no look again.
    pub(super) fn remember(self, session: &mut Session) -> Vec<(String, Tally)> {
        for (chunk, plans) in self.scanned {
            let mut stays = true;
            for planned in plans.iter().flat_map(|plans| plans.iter()) {
                stays &= *planned != Planned::Blocked;
                planned.each_key(&mut |_, _, key| {
                    stays &= session.db.outcome(key).is_some_and(|outcome| outcome.is_kept());
                });
            }
            if stays {
                session.settled_plans.0.insert(chunk, plans);
            } else {
                session.settled_plans.0.remove(&chunk);
            }
        }
        self.tallies
    }
}
