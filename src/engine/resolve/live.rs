//! Settles a session over and over while its files change.
//!
//! What was launched outlives the save that launched it: a request that is sent is paid for, so it finishes and is kept
//! under its own key, whether anybody still waits for it or not. What waits to be launched does not: each save drops
//! the queue. Planning goes in slices, those that matter most first, so that the first judge is asked long before the
//! last prompt is known.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::pin::pin;
use std::sync::Arc;

use super::budget::SpendingLimits;
use super::execute::{Blocked, Taken};
use super::in_flight::{InFlight, Landed};
use super::outstanding::Outstanding;
use super::queues::Queues;
use super::settings::Settings;
use super::settle::{CannotAsk, Effects, Settling};
use super::waiting::Waiting;
use crate::effects::store::OutcomeStore;
use crate::engine::session::Session;
use crate::graph::inputs::{CellId, Chunk};
use crate::graph::queries;
use crate::graph::queries::Threshold;
use crate::graph::{Database, Db};
use crate::pipeline::delta::Cell;
use crate::pipeline::evaluate::{BallotId, each_wanted};
use crate::pipeline::key::{ActionKey, Ingredient};
use crate::pipeline::outcome::{Outcome, Stored, Usage};

mod checking;
mod resolve_state;
mod trying;

use checking::Checking;
pub use resolve_state::{ResolveProgress, ResolveState};
use trying::Trying;

/// Chunks planned at once, about five hundred records: a few milliseconds, after which something else may come first.
const SLICE: usize = 8;

/// Chunks looked at in one slice, those that are settled among them.
const MAX_LOOKED_AT: usize = 1_024;

/// Which verdicts come first: the lower their rank the earlier, up to [`LAST`]. 0 is for those that the user asks for.
pub trait Ranking {
    /// The lowest rank of a verdict of a chunk, or something below it; with the ordinal of the chunk.
    fn of_chunk(&self, db: &Database, ordinal: usize, chunk: Chunk) -> u8;
    /// The rank of a verdict.
    fn of(&self, db: &Database, cell: CellId) -> u8;
}

/// The rank of verdicts that nobody looks at.
pub const LAST: u8 = 3;

/// A session that is settled again and again.
pub struct Live<'a> {
    settling: Settling<'a>,
    in_flight: InFlight<'a>,
    queues: Queues<Waiting>,
    /// Chunks that are not planned yet, in the order in which they will be.
    to_plan: VecDeque<Chunk>,
    ranking: Option<Box<dyn Ranking>>,
    /// Verdicts that the user asks for.
    urgent: HashSet<CellId>,
    /// What is on disk and not in the graph yet.
    arrived: Vec<Landed>,
    /// What is to be asked anew.
    again: Vec<CellId>,
    blocked: Option<Blocked>,
    cannot: Option<CannotAsk>,
    is_paused: bool,
    /// Why refreshed judgments stayed as they were, a sentence each.
    in_vain: Vec<String>,
    /// Whether everything that was planned is settled, and known to be.
    is_done: bool,
    /// What was used before the last save.
    before: Usage,
    /// Programs that are loaded before the session may hold them.
    trying: Trying<'a>,
    /// Programs that are called again, to compare.
    checking: Checking<'a>,
    /// What there is to say that was not said yet.
    news: Vec<String>,
    /// What was said once and for all.
    told: BTreeSet<String>,
}

impl<'a> Live<'a> {
    /// Settles `session` with `store`. Nothing is planned before [`Self::begin`].
    pub fn new(
        session: &'a mut Session,
        store: Arc<dyn OutcomeStore>,
        world: Effects<'a>,
        settings: Settings,
    ) -> Self {
        Self {
            settling: Settling::new(session, Arc::clone(&store), world, settings),
            in_flight: InFlight::new(store),
            queues: Queues::new(),
            to_plan: VecDeque::new(),
            ranking: None,
            urgent: HashSet::new(),
            arrived: Vec::new(),
            again: Vec::new(),
            blocked: None,
            cannot: None,
            is_paused: false,
            in_vain: Vec::new(),
            is_done: true,
            before: Usage::default(),
            trying: Trying::default(),
            checking: Checking::default(),
            news: Vec::new(),
            told: BTreeSet::new(),
        }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        self.settling.session
    }

    /// The session, to be changed: then [`Self::begin`] has to be called.
    pub fn session_mut(&mut self) -> &mut Session {
        self.settling.session
    }

    /// Begins anew, because the session has changed: what waits is dropped, everything is planned again, and of what
    /// is missing at most `allowance` actions are launched until [`Self::allow_all`].
    pub fn begin(&mut self, ranking: Box<dyn Ranking>, allowance: u64, settings: Settings) {
        self.before = self.used();
        self.checking = Checking::default();
        self.in_flight.supersede();
        self.queues.drop_queue();
        self.again.clear();
        self.urgent.clear();
        let settling = &mut self.settling;
        settling.budget.set_limits(settings.limits);
        settling.settings = settings;
        settling.allowance = allowance;
        settling.superseded = Usage::default();
        settling.settled.asked.clear();
        settling.settled.stopped.clear();
        settling.settled.replayed_failures = 0;
        settling.list.start_over(settling.session);
        settling.outstanding = Outstanding::default();
        if settling.settled.write_error.is_none() {
            settling.world.executor.begin();
        }
        self.to_plan = chunks_by_rank(settling.session, ranking.as_ref());
        self.ranking = Some(ranking);
        (self.blocked, self.cannot, self.is_done) = (None, None, false);
        self.in_vain.clear();
    }

    /// Launches what was held back.
    pub fn allow_all(&mut self) {
        self.settling.allowance = u64::MAX;
    }

    /// While it is paused nothing is planned and nothing launched; what is under way lands.
    pub fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    /// Asks the judgments of a verdict anew, those that are under way apart.
    pub fn refresh(&mut self, cell: CellId) {
        self.again.push(cell);
        self.is_done = false;
    }

    /// Does what can be done at once: plans a slice, launches what may be launched. True if there is more.
    pub fn go_on(&mut self) -> bool {
        if self.is_paused {
            self.settling.go_on_writing(&mut self.in_flight);
            return false;
        }
        self.ask_again();
        // What waits already keeps judges busy: more is planned when nothing else is to be done.
        if self.queues.is_empty() {
            self.plan_slice();
        }
        if self.cannot.is_some() {
            self.settling.go_on_writing(&mut self.in_flight);
        } else {
            self.blocked = self.settling.go_on(&mut self.in_flight, &mut self.queues);
            if self.blocked.is_none() && !self.in_flight.is_stopped() {
                self.make_room();
            }
        }
        let has_more = self.confirm();
        has_more || !self.to_plan.is_empty() && !self.in_flight.is_loading()
    }

    /// Plans the next slice, if it is known what programs load.
    pub fn plan_slice(&mut self) {
        if self.to_plan.is_empty() || self.is_paused {
            return;
        }
        if !self.has_loaded_programs() {
            return;
        }
        let list = &mut self.settling.list;
        let from = list.scanned();
        // Those that are settled cost next to nothing.
        for _ in 0..MAX_LOOKED_AT {
            let Some(chunk) = self.to_plan.pop_front() else { break };
            list.scan_chunks(self.settling.session, &[chunk]);
            if list.scanned() - from == SLICE {
                break;
            }
        }
        self.settling.look_up(from);
        self.queue();
    }

    /// Queues what was found to be missing. What is under way already has somebody to wait for it again.
    fn queue(&mut self) {
        let Self { settling, in_flight, queues, ranking, urgent, .. } = self;
        for waiting in std::mem::take(&mut settling.list.queue) {
            if settling.settings.ask.may_ask(settling.kind_of(&waiting)) {
                settling.list.queue.push_back(waiting);
            } else {
                settling.tally(waiting.cell.grader).pending += 1;
            }
        }
        let (adopted, queue) = std::mem::take(&mut settling.list.queue)
            .into_iter()
            .partition(|waiting| in_flight.adopt(waiting));
        settling.list.queue = queue;
        let adopted: VecDeque<Waiting> = adopted;
        for waiting in adopted {
            settling.tally(waiting.cell.grader).asked += 1;
            settling.settled.asked.push(waiting.key);
        }
        if let Err(cannot) = settling.check_keys() {
            self.cannot = Some(cannot);
        }
        if !settling.list.queue.is_empty() {
            // Where it cannot be written, the endpoints are closed from now on.
            settling.may_keep();
        }
        let ranking = ranking.as_deref();
        settling.part(queues, &|db, waiting| match ranking {
            _ if urgent.contains(&waiting.cell) => 0,
            Some(ranking) => ranking.of(db, waiting.cell),
            None => LAST,
        });
    }

    /// Queues what the user wants to be asked anew, before everything else. What waits already comes first now, and what
    /// is under way is new enough.
    fn ask_again(&mut self) {
        if self.again.is_empty() {
            return;
        }
        let settling = &mut self.settling;
        for cell in std::mem::take(&mut self.again) {
            self.urgent.insert(cell);
            for (ballot, key) in wanted(&settling.session.db, cell) {
                let waiting = Waiting::new(cell, ballot, key);
                let is_meant = |waiting: &Waiting| waiting.key == key;
                if self.in_flight.adopt(&waiting) {
                    settling.list.wait_for(settling.session, key);
                    continue;
                }
                if !self.queues.promote(0, &is_meant) {
                    let held = settling.store.get_many(&[key]).pop().flatten();
                    let generation = held.map_or(0, |held| held.generation.saturating_add(1));
                    settling.list.ask_again(settling.session, Waiting { generation, ..waiting });
                }
                settling.allowance = settling.allowance.saturating_add(1);
            }
        }
        self.queue();
    }

    /// Where everybody who is asked is busy with what nobody waits for, one of them is let go: the first new verdict
    /// shall not wait for an old one.
    fn make_room(&mut self) {
        for endpoint in self.queues.full(self.settling.world.executor) {
            if let Some((waiting, endpoint)) = self.in_flight.make_room(endpoint) {
                self.queues.landed(endpoint);
                // Who was asked will want to be paid, though nobody will learn how much.
                self.settling.budget.landed(waiting.expected, Usage::default());
            }
        }
    }

    /// Once everything has landed, or all of a grader: what confirms is wanted now, or all is done. True if there is more
    /// to do.
    fn confirm(&mut self) -> bool {
        let is_planned =
            self.to_plan.is_empty() && self.arrived.is_empty() && self.again.is_empty();
        if self.is_done || !is_planned || self.cannot.is_some() {
            return false;
        }
        let is_settled = self.queues.is_empty() && self.in_flight.waits_for_nothing();
        if !is_settled && !self.settling.may_confirm_one() {
            return false;
        }
        if !self.settling.wants_more() {
            if !is_settled {
                return false;
            }
            self.checking.begin(&self.settling);
            self.settling.complete_keys();
            self.is_done = true;
            self.settling.list.remember(self.settling.session);
            let system = self.settling.world.system;
            let reads = self.settling.session.undeclared_reads(system);
            self.news.extend(reads.into_iter().filter(|read| self.told.insert(read.clone())));
            return false;
        }
        self.settling.look_up(0);
        self.queue();
        true
    }

    /// Waits for something to land, to be written, or to change. Nothing is lost if it is dropped while it waits.
    pub async fn wait(&mut self) {
        let never = pin!(std::future::pending::<()>());
        let Self { settling, in_flight, trying, checking, .. } = self;
        let step = tokio::select! {
            biased;
            (preflight, result) = trying.next() => {
                trying.note(&result);
                settling.session.finish_preflight(preflight, result, settling.world.system);
                return;
            }
            again = checking.next() => {
                self.news.extend(settling.difference(&again));
                return;
            }
            step = in_flight.next(never, settling.world.executor.changed()) => step,
        };
        match self.settling.take_step(step, &mut self.queues) {
            Some(Taken::Written(batch)) => self.arrived.extend(batch),
            Some(Taken::Loaded(entry)) => self.in_flight.keep_also(entry.into_iter().collect()),
            Some(Taken::Stopped(_)) | None => {}
        }
    }

    /// Raised whenever outcomes enter the graph.
    pub fn applied(&self) -> u64 {
        self.settling.applied
    }

    /// Whether something waits to be brought in.
    pub fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Brings what arrived into the graph. Returns the verdicts that are others now.
    pub fn apply_arrived(&mut self) -> Vec<CellId> {
        let mut arrived = std::mem::take(&mut self.arrived);
        arrived.retain(|landed| self.is_news(landed));
        let list = &self.settling.list;
        let chunks = arrived.iter().flat_map(|landed| list.chunks_of(landed.waiting.key));
        let mut seen = HashSet::new();
        let chunks: Vec<Chunk> = chunks.copied().filter(|chunk| seen.insert(*chunk)).collect();
        let before: Vec<Vec<Arc<[Cell]>>> =
            chunks.iter().map(|chunk| cells_of(&self.session().db, *chunk)).collect();
        self.settling.apply_landed(arrived);
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

    /// Whether somebody waits for what landed. What the graph has already is refreshed, if it is not in vain.
    fn is_news(&mut self, landed: &Landed) -> bool {
        let Settling { list, session, .. } = &mut self.settling;
        let key = landed.waiting.key;
        let held = session.db.outcome(key);
        if let Some(message) = &landed.in_vain {
            self.in_vain.push(format!("asked again in vain, so it stays: {message}"));
        }
        if held.as_ref().is_some_and(|held| held.is_kept())
            && let Outcome::Failure(failure) = &landed.outcome
            && !landed.outcome.is_kept()
        {
            self.in_vain.push(format!("asked again in vain, so it stays: {}", failure.message));
            return false;
        }
        if held.is_some() && list.chunks_of(key).is_empty() {
            list.wait_for(session, key);
        }
        !list.chunks_of(key).is_empty()
    }

    /// Drops what is under way, and makes durable what has landed.
    pub async fn finish(mut self) {
        let under_way = self.in_flight.stop();
        self.settling.take_back(&under_way);
        self.settling.go_on_writing(&mut self.in_flight);
        while !self.in_flight.is_over() {
            self.wait().await;
            self.settling.go_on_writing(&mut self.in_flight);
        }
    }

    /// Asks for a verdict as early as those of `rank`, if it waits.
    pub fn prefer(&mut self, cell: CellId, rank: u8) {
        self.queues.promote(rank, &|waiting: &Waiting| waiting.cell == cell);
    }

    /// What the stored judgment under `key` was made of; none if the store does not have it.
    pub fn kept(&self, key: ActionKey) -> Option<Vec<Ingredient>> {
        let entry = self.settling.store.get_many(&[key]).pop()??;
        serde_json::from_str::<Stored>(&entry.body).ok().map(|stored| stored.ingredients)
    }

    /// The verdicts that judges are being asked for.
    pub fn under_way(&self) -> Vec<CellId> {
        self.in_flight.wanted().map(|waiting| waiting.cell).collect()
    }

    /// What the session may spend.
    pub fn limits(&self) -> SpendingLimits {
        self.settling.budget.limits()
    }

    /// What there is to say since the last call: each thing once, a sentence each.
    pub fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// The keys launched since the last save.
    pub fn asked(&self) -> &[ActionKey] {
        &self.settling.settled.asked
    }

    fn calls(&self) -> u64 {
        self.settling.budget.calls()
    }

    fn used(&self) -> Usage {
        let tallies = self.settling.list.tallies.iter();
        let spent = tallies.fold(Usage::default(), |sum, (_, tally)| sum + tally.spent);
        self.before + self.settling.superseded + spent
    }
}

fn cells_of(db: &Database, chunk: Chunk) -> Vec<Arc<[Cell]>> {
    let graders = queries::graders(db, chunk.root(db)).iter();
    graders.map(|grader| Arc::clone(&queries::cells(db, chunk, *grader).cells)).collect()
}

/// The actions that a verdict rests on.
fn wanted(db: &Database, cell: CellId) -> Vec<(BallotId, ActionKey)> {
    let CellId { chunk, case, grader } = cell;
    let Some(grader) = queries::graders(db, chunk.root(db)).get(grader) else {
        return Vec::new();
    };
    let Some(planned) = queries::plans(db, chunk, *grader).get(case) else { return Vec::new() };
    let outcomes = |key| crate::graph::Db::outcome(db, key);
    let Threshold(threshold) = grader.pass_threshold(db);
    let mut wanted = Vec::new();
    let mut visit = |ballot, key| wanted.push((ballot, key));
    each_wanted(planned, queries::ready(db, *grader), &outcomes, threshold, &mut visit);
    wanted
}

/// The chunks in the order in which they are planned: by their rank, then as they stand.
fn chunks_by_rank(session: &Session, ranking: &dyn Ranking) -> VecDeque<Chunk> {
    let db = &session.db;
    let root = session.root;
    let chunks = root.chunks(db).iter().copied().enumerate();
    let mut ordered: Vec<(u8, Chunk)> =
        chunks.map(|(at, chunk)| (ranking.of_chunk(db, at, chunk), chunk)).collect();
    ordered.sort_by_key(|(rank, _)| *rank);
    ordered.into_iter().map(|(_, chunk)| chunk).collect()
}

#[cfg(test)]
mod tests;
