//! Serves the requests of a pool with one worker, which is started again when it dies or falls silent.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::io::AsyncWriteExt;
use tokio::select;
use tokio::time::{Instant, sleep_until};

use super::endings::{self, who};
use super::files;
use super::messages::{self, WorkerMessage};
use super::pool::{Job, Pool, WorkerSlot};
use super::worker::{Fault, Worker};
use crate::pipeline::outcome::{Failure, FailureKind, Outcome};

/// Serves a pool until nothing is left for this worker.
pub(super) async fn run(seat: WorkerSlot) {
    let pool = Arc::clone(&seat.0);
    loop {
        let begin = Instant::now();
        let began = files::now();
        let (worker, mut loaded) = match Worker::start(&pool).await {
            Ok(started) => started,
            Err(failure) => return pool.cannot_load(&failure),
        };
        let mut serving = Serving::new(&pool, (worker, began), loaded.overlaps);
        let seen = files::seen(loaded.reported(), began);
        pool.loaded(loaded.warnings, seen, begin.elapsed());
        match serving.serve().await {
            Ok(()) => return serving.worker.kill().await,
            Err(fault) => serving.give_up(fault).await,
        }
        if !pool.has_work() {
            return;
        }
    }
}

/// A request that a worker was sent.
struct Sent {
    job: Job,
    at: Instant,
}

/// A worker at work.
struct Serving<'a> {
    pool: &'a Arc<Pool>,
    worker: Worker,
    /// When it was started.
    began: SystemTime,
    overlaps: bool,
    limit: Duration,
    /// By the identity of the request.
    unanswered: BTreeMap<u64, Sent>,
    /// What is to be written, and how much of it was.
    outbox: Vec<u8>,
    written: usize,
    /// Since when the worker works without having answered anything.
    since: Instant,
}

impl<'a> Serving<'a> {
    fn new(pool: &'a Arc<Pool>, (worker, began): (Worker, SystemTime), overlaps: bool) -> Self {
        let limit = Duration::from_millis(pool.start.spec.timeout_ms);
        Self {
            pool,
            worker,
            began,
            overlaps,
            limit,
            unanswered: BTreeMap::new(),
            outbox: Vec::new(),
            written: 0,
            since: Instant::now(),
        }
    }

    /// Sends requests and takes answers in until nothing is left to be done, ever.
    async fn serve(&mut self) -> Result<(), Fault> {
        loop {
            let is_open = self.fill();
            let is_busy = !self.unanswered.is_empty();
            if !is_busy && self.pool.is_over() {
                return Ok(());
            }
            let deadline = self.deadline();
            let look_at = self.pool.look_at();
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
        let (jobs, is_open) = self.pool.take(self.unanswered.len(), self.overlaps);
        if jobs.is_empty() {
            return is_open;
        }
        let at = Instant::now();
        if self.unanswered.is_empty() {
            self.since = at;
        }
        for job in jobs {
            messages::write_request(job.id, &job.input, &mut self.outbox);
            self.unanswered.insert(job.id, Sent { job, at });
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

    /// Takes in every line that is there.
    fn take_replies(&mut self) -> Result<(), Fault> {
        let mut count = 0;
        while let Some(line) = self.worker.replies.next() {
            let mut message = WorkerMessage::read(line).map_err(Fault::Garbage)?;
            if let Some(reported) = message.reported() {
                self.pool.discovered(files::seen(reported, self.began));
            }
            let sent = message.id.and_then(|id| self.unanswered.remove(&id));
            let Some(Sent { job, .. }) = sent else {
                return Err(Fault::Garbage("its worker answers what it was not asked".to_owned()));
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
            self.pool.paced(count, now - self.since);
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
        let stderr = self.worker.stderr(self.pool);
        let now = Instant::now();
        let limit = self.limit;
        let mut jobs: Vec<Sent> = std::mem::take(&mut self.unanswered).into_values().collect();
        let was_alone = jobs.len() == 1;
        // Of requests that overlap, those that were just sent are not to blame for the silence.
        let is_suspect =
            |sent: &Sent| !(self.overlaps && fault == Fault::Silent) || sent.at + limit <= now;
        for sent in &mut jobs {
            let is_guilty = was_alone && (sent.job.is_alone || fault == Fault::Silent);
            sent.job.is_alone = is_suspect(sent) && !is_guilty;
        }
        let guilty = jobs.pop_if(|sent| was_alone && !sent.job.is_alone);
        self.pool.give_back(jobs.into_iter().map(|sent| sent.job).collect());
        if let Some(Sent { job, .. }) = guilty {
            job.end(Outcome::Failure(self.failure(&fault, &said, stderr)));
        }
    }

    /// The failure of a request that a worker did not survive.
    fn failure(&self, fault: &Fault, said: &str, stderr: Option<String>) -> Failure {
        let start = &self.pool.start;
        let who = who(start.spec.role);
        let failure = match fault {
            Fault::Silent => return endings::timeout(start, stderr),
            Fault::Ended => Failure::new(FailureKind::Killed, format!("{who} {said}")),
            Fault::TooLong => {
                let message = format!("{who} gave a result of more than 64 MB");
                Failure::new(FailureKind::OutputLimit, message)
            }
            Fault::Garbage(problem) => {
                let message = start.without_secrets(&format!("{who} was ended: {problem}"));
                Failure::new(FailureKind::Killed, message)
            }
        };
        Failure { stderr, ..failure }
    }
}
