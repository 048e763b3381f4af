//! Resolves actions: looks them up in the store, queues and launches the rest, makes what lands durable, and brings it
//! into the graph. `settle` drives it until nothing is left to do, `live` as long as files change.
//!
//! One thread owns the database. An outcome that lands is first made durable, in batches and off this thread, and only
//! then enters the graph: what a report shows is on disk. A write that fails stops the asking, because what cannot be
//! kept would be paid for again. What may start, and in which order, is decided by `admission`.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::admission::{Admission, StartVerdict};
use super::batches::BatchWork;
use super::complete_keys::complete_keys;
use super::credentials::{access, judge_of, kind_of};
use super::elsewhere::StoredEndpoints;
use super::in_flight::{Arrival, InFlight, InFlightEvent, WrittenAction};
use super::launch::{launch, target_limits};
use super::outstanding::OutstandingCounts;
use super::prefixes::KnownPrefixes;
use super::queues::{ClosedQueue, PROGRAM_LIMITS, QueueOwner};
use super::settings::{ActionKind, AskPolicy, Settings};
use super::settled::Settlement;
use super::shared_calls::{SharedCalls, are_shared};
use super::waiting::{ScannedPlans, WaitList, WaitingAction};
use super::whole_answers::{StoredReplies, WholeAnswers, size_of_reply};
use crate::progress::{Event, Progress, Quiet};
use crate::session::Session;
use evalrs_base::text::count;
use evalrs_eval::evaluate::Purpose;
use evalrs_exec::{Executor, Launch};
use evalrs_graph::change::Change;
use evalrs_graph::inputs::Chunk;
use evalrs_graph::{Database, Db};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Failure, FailureKind, Outcome, Usage, sum_of_known};
use evalrs_store::{OutcomeStore, StoreError};
use evalrs_system::System;

/// Why no calls are made once a write has failed.
const UNWRITABLE: &str = "the store cannot be written";

/// The outside, as far as resolving needs it.
pub struct Effects<'a> {
    /// Keeps outcomes.
    pub store: Arc<dyn OutcomeStore>,
    /// Reads files that rows name, and the clock.
    pub system: &'a dyn System,
    /// Executes actions.
    pub executor: &'a dyn Executor,
    /// Shows what happens.
    pub progress: &'a mut dyn Progress,
    /// Follows the grades as they are made.
    pub grades: &'a mut dyn GradeFollower,
}

/// Follows the grades of a session while it settles.
pub trait GradeFollower {
    /// All is planned, and what is stored was looked up.
    fn planned(&mut self, session: &Session);
    /// Grades in these chunks may be others.
    fn graded(&mut self, session: &Session, chunks: &[Chunk]);
}

impl GradeFollower for Quiet {
    fn planned(&mut self, _session: &Session) {}
    fn graded(&mut self, _session: &Session, _chunks: &[Chunk]) {}
}

/// The rank of an action in the queue: lower ones are called earlier.
pub(crate) type RankOf<'a> = &'a dyn Fn(&Database, &WaitingAction) -> u8;

/// A session, what it waits for, and what is being done about that.
pub(crate) struct Resolver<'a> {
    pub session: &'a mut Session,
    pub world: Effects<'a>,
    pub settings: Settings,
    pub list: WaitList,
    pub(crate) admission: Admission<'a>,
    pub in_flight: InFlight<'a>,
    /// What is on disk and not in the graph yet.
    pub(crate) arrived: Vec<WrittenAction>,
    /// The endpoints of stored judgments, looked up once a judgment is missing that may not be
    /// made.
    pub endpoints: OnceCell<StoredEndpoints>,
    pub(crate) outstanding: OutstandingCounts,
    /// How many answers of the target have entered the graph that nobody has looked at.
    pub ungraded: usize,
    /// The chunks whose plans and grades may be others since somebody has looked at them.
    pub touched: Vec<Chunk>,
    pub(super) whole_answers: WholeAnswers,
    pub(crate) shared: SharedCalls,
    pub(crate) batches: BatchWork,
    /// What was used so far, also by actions that were superseded before they landed.
    pub used: Usage,
    /// Raised whenever outcomes enter the graph.
    pub applied: u64,
    pub settled: Settlement,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(session: &'a mut Session, world: Effects<'a>, settings: Settings) -> Self {
        let archive = Arc::new(StoredReplies(Arc::clone(&world.store)));
        session.db.outcomes.set_archive(Some(archive));
        let mut in_flight = InFlight::new(Arc::clone(&world.store), world.executor);
        in_flight.prices = Arc::clone(&settings.prices);
        Self {
            session,
            admission: Admission::new(world.executor.limits(), &settings),
            in_flight,
            world,
            list: WaitList::default(),
            arrived: Vec::new(),
            endpoints: OnceCell::new(),
            settings,
            outstanding: OutstandingCounts::default(),
            ungraded: 0,
            touched: Vec::new(),
            whole_answers: WholeAnswers::default(),
            shared: SharedCalls::default(),
            batches: BatchWork::default(),
            used: Usage::default(),
            applied: 0,
            settled: Settlement::default(),
        }
    }

    /// Starts over with a session that has changed: what is queued is dropped, and what is in flight is superseded. At
    /// most `allowance` actions of judges are launched.
    pub(crate) fn start_over(&mut self, settings: Settings, allowance: u64) {
        self.in_flight.supersede();
        self.shared.take_all();
        self.in_flight.prices = Arc::clone(&settings.prices);
        self.admission.start_over(&settings, allowance);
        self.list.start_over(self.session);
        self.batches = BatchWork::default();
        self.outstanding = OutstandingCounts::default();
        self.settings = settings;
        self.settled.asked.clear();
        self.settled.stopped.clear();
        self.settled.replayed_failures = 0;
    }

    /// Whether any call may be made by now.
    pub(crate) fn may_ask(&self) -> bool {
        let Settlement { interrupted, out_of_budget, write_error, .. } = &self.settled;
        let may = self.settings.ask != AskPolicy::Frozen;
        may && !interrupted && !out_of_budget && write_error.is_none()
    }

    /// Finds out which files programs load: from the store, else by loading them, if anything may be executed. False
    /// until that is known: nothing of them could be keyed.
    pub(crate) fn load_programs(&mut self) -> bool {
        if self.in_flight.is_loading() {
            return false;
        }
        let system = self.world.system;
        self.session.learn_dependencies(self.world.store.as_ref(), system);
        if self.session.not_loaded().is_empty() {
            return true;
        }
        if self.settings.ask == AskPolicy::Frozen {
            self.session.assume_no_dependencies(system);
        }
        for (program, read) in self.session.not_loaded() {
            match self.session.discovered_in_preflight(&read, system) {
                Some(discovered) => {
                    let entry = self.session.loaded(program, Ok(discovered), system);
                    self.in_flight.keep_also(entry);
                }
                None => self.in_flight.load(program, &read),
            }
        }
        !self.in_flight.is_loading()
    }

    /// Whether a grader has just got all its first verdicts, so that confirming calls may start before all others have
    /// theirs. Where something is limited it may not: a budget or an interruption leaves as few cases as possible without
    /// any verdict.
    pub(crate) fn may_confirm_one(&mut self) -> bool {
        !self.admission.is_limited()
            && self.settings.ask == AskPolicy::Ask
            && self.may_ask()
            && self.outstanding.take_done()
    }

    /// Takes the forbidden calls out of the list.
    pub(crate) fn take_forbidden(&mut self) -> Vec<WaitingAction> {
        let Self { session, list, settings, .. } = self;
        let is_forbidden = |waiting: &mut WaitingAction| {
            !settings.may_execute(waiting.key, kind_of(session, waiting))
        };
        list.queue.extract_if(.., is_forbidden).collect()
    }

    /// Queues the list by endpoint and model.
    pub(crate) fn enqueue(&mut self, rank: RankOf<'_>) {
        let mut known = BTreeMap::new();
        let mut prefixes = KnownPrefixes::default();
        self.batches.refresh(&self.settings.batches, self.world.system);
        for waiting in std::mem::take(&mut self.list.queue) {
            let grader = waiting.cell.grader;
            if self.batches.open.have(waiting.key) {
                self.batches.out.push(waiting);
                continue;
            }
            let queues = &mut self.admission.queues;
            let queue = match judge_of(self.session, &waiting) {
                Some((judge, at)) => {
                    let Some(access) = access(self.session, judge, at) else {
                        self.report_bug(waiting, "its judge is not on the panel");
                        continue;
                    };
                    let queue = *known.entry((grader, at)).or_insert_with(|| {
                        let owner = QueueOwner::Judges(access.endpoint());
                        queues.queue(owner, &access.spec.model, access.limits(&self.settings))
                    });
                    let is_verdict = judge.rubric.embedding.is_none();
                    if is_verdict
                        && self.batches.holds(&self.settings.batches, &access, queue, &waiting)
                    {
                        continue;
                    }
                    queue
                }
                None if waiting.purpose == Purpose::Answer => {
                    let limits = target_limits(self.session, &self.settings);
                    queues.queue(QueueOwner::Target, "", limits)
                }
                None => queues.queue(QueueOwner::Programs, "", PROGRAM_LIMITS),
            };
            self.outstanding.add(grader);
            let prefix = prefixes.of(self.session, &waiting);
            queues.push(queue, rank(&self.session.db, &waiting), prefix, waiting);
        }
        self.admission.open_endpoints();
    }

    /// Whether the store can be written, if judges are to be paid for results it would keep: tried before the first
    /// call. Where it cannot, endpoints are closed from now on.
    pub(crate) fn can_keep(&mut self) -> bool {
        let mut list = self.list.queue.iter();
        let is_paid = list.any(|waiting| kind_of(self.session, waiting) != ActionKind::Program);
        let tried = if is_paid { self.world.store.try_writing() } else { Ok(()) };
        tried.map_err(|error| self.stop_asking(error)).is_ok()
    }

    /// What cannot be kept would be paid for again.
    fn stop_asking(&mut self, error: StoreError) {
        self.admission.halt(UNWRITABLE);
        self.settled.write_error = Some(error);
    }

    /// Notes that the store could not be written; the first error stays.
    pub(crate) fn note_write_error(&mut self, error: StoreError) {
        self.admission.cannot_keep = true;
        self.settled.write_error.get_or_insert(error);
    }

    /// Writes what has landed, and launches nothing.
    pub(crate) fn write_landed(&mut self) {
        // What a program loads is durable before what it gave.
        let discovered = self.world.executor.loader().take_discovered();
        if !discovered.is_empty() {
            let entries = self.session.discovered(discovered, self.world.system);
            self.in_flight.keep_also(entries);
        }
        let session = &*self.session;
        let system = self.world.system;
        self.in_flight.write_landed(system, &|identity| session.program_now(identity, system));
        for notice in self.world.executor.limits().take_notices() {
            self.world.progress.event(&Event::from(notice));
        }
    }

    /// Writes what has landed, and launches what may be launched.
    pub(crate) fn go_on(&mut self) {
        self.write_landed();
        self.admission.begin_round(self.in_flight.is_stopped());
        loop {
            let session = &*self.session;
            match self.admission.next(self.in_flight.has_room(), &|waiting, endpoint| {
                launch(session, waiting, endpoint)
            }) {
                StartVerdict::Start(waiting, launch) => self.start(waiting, *launch),
                StartVerdict::Closed(closed) => self.give_up_closed(closed),
                StartVerdict::Broken(waiting, why) => self.report_bug(waiting, why),
                StartVerdict::Wait => return,
            }
        }
    }

    fn start(&mut self, waiting: WaitingAction, launch: Launch) {
        let is_paid = !matches!(launch, Launch::Program(_)) && !self.list.is_repeated(&waiting);
        if is_paid
            && are_shared(&self.settings)
            && !self.shared.claim(self.world.store.as_ref(), &waiting)
        {
            self.admission.withdraw(&launch, &waiting);
            return self.leave(waiting);
        }
        // Who sends a batch claims its calls first, notes it, and releases them then.
        if is_paid && self.is_out(waiting.key) {
            self.admission.withdraw(&launch, &waiting);
            self.world.store.release(&[waiting.key]);
            self.outstanding.remove(waiting.cell.grader);
            self.batches.out.push(waiting);
            return;
        }
        self.list.tally(&waiting).asked += 1;
        self.settled.asked.push(waiting.key);
        self.world.progress.event(&Event::Asked);
        let WaitingAction { key, generation, .. } = waiting;
        self.in_flight.launch(waiting, key, generation, launch);
    }

    /// Whether somebody has sent a call in a batch by now.
    fn is_out(&mut self, key: ActionKey) -> bool {
        self.batches.refresh(&self.settings.batches, self.world.system);
        self.batches.open.have(key)
    }

    /// What was planned and cannot be launched is an error in the report: nothing else would say why its grade is missing.
    fn report_bug(&mut self, waiting: WaitingAction, broken: &str) {
        self.outstanding.remove(waiting.cell.grader);
        let message = format!("not called: {broken}, which is a bug in evalrs");
        self.settled.warnings.push(format!("the action {} was {message}", waiting.key));
        self.give_up(vec![waiting], FailureKind::NotAsked, &message);
    }

    /// Gives up the actions of a disabled endpoint.
    fn give_up_closed(&mut self, ClosedQueue { reason, rest }: ClosedQueue<WaitingAction>) {
        for waiting in &rest {
            self.outstanding.remove(waiting.cell.grader);
        }
        self.settled.stopped.push(told_closed(&rest, &reason));
        self.give_up(rest, FailureKind::NotAsked, &format!("not called: {reason}"));
    }

    /// Waits for something to land, to be written, or to change, and counts it. Nothing is lost if it is dropped while it
    /// waits.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            biased;
            event = self.in_flight.next() => self.take(event),
            // What others make may have landed.
            () = self.shared.due() => {}
        }
    }

    /// Counts what happened. What was written is left to the driver, who decides when it enters the graph.
    pub(crate) fn take(&mut self, event: InFlightEvent<WaitingAction>) {
        match event {
            InFlightEvent::Changed => {}
            InFlightEvent::Loaded(program, result) => {
                let entry = self.session.loaded(program, result, self.world.system);
                self.in_flight.keep_also(entry);
            }
            InFlightEvent::Landed(arrival) => self.count(arrival),
            InFlightEvent::Written(batch, result) => {
                if let Err(error) = result {
                    self.stop_asking(error);
                }
                let keys: Vec<ActionKey> = batch.iter().map(|written| written.key).collect();
                self.world.store.release(&keys);
                for written in &batch {
                    self.outstanding.remove(written.waiting.cell.grader);
                    self.count_written(written);
                }
                self.arrived.extend(batch);
            }
        }
    }

    fn count(&mut self, arrival: Arrival) {
        let Arrival { waiting, endpoint, usage, list_cost, failure, superseded } = arrival;
        // Its endpoint may have been closed while it waited to be sent.
        let was_asked = !matches!(failure, Some((FailureKind::NotAsked, _)));
        if !was_asked {
            self.settled.asked.retain(|asked| *asked != waiting.key);
        }
        let failed = failure.as_ref().map(|(kind, _)| *kind);
        self.admission.landed(endpoint, &waiting, usage, failed);
        self.used = self.used + usage;
        if superseded {
            return;
        }
        let tally = self.list.tally(&waiting);
        tally.spent = tally.spent + usage;
        tally.list_cost = sum_of_known(tally.list_cost, list_cost);
        tally.asked = tally.asked.saturating_sub(u64::from(!was_asked));
        tally.pending += u64::from(!was_asked);
        let failure = failure.map(|(_, message)| message);
        self.world.progress.event(&Event::Landed { failure, usage });
    }

    /// Counts a failure, now that it is known what is reported: another process may have had a reply.
    fn count_written(&mut self, written: &WrittenAction) {
        if written.superseded {
            return;
        }
        if let Outcome::Failure(failure) = &written.outcome
            && failure.kind != FailureKind::NotAsked
        {
            self.list.tally(&written.waiting).failed += 1;
        }
        self.settled.in_vain.extend(written.in_vain.clone());
    }

    /// Cancels the actions in flight: they have no outcome, and a rerun repeats them. What has landed is still to be
    /// written.
    pub(crate) fn stop(&mut self) {
        let cancelled = self.in_flight.stop();
        let keys: Vec<ActionKey> = cancelled.iter().map(|waiting| waiting.key).collect();
        self.world.store.release(&keys);
        let shared = self.shared.take_all();
        self.list.queue.extend(shared);
        for waiting in &cancelled {
            let tally = self.list.tally(waiting);
            tally.asked = tally.asked.saturating_sub(1);
        }
        self.settled.asked.retain(|asked| cancelled.iter().all(|waiting| waiting.key != *asked));
        self.list.queue.extend(cancelled);
    }

    /// Brings what was written into the graph.
    pub(crate) fn apply_arrived(&mut self) {
        let arrived = std::mem::take(&mut self.arrived);
        for WrittenAction { waiting, key, outcome, .. } in &arrived {
            self.ungraded += usize::from(waiting.purpose == Purpose::Answer);
            if waiting.purpose == Purpose::Answer && !self.list.is_repeated(waiting) {
                self.whole_answers.add(*key, size_of_reply(outcome));
            }
        }
        let outcomes =
            arrived.into_iter().map(|written| (written.key, Arc::new(written.outcome))).collect();
        self.apply(outcomes);
    }

    /// The plans that may want something else since the last call, if the target has answered something since then: that
    /// may be graded while it goes on.
    pub(crate) fn take_answered(&mut self) -> Option<ScannedPlans> {
        let has_answers = std::mem::take(&mut self.ungraded) > 0;
        (has_answers && self.may_ask()).then(|| ScannedPlans::Of(std::mem::take(&mut self.touched)))
    }

    /// Brings outcomes into the graph, for all who wait for them.
    pub(crate) fn apply(&mut self, outcomes: Vec<(ActionKey, Arc<Outcome>)>) {
        self.applied += u64::from(!outcomes.is_empty());
        let mut seen = HashSet::new();
        let chunks = outcomes.iter().flat_map(|(key, _)| self.list.chunks_of(*key));
        let waiting: Vec<Chunk> = chunks.filter(|chunk| seen.insert(**chunk)).copied().collect();
        self.apply_to(outcomes, &waiting);
    }

    pub(crate) fn apply_to(&mut self, outcomes: Vec<(ActionKey, Arc<Outcome>)>, waiting: &[Chunk]) {
        self.touched.extend_from_slice(waiting);
        let change = Change { outcomes, waiting: waiting.to_vec(), ..Change::default() };
        change.apply(&mut self.session.db, self.session.root);
        self.world.grades.graded(self.session, waiting);
        self.whole_answers.release(&self.session.db);
    }

    /// A call that is not made becomes a failure that gives the reason.
    pub(crate) fn give_up(&mut self, rest: Vec<WaitingAction>, kind: FailureKind, message: &str) {
        let mut given_up = Vec::new();
        for waiting in rest {
            self.list.tally(&waiting).pending += 1;
            if self.session.db.outcome(waiting.key).is_none() {
                let failure = Outcome::Failure(Failure::new(kind, message));
                given_up.push((waiting.key, Arc::new(failure)));
            }
        }
        self.apply(given_up);
    }

    pub(crate) fn complete_keys(&mut self) {
        if self.settled.write_error.is_none() {
            // Plans name other keys then.
            self.applied += u64::from(!self.session.outgrown().is_empty());
            let store = self.world.store.as_ref();
            if let Err(error) = complete_keys(self.session, store, self.world.system) {
                self.note_write_error(error);
            }
        }
    }
}

fn told_closed(rest: &[WaitingAction], reason: &str) -> String {
    if rest.iter().any(|waiting| waiting.purpose == Purpose::Answer) {
        let count = count(rest.len(), "conversation");
        format!("stopped the target: it {reason}; {count} not run")
    } else {
        format!("calls stopped: {reason}; {} judgments were not made", rest.len())
    }
}
