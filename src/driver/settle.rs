//! Settles a session: every action the graph waits for is looked up, executed or given up.
//!
//! One thread owns the database. An outcome that lands is first made durable, in batches and off this
//! thread, and only then enters the graph: what a report shows is on disk. A write that fails stops the
//! asking, because nothing is paid for that cannot be kept.

use std::collections::{BTreeMap, HashSet};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use super::budget::{Budget, Limits};
use super::flight::{Flight, Landed, Step};
use super::reach::{Reach, key_variables};
use super::session::Session;
use super::waiting::{WaitList, Waiting, stays};
use crate::action::ActionKey;
use crate::db::Db;
use crate::db::change::Change;
use crate::db::queries;
use crate::db::results;
use crate::evaluate::Method;
use crate::exec::{Executor, Launch};
use crate::judge::{Judge, JudgeAction};
use crate::outcome::{Failure, FailureKind, Outcome, Usage, read_body};
use crate::price::{Cost, Prices};
use crate::progress::{Event, Progress};
use crate::store::{Entry, OutcomeStore, StoreError};
use crate::suite::GraderKind;
use crate::system::System;

/// How a session is settled.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Actions under way at once, at least 1.
    pub max_concurrent: usize,
    /// Why nothing may be asked, if nothing may: `--frozen`, `--offline`.
    pub closed: Option<&'static str>,
    /// What it may spend.
    pub limits: Limits,
    /// What judges cost.
    pub prices: Prices,
    /// Whose stored outcomes are asked anew.
    pub refresh: Refresh,
    /// Whether stored failures are asked anew.
    pub retry_errors: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_concurrent: 15,
            closed: None,
            limits: Limits::default(),
            prices: Prices::default(),
            refresh: Refresh::None,
            retry_errors: false,
        }
    }
}

/// Whose stored outcomes are asked anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// Nobody's.
    None,
    /// Those of every grader.
    All,
    /// Those of these graders.
    Graders(Vec<String>),
}

impl Refresh {
    /// Whether stored outcomes of `grader` are asked anew.
    pub fn covers(&self, grader: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Graders(names) => names.iter().any(|name| name == grader),
        }
    }
}

/// The outside, as far as settling needs it.
pub struct World<'a> {
    /// Reads files that rows name, and the clock.
    pub system: &'a dyn System,
    /// Executes actions.
    pub executor: &'a dyn Executor,
    /// Shows what happens.
    pub progress: &'a mut dyn Progress,
}

/// What one grader's actions came to in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// Actions of the grader, each key once.
    pub total: u64,
    /// Found in the store.
    pub cached: u64,
    /// Executed.
    pub asked: u64,
    /// Executed without a reply.
    pub failed: u64,
    /// Neither found nor executed.
    pub pending: u64,
    /// What was used in this run.
    pub spent: Usage,
    /// What those found in the store had used when they were asked.
    pub saved: Usage,
}

/// How settling ended.
#[derive(Debug, Default)]
pub struct Settled {
    /// Grader → its actions, in the order of the suite.
    pub tallies: Vec<(String, Tally)>,
    /// The keys executed in this run.
    pub asked: Vec<ActionKey>,
    /// It was interrupted.
    pub interrupted: bool,
    /// The budget was used up.
    pub out_of_budget: bool,
    /// The store could not be written.
    pub write_error: Option<StoreError>,
    /// Stored failures that stood for an answer.
    pub replayed_failures: u64,
    /// What went wrong while reading the store.
    pub warnings: Vec<String>,
}

impl Settled {
    /// What was used in this run.
    pub fn spent(&self) -> Usage {
        self.tallies.iter().fold(Usage::default(), |sum, (_, tally)| sum + tally.spent)
    }

    /// What the judgments found in the store had used when they were asked.
    pub fn saved(&self) -> Usage {
        self.tallies.iter().fold(Usage::default(), |sum, (_, tally)| sum + tally.saved)
    }
}

/// Why nothing could be asked.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CannotAsk {
    /// The key of the API is not set.
    #[error("`{variable}` is not set, and `{grader}` has {count} judgments to ask")]
    NoKey {
        /// The environment variable.
        variable: String,
        /// The grader.
        grader: String,
        /// How many judgments wait for it.
        count: usize,
    },
    /// A limit on the cost cannot be kept.
    #[error("the price of `{model}` is not known, so `--max-cost` cannot be kept")]
    NoPrice {
        /// The model.
        model: String,
    },
}

/// Looks up and executes whatever the session waits for, until there is nothing left or `stop` says so.
pub async fn settle<'a>(
    session: &'a mut Session,
    store: Box<dyn OutcomeStore>,
    world: World<'a>,
    settings: &'a Settings,
    stop: impl Future<Output = ()>,
) -> Result<(Settled, Box<dyn OutcomeStore>), CannotAsk> {
    let mut settling = Settling::new(session, world, settings);
    settling.plan();
    let (mut store, mut stop) = (store, pin!(stop));
    settling.look_up(store.as_mut());
    settling.check_keys()?;
    // What confirms comes after all that it may confirm: a budget or an interruption leaves as few cases as possible
    // without any verdict.
    loop {
        if settling.may_ask() {
            store = settling.execute(store, stop.as_mut()).await;
        }
        settling.give_up_rest();
        if !settling.wants_more() {
            break;
        }
        settling.look_up(store.as_mut());
    }
    settling.settled.warnings.extend(store.take_warnings());
    settling.world.progress.event(&Event::Finished);
    Ok((settling.finish(), store))
}

struct Settling<'a> {
    session: &'a mut Session,
    world: World<'a>,
    settings: &'a Settings,
    list: WaitList,
    budget: Budget,
    settled: Settled,
}

impl<'a> Settling<'a> {
    fn new(session: &'a mut Session, world: World<'a>, settings: &'a Settings) -> Self {
        let (list, budget) = (WaitList::default(), Budget::new(settings.limits));
        Self { session, world, settings, list, budget, settled: Settled::default() }
    }

    /// Collects what the graph waits for, reading files that rows name on the way.
    fn plan(&mut self) {
        loop {
            self.list = WaitList::scan(self.session);
            if !self.session.read_unread(self.world.system) {
                break;
            }
        }
    }

    /// Whether anything may be asked by now.
    fn may_ask(&self) -> bool {
        let Settled { interrupted, out_of_budget, write_error, .. } = &self.settled;
        self.settings.closed.is_none() && !interrupted && !out_of_budget && write_error.is_none()
    }

    /// Whether the plans want something that they did not want before.
    fn wants_more(&mut self) -> bool {
        let db = &self.session.db;
        self.list.add_confirming(self.session, &|key| db.outcome(key))
    }

    /// Brings in everything that the store has, also of what is wanted because of that.
    fn look_up(&mut self, store: &mut dyn OutcomeStore) {
        loop {
            self.look_up_once(store);
            let stays = stays(self.session);
            if !self.list.add_confirming(self.session, &stays) {
                break;
            }
        }
        let tallies = || self.list.tallies.iter();
        let totals = tallies().map(|(name, tally)| (name.clone(), tally.total)).collect();
        self.world.progress.event(&Event::Planned(totals));
        // Later there is news only if there is more to ask.
        if self.may_ask() && (self.settled.asked.is_empty() || !self.list.queue.is_empty()) {
            let cached = tallies().map(|(_, tally)| tally.cached).sum();
            self.world.progress.event(&Event::Cached(cached));
        }
    }

    fn look_up_once(&mut self, store: &mut dyn OutcomeStore) {
        let (settings, warnings) = (self.settings, &mut self.settled.warnings);
        let replayed = &mut self.settled.replayed_failures;
        let mut usable = |grader: &str, entry: &Entry| {
            let outcome = usable(settings, grader, entry, warnings);
            *replayed += u64::from(matches!(outcome, Some(Outcome::Failure(_))));
            outcome
        };
        let (outcomes, waiting) = self.list.look_up(store, &mut usable);
        let change = Change { outcomes, waiting, ..Change::default() };
        change.apply(&mut self.session.db, self.session.root);
    }

    fn finish(self) -> Settled {
        let tallies = self.list.remember(self.session);
        Settled { tallies, ..self.settled }
    }

    fn tally(&mut self, grader: u32) -> &mut Tally {
        &mut self.list.tallies[grader as usize].1
    }

    fn bring_in(&mut self, outcomes: Vec<(ActionKey, Arc<Outcome>)>) {
        let mut seen = HashSet::new();
        let chunks = outcomes.iter().flat_map(|(key, _)| self.list.chunks_of(*key));
        let waiting = chunks.filter(|chunk| seen.insert(**chunk)).copied().collect();
        let change = Change { outcomes, waiting, ..Change::default() };
        change.apply(&mut self.session.db, self.session.root);
    }

    /// Nothing is asked while a key that is needed is missing, or may be needed to confirm what is asked.
    fn check_keys(&self) -> Result<(), CannotAsk> {
        if self.settings.closed.is_some() {
            return Ok(());
        }
        let mut keyless: BTreeMap<(u32, usize), usize> = BTreeMap::new();
        for waiting in &self.list.queue {
            let Some((judge, at)) = self.judge_of(waiting) else { continue };
            let seats =
                if judge.confirming_ballots() > 0 { 0..judge.seats.len() } else { at..at + 1 };
            for at in seats {
                if self.seat(judge, at).is_some_and(|seat| seat.needs_key()) {
                    *keyless.entry((waiting.grader, at)).or_default() += 1;
                }
            }
        }
        self.check_prices()?;
        let Some(((grader, at), count)) = keyless.into_iter().next() else { return Ok(()) };
        let (db, root) = (&self.session.db, self.session.root);
        let grader = queries::graders(db, root)[grader as usize];
        let variable = match grader.kind(db) {
            GraderKind::Rubric(rubric) => key_variables(&rubric.judges[at]).join("` or `"),
            GraderKind::Tool(_) => String::new(),
        };
        Err(CannotAsk::NoKey { variable, grader: grader.name(db).clone(), count })
    }

    /// A limit on money is worth nothing where a price is not known.
    fn check_prices(&self) -> Result<(), CannotAsk> {
        if !self.budget.counts_money() {
            return Ok(());
        }
        let mut models = self.list.queue.iter().filter_map(|waiting| {
            let (judge, at) = self.judge_of(waiting)?;
            judge.rubric.judges.get(at).map(|spec| &spec.model)
        });
        match models.find(|model| self.settings.prices.of(model).is_none()) {
            Some(model) => Err(CannotAsk::NoPrice { model: model.clone() }),
            None => Ok(()),
        }
    }

    /// The judge that `waiting` is for.
    fn judge_of(&self, waiting: &Waiting) -> Option<(&Judge, usize)> {
        let (db, root) = (&self.session.db, self.session.root);
        let grader = *queries::graders(db, root).get(waiting.grader as usize)?;
        match &queries::ready(db, grader).method {
            Method::Judge(judge) => Some((judge, judge.ballot(waiting.ballot).judge)),
            Method::Tool(_) | Method::Broken(_) => None,
        }
    }

    /// How the judge at `at` is reached.
    fn seat<'s>(&'s self, judge: &'s Judge, at: usize) -> Option<Reach<'s>> {
        let environment = self.session.root.environment(&self.session.db);
        Some(Reach {
            spec: judge.rubric.judges.get(at)?,
            base_url: &judge.seats.get(at)?.base_url,
            environment,
        })
    }

    /// Renders what waits as something that can be executed.
    fn launch(&self, waiting: &Waiting) -> Option<Launch> {
        let (db, root) = (&self.session.db, self.session.root);
        let grader = *queries::graders(db, root).get(waiting.grader as usize)?;
        let (judge, at) = self.judge_of(waiting)?;
        let reach = self.seat(judge, at)?;
        Some(Launch {
            action: results::action_of(
                db,
                (waiting.chunk, waiting.case as usize),
                grader,
                [waiting.turn, waiting.ballot],
            )?,
            base_url: reach.base_url.to_owned(),
            api_key: reach.api_key(),
            headers: reach.headers(),
            patience: reach.spec.patience.clone(),
        })
    }

    /// Executes the queue. Returns the store, which is away while it writes.
    async fn execute(
        &mut self,
        store: Box<dyn OutcomeStore>,
        stop: impl Future<Output = ()>,
    ) -> Box<dyn OutcomeStore> {
        let mut stop = pin!(stop);
        let mut flight = Flight::new(store, self.settings.closed.is_some());
        loop {
            flight.write_landed(self.world.system);
            self.launch_more(&mut flight);
            if flight.is_over() {
                self.settled.out_of_budget =
                    self.budget.is_used_up() && !self.list.queue.is_empty();
                return flight.into_store();
            }
            match flight.next(stop.as_mut()).await {
                Step::Stopped => self.settled.interrupted = true,
                Step::Landed { waiting, usage, failure } => self.count(waiting, usage, failure),
                Step::Written(batch, result) => {
                    self.settled.write_error = result.err().or(self.settled.write_error.take());
                    self.take_in(batch);
                }
            }
        }
    }

    /// Fills the free places of the flight from the queue.
    fn launch_more(&mut self, flight: &mut Flight<'a>) {
        while flight.has_room(self.settings.max_concurrent) {
            let Some(waiting) = self.list.queue.pop_front() else { return };
            let Some(launch) = self.launch(&waiting) else { continue };
            let expected = self.expected_cost(&launch.action);
            if !self.budget.allows(expected) {
                self.list.queue.push_front(waiting);
                return;
            }
            self.budget.sent(expected);
            self.tally(waiting.grader).asked += 1;
            self.settled.asked.push(waiting.key);
            self.world.progress.event(&Event::Asked);
            let (executor, prices) = (self.world.executor, &self.settings.prices);
            flight.launch(Waiting { expected, ..waiting }, launch, executor, prices);
        }
    }

    /// What an action will probably cost; nothing where nobody counts.
    fn expected_cost(&self, action: &JudgeAction) -> Cost {
        let price = self.budget.counts_money().then(|| self.settings.prices.of(&action.model));
        let bytes = action.system.len() + action.user.len();
        price.flatten().map_or(Cost::ZERO, |price| self.budget.expected(bytes, price))
    }

    fn count(&mut self, waiting: Waiting, usage: Usage, failure: Option<String>) {
        self.budget.landed(waiting.expected, usage);
        let tally = self.tally(waiting.grader);
        tally.spent = tally.spent + usage;
        tally.failed += u64::from(failure.is_some());
        self.world.progress.event(&Event::Landed { failure, tokens: usage });
    }

    fn take_in(&mut self, batch: Vec<Landed>) {
        let outcomes =
            batch.into_iter().map(|landed| (landed.waiting.key, Arc::new(landed.outcome)));
        self.bring_in(outcomes.collect());
    }

    /// What was neither found nor executed becomes a failure that says why.
    fn give_up_rest(&mut self) {
        let (kind, message) = match self.settings.closed {
            Some(flag) => {
                (FailureKind::NotStored, format!("no stored judgment, and {flag} forbids asking"))
            }
            None if self.settled.write_error.is_some() => {
                (FailureKind::NotAsked, "not asked: the store cannot be written".to_owned())
            }
            None if self.settled.out_of_budget => {
                (FailureKind::NotAsked, "not asked: the budget is used up".to_owned())
            }
            None => (FailureKind::NotAsked, "not asked: the run was interrupted".to_owned()),
        };
        let mut given_up = Vec::new();
        let known =
            |settling: &Self, key| crate::db::Db::outcome(&settling.session.db, key).is_some();
        let rest: Vec<Waiting> = std::mem::take(&mut self.list.queue).into();
        for waiting in rest {
            self.tally(waiting.grader).pending += 1;
            if !known(self, waiting.key) {
                let failure = Failure { kind, message: message.clone(), reply: None, usage: None };
                given_up.push((waiting.key, Arc::new(Outcome::Failure(failure))));
            }
        }
        self.bring_in(given_up);
    }
}

/// The outcome of a stored entry, unless it is to be asked anew.
pub(super) fn usable(
    settings: &Settings,
    grader: &str,
    entry: &Entry,
    warnings: &mut Vec<String>,
) -> Option<Outcome> {
    let may_ask = settings.closed.is_none();
    if settings.refresh.covers(grader) && may_ask {
        return None;
    }
    match read_body(&entry.body) {
        Ok(Outcome::Failure(_)) if settings.retry_errors && may_ask => None,
        Ok(outcome) => Some(outcome),
        Err(error) => {
            let key = entry.key;
            warnings.push(format!(
                "the stored outcome of {key} cannot be read and is asked again: {error}"
            ));
            None
        }
    }
}
