//! Settles a session: every action the graph waits for is looked up, executed or given up.
//!
//! One thread owns the database. An outcome that lands is first made durable, in batches and off this
//! thread, and only then enters the graph: what a report shows is on disk. A write that fails stops the
//! asking, because nothing is paid for that cannot be kept.

use std::collections::HashSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use super::budget::Budget;
use super::outstanding::Outstanding;
use super::settings::{ActionKind, Settings};
use super::stored::StoredReader;
pub use super::waiting::SettledPlans;
use super::waiting::{Refreshed, WaitList, Waiting, stays};
use crate::base::system::System;
use crate::effects::exec::Executor;
use crate::effects::store::{Entry, OutcomeStore, StoreError};
use crate::engine::progress::{Event, Progress};
use crate::engine::session::Session;
use crate::graph::Db;
use crate::graph::change::Change;
use crate::graph::inputs::Chunk;
use crate::pipeline::key::ActionKey;
use crate::pipeline::outcome::{ActionTally, Failure, FailureKind, Outcome, Usage};

/// The outside, as far as settling needs it.
pub struct Effects<'a> {
    /// Reads files that rows name, and the clock.
    pub system: &'a dyn System,
    /// Executes actions.
    pub executor: &'a dyn Executor,
    /// Shows what happens.
    pub progress: &'a mut dyn Progress,
}

/// How settling ended.
#[derive(Debug, Default)]
pub struct Settled {
    /// Grader → its actions, in the order of the suite.
    pub tallies: Vec<(String, ActionTally)>,
    /// How many of the actions count against limits: those that somebody is paid for.
    pub calls: u64,
    /// The keys executed in this run.
    pub asked: Vec<ActionKey>,
    /// It was interrupted.
    pub interrupted: bool,
    /// The budget was used up.
    pub out_of_budget: bool,
    /// Why endpoints were asked no more, a sentence each.
    pub stopped: Vec<String>,
    /// The store could not be written.
    pub write_error: Option<StoreError>,
    /// Why judgments that were asked anew stayed as they were, a sentence each.
    pub in_vain: Vec<String>,
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
        /// The provider that the name of the model speaks of, where the suite names another.
        meant: Option<&'static str>,
        /// The model.
        model: String,
        /// The grader.
        grader: String,
        /// How many judgments wait for it.
        count: usize,
    },
    /// A program cannot be loaded, so nothing of it could be keyed.
    #[error("cannot load `{program}`: {message}")]
    Unloadable {
        /// The program.
        program: String,
        /// Why, in one sentence.
        message: String,
        /// Where in it.
        details: Option<String>,
    },
    /// A limit on the cost cannot be kept.
    #[error("the price of `{model}` is not known, so `--max-cost` cannot be kept")]
    NoPrice {
        /// The model.
        model: String,
    },
}

/// Looks up and executes whatever the session waits for, until there is nothing left or `stop` says so. What `plans` says
/// is settled is passed over, if the same session was settled before.
pub async fn settle<'a>(
    session: &'a mut Session,
    store: Arc<dyn OutcomeStore>,
    world: Effects<'a>,
    settings: &Settings,
    plans: &mut SettledPlans,
    stop: impl Future<Output = ()>,
) -> Result<Settled, CannotAsk> {
    let mut settling = Settling::new(session, store, world, settings.clone());
    settling.list.settled = std::mem::take(plans);
    let mut stop = pin!(stop);
    settling.load_programs(stop.as_mut()).await?;
    settling.plan();
    settling.look_up(0);
    settling.check_keys()?;
    settling.world.executor.begin();
    // What confirms comes after all that it may confirm, of all graders where something is limited: a budget or an
    // interruption leaves as few cases as possible without any verdict.
    loop {
        settling.leave_out_judges();
        if settling.may_ask() && settling.may_keep() {
            settling.execute(stop.as_mut()).await;
        }
        settling.give_up_rest();
        if !settling.wants_more() {
            break;
        }
        settling.look_up(0);
    }
    settling.look_again();
    settling.check_again(stop.as_mut()).await;
    settling.complete_keys();
    settling.settled.warnings.extend(settling.store.take_warnings());
    let reads = settling.session.undeclared_reads(settling.world.system);
    settling.settled.warnings.extend(reads);
    settling.world.progress.event(&Event::Finished);
    Ok(settling.finish(plans))
}

/// A session that is being settled. How the queue is executed is `execute`'s.
pub(crate) struct Settling<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) store: Arc<dyn OutcomeStore>,
    pub(crate) world: Effects<'a>,
    pub(crate) settings: Settings,
    pub(crate) list: WaitList,
    pub(crate) budget: Budget,
    pub(crate) outstanding: Outstanding,
    /// How many actions may still be launched.
    pub(crate) allowance: u64,
    /// What was used by actions that nobody waited for any more.
    pub(crate) superseded: Usage,
    /// Raised whenever outcomes enter the graph.
    pub(crate) applied: u64,
    pub(crate) settled: Settled,
}

impl<'a> Settling<'a> {
    pub(crate) fn new(
        session: &'a mut Session,
        store: Arc<dyn OutcomeStore>,
        world: Effects<'a>,
        settings: Settings,
    ) -> Self {
        Self {
            session,
            store,
            world,
            list: WaitList::default(),
            budget: Budget::new(settings.limits),
            settings,
            outstanding: Outstanding::default(),
            allowance: u64::MAX,
            superseded: Usage::default(),
            applied: 0,
            settled: Settled::default(),
        }
    }

    /// Collects what the graph waits for, reading files that rows name on the way.
    fn plan(&mut self) {
        loop {
            self.list.scan(self.session);
            if !self.session.read_unread(self.world.system) {
                break;
            }
        }
    }

    /// Whether anything may be asked by now.
    pub(crate) fn may_ask(&self) -> bool {
        let Settled { interrupted, out_of_budget, write_error, .. } = &self.settled;
        let may = self.settings.ask.may_ask(ActionKind::Program);
        may && !interrupted && !out_of_budget && write_error.is_none()
    }

    /// Whether the plans want something that they did not want before.
    pub(crate) fn wants_more(&mut self) -> bool {
        let db = &self.session.db;
        self.list.add_confirming(self.session, 0, &|key| db.outcome(key))
    }

    /// Brings in everything that the store has, also of what the plans scanned as `from`th and later want because of
    /// that.
    pub(crate) fn look_up(&mut self, from: usize) {
        loop {
            self.look_up_once();
            let stays = stays(self.session);
            if !self.list.add_confirming(self.session, from, &stays) {
                break;
            }
        }
        let tallies = || self.list.tallies.iter();
        let totals = tallies().map(|(name, tally)| (name.clone(), tally.total)).collect();
        let noun = self.noun();
        self.world.progress.event(&Event::Planned { totals, noun });
        // Later there is news only if there is more to ask.
        if self.may_ask() && (self.settled.asked.is_empty() || !self.list.queue.is_empty()) {
            let cached = tallies().map(|(_, tally)| tally.cached).sum();
            self.world.progress.event(&Event::Cached(cached));
        }
    }

    /// What actions are called: judgments, unless programs are called too.
    fn noun(&self) -> &'static str {
        let mut graders = self.session.suite().into_iter().flat_map(|suite| &suite.graders);
        let is_called = graders.any(|grader| grader.programs().next().is_some());
        if is_called { "call" } else { "judgment" }
    }

    fn look_up_once(&mut self) {
        let settings = &self.settings;
        let warnings = &mut self.settled.warnings;
        let replayed = &mut self.settled.replayed_failures;
        let refreshed = Refreshed::of(self.session, &settings.refresh);
        let reader = StoredReader { session: self.session, settings, refreshed };
        let mut usable = |entry: &Entry, waiting: &Waiting| {
            let outcome = reader.usable(entry, waiting, warnings);
            *replayed += u64::from(matches!(outcome, Some(Outcome::Failure(_))));
            outcome
        };
        let untold = self.list.take_untold(self.session);
        let (outcomes, waiting) = self.list.look_up(self.store.as_ref(), &mut usable);
        let waiting: HashSet<_> = waiting.into_iter().chain(untold).collect();
        let waiting: Vec<_> = waiting.into_iter().collect();
        self.applied += u64::from(!outcomes.is_empty() || !waiting.is_empty());
        let change = Change { outcomes, waiting, ..Change::default() };
        change.apply(&mut self.session.db, self.session.root);
    }

    fn finish(mut self, plans: &mut SettledPlans) -> Settled {
        self.list.remember(self.session);
        *plans = self.list.settled;
        Settled { tallies: self.list.tallies, calls: self.budget.calls(), ..self.settled }
    }

    pub(crate) fn tally(&mut self, grader: usize) -> &mut ActionTally {
        &mut self.list.tallies[grader].1
    }

    pub(crate) fn apply_outcomes(&mut self, outcomes: Vec<(ActionKey, Arc<Outcome>)>) {
        self.applied += u64::from(!outcomes.is_empty());
        let mut seen = HashSet::new();
        let chunks = outcomes.iter().flat_map(|(key, _)| self.list.chunks_of(*key));
        let waiting = chunks.filter(|chunk| seen.insert(**chunk)).copied().collect();
        self.apply_to(outcomes, waiting);
    }

    /// Brings outcomes in that these chunks wait for.
    pub(crate) fn apply_to(
        &mut self,
        outcomes: Vec<(ActionKey, Arc<Outcome>)>,
        waiting: Vec<Chunk>,
    ) {
        let change = Change { outcomes, waiting, ..Change::default() };
        change.apply(&mut self.session.db, self.session.root);
    }

    /// What was neither found nor executed becomes a failure that says why.
    fn give_up_rest(&mut self) {
        let Settled { interrupted, write_error, .. } = &self.settled;
        let flag = self.settings.ask.flag().filter(|_| !interrupted && write_error.is_none());
        let (kind, message) = match flag {
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
        let rest = std::mem::take(&mut self.list.queue).into();
        self.give_up(rest, kind, &message);
    }

    pub(crate) fn give_up(&mut self, rest: Vec<Waiting>, kind: FailureKind, message: &str) {
        let mut given_up = Vec::new();
        for waiting in rest {
            self.tally(waiting.cell.grader).pending += 1;
            if self.session.db.outcome(waiting.key).is_none() {
                let message = message.to_owned();
                let failure = Failure::new(kind, message);
                given_up.push((waiting.key, Arc::new(Outcome::Failure(failure))));
            }
        }
        self.apply_outcomes(given_up);
    }
}
