//! The workers of one program, and what waits for them.
//!
//! Workers take requests out of one queue as they have room. A further worker is started when what waits would take
//! longer than starting one. What a worker left unanswered when it died or fell silent is asked again, each request
//! alone, because it is not known which of them was at fault.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::group::Group;
use super::serving;
use super::world::ProgramWorld;
use crate::effects::exec::{Discovered, Start, see};
use crate::pipeline::outcome::{Failure, FailureKind, Outcome};

/// The most requests that a worker holds unanswered.
pub(super) const WINDOW: usize = 128;
/// How much work a worker holds, if requests are so small: answers take so long to be taken in and new requests to come.
const AHEAD: Duration = Duration::from_millis(10);

/// How long evalrs itself is busy with a request, about. Workers that answer faster than it feeds them would idle.
const FEEDING: Duration = Duration::from_micros(30);

/// How much longer than others the first call of a function may take: what it needs is compiled and loaded then.
const WARMING_UP: Duration = Duration::from_millis(5);

/// A request that waits for a worker.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: u64,
    /// What the program is handed: compact JSON.
    pub(super) input: String,
    /// Whether it is asked while nothing else is: it was unanswered when a worker died.
    pub(super) is_alone: bool,
    pub(super) answer: oneshot::Sender<Outcome>,
}

impl Job {
    /// Ends it. That nobody waits for it any more does not matter.
    pub(super) fn end(self, outcome: Outcome) {
        let _ = self.answer.send(outcome);
    }
}

/// Where a program stands.
#[derive(Debug, Default)]
enum PoolState {
    /// No worker has loaded it yet.
    #[default]
    Unknown,
    /// One has.
    Loaded,
    /// None can, for this reason.
    Unloadable(Failure),
}

#[derive(Debug, Default)]
struct WorkerQueue {
    last_id: u64,
    queue: VecDeque<Job>,
    /// What is asked alone.
    suspects: VecDeque<Job>,
    loads: Vec<oneshot::Sender<Result<Discovered, Failure>>>,
    standing: PoolState,
    /// What it was seen to load, until somebody takes it.
    seen: Discovered,
    /// Workers that are there, those that are being started included.
    workers: usize,
    groups: Vec<Weak<Group>>,
    /// How long a request takes, about; none where no answer came yet.
    pace: Option<Duration>,
    /// Since when more waits than workers take.
    backlog: Option<Instant>,
    /// When the last answer came.
    answered: Option<Instant>,
    /// How long a worker takes to start.
    loading: Duration,
    /// No more requests come.
    is_retired: bool,
}

/// The workers of a program.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) start: Arc<Start>,
    pub(super) world: Arc<ProgramWorld>,
    state: Mutex<WorkerQueue>,
    pub(super) wake: Notify,
}

impl Pool {
    /// A pool without workers.
    pub(super) fn new(start: Arc<Start>, world: Arc<ProgramWorld>) -> Self {
        Self { start, world, state: Mutex::default(), wake: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, WorkerQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the program.
    pub(super) async fn ask(self: &Arc<Self>, input: String) -> Outcome {
        let (answer, outcome) = oneshot::channel();
        {
            let mut state = self.state();
            if let PoolState::Unloadable(failure) = &state.standing {
                return Outcome::Failure(failure.clone());
            }
            state.last_id += 1;
            let job = Job { id: state.last_id, input, is_alone: false, answer };
            state.queue.push_back(job);
            self.start_first(&mut state);
        }
        self.wake.notify_one();
        outcome.await.unwrap_or_else(|_| not_asked("its worker was given up"))
    }

    /// Loads the program, if that was not done yet.
    pub(super) async fn load(self: &Arc<Self>) -> Result<Discovered, Failure> {
        let (sender, loaded) = oneshot::channel();
        {
            let mut state = self.state();
            match &state.standing {
                PoolState::Loaded => return Ok(std::mem::take(&mut state.seen)),
                PoolState::Unloadable(failure) => return Err(failure.clone()),
                PoolState::Unknown => {}
            }
            state.loads.push(sender);
            self.start_first(&mut state);
        }
        let given_up = || Failure::new(FailureKind::NotAsked, "not asked: its worker was given up");
        loaded.await.unwrap_or_else(|_| Err(given_up()))
    }

    fn start_first(self: &Arc<Self>, state: &mut WorkerQueue) {
        if state.workers == 0 {
            self.start_worker(state);
        }
    }

    fn start_worker(self: &Arc<Self>, state: &mut WorkerQueue) {
        state.workers += 1;
        tokio::spawn(serving::run(WorkerSlot(Arc::clone(self))));
    }

    /// Starts a further worker, if there may be one and it pays: what waits takes longer than starting one, or so long
    /// more has been waiting than the workers take.
    pub(super) fn grow(self: &Arc<Self>) {
        let mut state = self.state();
        let waiting = u32::try_from(state.queue.len() + state.suspects.len()).unwrap_or(u32::MAX);
        if waiting == 0 {
            state.backlog = None;
            return;
        }
        let elapsed = |since: Option<Instant>| since.map(|since| since.elapsed());
        let demand = Demand {
            waiting,
            workers: state.workers,
            pace: state.pace,
            backlog: elapsed(state.backlog),
            silence: elapsed(state.answered),
            loading: state.loading,
        };
        if demand.pays() && state.workers < self.world.settings.workers {
            state.backlog = Some(Instant::now());
            self.start_worker(&mut state);
        }
    }

    /// When to look whether a further worker is needed; none where it is not.
    pub(super) fn look_at(&self) -> Option<Instant> {
        let state = self.state();
        let may_grow = state.workers < self.world.settings.workers;
        let is_fed = state.workers < fed(state.pace);
        let since = state.backlog.filter(|_| may_grow)?;
        let silent = state.answered.filter(|_| !is_fed);
        Some(silent.map_or(since, |silent| silent.max(since)) + state.loading)
    }

    /// Takes out what a worker may be sent that holds `held` requests. Says whether it may take more when that comes.
    pub(super) fn take(&self, held: usize, overlaps: bool) -> (Vec<Job>, bool) {
        let mut state = self.state();
        skip_dropped(&mut state.queue);
        skip_dropped(&mut state.suspects);
        if !state.suspects.is_empty() {
            // Suspects come first, when nothing else is under way.
            let job = (held == 0).then(|| state.suspects.pop_front()).flatten();
            return (job.into_iter().collect(), false);
        }
        let room = self.window(state.pace, overlaps).saturating_sub(held);
        let share = state.queue.len().div_ceil(state.workers.max(1)).min(room);
        let jobs: Vec<Job> =
            state.queue.drain(..share).filter(|job| !job.answer.is_closed()).collect();
        let is_left = !state.queue.is_empty();
        match (is_left, share == room) {
            (true, true) => drop(state.backlog.get_or_insert_with(Instant::now)),
            (true, false) => {}
            (false, _) => state.backlog = None,
        }
        drop(state);
        if is_left && share > 0 {
            self.wake.notify_one();
        }
        (jobs, room > share)
    }

    fn window(&self, pace: Option<Duration>, overlaps: bool) -> usize {
        let settings = &self.world.settings;
        if overlaps {
            return (settings.overlapping / settings.workers.max(1)).max(1);
        }
        // One request tells how long they take: slow ones are spread over workers that are still to come.
        let Some(pace) = pace else { return 1 };
        let ahead = AHEAD.as_nanos() / pace.as_nanos().max(1);
        usize::try_from(ahead).unwrap_or(WINDOW).clamp(1, WINDOW)
    }

    /// Notes that `count` answers took so long.
    pub(super) fn paced(&self, count: usize, took: Duration) {
        let each = took / u32::try_from(count).unwrap_or(u32::MAX).max(1);
        let mut state = self.state();
        let first = each.saturating_sub(WARMING_UP);
        state.answered = Some(Instant::now());
        state.pace = Some(state.pace.map_or(first, |pace| (pace * 3 + each) / 4));
    }

    /// Takes back what was not answered: suspects are asked alone, and others before all that waits.
    pub(super) fn give_back(&self, jobs: Vec<Job>) {
        let mut state = self.state();
        for job in jobs.into_iter().rev() {
            let queue = if job.is_alone { &mut state.suspects } else { &mut state.queue };
            queue.push_front(job);
        }
    }

    /// Notes a process, to be ended with the executor.
    pub(super) fn note(&self, group: &Arc<Group>) {
        let mut state = self.state();
        state.groups.retain(|group| group.strong_count() > 0);
        state.groups.push(Arc::downgrade(group));
    }

    /// Notes that a worker has loaded the program.
    pub(super) fn loaded(&self, warnings: Vec<String>, seen: Discovered, took: Duration) {
        let mut state = self.state();
        state.loading = took;
        let is_first = !matches!(state.standing, PoolState::Loaded);
        state.standing = PoolState::Loaded;
        add(&mut state.seen, seen);
        if !state.loads.is_empty() {
            let seen = std::mem::take(&mut state.seen);
            for load in std::mem::take(&mut state.loads) {
                let _ = load.send(Ok(seen.clone()));
            }
        }
        drop(state);
        if is_first {
            for warning in warnings {
                self.world.say(format!("{}: {warning}", self.start.spec.shown()));
            }
        }
    }

    /// Ends everything that waits because no worker can load the program, and whatever comes until it is forgiven.
    pub(super) fn cannot_load(&self, failure: &Failure) {
        let mut state = self.state();
        state.standing = PoolState::Unloadable(failure.clone());
        for load in std::mem::take(&mut state.loads) {
            let _ = load.send(Err(failure.clone()));
        }
        end_all(&mut state, &Outcome::Failure(failure.clone()));
    }

    /// Notes what a worker says that it loaded or read since.
    pub(super) fn discovered(&self, discovered: Discovered) {
        add(&mut self.state().seen, discovered);
    }

    /// What was discovered since the last call.
    pub(super) fn take_discovered(&self) -> Option<Discovered> {
        let seen = std::mem::take(&mut self.state().seen);
        (seen != Discovered::default()).then_some(seen)
    }

    /// Forgets that the program could not be loaded.
    pub(super) fn forgive(&self) {
        let mut state = self.state();
        if matches!(state.standing, PoolState::Unloadable(_)) {
            state.standing = PoolState::Unknown;
        }
    }

    /// Ends what was not sent to a worker yet.
    pub(super) fn halt(&self, reason: &str) {
        end_all(&mut self.state(), &not_asked(reason));
    }

    /// Lets the workers end when they have answered what they were asked.
    pub(super) fn retire(&self) {
        self.state().is_retired = true;
        self.wake.notify_waiters();
    }

    /// Whether nothing is to be done any more, ever.
    pub(super) fn is_over(&self) -> bool {
        let state = self.state();
        state.is_retired && state.queue.is_empty() && state.suspects.is_empty()
    }

    /// Whether it has no worker.
    pub(super) fn is_gone(&self) -> bool {
        self.state().workers == 0
    }

    /// Whether something waits for a worker.
    pub(super) fn has_work(&self) -> bool {
        let state = self.state();
        !state.queue.is_empty() || !state.suspects.is_empty()
    }

    /// Ends all workers at once.
    pub(super) fn kill(&self) {
        let mut state = self.state();
        state.is_retired = true;
        end_all(&mut state, &not_asked("the run ended"));
        for group in std::mem::take(&mut state.groups) {
            if let Some(group) = group.upgrade() {
                group.kill();
            }
        }
    }
}

/// The place of one worker in its pool, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct WorkerSlot(pub(super) Arc<Pool>);

impl Drop for WorkerSlot {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.workers -= 1;
        if state.workers == 0 {
            // Nobody would answer these any more.
            state.loads.clear();
            end_all(&mut state, &not_asked("its worker was given up"));
        }
    }
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
    /// How long a worker takes to start.
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

/// How many workers evalrs can feed whose requests take so long.
fn fed(pace: Option<Duration>) -> usize {
    let fed = |pace: Duration| usize::try_from(pace.as_nanos() / FEEDING.as_nanos());
    pace.map_or(usize::MAX, |pace| fed(pace).unwrap_or(usize::MAX).max(1))
}

/// The failure of what was never sent.
pub(super) fn not_asked(reason: &str) -> Outcome {
    Outcome::Failure(Failure::new(FailureKind::NotAsked, format!("not asked: {reason}")))
}

/// Drops from the front of a queue what nobody waits for any more.
fn skip_dropped(queue: &mut VecDeque<Job>) {
    while queue.pop_front_if(|job| job.answer.is_closed()).is_some() {}
}

fn end_all(state: &mut WorkerQueue, outcome: &Outcome) {
    let suspects = std::mem::take(&mut state.suspects);
    for job in suspects.into_iter().chain(std::mem::take(&mut state.queue)) {
        job.end(outcome.clone());
    }
}

/// Adds what was seen to what is known.
fn add(to: &mut Discovered, more: Discovered) {
    see(&mut to.files, more.files);
    to.missed.extend(more.missed);
    to.reads.extend(more.reads);
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
