//! What waits for the workers of one program, and when one worker more pays. Starts nothing itself.
//!
//! Workers take requests out of one queue as they have room. A further worker is started when what waits would take
//! longer than starting one. What a worker left unanswered when it died or fell silent is asked again, each request
//! alone, because it is not known which of them was at fault.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::group::Group;
use super::world::ProgramSettings;
use crate::{DiscoveredFiles, see};
use evalrs_model::outcome::{Failure, FailureKind, Outcome};

/// The most requests that a worker holds unanswered.
pub(super) const WINDOW: usize = 128;
/// How much work a worker holds, if requests are so small: answers take so long to be taken in and new requests to come.
const AHEAD: Duration = Duration::from_millis(10);

/// How long evalrs itself is busy with a request, about. Workers that answer faster than it feeds them would idle.
const FEEDING: Duration = Duration::from_micros(30);

/// How much longer than others the first call of a function may take: what it needs is compiled and loaded then.
const WARMING_UP: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct Job {
    pub id: u64,
    /// The input of the program: compact JSON.
    pub input: String,
    /// Whether it must run alone: it was unanswered when a worker died.
    pub is_alone: bool,
    pub answer: oneshot::Sender<Outcome>,
}

impl Job {
    /// Ends it. That nobody waits for it any more does not matter.
    pub(super) fn end(self, outcome: Outcome) {
        let _ = self.answer.send(outcome);
    }
}

#[derive(Debug, Default)]
pub(super) enum PoolState {
    #[default]
    Unknown,
    Loaded,
    /// None can, for this reason.
    Unloadable(Failure),
}

#[derive(Debug, Default)]
pub(super) struct WorkerQueue {
    last_id: u64,
    waiting: VecDeque<Job>,
    /// The requests that run alone.
    suspects: VecDeque<Job>,
    /// Who waits until it is loaded.
    loads: Vec<oneshot::Sender<Result<DiscoveredFiles, Failure>>>,
    pub state: PoolState,
    /// What it was seen to load, until somebody takes it.
    seen: DiscoveredFiles,
    /// Workers that are there, those that are being started included.
    pub workers: usize,
    /// The processes of these, to be ended with the executor.
    pub groups: Vec<Weak<Group>>,
    /// How long a request takes, about; none where no answer came yet.
    pace: Option<Duration>,
    /// Since when more waits than workers take.
    backlog: Option<Instant>,
    answered: Option<Instant>,
    /// How long a worker takes to start.
    loading: Duration,
    pub(super) is_retired: bool,
}

pub(super) struct TakenJobs {
    pub jobs: Vec<Job>,
    /// Whether the worker may take more when that comes.
    pub is_open: bool,
    /// Whether something is left for other workers.
    pub is_left: bool,
}

impl WorkerQueue {
    pub(super) fn push(&mut self, input: String) -> oneshot::Receiver<Outcome> {
        let (answer, outcome) = oneshot::channel();
        self.last_id += 1;
        self.waiting.push_back(Job { id: self.last_id, input, is_alone: false, answer });
        outcome
    }

    /// Has the loaded files of the program reported, once a worker has loaded it.
    pub(super) fn await_load(&mut self) -> oneshot::Receiver<Result<DiscoveredFiles, Failure>> {
        let (sender, loaded) = oneshot::channel();
        self.loads.push(sender);
        loaded
    }

    /// Whether something waits for a worker.
    pub(super) fn has_work(&self) -> bool {
        !self.waiting.is_empty() || !self.suspects.is_empty()
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_retired && !self.has_work()
    }

    /// Whether there may be one worker more and it pays: what waits takes longer than starting one, or so long more has
    /// been waiting than the workers take.
    pub(super) fn wants_worker(&mut self, settings: &ProgramSettings) -> bool {
        let waiting = u32::try_from(self.waiting.len() + self.suspects.len()).unwrap_or(u32::MAX);
        if waiting == 0 {
            self.backlog = None;
            return false;
        }
        let elapsed = |since: Option<Instant>| since.map(|since| since.elapsed());
        let demand = Demand {
            waiting,
            workers: self.workers,
            pace: self.pace,
            backlog: elapsed(self.backlog),
            silence: elapsed(self.answered),
            loading: self.loading,
        };
        let pays = demand.pays() && self.workers < settings.workers;
        if pays {
            self.backlog = Some(Instant::now());
        }
        pays
    }

    /// When to look whether a further worker is needed; none where it is not.
    pub(super) fn look_at(&self, settings: &ProgramSettings) -> Option<Instant> {
        let may_grow = self.workers < settings.workers;
        let is_fed = self.workers < fed(self.pace);
        let since = self.backlog.filter(|_| may_grow)?;
        let silent = self.answered.filter(|_| !is_fed);
        Some(silent.map_or(since, |silent| silent.max(since)) + self.loading)
    }

    /// Takes out the requests that may be sent to a worker with `held` requests.
    pub(super) fn take(
        &mut self,
        held: usize,
        overlaps: bool,
        settings: &ProgramSettings,
    ) -> TakenJobs {
        // What nobody waits for any more is dropped.
        while self.waiting.pop_front_if(|job| job.answer.is_closed()).is_some() {}
        while self.suspects.pop_front_if(|job| job.answer.is_closed()).is_some() {}
        if !self.suspects.is_empty() {
            // Suspects come first, when nothing else is under way.
            let job = (held == 0).then(|| self.suspects.pop_front()).flatten();
            return TakenJobs { jobs: job.into_iter().collect(), is_open: false, is_left: false };
        }
        let room = self.window(overlaps, settings).saturating_sub(held);
        let share = self.waiting.len().div_ceil(self.workers.max(1)).min(room);
        let jobs = self.waiting.drain(..share).filter(|job| !job.answer.is_closed()).collect();
        if self.waiting.is_empty() {
            self.backlog = None;
        } else if share == room {
            self.backlog.get_or_insert_with(Instant::now);
        }
        let is_left = share > 0 && !self.waiting.is_empty();
        TakenJobs { jobs, is_open: room > share, is_left }
    }

    fn window(&self, overlaps: bool, settings: &ProgramSettings) -> usize {
        if overlaps {
            return (settings.overlapping / settings.workers.max(1)).max(1);
        }
        // One request tells how long they take: slow ones are spread over workers that are still to come.
        let Some(pace) = self.pace else { return 1 };
        let ahead = AHEAD.as_nanos() / pace.as_nanos().max(1);
        usize::try_from(ahead).unwrap_or(WINDOW).clamp(1, WINDOW)
    }

    /// Notes that `count` answers took so long.
    pub(super) fn paced(&mut self, count: usize, took: Duration) {
        let each = took / u32::try_from(count).unwrap_or(u32::MAX).max(1);
        let first = each.saturating_sub(WARMING_UP);
        self.answered = Some(Instant::now());
        self.pace = Some(self.pace.map_or(first, |pace| (pace * 3 + each) / 4));
    }

    /// Puts unanswered requests back: suspects run alone, others before all that waits.
    pub(super) fn give_back(&mut self, jobs: Vec<Job>) {
        for job in jobs.into_iter().rev() {
            let queue = if job.is_alone { &mut self.suspects } else { &mut self.waiting };
            queue.push_front(job);
        }
    }

    /// Notes that a worker has loaded the program. Says whether it is the first.
    pub(super) fn loaded(&mut self, seen: DiscoveredFiles, took: Duration) -> bool {
        self.loading = took;
        self.discovered(seen);
        if !self.loads.is_empty() {
            let seen = std::mem::take(&mut self.seen);
            for load in std::mem::take(&mut self.loads) {
                let _ = load.send(Ok(seen.clone()));
            }
        }
        let before = std::mem::replace(&mut self.state, PoolState::Loaded);
        !matches!(before, PoolState::Loaded)
    }

    /// Ends everything that waits because no worker can load the program, and whatever comes until it is forgiven.
    pub(super) fn cannot_load(&mut self, failure: &Failure) {
        self.state = PoolState::Unloadable(failure.clone());
        for load in std::mem::take(&mut self.loads) {
            let _ = load.send(Err(failure.clone()));
        }
        self.end_all(&Outcome::Failure(failure.clone()));
    }

    /// Notes what a worker says that it loaded or read since.
    pub(super) fn discovered(&mut self, discovered: DiscoveredFiles) {
        see(&mut self.seen.files, discovered.files);
        self.seen.missed.extend(discovered.missed);
        self.seen.reads.extend(discovered.reads);
    }

    pub(super) fn take_discovered(&mut self) -> DiscoveredFiles {
        std::mem::take(&mut self.seen)
    }

    /// Ends every request that was not sent to a worker yet.
    pub(super) fn end_all(&mut self, outcome: &Outcome) {
        let suspects = std::mem::take(&mut self.suspects);
        for job in suspects.into_iter().chain(std::mem::take(&mut self.waiting)) {
            job.end(outcome.clone());
        }
    }

    pub(super) fn note(&mut self, group: &Arc<Group>) {
        self.groups.retain(|group| group.strong_count() > 0);
        self.groups.push(Arc::downgrade(group));
    }

    /// Notes that a worker is gone. Without any, nobody would answer what waits.
    pub(super) fn worker_ended(&mut self) {
        self.workers -= 1;
        if self.workers == 0 {
            self.loads.clear();
            self.end_all(&not_asked("its worker was stopped"));
        }
    }
}

/// The failure of what was never sent.
pub(super) fn not_asked(reason: &str) -> Outcome {
    Outcome::Failure(Failure::new(FailureKind::NotAsked, format!("not called: {reason}")))
}

/// What decides whether one worker more pays.
#[derive(Clone, Copy, Debug)]
struct Demand {
    /// Requests that no worker has taken.
    waiting: u32,
    workers: usize,
    /// How long a request takes; none where no answer came yet.
    pace: Option<Duration>,
    /// How long more has been waiting than the workers take, if it does.
    backlog: Option<Duration>,
    /// How long no answer came, if one ever did.
    silence: Option<Duration>,
    loading: Duration,
}

impl Demand {
    /// Whether what waits takes longer than starting a worker, or so long more has been waiting than the workers take,
    /// and evalrs can feed one more. Where no answer comes at all, something hangs that all others wait for.
    fn pays(&self) -> bool {
        let is_over = |time: Duration| time >= self.loading;
        let is_fed = self.workers < fed(self.pace) || self.silence.is_none_or(is_over);
        let is_long = self.backlog.is_some_and(is_over);
        is_fed
            && (is_long
                || self.pace.unwrap_or_default().saturating_mul(self.waiting) > self.loading)
    }
}

fn fed(pace: Option<Duration>) -> usize {
    let fed = |pace: Duration| usize::try_from(pace.as_nanos() / FEEDING.as_nanos());
    pace.map_or(usize::MAX, |pace| fed(pace).unwrap_or(usize::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Demand, fed};

    #[test]
    fn so_many_workers_are_fed() {
        for (micros, workers) in [(0, 1), (29, 1), (60, 2), (300, 10), (1_000_000, 33_333)] {
            assert_eq!(fed(Some(Duration::from_micros(micros))), workers, "{micros}");
        }
        assert_eq!(fed(None), usize::MAX, "nothing is known of it yet");
    }

    /// Microseconds of pace, milliseconds of backlog and of silence; starting a worker takes 80 ms.
    type Row = (&'static str, u32, [Option<u64>; 3], bool);

    const ROWS: &[Row] = &[
        ("few that are slow", 3, [Some(50_000), None, Some(1)], true),
        ("few that are fast", 3, [Some(1_000), None, Some(1)], false),
        ("many that are fast", 100, [Some(1_000), None, Some(1)], true),
        ("more all the time", 3, [Some(1_000), Some(80), Some(1)], true),
        ("more for a moment", 3, [Some(1_000), Some(79), Some(1)], false),
        ("more than evalrs could feed", 100_000, [Some(20), Some(500), Some(1)], false),
        ("one that all others wait for", 100, [Some(20), Some(500), Some(80)], true),
        ("no answer yet", 100, [None, Some(79), None], false),
        ("no answer for long", 100, [None, Some(80), None], true),
    ];

    #[test]
    fn a_worker_more_pays_where_what_waits_takes_longer() {
        for &(name, waiting, [pace, backlog, silence], expected) in ROWS {
            let demand = Demand {
                waiting,
                workers: 1,
                pace: pace.map(Duration::from_micros),
                backlog: backlog.map(Duration::from_millis),
                silence: silence.map(Duration::from_millis),
                loading: Duration::from_millis(80),
            };
            assert_eq!(demand.pays(), expected, "{name}");
        }
    }
}
