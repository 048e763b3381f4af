//! The executor of programs: what is called now, by which workers, and what was seen of them.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::select;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use super::command::{Surroundings, unloadable};
use super::pool::Pool;
use super::queue::{WINDOW, not_asked};
use super::world::{ProgramSettings, ProgramWorld};
use super::{endings, environment, executable, files};
use crate::executor::{ActionFuture, ChangeFuture, CheckFuture, LoadFuture};
use crate::{DiscoveredFiles, Notice, ProgramLaunch, Room, Start};
use evalrs_eval::action::Action;
use evalrs_eval::program::{DependenciesAction, DepfileFormat, ProgramIdentity};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Failure, Outcome};
use evalrs_system::System;
use evalrs_system::os::OsSystem;

/// How often a program is loaded whose files change while it is.
const MOST_LOADS: u32 = 5;

/// Executes programs. Everything it started ends with it.
#[derive(Debug)]
pub struct ProgramExecutor {
    pub world: Arc<ProgramWorld>,
    /// Places for executables.
    places: Semaphore,
    under_way: Cell<usize>,
    /// Why nothing more is started.
    closed: RefCell<Option<String>>,
    closing: Notify,
    pools: RefCell<Vec<PoolEntry>>,
    /// Pools of files that have changed since, until all was taken that their workers tell of.
    pub(super) retired: RefCell<Vec<PoolEntry>>,
    /// The exceptions that were already reported in full.
    said: RefCell<BTreeSet<String>>,
}

/// A pool, and what the files were by which its workers run.
#[derive(Debug)]
pub(super) struct PoolEntry {
    pub(super) pool: Arc<Pool>,
    state: WorkerFilesState,
}

/// What the files of a program were when its workers were started.
#[derive(Debug)]
enum WorkerFilesState {
    /// It is being loaded, or that was given up.
    Loading,
    /// It was loaded and not called yet.
    Loaded {
        /// The key of what was known of it.
        base: ActionKey,
        /// The digests of what it loaded.
        digests: BTreeSet<String>,
        /// Where it looked for what was not there then, absolute.
        missed: BTreeSet<String>,
    },
    Called(Arc<ProgramIdentity>),
}

impl PoolEntry {
    /// Whether its workers run the program as it is now.
    fn serves(&self, identity: &Arc<ProgramIdentity>) -> bool {
        match &self.state {
            WorkerFilesState::Loading => false,
            WorkerFilesState::Loaded { base, digests, missed } => {
                let format = DepfileFormat::All;
                let action = DependenciesAction { identity: Arc::clone(identity), format };
                let dependencies = &identity.known.dependencies;
                let is_held = |digest| dependencies.iter().any(|(_, held)| held == digest);
                Action::Dependencies(action).key() == *base
                    && digests.iter().all(is_held)
                    && !dependencies.iter().any(|(path, _)| is_among(path, missed))
            }
            WorkerFilesState::Called(own) => Arc::ptr_eq(own, identity) || own == identity,
        }
    }

    /// What was discovered since the last call, and of what.
    fn take_discovered(&self) -> Option<(Arc<ProgramIdentity>, DiscoveredFiles)> {
        let WorkerFilesState::Called(identity) = &self.state else { return None };
        Some((Arc::clone(identity), self.pool.take_discovered()?))
    }
}

impl ProgramExecutor {
    /// An executor in the environment of this process; nothing is started yet.
    pub fn new(settings: ProgramSettings) -> Self {
        let settings = ProgramSettings { workers: settings.workers.max(1), ..settings };
        let environment = environment::passed_on(OsSystem.environment());
        Self::of(ProgramWorld::new(settings, environment))
    }

    pub fn of(world: ProgramWorld) -> Self {
        Self {
            places: Semaphore::new(world.settings.workers),
            world: Arc::new(world),
            under_way: Cell::new(0),
            closed: RefCell::default(),
            closing: Notify::new(),
            pools: RefCell::default(),
            retired: RefCell::default(),
            said: RefCell::default(),
        }
    }

    /// How many calls are taken at once: enough that no worker waits for the next.
    pub fn most(&self) -> usize {
        let ProgramSettings { workers, overlapping, .. } = self.world.settings;
        (2 * WINDOW * workers).max(2 * overlapping)
    }

    /// The workers of a program whose files are as `identity` says.
    fn pool(&self, start: &Arc<Start>, identity: &Arc<ProgramIdentity>) -> Arc<Pool> {
        let state = WorkerFilesState::Called(Arc::clone(identity));
        let mut pools = self.pools.borrow_mut();
        let entry = pools.iter_mut().find(|entry| is_same(&entry.pool.start, start));
        if let Some(entry) = entry
            && entry.serves(identity)
        {
            entry.state = state;
            return Arc::clone(&entry.pool);
        }
        drop(pools);
        self.new_pool(start, state)
    }

    /// Workers for a program whose files may have changed. Those that it had get nothing more.
    fn new_pool(&self, start: &Arc<Start>, state: WorkerFilesState) -> Arc<Pool> {
        let mut pools = self.pools.borrow_mut();
        let pool = Arc::new(Pool::new(Arc::clone(start), Arc::clone(&self.world)));
        let new = PoolEntry { pool: Arc::clone(&pool), state };
        match pools.iter_mut().find(|entry| is_same(&entry.pool.start, start)) {
            Some(entry) => {
                entry.pool.retire();
                self.retired.borrow_mut().push(std::mem::replace(entry, new));
            }
            None => pools.push(new),
        }
        pool
    }

    /// Loads a program by a pool of its own, unless another one takes its place meanwhile.
    async fn load_afresh(
        &self,
        start: &Arc<Start>,
        base: ActionKey,
    ) -> Result<DiscoveredFiles, Failure> {
        let pool = self.new_pool(start, WorkerFilesState::Loading);
        let loaded = pool.load().await;
        let digests = loaded.iter().flat_map(|discovered| discovered.files.values().flatten());
        let digests = digests.cloned().collect();
        let missed = loaded.iter().flat_map(|discovered| &discovered.missed).cloned().collect();
        let mut pools = self.pools.borrow_mut();
        if let Some(entry) = pools.iter_mut().find(|entry| Arc::ptr_eq(&entry.pool, &pool)) {
            entry.state = WorkerFilesState::Loaded { base, digests, missed };
        }
        loaded
    }

    async fn call(&self, launch: ProgramLaunch) -> Outcome {
        let ProgramLaunch { action, start, .. } = launch;
        if let Some(reason) = &*self.closed.borrow() {
            return not_asked(reason);
        }
        if start.spec.language.has_worker() {
            let pool = self.pool(&start, &action.identity);
            return pool.ask(action.input).await;
        }
        let bwrap = match self.world.bwrap_for(&start).await {
            Ok(bwrap) => bwrap,
            Err(failure) => return Outcome::Failure(failure),
        };
        let _place = match self.place().await {
            Ok(place) => place,
            Err(outcome) => return outcome,
        };
        let environment = &self.world.environment;
        let surroundings = Surroundings { environment, bwrap, worker: None };
        executable::run(&start, surroundings, &action.input, &self.world).await
    }

    /// Reports where a function or a module raised an exception, if wanted; each one once.
    fn tell_where(&self, start: &Start, outcome: &Outcome) {
        let Outcome::Failure(failure) = outcome else { return };
        let Some(details) = failure.stderr.as_deref() else { return };
        let is_said = self.world.settings.verbosity > 0 && start.spec.language.has_worker();
        if is_said && self.said.borrow_mut().insert(details.to_owned()) {
            let shown = start.spec.shown();
            details.lines().for_each(|line| self.world.say(format!("{shown}: {line}")));
        }
    }

    /// A place for an executable, or the outcome of one that is not started any more.
    async fn place(&self) -> Result<SemaphorePermit<'_>, Outcome> {
        select! {
            biased;
            reason = self.halted() => Err(not_asked(&reason)),
            place = self.places.acquire() => place.map_err(|error| not_asked(&error.to_string())),
        }
    }

    async fn halted(&self) -> String {
        loop {
            if let Some(reason) = self.closed.borrow().clone() {
                return reason;
            }
            self.closing.notified().await;
        }
    }

    pub fn execute(&self, launch: ProgramLaunch) -> ActionFuture<'_> {
        let under_way = UnderWay::new(&self.under_way);
        Box::pin(async move {
            let start = Arc::clone(&launch.start);
            let outcome = self.call(launch).await;
            drop(under_way);
            self.tell_where(&start, &outcome);
            endings::at_a_limit(&start, outcome)
        })
    }

    pub fn load(&self, start: Arc<Start>, base: ActionKey) -> LoadFuture<'_> {
        Box::pin(async move {
            if !start.spec.language.has_worker() {
                return Ok(DiscoveredFiles::default());
            }
            for _ in 0..MOST_LOADS {
                let begin = files::now();
                let discovered = self.load_afresh(&start, base).await?;
                // What was saved meanwhile may be loaded in either state.
                let is_known = discovered.files.values().all(Option::is_some);
                if is_known && !files::is_newer(&start.path, begin) {
                    return Ok(discovered);
                }
            }
            Err(unloadable("its files change while it is loaded"))
        })
    }

    pub fn take_discovered(&self) -> Vec<(Arc<ProgramIdentity>, DiscoveredFiles)> {
        let mut all = Vec::new();
        self.retired.borrow_mut().retain(|entry| {
            // Looked at first: what has no worker by now tells of nothing more.
            let is_gone = entry.pool.is_gone();
            all.extend(entry.take_discovered());
            !is_gone
        });
        all.extend(self.pools.borrow().iter().filter_map(PoolEntry::take_discovered));
        all
    }

    pub fn begin(&self) {
        *self.closed.borrow_mut() = None;
        self.pools.borrow().iter().for_each(|entry| entry.pool.forgive());
    }

    pub fn halt(&self, reason: &str) {
        *self.closed.borrow_mut() = Some(reason.to_owned());
        self.closing.notify_waiters();
        self.pools.borrow().iter().for_each(|entry| entry.pool.halt(reason));
    }

    pub fn room(&self) -> Room {
        if let Some(reason) = &*self.closed.borrow() {
            return Room::Closed(reason.clone());
        }
        if self.under_way.get() < self.most() { Room::Now } else { Room::Full }
    }

    pub fn changed(&self) -> ChangeFuture<'_> {
        Box::pin(self.world.said())
    }

    pub fn take_notices(&self) -> Vec<Notice> {
        self.world.take_notices()
    }

    pub fn check_sandbox<'a>(&'a self, start: &'a Start) -> CheckFuture<'a> {
        Box::pin(async move { self.world.bwrap_for(start).await.map(drop) })
    }

    pub fn sandbox(&self) -> Option<&'static str> {
        self.world.sandbox()
    }

    /// The variables that every program sees.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.world.environment
    }

    pub(crate) fn kill_workers(&self) {
        self.pools.borrow().iter().for_each(|entry| entry.pool.kill());
        self.retired.borrow().iter().for_each(|entry| entry.pool.kill());
    }
}

/// Whether a path that is seen from some folder may be one of these, which are absolute. That two are taken for one costs
/// no more than the start of another worker.
fn is_among(path: &str, all: &BTreeSet<String>) -> bool {
    let end = path.trim_start_matches("../");
    let is_it = |whole: &String| whole.strip_suffix(end).is_some_and(|rest| rest.ends_with('/'));
    all.contains(path) || all.iter().any(is_it)
}

fn is_same(one: &Arc<Start>, other: &Arc<Start>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

/// Counts a call from when it was begun until its future is dropped.
struct UnderWay<'a>(&'a Cell<usize>);

impl<'a> UnderWay<'a> {
    fn new(count: &'a Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Drop for ProgramExecutor {
    fn drop(&mut self) {
        self.kill_workers();
    }
}
