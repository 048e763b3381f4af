//! Settles a session over and over while its files change.
//!
//! What was launched outlives the save that launched it: a request that is sent is paid for, so it finishes and is kept
//! under its own key, superseded or not. What is queued does not: each save drops the queue. Planning goes in slices, those that matter most first, so that the first judge is asked long before the
//! last prompt is known.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use super::budget::SpendingLimits;
use super::credentials::check_credentials;
use super::in_flight::WrittenAction;
use super::repeat::RepeatedCalls;
use super::resolver::{Effects, Resolver};
use super::settings::Settings;
use super::settled::CannotAsk;
use super::waiting::{ScannedPlans, WaitingAction};
use crate::session::Session;
use evalrs_graph::change::Change;
use evalrs_graph::inputs::{CellId, Chunk};
use evalrs_graph::planned_actions::wanted;
use evalrs_graph::{Database, Db, answers, queries};
use evalrs_model::delta::Cell;
use evalrs_model::key::{ActionKey, Ingredient, KeySet};
use evalrs_model::outcome::{Outcome, StoredOutcome};

mod batches;
mod preflight;
mod preflights;
mod standing;
pub mod resolve_state;

use batches::LiveBatches;
use preflights::Preflights;
pub use resolve_state::{ResolveProgress, ResolveState};

/// Chunks planned at once, about five hundred records: a few milliseconds, after which something else may come first.
const SLICE: usize = 8;

/// Chunks looked at in one slice, those that are settled among them.
const MAX_LOOKED_AT: usize = 1_024;

/// Which verdicts come first: the lower their rank the earlier, up to [`LAST`]. 0 is for those that the user requests.
pub trait Ranking {
    /// The lowest rank of a verdict of a chunk, or something below it; with the ordinal of the chunk.
    fn of_chunk(&self, db: &Database, ordinal: usize, chunk: Chunk) -> u8;
    /// The rank of a verdict.
    fn of(&self, db: &Database, cell: CellId) -> u8;
}

/// The rank of verdicts that matter least.
pub const LAST: u8 = 3;

/// A session that is settled again and again.
pub struct Live<'a> {
    resolver: Resolver<'a>,
    /// Chunks that are not planned yet, in the order in which they will be.
    to_plan: VecDeque<Chunk>,
    ranking: Option<Box<dyn Ranking>>,
    /// Those that the user requests.
    urgent: HashSet<CellId>,
    /// The calls to repeat.
    again: Vec<CellId>,
    cannot: Option<CannotAsk>,
    is_paused: bool,
    /// Why refreshed judgments stayed as they were, a sentence each.
    in_vain: Vec<String>,
    /// Whether everything that was planned is settled, and known to be.
    is_done: bool,
    preflights: Preflights<'a>,
    batches: LiveBatches<'a>,
    repeated: RepeatedCalls<'a>,
    /// What is worth a note and was not shown yet.
    news: Vec<String>,
    /// The notes that are shown once and for all.
    told: BTreeSet<String>,
}

impl<'a> Live<'a> {
    /// Settles `session`. Nothing is planned before [`Self::begin`].
    pub fn new(session: &'a mut Session, world: Effects<'a>, settings: Settings) -> Self {
        Self {
            resolver: Resolver::new(session, world, settings),
            to_plan: VecDeque::new(),
            ranking: None,
            urgent: HashSet::new(),
            again: Vec::new(),
            cannot: None,
            is_paused: false,
            in_vain: Vec::new(),
            is_done: true,
            preflights: Preflights::default(),
            batches: LiveBatches::default(),
            repeated: RepeatedCalls::default(),
            news: Vec::new(),
            told: BTreeSet::new(),
        }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        self.resolver.session
    }

    /// The session, to be changed: then [`Self::begin`] has to be called.
    pub fn session_mut(&mut self) -> &mut Session {
        self.resolver.session
    }

    /// Begins again, because the session has changed: what waits is dropped, everything is planned again, and of
    /// what is missing at most `allowance` actions are launched until [`Self::allow_more`].
    pub fn begin(&mut self, ranking: Box<dyn Ranking>, allowance: u64, settings: Settings) {
        self.repeated = RepeatedCalls::default();
        self.again.clear();
        self.urgent.clear();
        forget_failed_conversations(self.resolver.session);
        self.resolver.session.set_prices(Arc::clone(&settings.prices));
        self.resolver.start_over(settings, allowance);
        self.to_plan = chunks_by_rank(self.resolver.session, ranking.as_ref());
        self.ranking = Some(ranking);
        self.cannot = None;
        self.is_done = false;
        self.in_vain.clear();
    }

    /// Launches this many of the paused actions.
    pub fn allow_more(&mut self, more: u64) {
        self.resolver.admission.allow_more(more);
    }

    /// While it is paused nothing is planned and nothing launched; what is under way lands.
    pub fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Repeats the judgments of a verdict, except those in flight.
    pub fn refresh(&mut self, cell: CellId) {
        self.again.push(cell);
        self.is_done = false;
    }

    /// Does what can be done at once: plans a slice, launches what may be launched. True if there is more.
    pub fn go_on(&mut self) -> bool {
        if self.is_paused {
            self.resolver.write_landed();
            return false;
        }
        self.ask_again();
        if self.resolver.take_shared() {
            self.enqueue();
        }
        let has_collected = self.to_plan.is_empty() && self.take_batches();
        // What waits already keeps judges busy: more is planned when nothing else is to be done.
        if self.resolver.admission.queues.is_empty() {
            self.plan_slice();
        }
        if self.cannot.is_some() {
            self.resolver.write_landed();
        } else {
            self.resolver.go_on();
            self.make_room();
        }
        let has_more = self.confirm();
        has_more
            || has_collected
            || !self.to_plan.is_empty() && !self.resolver.in_flight.is_loading()
    }

    /// Collects what has ended of the batches that are out. What those did not answer is called. True if something arrived.
    fn take_batches(&mut self) -> bool {
        let before = self.resolver.arrived.len();
        let news = self.batches.go_on(&mut self.resolver);
        self.news.extend(news);
        if !self.resolver.list.queue.is_empty() {
            self.is_done = false;
            self.enqueue();
        }
        let has_arrived = self.resolver.arrived.len() > before;
        self.is_done &= !has_arrived;
        has_arrived
    }

    /// Plans the next slice, if it is known what programs load.
    pub fn plan_slice(&mut self) {
        if self.to_plan.is_empty() || self.is_paused || !self.resolver.load_programs() {
            return;
        }
        let list = &mut self.resolver.list;
        let from = list.scanned();
        // Those that are settled cost next to nothing.
        for _ in 0..MAX_LOOKED_AT {
            let Some(chunk) = self.to_plan.pop_front() else { break };
            list.scan_chunks(self.resolver.session, &[chunk]);
            if list.scanned() - from == SLICE {
                break;
            }
        }
        self.resolver.look_up(&ScannedPlans::From(from));
        self.enqueue();
    }

    /// Queues what was found to be missing. What is in flight already is waited for again.
    fn enqueue(&mut self) {
        let Self { resolver, ranking, urgent, .. } = self;
        for waiting in resolver.take_forbidden() {
            resolver.list.tally(&waiting).pending += 1;
        }
        for waiting in std::mem::take(&mut resolver.list.queue) {
            if resolver.in_flight.adopt(&waiting) {
                resolver.list.tally(&waiting).asked += 1;
                resolver.settled.asked.push(waiting.key);
            } else {
                resolver.list.queue.push(waiting);
            }
        }
        let queue = &resolver.list.queue;
        if let Err(cannot) = check_credentials(resolver.session, &resolver.settings, queue) {
            self.cannot = Some(cannot);
        }
        resolver.can_keep();
        resolver.enqueue(&|db, waiting| match ranking.as_deref() {
            _ if urgent.contains(&waiting.cell) => 0,
            Some(ranking) => ranking.of(db, waiting.cell),
            None => LAST,
        });
    }

    /// Queues the calls that the user wants repeated, before everything else. What is queued already comes first now,
    /// and what is in flight is new enough.
    fn ask_again(&mut self) {
        if self.again.is_empty() {
            return;
        }
        let resolver = &mut self.resolver;
        for cell in std::mem::take(&mut self.again) {
            self.urgent.insert(cell);
            for (ballot, key) in wanted(&resolver.session.db, cell) {
                let waiting = WaitingAction::new(cell, ballot, key);
                if resolver.in_flight.adopt(&waiting) {
                    resolver.list.wait_for(resolver.session, key);
                    continue;
                }
                // Another process is making it: that is new enough, too.
                if resolver.shared.is_waiting_for(key) {
                    continue;
                }
                if !resolver.admission.queues.promote(0, &|waiting| waiting.key == key) {
                    let held = resolver.world.store.get_many(&[key]).pop().flatten();
                    let generation = held.map_or(0, |held| held.generation.saturating_add(1));
                    resolver
                        .list
                        .ask_again(resolver.session, WaitingAction { generation, ..waiting });
                }
                resolver.admission.allow_one();
            }
        }
        self.enqueue();
    }

    /// Where every place of an endpoint is taken by superseded actions, one of them is cancelled: the first new verdict is
    /// not to wait for an old one.
    fn make_room(&mut self) {
        let Resolver { admission, in_flight, world, .. } = &mut self.resolver;
        if in_flight.is_stopped() {
            return;
        }
        for endpoint in admission.full() {
            if let Some((waiting, endpoint)) = in_flight.make_room(endpoint) {
                admission.cancelled(endpoint, &waiting);
                world.store.release(&[waiting.key]);
            }
        }
    }

    /// Once everything has landed, or all of a grader: what confirms is wanted now, or all is done. True if there is more
    /// to do.
    fn confirm(&mut self) -> bool {
        let is_planned = self.to_plan.is_empty() && !self.has_arrived() && self.again.is_empty();
        if self.is_done || !is_planned || self.cannot.is_some() {
            return false;
        }
        let resolver = &mut self.resolver;
        let is_settled = resolver.admission.queues.is_empty()
            && resolver.in_flight.waits_for_nothing()
            && resolver.shared.is_empty();
        let plans = match resolver.take_answered() {
            Some(plans) if !is_settled => plans,
            None if !is_settled && !resolver.may_confirm_one() => return false,
            _ => ScannedPlans::From(0),
        };
        if resolver.wants_more(&plans) {
            resolver.look_up(&plans);
            self.enqueue();
            return true;
        }
        if is_settled {
            self.finish_save();
        }
        false
    }

    /// Everything that was planned is settled.
    fn finish_save(&mut self) {
        let resolver = &mut self.resolver;
        let asked = &resolver.settled.asked;
        self.repeated.begin(resolver.session, resolver.world.executor, asked);
        resolver.complete_keys();
        self.is_done = true;
        resolver.list.remember(resolver.session);
        self.news.extend(resolver.session.take_told());
        let reads = resolver.session.undeclared_reads(resolver.world.system);
        self.news.extend(reads.into_iter().filter(|read| self.told.insert(read.clone())));
    }

    /// Waits for something to land, to be written, or to change. Nothing is lost if it is dropped while it waits.
    pub async fn wait(&mut self) {
        let Self { resolver, preflights, batches, repeated, is_paused, .. } = self;
        let is_one_out = !resolver.batches.out.is_empty();
        tokio::select! {
            biased;
            Some((read, result)) = preflights.next() => {
                resolver.session.finish_preflight(&read, result, resolver.world.system);
            }
            Some(difference) = repeated.next(resolver.session) => self.news.extend(difference),
            event = resolver.in_flight.next() => resolver.take(event),
            () = resolver.shared.due(), if !*is_paused => {}
            () = batches.next(is_one_out), if !*is_paused => {}
        }
    }

    /// Raised whenever outcomes enter the graph.
    pub fn applied(&self) -> u64 {
        self.resolver.applied
    }

    /// Whether something waits to be brought in.
    pub fn has_arrived(&self) -> bool {
        !self.resolver.arrived.is_empty()
    }

    /// Brings what arrived into the graph. Returns the verdicts that are others now.
    pub fn apply_arrived(&mut self) -> Vec<CellId> {
        let mut arrived = std::mem::take(&mut self.resolver.arrived);
        arrived.retain(|landed| self.is_news(landed));
        let list = &self.resolver.list;
        let chunks = arrived.iter().flat_map(|landed| list.chunks_of(landed.key));
        let mut seen = HashSet::new();
        let chunks: Vec<Chunk> = chunks.copied().filter(|chunk| seen.insert(*chunk)).collect();
        let before: Vec<Vec<Arc<[Cell]>>> =
            chunks.iter().map(|chunk| cells_of(&self.session().db, *chunk)).collect();
        self.resolver.arrived = arrived;
        self.resolver.apply_arrived();
        let mut moved = Vec::new();
        for (chunk, before) in chunks.into_iter().zip(before) {
            let now = cells_of(&self.session().db, chunk);
            for (grader, (before, now)) in before.iter().zip(&now).enumerate() {
                let changed = before.iter().zip(now.iter()).enumerate();
                let changed = changed.filter(|(_, (before, now))| before != now);
                moved.extend(changed.map(|(case, _)| CellId { chunk, case, grader }));
            }
        }
        moved
    }

    /// Whether what landed is waited for. What the graph has already is refreshed, if it is not in vain.
    fn is_news(&mut self, landed: &WrittenAction) -> bool {
        let Resolver { list, session, .. } = &mut self.resolver;
        let key = landed.key;
        let held = session.db.outcome(key);
        if let Some(message) = &landed.in_vain {
            self.in_vain.push(format!("the retry failed, so the cached outcome stays: {message}"));
        }
        if held.as_ref().is_some_and(|held| held.is_kept())
            && let Outcome::Failure(failure) = &landed.outcome
            && !landed.outcome.is_kept()
        {
            self.in_vain.push(format!(
                "the retry failed, so the cached outcome stays: \
                                       {}",
                failure.message
            ));
            return false;
        }
        if held.is_some() && list.chunks_of(key).is_empty() {
            list.wait_for(session, key);
        }
        !list.chunks_of(key).is_empty()
    }

    /// Cancels what is in flight, and makes durable what has landed.
    pub async fn finish(mut self) {
        self.resolver.stop();
        self.resolver.write_landed();
        while !self.resolver.in_flight.is_over() {
            self.wait().await;
            self.resolver.write_landed();
        }
    }

    /// Moves a verdict up to `rank`, if it is queued.
    pub fn prefer(&mut self, cell: CellId, rank: u8) {
        self.resolver.admission.queues.promote(rank, &|waiting| waiting.cell == cell);
    }

    /// What the stored judgment under `key` was made of; none if the store does not have it.
    pub fn kept(&self, key: ActionKey) -> Option<Vec<Ingredient>> {
        let entry = self.resolver.world.store.get_many(&[key]).pop()??;
        serde_json::from_str::<StoredOutcome>(&entry.body).ok().map(|stored| stored.ingredients)
    }

    /// The verdicts with judge calls in flight.
    pub fn under_way(&self) -> Vec<CellId> {
        self.resolver.in_flight.wanted().map(|waiting| waiting.cell).collect()
    }

    /// What the session may spend.
    pub fn limits(&self) -> SpendingLimits {
        self.resolver.settings.limits
    }

    /// What happened since the last call and is worth a note: each thing once, a sentence each.
    pub fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// The keys launched since the last save.
    pub fn asked(&self) -> &[ActionKey] {
        &self.resolver.settled.asked
    }
}

/// A target that failed for the moment is run again with the next save, as a judge is called again.
fn forget_failed_conversations(session: &mut Session) {
    let db = &session.db;
    let mut dropped = KeySet::default();
    let mut waiting = Vec::new();
    for chunk in session.root.chunks(db) {
        let keys = answers::conversation_keys(db, *chunk).into_iter().flatten();
        // Replies may have been let go of: nothing reads them again to see that they are kept.
        let has_passed = |key: &ActionKey| !db.outcomes.is_kept(*key) && db.outcome(*key).is_some();
        let failed: Vec<ActionKey> = keys.filter(has_passed).collect();
        waiting.extend((!failed.is_empty()).then_some(*chunk));
        dropped.extend(failed);
    }
    session.db.outcomes.retain(|key| !dropped.contains(key));
    Change { waiting, ..Change::default() }.apply(&mut session.db, session.root);
}

fn cells_of(db: &Database, chunk: Chunk) -> Vec<Arc<[Cell]>> {
    let graders = queries::graders(db, chunk.root(db)).iter();
    graders.map(|grader| Arc::clone(&queries::cells(db, chunk, *grader).cells)).collect()
}

/// The chunks in the order in which they are planned: by their rank, then as they stand.
fn chunks_by_rank(session: &Session, ranking: &dyn Ranking) -> VecDeque<Chunk> {
    let db = &session.db;
    let chunks = session.root.chunks(db).iter().copied().enumerate();
    let mut ordered: Vec<(u8, Chunk)> =
        chunks.map(|(at, chunk)| (ranking.of_chunk(db, at, chunk), chunk)).collect();
    ordered.sort_by_key(|(rank, _)| *rank);
    ordered.into_iter().map(|(_, chunk)| chunk).collect()
}

#[cfg(test)]
mod tests;
