//! What a session waits for: the actions that its plans want and that are neither in the graph nor in the store.
//!
//! Plans that were settled before and have not changed are passed over by comparing pointers, so that looking for
//! work costs one comparison a chunk where there is none. What a plan wants may depend on its grader's threshold and
//! grow with what is known: ballots that confirm are wanted once the first ones are bad.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::whole_answers::size_of_reply;
use crate::session::Session;
use evalrs_base::price::Cost;
use evalrs_eval::evaluate::{BallotId, GradePlan, Outcomes, Purpose, each_wanted};
use evalrs_graph::inputs::{CellId, Chunk};
use evalrs_graph::known::KnownGrades;
use evalrs_graph::planned_actions::planned_actions;
use evalrs_graph::queries::{self, Grader, Threshold};
use evalrs_graph::{Db, answers, known_grades, programs};
use evalrs_model::delta::CellState;
use evalrs_model::key::{ActionKey, KeyMap, KeySet};
use evalrs_model::outcome::{ActionTally, Outcome};
use evalrs_store::{Entry, OutcomeStore};

/// Keys looked up at once: their lines are in memory together, and one large body.
const LOOKED_UP: usize = 2_048;
/// The same of conversations, which may be large.
const CONVERSATIONS_LOOKED_UP: usize = 64;
/// Bytes of replies after which what was found is to be brought into the graph before more is looked up.
const MAX_FOUND: usize = 16 << 20;

/// The plans of one chunk and what passes, grader by grader.
type Plans = Box<[(Arc<[GradePlan]>, Threshold)]>;

/// The plans of which every action that is wanted has an outcome that stays, and how many those are. It outlives a
/// wait list, so that the next one looks only at what is new.
#[derive(Debug, Default)]
pub struct SettledPlans(HashMap<Chunk, (Plans, Box<[u64]>)>);

impl SettledPlans {
    /// How many actions the plans want, grader by grader, if they are settled.
    fn actions(&self, chunk: Chunk, plans: &Plans) -> Option<&[u64]> {
        let (settled, actions) = self.0.get(&chunk)?;
        let mut both = settled.iter().zip(plans);
        let are_same = settled.len() == plans.len()
            && both.all(|(left, right)| Arc::ptr_eq(&left.0, &right.0) && left.1 == right.1);
        are_same.then_some(actions)
    }
}

/// An action that waits, and who for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingAction {
    /// The grade that it is for.
    pub cell: CellId,
    /// Which of the actions of that grade it is.
    pub ballot: BallotId,
    pub key: ActionKey,
    pub generation: u32,
    pub purpose: Purpose,
    /// What it is expected to cost, while it is under way.
    pub expected: Cost,
    /// What its request begins with, while it is under way and others begin like it.
    pub prefix: Option<super::queues::PrefixDigest>,
}

impl WaitingAction {
    pub(crate) fn new(cell: CellId, ballot: BallotId, key: ActionKey) -> Self {
        let purpose = Purpose::Grade;
        Self { cell, ballot, key, generation: 0, purpose, expected: Cost::ZERO, prefix: None }
    }
}

/// Which of the plans that were scanned are looked at.
#[derive(Clone, Debug)]
pub(crate) enum ScannedPlans {
    /// Those that were scanned as this and later.
    From(usize),
    /// Those of some chunks.
    Of(Vec<Chunk>),
}

/// What the store has of what is wanted.
#[derive(Debug, Default)]
pub(crate) struct FoundOutcomes {
    pub outcomes: Vec<(ActionKey, Arc<Outcome>)>,
    /// The chunks that waited for them. Nothing depends on their order: the epoch of each is raised once.
    pub waiting: HashSet<Chunk>,
    /// Which of them are answers of the target, and how large those are.
    pub answers: Vec<(ActionKey, usize)>,
    /// The bytes of all of these.
    answer_bytes: usize,
    /// Whether there is more to look up, once this is in the graph.
    pub(crate) has_more: bool,
}

#[derive(Debug, Default)]
pub(crate) struct WaitList {
    /// What is in no store, each key once: in the order of the scan, what confirms after what it may confirm.
    pub queue: Vec<WaitingAction>,
    /// The result of the actions of each grader so far, in the order of the suite.
    pub tallies: Vec<(String, ActionTally)>,
    /// The result of the conversations of the target so far.
    pub conversations: ActionTally,
    /// What is wanted and was not looked up yet.
    fresh: Vec<WaitingAction>,
    /// Chunks that want what is known already.
    known: Vec<Chunk>,
    seen: KeySet,
    scanned: Vec<(Chunk, Plans)>,
    /// Where chunks stand in `scanned`.
    places: HashMap<Chunk, usize>,
    /// What needs no look, from earlier lists.
    pub settled: SettledPlans,
    /// The chunks that want what is fresh or in no store. Mostly one: a list on the heap for each key would be felt.
    chunks: KeyMap<SmallVec<[Chunk; 2]>>,
    /// For each grader, whether its program or extractor runs in every evaluation: the store is not used for that.
    repeats: Vec<[bool; 2]>,
    is_target_repeated: bool,
}

impl WaitList {
    /// Starts over with the graders of the session and nothing scanned yet.
    pub(crate) fn start_over(&mut self, session: &Session) {
        let db = &session.db;
        let graders = session.graders().iter();
        let tally = |grader: &Grader<'_>| (grader.name(db).clone(), ActionTally::default());
        *self = Self {
            tallies: graders.clone().map(tally).collect(),
            settled: std::mem::take(&mut self.settled),
            repeats: graders.map(|grader| programs::repeats(db, *grader)).collect(),
            is_target_repeated: answers::is_repeated(db, session.root),
            ..Self::default()
        };
    }

    /// What an action is counted in.
    pub(crate) fn tally(&mut self, waiting: &WaitingAction) -> &mut ActionTally {
        match waiting.purpose {
            Purpose::Answer => &mut self.conversations,
            Purpose::Grade | Purpose::Submission => &mut self.tallies[waiting.cell.grader].1,
        }
    }

    /// Whether an action is executed in every evaluation.
    pub(crate) fn is_repeated(&self, waiting: &WaitingAction) -> bool {
        let [grading, extracting] = self.repeats[waiting.cell.grader];
        match waiting.purpose {
            Purpose::Grade => grading,
            Purpose::Submission => extracting,
            Purpose::Answer => self.is_target_repeated,
        }
    }

    /// Starts over and scans the plans that are new since the session was settled last.
    pub(crate) fn scan(&mut self, session: &Session) {
        self.start_over(session);
        self.scan_chunks(session, session.root.chunks(&session.db));
    }

    /// Scans the plans of these chunks, those apart that were settled before. Each chunk once.
    #[tracing::instrument(level = "debug", name = "plan", skip_all, fields(chunks = chunks.len()))]
    pub(crate) fn scan_chunks(&mut self, session: &Session, chunks: &[Chunk]) {
        let db = &session.db;
        let from = self.scanned.len();
        let graders = session.graders();
        for chunk in chunks {
            let plans: Plans = graders
                .iter()
                .enumerate()
                .map(|(at, of)| {
                    // What an earlier process found is not planned: nothing of it waits.
                    let plans = match known_grades::grades(db, *chunk, *of) {
                        Some(known) => {
                            self.add_known(at, known);
                            Arc::default()
                        }
                        None if programs::is_of_grades(db, *of) => Arc::default(),
                        None => queries::plans(db, *chunk, *of).clone(),
                    };
                    (plans, of.pass_threshold(db))
                })
                .collect();
            let settled = self.settled.actions(*chunk, &plans);
            match settled.zip(known_extractions(session, *chunk)) {
                None => {
                    self.places.insert(*chunk, self.scanned.len());
                    self.scanned.push((*chunk, plans));
                }
                Some((actions, extractions)) => {
                    let actions = actions.iter().zip(extractions);
                    for ((_, tally), (actions, extractions)) in self.tallies.iter_mut().zip(actions)
                    {
                        tally.total += actions + extractions;
                        tally.cached += actions + extractions;
                    }
                }
            }
        }
        let places: Vec<usize> = (from..self.scanned.len()).collect();
        self.add_wanted(session, &places, &|_| true, &stays(session));
    }

    /// Counts what the grades of an earlier process rest on: the store has it.
    fn add_known(&mut self, grader: usize, known: &KnownGrades) {
        for action in known.actions() {
            if self.seen.insert(action.key()) {
                let tally = &mut self.tallies[grader].1;
                tally.total += 1;
                tally.cached += 1;
                tally.saved = tally.saved + action.usage().unwrap_or_default();
            }
        }
    }

    fn places_of(&self, plans: &ScannedPlans) -> Vec<usize> {
        match plans {
            ScannedPlans::From(from) => (*from..self.scanned.len()).collect(),
            ScannedPlans::Of(chunks) => {
                let places = chunks.iter().filter_map(|chunk| self.places.get(chunk).copied());
                places.collect::<BTreeSet<usize>>().into_iter().collect()
            }
        }
    }

    /// Adds what is wanted because of what is known now, of some of the plans that were scanned: what confirms verdicts
    /// that are bad, and what comes after programs and conversations. True if something was added.
    pub(crate) fn add_confirming(
        &mut self,
        session: &Session,
        plans: &ScannedPlans,
        outcomes: Outcomes<'_>,
    ) -> bool {
        let places = self.places_of(plans);
        let graders = session.graders();
        let goes_on = |grader: usize| programs::rests_on_outcomes(&session.db, graders[grader]);
        for place in &places {
            let (chunk, plans) = &mut self.scanned[*place];
            for at in (0..graders.len()).filter(|at| goes_on(*at)) {
                plans[at].0 = Arc::clone(queries::plans(&session.db, *chunk, graders[at]));
            }
        }
        let is_looked_at = |grader: usize| {
            let judge = queries::ready(&session.db, graders[grader]).judge();
            goes_on(grader) || judge.is_some_and(|judge| judge.confirming_ballots() > 0)
        };
        if (0..graders.len()).any(is_looked_at) {
            self.add_wanted(session, &places, &is_looked_at, outcomes);
        }
        !self.fresh.is_empty()
    }

    /// Adds what the plans at these places want of some graders, by what is known.
    fn add_wanted(
        &mut self,
        session: &Session,
        places: &[usize],
        is_looked_at: &dyn Fn(usize) -> bool,
        outcomes: Outcomes<'_>,
    ) {
        let graders = session.graders();
        let scanned = std::mem::take(&mut self.scanned);
        for place in places {
            let (chunk, plans) = &scanned[*place];
            let looked_at = plans.iter().enumerate().filter(|(grader, _)| is_looked_at(*grader));
            for (grader, (plans, Threshold(threshold))) in looked_at {
                self.add_extractions(session, *chunk, grader);
                let ready = queries::ready(&session.db, graders[grader]);
                for (case, planned) in plans.iter().enumerate() {
                    let cell = CellId { chunk: *chunk, case, grader };
                    each_wanted(planned, ready, outcomes, *threshold, &mut |ballot, key| {
                        let purpose = planned.purpose(ballot.turn);
                        let waiting = WaitingAction::new(cell, ballot, key);
                        self.add(session, WaitingAction { purpose, ..waiting });
                    });
                }
            }
        }
        self.scanned = scanned;
    }

    /// Adds what extracts the submissions of a chunk, also where they are known already: what they rest on may have been
    /// forgotten since, and has to be in the graph before they are made again.
    fn add_extractions(&mut self, session: &Session, chunk: Chunk, grader: usize) {
        let of = session.graders()[grader];
        programs::each_extraction(&session.db, chunk, of, &mut |case, turn, key| {
            let cell = CellId { chunk, case, grader };
            let waiting = WaitingAction::new(cell, BallotId { turn, ballot: 0 }, key);
            self.add(session, WaitingAction { purpose: Purpose::Submission, ..waiting });
        });
    }

    /// Adds an action, unless it was added before: then another chunk waits for it too.
    fn add(&mut self, session: &Session, waiting: WaitingAction) {
        let is_new = self.seen.insert(waiting.key);
        let is_known = session.db.outcomes.is_kept(waiting.key);
        let tally = self.tally(&waiting);
        tally.total += u64::from(is_new);
        tally.cached += u64::from(is_new && is_known);
        let chunk = waiting.cell.chunk;
        if is_known {
            if self.known.last() != Some(&chunk) {
                self.known.push(chunk);
            }
        } else {
            let chunks = self.chunks.entry(waiting.key).or_default();
            if chunks.last() != Some(&chunk) {
                chunks.push(chunk);
            }
        }
        let is_lost =
            waiting.purpose == Purpose::Answer && session.db.outcomes.take_lost(waiting.key);
        if (is_new || is_lost) && !is_known {
            self.fresh.push(waiting);
        }
    }

    /// The chunks that still wait, though what they want is known by now: it came before they wanted it.
    pub(crate) fn take_unapplied(&mut self, session: &Session) -> Vec<Chunk> {
        let mut known = std::mem::take(&mut self.known);
        known.retain(|chunk| {
            session.graders().iter().any(|grader| {
                let cells = &queries::cells(&session.db, *chunk, *grader).cells;
                cells.iter().any(|cell| cell.state == CellState::Pending)
            })
        });
        known
    }

    /// Looks up what was added, until that is much. Returns what the store has and is `usable`, with the chunks that
    /// waited; queues the rest.
    #[tracing::instrument(level = "debug", skip_all, fields(keys = self.fresh.len()))]
    pub(crate) fn look_up(
        &mut self,
        store: &dyn OutcomeStore,
        usable: &mut dyn FnMut(&Entry, &WaitingAction) -> Option<Outcome>,
    ) -> FoundOutcomes {
        let mut found = FoundOutcomes::default();
        let fresh = std::mem::take(&mut self.fresh);
        let mut rest = fresh.as_slice();
        while !rest.is_empty() && found.answer_bytes < MAX_FOUND {
            let batch;
            (batch, rest) = rest.split_at(batch_length(rest));
            let keys: Vec<ActionKey> = batch.iter().map(|waiting| waiting.key).collect();
            store.visit_many(&keys, &mut |place, entry| {
                let waiting = &batch[place];
                let entry = entry.filter(|_| !self.is_repeated(waiting));
                // What is repeated is not what was there before.
                let new = entry.as_ref().filter(|entry| entry.generation >= waiting.generation);
                if let Some(outcome) = new.and_then(|entry| usable(entry, waiting)) {
                    self.take_found(waiting, outcome, &mut found);
                } else {
                    let generation = entry.map_or(0, |held| held.generation.saturating_add(1));
                    self.queue.push(WaitingAction { generation, ..*waiting });
                }
            });
        }
        self.fresh.extend_from_slice(rest);
        found.has_more = !rest.is_empty();
        found
    }

    /// These are looked up with what is wanted next.
    pub(crate) fn look_up_again(&mut self, waiting: Vec<WaitingAction>) {
        self.fresh.extend(waiting);
    }

    /// Counts an outcome that the store has, and hands it on with the chunks that waited for it.
    fn take_found(&mut self, waiting: &WaitingAction, outcome: Outcome, found: &mut FoundOutcomes) {
        let tally = self.tally(waiting);
        tally.cached += 1;
        tally.saved = tally.saved + outcome.usage();
        if waiting.purpose == Purpose::Answer {
            let size = size_of_reply(&outcome);
            found.answer_bytes += size;
            found.answers.push((waiting.key, size));
        }
        found.outcomes.push((waiting.key, Arc::new(outcome)));
        found.waiting.extend(self.chunks.remove(&waiting.key).unwrap_or_default());
    }

    pub(crate) fn scanned(&self) -> usize {
        self.scanned.len()
    }

    /// The chunks that wait for `key`, if it was not in the store.
    pub(crate) fn chunks_of(&self, key: ActionKey) -> &[Chunk] {
        self.chunks.get(&key).map_or(&[], SmallVec::as_slice)
    }

    /// Remembers the scanned plans of which every action that is wanted has an outcome that stays: those need no look
    /// again.
    pub(crate) fn remember(&mut self, session: &Session) {
        for (chunk, plans) in &self.scanned {
            match settled(session, plans) {
                Some(actions) => {
                    self.settled.0.insert(*chunk, (plans.clone(), actions));
                }
                None => _ = self.settled.0.remove(chunk),
            }
        }
    }

    /// Queues an action once more, for everybody whose plans have it.
    pub(crate) fn ask_again(&mut self, session: &Session, waiting: WaitingAction) {
        self.wait_for(session, waiting.key);
        self.queue.push(waiting);
    }

    /// Notes who waits for an action by its plans.
    pub(crate) fn wait_for(&mut self, session: &Session, key: ActionKey) {
        let all = planned_actions(&session.db, session.root);
        let mut chunks: SmallVec<[Chunk; 2]> =
            all.filter(|action| action.key == key).map(|action| action.cell.chunk).collect();
        chunks.dedup();
        self.chunks.insert(key, chunks);
    }
}

fn batch_length(rest: &[WaitingAction]) -> usize {
    let mut next = rest.iter().take(LOOKED_UP);
    let has_conversation = next.any(|waiting| waiting.purpose == Purpose::Answer);
    let most = if has_conversation { CONVERSATIONS_LOOKED_UP } else { LOOKED_UP };
    most.min(rest.len())
}

/// How many actions extract submissions of a chunk, grader by grader, if the outcome of each is known and stays. Plans are the
/// same with an extractor that picks the same texts, and salsa may remember texts of which the outcomes were forgotten.
fn known_extractions(session: &Session, chunk: Chunk) -> Option<Vec<u64>> {
    let of_graders = session.graders().iter().map(|grader| {
        let mut actions = 0;
        let mut stay = true;
        programs::each_extraction(&session.db, chunk, *grader, &mut |_, _, key| {
            actions += 1;
            stay &= session.db.outcomes.is_kept(key);
        });
        stay.then_some(actions)
    });
    of_graders.collect()
}

/// How many actions the plans want, grader by grader, if each of them has an outcome that stays.
fn settled(session: &Session, plans: &Plans) -> Option<Box<[u64]>> {
    let known = stays(session);
    let graders = session.graders().iter().zip(plans);
    let of_graders = graders.map(|(grader, (plans, Threshold(threshold)))| {
        let ready = queries::ready(&session.db, *grader);
        let mut actions = 0;
        let mut stay = true;
        for planned in plans.iter() {
            stay &= *planned != GradePlan::Blocked;
            each_wanted(planned, ready, &known, *threshold, &mut |_, key| {
                actions += 1;
                stay &= known(key).is_some();
            });
        }
        stay.then_some(actions)
    });
    of_graders.collect()
}

/// What is known of actions and stays known. A failure that may pass is asked again, and has no say until then.
pub(crate) fn stays(session: &Session) -> impl Fn(ActionKey) -> Option<Arc<Outcome>> {
    |key| session.db.outcome(key).filter(|outcome| outcome.is_kept())
}
