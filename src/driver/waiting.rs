//! What a session waits for: the actions that its plans want and that are neither in the graph nor in the store.
//!
//! Plans that were settled before and have not changed are passed over by comparing pointers, so that looking for
//! work costs one comparison a chunk where there is none. What a plan wants may depend on its grader's threshold and
//! grow with what is known: ballots that confirm are wanted once the first ones are bad.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::session::Session;
use super::settle::{Refresh, Tally};
use crate::action::{ActionKey, KeyMap, KeySet};
use crate::db::Db;
use crate::db::inputs::Chunk;
use crate::db::queries::{self, Threshold};
use crate::evaluate::{Method, Outcomes, Planned, each_wanted};
use crate::outcome::Outcome;
use crate::price::Cost;
use crate::store::{Entry, OutcomeStore};

/// Keys looked up at once: their bodies are in memory together.
const LOOKED_UP: usize = 2_048;

/// The plans of one chunk and what passes, grader by grader.
type Plans = Box<[(Arc<[Planned]>, Threshold)]>;

/// The plans of which every action that is wanted has an outcome that stays.
#[derive(Debug, Default)]
pub(super) struct SettledPlans(HashMap<Chunk, Plans>);

impl SettledPlans {
    fn has(&self, chunk: Chunk, plans: &Plans) -> bool {
        let is_same = |(left, right): (&(Arc<_>, Threshold), &(Arc<_>, Threshold))| {
            Arc::ptr_eq(&left.0, &right.0) && left.1 == right.1
        };
        self.0.get(&chunk).is_some_and(|settled| {
            settled.len() == plans.len() && settled.iter().zip(plans).all(is_same)
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

/// The actions whose stored outcomes are asked anew: all that a refreshed grader rests on, whoever wants them first.
#[derive(Debug)]
pub(super) enum Refreshed {
    /// Every one.
    All,
    /// These.
    Keys(KeySet),
}

impl Refreshed {
    /// Those that `refresh` asks for.
    pub(super) fn of(session: &Session, refresh: &Refresh) -> Self {
        let (db, root) = (&session.db, session.root);
        let mut keys = KeySet::default();
        match refresh {
            Refresh::All => return Self::All,
            Refresh::None => return Self::Keys(keys),
            Refresh::Graders(_) => {}
        }
        let graders = queries::graders(db, root).iter();
        for grader in graders.filter(|grader| refresh.covers(grader.name(db))) {
            for chunk in root.chunks(db) {
                for planned in queries::plans(db, *chunk, *grader).iter() {
                    planned.each_key(&mut |_, _, key| _ = keys.insert(key));
                }
            }
        }
        Self::Keys(keys)
    }

    /// Whether `key` is one of them.
    pub(super) fn has(&self, key: ActionKey) -> bool {
        match self {
            Self::All => true,
            Self::Keys(keys) => keys.contains(&key),
        }
    }
}

/// What a session waits for.
#[derive(Debug, Default)]
pub(super) struct WaitList {
    /// What is in no store, each key once: in dataset order, what confirms after what it may confirm.
    pub(super) queue: VecDeque<Waiting>,
    /// What the actions of each grader come to so far, in the order of the suite.
    pub(super) tallies: Vec<(String, Tally)>,
    /// What is wanted and was not looked up yet.
    fresh: Vec<Waiting>,
    seen: KeySet,
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
        for chunk in root.chunks(db) {
            let plans: Plans = graders
                .iter()
                .map(|grader| {
                    (queries::plans(db, *chunk, *grader).clone(), grader.pass_threshold(db))
                })
                .collect();
            if !session.settled_plans.has(*chunk, &plans) {
                list.scanned.push((*chunk, plans));
            }
        }
        list.add_wanted(session, &|_| true, &stays(session));
        list
    }

    /// Adds what confirms verdicts that are bad by what is known now. True if something was added.
    pub(super) fn add_confirming(&mut self, session: &Session, outcomes: Outcomes<'_>) -> bool {
        let graders = queries::graders(&session.db, session.root);
        let confirms = |grader: usize| match &queries::ready(&session.db, graders[grader]).method {
            Method::Judge(judge) => judge.confirming_ballots() > 0,
            Method::Tool(_) | Method::Broken(_) => false,
        };
        self.add_wanted(session, &confirms, outcomes);
        !self.fresh.is_empty()
    }

    /// Adds what the plans of some graders want by what is known.
    fn add_wanted(
        &mut self,
        session: &Session,
        is_looked_at: &dyn Fn(usize) -> bool,
        outcomes: Outcomes<'_>,
    ) {
        let graders = queries::graders(&session.db, session.root);
        let scanned = std::mem::take(&mut self.scanned);
        for (chunk, plans) in &scanned {
            let looked_at = plans.iter().enumerate().filter(|(grader, _)| is_looked_at(*grader));
            for (grader, (plans, Threshold(threshold))) in looked_at {
                let ready = queries::ready(&session.db, graders[grader]);
                for (planned, case) in plans.iter().zip(0..) {
                    each_wanted(
                        planned,
                        ready,
                        (outcomes, *threshold),
                        &mut |turn, ballot, key| {
                            let (chunk, grader) = (*chunk, grader as u32);
                            let (generation, expected) = (0, Cost::ZERO);
                            self.add(
                                session,
                                Waiting {
                                    chunk,
                                    grader,
                                    case,
                                    turn,
                                    ballot,
                                    key,
                                    generation,
                                    expected,
                                },
                            );
                        },
                    );
                }
            }
        }
        self.scanned = scanned;
    }

    /// Adds an action, unless it was added before.
    fn add(&mut self, session: &Session, waiting: Waiting) {
        if !self.seen.insert(waiting.key) {
            return;
        }
        let tally = &mut self.tallies[waiting.grader as usize].1;
        tally.total += 1;
        if stays(session)(waiting.key).is_some() {
            tally.cached += 1;
        } else {
            self.fresh.push(waiting);
        }
    }

    /// Looks up what was added. Returns what the store has and is `usable`, with the chunks that waited; queues the
    /// rest.
    pub(super) fn look_up(
        &mut self,
        store: &mut dyn OutcomeStore,
        usable: &mut dyn FnMut(&Entry) -> Option<Outcome>,
    ) -> (Vec<(ActionKey, Arc<Outcome>)>, Vec<Chunk>) {
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for batch in std::mem::take(&mut self.fresh).chunks(LOOKED_UP) {
            let keys: Vec<ActionKey> = batch.iter().map(|waiting| waiting.key).collect();
            for (waiting, entry) in batch.iter().zip(store.get_many(&keys)) {
                let (_, tally) = &mut self.tallies[waiting.grader as usize];
                if let Some(outcome) = entry.as_ref().and_then(&mut *usable) {
                    tally.cached += 1;
                    tally.saved = tally.saved + outcome.usage();
                    found.push((waiting.key, Arc::new(outcome)));
                } else {
                    let generation = entry.map_or(0, |entry| entry.generation.saturating_add(1));
                    missing.push(Waiting { generation, ..*waiting });
                }
            }
        }
        self.note_waiting_chunks(&missing);
        self.queue.extend(missing);
        let waited = if found.is_empty() {
            Vec::new()
        } else {
            self.scanned.iter().map(|(chunk, _)| *chunk).collect()
        };
        (found, waited)
    }

    /// Remembers which chunks wait for each key that is still missing.
    fn note_waiting_chunks(&mut self, missing: &[Waiting]) {
        let missing: KeySet = missing.iter().map(|waiting| waiting.key).collect();
        if missing.is_empty() {
            return;
        }
        for (chunk, plans) in &self.scanned {
            for planned in plans.iter().flat_map(|(plans, _)| plans.iter()) {
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

    /// Remembers the scanned plans of which every action that is wanted has an outcome that stays: those need no look
    /// again.
    pub(super) fn remember(self, session: &mut Session) -> Vec<(String, Tally)> {
        for (chunk, plans) in self.scanned {
            if is_settled(session, &plans) {
                session.settled_plans.0.insert(chunk, plans);
            } else {
                session.settled_plans.0.remove(&chunk);
            }
        }
        self.tallies
    }
}

fn is_settled(session: &Session, plans: &Plans) -> bool {
    let graders = queries::graders(&session.db, session.root);
    let known = stays(session);
    graders.iter().zip(plans).all(|(grader, (plans, Threshold(threshold)))| {
        let ready = queries::ready(&session.db, *grader);
        plans.iter().all(|planned| {
            let mut stays = *planned != Planned::Blocked;
            each_wanted(planned, ready, (&known, *threshold), &mut |_, _, key| {
                stays &= known(key).is_some();
            });
            stays
        })
    })
}

/// What is known of actions and stays known. A failure that may pass is asked again, and has no say until then.
pub(super) fn stays(session: &Session) -> impl Fn(ActionKey) -> Option<Arc<Outcome>> {
    |key| session.db.outcome(key).filter(|outcome| outcome.is_kept())
}
