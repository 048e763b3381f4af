//! The workers of one program: each is fed from one queue, and started again when it dies or falls silent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::io::AsyncWriteExt;
use tokio::select;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::endings::{self, who};
use super::files;
use super::messages::{self, WorkerMessage};
use super::queue::{Job, PoolState, TakenJobs, WorkerQueue, not_asked};
use super::worker::{Fault, Worker};
use super::world::ProgramWorld;
use crate::{DiscoveredFiles, Start};
use evalrs_model::outcome::{Failure, FailureKind, Outcome};

#[derive(Debug)]
pub(super) struct Pool {
    pub start: Arc<Start>,
    world: Arc<ProgramWorld>,
    queue: Mutex<WorkerQueue>,
    wake: Notify,
}

impl Pool {
    pub(super) fn new(start: Arc<Start>, world: Arc<ProgramWorld>) -> Self {
        Self { start, world, queue: Mutex::default(), wake: Notify::new() }
    }

    fn queue(&self) -> MutexGuard<'_, WorkerQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn ask(self: &Arc<Self>, input: String) -> Outcome {
        let outcome = {
            let mut queue = self.queue();
            if let PoolState::Unloadable(failure) = &queue.state {
                return Outcome::Failure(failure.clone());
            }
            let outcome = queue.push(input);
            self.start_first(&mut queue);
            outcome
        };
        self.wake.notify_one();
        outcome.await.unwrap_or_else(|_| not_asked("its worker was stopped"))
    }

    /// Loads the program, if that was not done yet.
    pub(super) async fn load(self: &Arc<Self>) -> Result<DiscoveredFiles, Failure> {
        let loaded = {
            let mut queue = self.queue();
            match &queue.state {
                PoolState::Loaded => return Ok(queue.take_discovered()),
                PoolState::Unloadable(failure) => return Err(failure.clone()),
                PoolState::Unknown => {}
            }
            let loaded = queue.await_load();
            self.start_first(&mut queue);
            loaded
        };
        let given_up = || Failure::new(FailureKind::NotAsked, "not called: its worker was stopped");
        loaded.await.unwrap_or_else(|_| Err(given_up()))
    }

    fn start_first(self: &Arc<Self>, queue: &mut WorkerQueue) {
        if queue.workers == 0 {
            self.start_worker(queue);
        }
    }

    fn start_worker(self: &Arc<Self>, queue: &mut WorkerQueue) {
        queue.workers += 1;
        tokio::spawn(serve(WorkerSlot(Arc::clone(self))));
    }

    fn grow(self: &Arc<Self>) {
        let mut queue = self.queue();
        if queue.wants_worker(&self.world.settings) {
            self.start_worker(&mut queue);
        }
    }

    /// Starts a worker and has it load the program. Its process is noted at once, to be ended with the executor.
    async fn started(self: &Arc<Self>) -> Result<BusyWorker<'_>, Failure> {
        let begin = Instant::now();
        let began = files::now();
        let mut worker = Worker::spawn(&self.start, &self.world).await?;
        self.queue().note(&worker.group);
        let loaded = worker.load(&self.start, &self.world).await?;
        let seen = files::seen(loaded.reported, began);
        let is_first = self.queue().loaded(seen, begin.elapsed());
        for warning in loaded.warnings.iter().filter(|_| is_first) {
            self.world.say(format!("{}: {warning}", self.start.spec.shown()));
        }
        Ok(BusyWorker {
            pool: self,
            worker,
            began,
            overlaps: loaded.overlaps,
            limit: Duration::from_millis(self.start.spec.timeout_ms),
            unanswered: BTreeMap::new(),
            outbox: Vec::new(),
            written: 0,
            since: Instant::now(),
        })
    }

    pub(super) fn take_discovered(&self) -> Option<DiscoveredFiles> {
        let seen = self.queue().take_discovered();
        (seen != DiscoveredFiles::default()).then_some(seen)
    }

    /// Forgets that the program could not be loaded.
    pub(super) fn forgive(&self) {
        let mut queue = self.queue();
        if matches!(queue.state, PoolState::Unloadable(_)) {
            queue.state = PoolState::Unknown;
        }
    }

    /// Ends what was not sent to a worker yet.
    pub(super) fn halt(&self, reason: &str) {
        self.queue().end_all(&not_asked(reason));
    }

    /// Lets the workers end when they have answered their requests.
    pub(super) fn retire(&self) {
        self.queue().is_retired = true;
        self.wake.notify_waiters();
    }

    pub(super) fn is_gone(&self) -> bool {
        self.queue().workers == 0
    }

    pub(super) fn kill(&self) {
        let mut queue = self.queue();
        queue.is_retired = true;
        queue.end_all(&not_asked("the run ended"));
        for group in std::mem::take(&mut queue.groups) {
            if let Some(group) = group.upgrade() {
                group.kill();
            }
        }
    }
}

/// The place of one worker in its pool, which is free again when this is dropped.
#[derive(Debug)]
struct WorkerSlot(Arc<Pool>);

impl Drop for WorkerSlot {
    fn drop(&mut self) {
        self.0.queue().worker_ended();
    }
}

/// Serves a pool with one worker after the other, until nothing is left for them.
async fn serve(slot: WorkerSlot) {
    let pool = &slot.0;
    loop {
        let mut serving = match pool.started().await {
            Ok(serving) => serving,
            Err(failure) => return pool.queue().cannot_load(&failure),
        };
        match serving.serve().await {
            Ok(()) => return serving.worker.kill().await,
            Err(fault) => serving.give_up(fault).await,
        }
        if !pool.queue().has_work() {
            return;
        }
    }
}

struct PoolRequest {
    job: Job,
    at: Instant,
}

struct BusyWorker<'a> {
    pool: &'a Arc<Pool>,
    worker: Worker,
    began: SystemTime,
    overlaps: bool,
    limit: Duration,
    /// By the identity of the request.
    unanswered: BTreeMap<u64, PoolRequest>,
    /// What is to be written, and how much of it was.
    outbox: Vec<u8>,
    written: usize,
    /// Since when the worker works without having answered anything.
    since: Instant,
}

impl BusyWorker<'_> {
    /// Sends requests and takes answers in until nothing is left to be done, ever.
    async fn serve(&mut self) -> Result<(), Fault> {
        loop {
            let is_open = self.fill();
            let is_busy = !self.unanswered.is_empty();
            if !is_busy && self.pool.queue().is_over() {
                return Ok(());
            }
            let deadline = self.deadline();
            let look_at = self.pool.queue().look_at(&self.pool.world.settings);
            let has_outbox = self.written < self.outbox.len();
            select! {
                read = self.worker.replies.read() => {
                    read?;
                    self.take_replies()?;
                }
                written = self.worker.requests.write(&self.outbox[self.written..]), if has_outbox => {
                    self.wrote(written.ok());
                }
                () = self.pool.wake.notified(), if is_open => {}
                () = sleep_until(deadline), if is_busy => return Err(Fault::Silent),
                () = sleep_until(look_at.unwrap_or(deadline)), if look_at.is_some() => {
                    self.pool.grow();
                }
            }
        }
    }

    /// Takes requests as long as there is room. Says whether there is more.
    fn fill(&mut self) -> bool {
        if self.unanswered.values().next().is_some_and(|sent| sent.job.is_alone) {
            return false;
        }
        let held = self.unanswered.len();
        let TakenJobs { jobs, is_open, is_left } =
            self.pool.queue().take(held, self.overlaps, &self.pool.world.settings);
        if is_left {
            self.pool.wake.notify_one();
        }
        let at = Instant::now();
        if held == 0 && !jobs.is_empty() {
            self.since = at;
        }
        for job in jobs {
            messages::write_request(job.id, &job.input, &mut self.outbox);
            self.unanswered.insert(job.id, PoolRequest { job, at });
        }
        is_open
    }

    /// Notes that bytes were written. A pipe that takes none any more is that of a worker at its end.
    fn wrote(&mut self, count: Option<usize>) {
        self.written += count.unwrap_or(self.outbox.len() - self.written);
        if self.written == self.outbox.len() {
            self.outbox.clear();
            self.written = 0;
        }
    }

    /// When the worker is silent for too long. Of one that works on one request after the other, each answer says that
    /// it goes on; others have the time of every single one.
    fn deadline(&self) -> Instant {
        let oldest = self.unanswered.values().map(|sent| sent.at).min().unwrap_or(self.since);
        if self.overlaps { oldest + self.limit } else { self.since.max(oldest) + self.limit }
    }

    fn take_replies(&mut self) -> Result<(), Fault> {
        let mut count = 0;
        while let Some(line) = self.worker.replies.next() {
            let mut message = WorkerMessage::read(line).map_err(Fault::Garbage)?;
            if let Some(reported) = message.reported() {
                self.pool.queue().discovered(files::seen(reported, self.began));
            }
            let sent = message.id.and_then(|id| self.unanswered.remove(&id));
            let Some(PoolRequest { job, .. }) = sent else {
                return Err(Fault::Garbage(
                    "its worker answered a call that was not \
                                           made"
                        .to_owned(),
                ));
            };
            let start = &self.pool.start;
            let outcome = match (message.result, message.error) {
                (Some(result), None) => messages::result(start, result.get(), None),
                (None, Some(error)) => Outcome::Failure(messages::raised(start, &error)),
                _ => {
                    let message = "its worker gives neither a result nor an error".to_owned();
                    Outcome::Failure(Failure::new(FailureKind::InvalidReply, message))
                }
            };
            job.end(outcome);
            count += 1;
        }
        if count > 0 {
            let now = Instant::now();
            self.pool.queue().paced(count, now - self.since);
            self.since = now;
            self.pool.grow();
        }
        Ok(())
    }

    /// Ends the worker. The request that failed alone is the one at fault, and all others are asked again.
    async fn give_up(mut self, fault: Fault) {
        let said = if fault == Fault::Ended {
            self.worker.ended().await
        } else {
            self.worker.kill().await;
            String::new()
        };
        let stderr = self.worker.stderr(&self.pool.start);
        let now = Instant::now();
        let mut jobs: Vec<PoolRequest> =
            std::mem::take(&mut self.unanswered).into_values().collect();
        let was_alone = jobs.len() == 1;
        // Of requests that overlap, those that were just sent are not to blame for the silence.
        let is_suspect = |sent: &PoolRequest| {
            !(self.overlaps && fault == Fault::Silent) || sent.at + self.limit <= now
        };
        for sent in &mut jobs {
            let is_guilty = was_alone && (sent.job.is_alone || fault == Fault::Silent);
            sent.job.is_alone = is_suspect(sent) && !is_guilty;
        }
        let guilty = jobs.pop_if(|sent| was_alone && !sent.job.is_alone);
        self.pool.queue().give_back(jobs.into_iter().map(|sent| sent.job).collect());
        if let Some(PoolRequest { job, .. }) = guilty {
            job.end(Outcome::Failure(self.failure(&fault, &said, stderr)));
        }
    }

    /// The failure of a request that a worker did not survive.
    fn failure(&self, fault: &Fault, said: &str, stderr: Option<String>) -> Failure {
        let start = &self.pool.start;
        let who = who(start.spec.role);
        let (kind, message) = match fault {
            Fault::Silent => return endings::timeout(start, stderr),
            Fault::Ended => (FailureKind::Killed, format!("{who} {said}")),
            Fault::TooLong => {
                (FailureKind::OutputLimit, format!("{who} gave a result of more than 64 MB"))
            }
            Fault::Garbage(problem) => {
                let message = format!("{who} was ended: {problem}");
                (FailureKind::Killed, start.without_secrets(&message))
            }
        };
        Failure { stderr, ..Failure::new(kind, message) }
    }
}
