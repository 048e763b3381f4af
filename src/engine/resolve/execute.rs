//! Executes what a session waits for: the loop over what is launched, what lands and what is written.
//!
//! What may start is decided by the budget, the disk and the executor's limits; in which order, by `queues`.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use super::in_flight::{Arrival, InFlight, InFlightEvent, Landed};
use super::queues::{ClosedQueue, Next, Queues};
use super::settle::Settling;
use super::waiting::Waiting;
use crate::base::price::Cost;
use crate::effects::exec::{
    Endpoint, EndpointId, JudgeLaunch, Launch, LimitSettings, Notice, ProgramLaunch,
};
use crate::effects::store::{Entry, StoreError};
use crate::engine::progress::Event;
use crate::graph::inputs::CellId;
use crate::graph::{Database, Db, queries, results};
use crate::pipeline::action::Action;
use crate::pipeline::judge::JudgeAction;
use crate::pipeline::outcome::{FailureKind, Outcome, Usage, read_body};

/// Why nothing is asked once a write has failed.
const UNWRITABLE: &str = "the store cannot be written";

/// Entries that are in memory together when others may have kept better ones.
const LOOKED_AT: usize = 2_048;

/// Programs have no limits but those of the machine, which the executor knows: as many calls as keep workers busy.
const PROGRAM_LIMITS: LimitSettings = LimitSettings {
    most: 256,
    requests_per_minute: None,
    tokens_per_minute: None,
    identical_failures: 0,
};

/// What stands in the way of more actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// The budget is used up.
    Budget,
    /// As many were launched as are allowed for now.
    Held,
}

/// What a step leaves to be done.
pub(crate) enum Taken {
    /// Nothing is under way any more; what was is dropped.
    Stopped(Vec<Waiting>),
    /// A program was loaded: the entry to be kept, if it could be.
    Loaded(Option<Entry>),
    /// These are on disk, or cannot be.
    Written(Vec<Landed>),
}

impl<'a> Settling<'a> {
    /// Renders what waits as something that can be executed. An error names the promise of the graph that does not hold.
    pub(crate) fn launch(
        &self,
        waiting: &Waiting,
        endpoint: EndpointId,
    ) -> Result<Launch, &'static str> {
        let db = &self.session.db;
        let root = self.session.root;
        let CellId { chunk, case, grader } = waiting.cell;
        let grader = *queries::graders(db, root).get(grader).ok_or("its grader is gone")?;
        let action = results::action_of(db, chunk, case, grader, waiting.ballot);
        let action = match action.ok_or("its plan does not have it")? {
            Action::Judge(action) => action,
            Action::Program(action) => {
                let start = self.session.start_of(&action.identity.spec);
                let start = start.ok_or("its program was not read")?;
                return Ok(Launch::Program(ProgramLaunch { action, start }));
            }
            Action::Dependencies(_) => return Err("it is a list of files"),
        };
        let EndpointId::Judge(endpoint) = endpoint else {
            return Err("a judge waits among programs");
        };
        let (judge, at) = self.judge_of(waiting).ok_or("its grader has no judge")?;
        let access = self.seat(judge, at).ok_or("its judge is not on the panel")?;
        let sample = results::sample_id(db, chunk, case);
        let what_for = format!("{} of {}", grader.name(db), sample.unwrap_or_default());
        Ok(Launch::Judge(JudgeLaunch {
            action,
            endpoint,
            what_for,
            base_url: access.base_url.to_owned(),
            api_key: access.api_key(),
            headers: access.headers(),
            patience: access.spec.patience.clone(),
        }))
    }

    /// Parts the queue by who is asked, those of a lower rank first.
    pub(crate) fn part(
        &mut self,
        queues: &mut Queues<Waiting>,
        rank: &dyn Fn(&Database, &Waiting) -> u8,
    ) {
        let mut known = BTreeMap::new();
        for waiting in std::mem::take(&mut self.list.queue) {
            self.outstanding.add(waiting.cell.grader);
            let Some((judge, at)) = self.judge_of(&waiting) else {
                let queue = queues.queue(None, "", PROGRAM_LIMITS);
                queues.push(queue, rank(&self.session.db, &waiting), waiting);
                continue;
            };
            let Some(access) = self.seat(judge, at) else {
                self.report_bug(waiting, "its judge is not on the panel");
                continue;
            };
            let queue = known.entry((waiting.cell.grader, at)).or_insert_with(|| {
                let endpoint = Endpoint {
                    provider: access.spec.provider.clone(),
                    base_url: access.base_url.to_owned(),
                    api_key: access.api_key(),
                };
                let patience = &access.spec.patience;
                let of_grader = LimitSettings {
                    requests_per_minute: patience.max_requests_per_minute,
                    tokens_per_minute: patience.max_tokens_per_minute,
                    ..self.settings.of_endpoints()
                };
                let limits = of_grader.and(self.settings.of_endpoints());
                queues.queue(Some(endpoint), &access.spec.model, limits)
            });
            queues.push(*queue, rank(&self.session.db, &waiting), waiting);
        }
        queues.open(self.world.executor);
    }

    /// Whether what is paid for can be kept: tried before the first judge is asked.
    pub(crate) fn may_keep(&mut self) -> bool {
        let is_paid = self.list.queue.iter().any(|waiting| self.judge_of(waiting).is_some());
        let tried = if is_paid { self.store.try_writing() } else { Ok(()) };
        tried.map_err(|error| self.stop_asking(error)).is_ok()
    }

    /// What cannot be kept would be paid for again.
    fn stop_asking(&mut self, error: StoreError) {
        self.world.executor.halt(UNWRITABLE);
        self.settled.write_error = Some(error);
    }

    /// Takes what other processes have kept under the keys that were asked here: all report what wins.
    pub(crate) fn look_again(&mut self) {
        let is_sure = self.settled.write_error.is_none();
        if !is_sure || self.settled.asked.is_empty() || !self.store.others_wrote() {
            return;
        }
        let asked = std::mem::take(&mut self.settled.asked);
        for keys in asked.chunks(LOOKED_AT) {
            let mut news = Vec::new();
            for (key, entry) in keys.iter().zip(self.store.get_many(keys)) {
                let Some(outcome) = entry.and_then(|entry| read_body(&entry.body).ok()) else {
                    continue;
                };
                let is_reply = matches!(outcome, Outcome::Reply(_));
                let held = self.session.db.outcome(*key);
                if held.is_some_and(|held| *held != outcome && (is_reply || held.is_kept())) {
                    news.push((*key, Arc::new(outcome)));
                }
            }
            self.apply_outcomes(news);
        }
        self.settled.asked = asked;
    }

    /// Executes the queue, until all that landed is durable.
    #[tracing::instrument(level = "debug", skip_all, fields(queued = self.list.queue.len()))]
    pub(crate) async fn execute(&mut self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let mut in_flight = InFlight::new(Arc::clone(&self.store));
        let mut queues = Queues::new();
        self.part(&mut queues, &|_, _| 0);
        let mut dropped = Vec::new();
        loop {
            let blocked = self.go_on(&mut in_flight, &mut queues);
            let is_refused = blocked == Some(Blocked::Budget);
            if in_flight.is_over() && (queues.is_empty() || in_flight.is_stopped() || is_refused) {
                self.settled.out_of_budget = is_refused;
                self.list.queue = queues.into_rest();
                self.list.queue.extend(dropped);
                return;
            }
            let step = in_flight.next(stop.as_mut(), self.world.executor.changed()).await;
            match self.take_step(step, &mut queues) {
                Some(Taken::Stopped(under_way)) => {
                    self.settled.interrupted = true;
                    dropped = under_way;
                }
                Some(Taken::Written(batch)) => self.apply_landed(batch),
                Some(Taken::Loaded(entry)) => in_flight.keep_also(entry.into_iter().collect()),
                None => {}
            }
            self.confirm_early(&mut queues);
        }
    }

    /// Writes what has landed, and launches nothing.
    pub(crate) fn go_on_writing(&mut self, in_flight: &mut InFlight<'a>) {
        // What a program loads is durable before what it gave.
        let discovered = self.world.executor.take_discovered();
        if !discovered.is_empty() {
            in_flight.keep_also(self.session.discovered(discovered, self.world.system));
        }
        let session = &*self.session;
        let system = self.world.system;
        in_flight.write_landed(system, &|identity| session.is_current(identity, system));
        self.tell();
    }

    /// Writes what has landed, and launches what may be launched. Says what stands in the way of more.
    pub(crate) fn go_on(
        &mut self,
        in_flight: &mut InFlight<'a>,
        queues: &mut Queues<Waiting>,
    ) -> Option<Blocked> {
        self.go_on_writing(in_flight);
        // What is left when all is stopped was not asked for that reason.
        if !in_flight.is_stopped() {
            for closed in queues.take_closed(self.world.executor) {
                self.leave_out(closed);
            }
        }
        self.launch_more(in_flight, queues)
    }

    /// Counts what happened. What was written is left to the caller, who decides when it enters the graph.
    pub(crate) fn take_step(
        &mut self,
        step: InFlightEvent<Waiting>,
        queues: &mut Queues<Waiting>,
    ) -> Option<Taken> {
        match step {
            InFlightEvent::Changed => None,
            InFlightEvent::Loaded(program, result) => {
                let entry = self.session.loaded(program, result, self.world.system);
                Some(Taken::Loaded(entry))
            }
            InFlightEvent::Stopped(under_way) => {
                self.take_back(&under_way);
                Some(Taken::Stopped(under_way))
            }
            InFlightEvent::Landed(arrival) => {
                queues.landed(arrival.endpoint);
                self.count(arrival);
                None
            }
            InFlightEvent::Written(batch, result) => {
                if let Err(error) = result {
                    self.stop_asking(error);
                }
                for landed in &batch {
                    self.outstanding.remove(landed.waiting.cell.grader);
                }
                self.count_written(&batch);
                Some(Taken::Written(batch))
            }
        }
    }

    /// Fills the free places of the flight from the queue. Says what stands in the way of more, if it is neither
    /// the disk nor an endpoint.
    fn launch_more(
        &mut self,
        in_flight: &mut InFlight<'a>,
        queues: &mut Queues<Waiting>,
    ) -> Option<Blocked> {
        // What runs here costs nothing, and waits for no word of the user.
        let mut blocked = (self.allowance == 0).then_some(Blocked::Held);
        while in_flight.has_room() {
            let Some(next) = queues.next(self.world.executor, blocked.is_some()) else { break };
            let Next { endpoint, action: waiting, .. } = next;
            let launch = match self.launch(&waiting, endpoint) {
                Ok(launch) => launch,
                Err(broken) => {
                    queues.landed(endpoint);
                    self.report_bug(waiting, broken);
                    continue;
                }
            };
            let mut expected = Cost::ZERO;
            if let Launch::Judge(launch) = &launch {
                expected = self.expected_cost(&launch.action);
                if !self.budget.allows(expected) {
                    queues.put_back(next);
                    blocked = Some(Blocked::Budget);
                    continue;
                }
                self.budget.sent(expected);
                self.allowance = self.allowance.saturating_sub(1);
            }
            self.tally(waiting.cell.grader).asked += 1;
            self.settled.asked.push(waiting.key);
            self.world.progress.event(&Event::Asked);
            let executor = self.world.executor;
            let prices = &self.settings.prices;
            in_flight.launch(Waiting { expected, ..waiting }, launch, executor, prices);
            if self.allowance == 0 {
                blocked = blocked.or(Some(Blocked::Held));
            }
        }
        blocked.filter(|_| queues.has_judges_to_ask())
    }

    /// What was planned and cannot be launched is an error in the report: nobody would find out why its grade is missing.
    fn report_bug(&mut self, waiting: Waiting, broken: &str) {
        self.outstanding.remove(waiting.cell.grader);
        let message = format!("not asked: {broken}, which is a bug in evalrs");
        self.settled.warnings.push(format!("the action {} was {message}", waiting.key));
        self.give_up(vec![waiting], FailureKind::NotAsked, &message);
    }

    /// What an action will probably cost; nothing where nobody counts.
    fn expected_cost(&self, action: &JudgeAction) -> Cost {
        let price = self.budget.counts_money().then(|| self.settings.prices.of(&action.model));
        let bytes = action.system.len() + action.user.len();
        price.flatten().map_or(Cost::ZERO, |price| self.budget.expected(bytes, price))
    }

    /// Shows what the executor has to say.
    fn tell(&mut self) {
        for notice in self.world.executor.take_notices() {
            let event = match notice {
                Notice::Waiting { endpoint, what, is_new } => {
                    Event::Waiting { endpoint: endpoint.0, what, is_new }
                }
                Notice::Going(endpoint) => Event::Going { endpoint: endpoint.0 },
                Notice::Line(line) => Event::Line(line),
            };
            self.world.progress.event(&event);
        }
    }

    /// Gives up what an endpoint will not be asked any more.
    fn leave_out(&mut self, ClosedQueue { reason, rest }: ClosedQueue<Waiting>) {
        let count = rest.len();
        for waiting in &rest {
            self.outstanding.remove(waiting.cell.grader);
        }
        let said = format!("stopped asking: {reason}; {count} judgments were not asked");
        self.settled.stopped.push(said);
        self.give_up(rest, FailureKind::NotAsked, &format!("not asked: {reason}"));
    }

    fn count(&mut self, arrival: Arrival) {
        let Arrival { waiting, usage, failure, superseded, .. } = arrival;
        // Its endpoint may have been closed while it waited to be sent.
        let was_asked = !matches!(failure, Some((FailureKind::NotAsked, _)));
        if !was_asked {
            self.settled.asked.retain(|asked| *asked != waiting.key);
        }
        let is_free = failure.as_ref().is_some_and(|(kind, _)| !kind.policy().billed);
        let cost = usage.cost.or(is_free.then_some(Cost::ZERO));
        self.budget.landed(waiting.expected, Usage { cost, ..usage });
        if superseded {
            self.superseded = self.superseded + usage;
            return;
        }
        let tally = self.tally(waiting.cell.grader);
        tally.spent = tally.spent + usage;
        tally.asked = tally.asked.saturating_sub(u64::from(!was_asked));
        tally.pending += u64::from(!was_asked);
        let failure = failure.map(|(_, message)| message);
        self.world.progress.event(&Event::Landed { failure, usage });
    }

    /// Counts failures, now that it is known what is reported: another process may have had a reply.
    fn count_written(&mut self, batch: &[Landed]) {
        for landed in batch.iter().filter(|landed| !landed.superseded) {
            if let Outcome::Failure(failure) = &landed.outcome
                && failure.kind != FailureKind::NotAsked
            {
                self.tally(landed.waiting.cell.grader).failed += 1;
            }
            self.settled.in_vain.extend(landed.in_vain.clone());
        }
    }

    /// What was dropped while it was under way has no outcome: a rerun asks for it.
    pub(crate) fn take_back(&mut self, dropped: &[Waiting]) {
        for waiting in dropped {
            let tally = self.tally(waiting.cell.grader);
            tally.asked = tally.asked.saturating_sub(1);
        }
        self.settled.asked.retain(|asked| dropped.iter().all(|waiting| waiting.key != *asked));
    }

    /// Brings what was written into the graph.
    pub(crate) fn apply_landed(&mut self, batch: Vec<Landed>) {
        let outcomes =
            batch.into_iter().map(|landed| (landed.waiting.key, Arc::new(landed.outcome)));
        self.apply_outcomes(outcomes.collect());
    }
}
