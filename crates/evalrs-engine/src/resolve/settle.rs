//! Settles a session once: every action the graph waits for is looked up, executed or given up.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::{Instant, interval_at, sleep};

use super::admission::Obstacle;
use super::batches::collect::collect;
use super::batches::submit::submit;
use super::credentials::{calls_program, check_credentials};
use super::elsewhere::{OtherEndpoint, stored_elsewhere, superseded};
use super::in_flight::InFlightEvent;
use super::repeat::RepeatedCalls;
use super::resolver::{Effects, Resolver};
use super::settings::{ActionKind, Refresh, Settings};
pub use super::settled::{CannotAsk, Settlement};
pub use super::waiting::SettledPlans;
use super::waiting::{ScannedPlans, WaitingAction};
use crate::progress::Event;
use crate::session::Session;
use evalrs_graph::inputs::Root;
use evalrs_graph::{Database, Db, answers, known_grades, programs, queries};
use evalrs_model::outcome::{FailureKind, Outcome, STORED_ELSEWHERE, read_body};
use evalrs_model::spec::SandboxKind;
use evalrs_store::Entry;

/// Chunks that one thread plans before several are worth while.
pub const MAX_CHUNKS_ALONE: usize = 64;

/// The most threads that plan.
const MAX_THREADS: usize = 8;

/// Entries that are in memory together when others may have kept better ones.
const LOOKED_AT: usize = 2_048;

/// Answers of the target that may wait until nothing lands for a moment: grading them delays further calls.
const MAX_UNGRADED: usize = 256;

/// How often displays are notified that time passes.
const TICK: Duration = Duration::from_secs(30);

/// The first pause between two looks at batches. Each is twice as long as the one before, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// Longer than any provider works on a batch.
const LONGEST_WAIT: Duration = Duration::from_hours(24 * 30);

/// The plans of all chunks that were scanned.
const ALL_PLANS: ScannedPlans = ScannedPlans::From(0);

/// Looks up and executes whatever the session waits for, until there is nothing left or `stop` says so. What `plans` says
/// is settled is passed over, if the same session was settled before.
pub async fn settle<'a>(
    session: &'a mut Session,
    world: Effects<'a>,
    settings: &Settings,
    plans: &mut SettledPlans,
    stop: impl Future<Output = ()>,
) -> Result<Settlement, CannotAsk> {
    let mut resolver = Resolver::new(session, world, settings.clone());
    resolver.list.settled = std::mem::take(plans);
    let mut stop = pin!(stop);
    load_programs(&mut resolver, stop.as_mut()).await?;
    plan(&mut resolver);
    resolver.look_up(&ALL_PLANS);
    collect_batches(&mut resolver, stop.as_mut()).await;
    if resolver.settings.batches.collects_only {
        let open = &resolver.batches.open;
        let out = resolver.list.queue.iter().filter(|waiting| open.have(waiting.key));
        resolver.settled.out = out.count();
        return Ok(finish(resolver, plans));
    }
    check_credentials(resolver.session, &resolver.settings, &resolver.list.queue)?;
    check_sandboxes(&resolver).await?;
    resolver.world.executor.limits().begin();
    resolver.world.grades.planned(resolver.session);
    // What confirms comes after all that it may confirm, of all graders where something is limited: a budget or an
    // interruption leaves as few cases as possible without any verdict.
    loop {
        give_up_forbidden(&mut resolver);
        if resolver.may_ask() && resolver.can_keep() {
            execute(&mut resolver, stop.as_mut()).await;
            while !resolver.settled.interrupted && submit(&mut resolver, stop.as_mut()).await {
                execute(&mut resolver, stop.as_mut()).await;
            }
        }
        give_up_rest(&mut resolver);
        if wait_for_batches(&mut resolver, stop.as_mut()).await {
            continue;
        }
        if !resolver.wants_more(&ALL_PLANS) {
            break;
        }
        resolver.look_up(&ALL_PLANS);
    }
    give_up_out(&mut resolver);
    look_again(&mut resolver);
    check_again(&mut resolver, stop.as_mut()).await;
    resolver.complete_keys();
    Ok(finish(resolver, plans))
}

/// Brings in what has ended of the batches that are out, where something may be called.
async fn collect_batches(resolver: &mut Resolver<'_>, stop: Pin<&mut impl Future<Output = ()>>) {
    // A signal that has come is not waited for again.
    let is_over = resolver.settled.interrupted;
    if is_over || !resolver.settings.ask.may_ask(ActionKind::Judgment) {
        return;
    }
    let wanted = std::mem::take(&mut resolver.list.queue);
    let found = tokio::select! {
        biased;
        () = stop => None,
        found = Box::pin(collect(resolver, &wanted)) => Some(found),
    };
    resolver.settled.interrupted |= found.is_none();
    let found = found.unwrap_or_default();
    let rest = wanted.into_iter().filter(|waiting| !found.contains(&waiting.key));
    resolver.list.queue = rest.collect();
}

/// Waits until a batch has ended, where that is wished. True if that leads to something to do.
async fn wait_for_batches(
    resolver: &mut Resolver<'_>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> bool {
    let may_wait = !resolver.settled.interrupted && resolver.settled.write_error.is_none();
    let Some(wait) = resolver.settings.batches.wait.filter(|_| may_wait) else { return false };
    let now = Instant::now();
    let until = *resolver.batches.until.get_or_insert(now + wait.min(LONGEST_WAIT));
    let mut pause = FIRST_PAUSE;
    while !resolver.batches.out.is_empty() && Instant::now() < until {
        tokio::select! {
            biased;
            () = stop.as_mut() => {
                resolver.settled.interrupted = true;
                return false;
            }
            () = sleep(pause.min(until.saturating_duration_since(Instant::now()))) => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
        let before = resolver.batches.out.len();
        resolver.list.queue = std::mem::take(&mut resolver.batches.out);
        collect_batches(resolver, stop.as_mut()).await;
        if resolver.settled.interrupted {
            resolver.batches.out = std::mem::take(&mut resolver.list.queue);
            return false;
        }
        let queue = std::mem::take(&mut resolver.list.queue);
        let is_out = |waiting: &WaitingAction| resolver.batches.open.have(waiting.key);
        let (out, again): (Vec<WaitingAction>, Vec<WaitingAction>) =
            queue.into_iter().partition(is_out);
        resolver.batches.out = out;
        resolver.list.queue = again;
        if resolver.batches.out.len() < before {
            resolver.wants_more(&ALL_PLANS);
            resolver.look_up(&ALL_PLANS);
            return true;
        }
    }
    false
}

/// Finds out which files programs load. One that cannot be loaded ends the run before any judge is paid.
async fn load_programs(
    resolver: &mut Resolver<'_>,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<(), CannotAsk> {
    let system = resolver.world.system;
    if resolver.settings.refresh == Refresh::All {
        resolver.session.learn_dependencies(resolver.world.store.as_ref(), system);
        let forgotten = resolver.session.forget_reads(system);
        write_now(resolver, &forgotten);
    }
    let mut entries = Vec::new();
    while !resolver.load_programs() {
        let event = tokio::select! {
            biased;
            () = stop.as_mut() => {
                resolver.stop();
                resolver.settled.interrupted = true;
                resolver.session.assume_no_dependencies(system);
                break;
            }
            event = resolver.in_flight.next() => event,
        };
        let InFlightEvent::Loaded(program, result) = event else { continue };
        if let Err(failure) = &result {
            return Err(CannotAsk::Unloadable {
                program: program.spec(&resolver.session.db).shown(),
                message: failure.message.clone(),
                details: failure.stderr.clone(),
            });
        }
        entries.extend(resolver.session.loaded(program, result, system));
    }
    write_now(resolver, &entries);
    Ok(())
}

/// Nothing is called while a program of the suite is to run in a sandbox and cannot.
async fn check_sandboxes(resolver: &Resolver<'_>) -> Result<(), CannotAsk> {
    let Resolver { session, settings, list, .. } = resolver;
    if !list.queue.iter().any(|waiting| calls_program(session, settings, waiting)) {
        return Ok(());
    }
    for start in session.starts() {
        if start.spec.sandbox.kind == SandboxKind::Bubblewrap {
            let checked = resolver.world.executor.loader().check_sandbox(&start).await;
            checked.map_err(|failure| CannotAsk::NoSandbox { message: failure.message })?;
        }
    }
    Ok(())
}

/// Collects what the graph waits for, reading files that rows name on the way.
fn plan(resolver: &mut Resolver<'_>) {
    loop {
        let Resolver { list, session, .. } = resolver;
        plan_beside(&session.db, session.root, || list.scan(session));
        if !resolver.session.read_unread(resolver.world.system) {
            break;
        }
    }
}

/// Does `work`, which needs the plans of all chunks in their order, while other threads plan from the other end: that is where
/// a run that replays everything spends its time. Threads work on clones of the database, and a write would wait for them; so
/// they are joined before anything is written. Plans are queries: whoever computes one first, it is the same, and everybody
/// else finds it.
fn plan_beside<T>(db: &Database, root: Root, work: impl FnOnce() -> T) -> T {
    let all = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let others = if root.chunks(db).len() > MAX_CHUNKS_ALONE { all - 1 } else { 0 };
    std::thread::scope(|scope| {
        for thread in 0..others {
            let db = db.clone();
            scope.spawn(move || plan_from_the_end(&db, root, others, thread));
        }
        work()
    })
}

/// Plans the last chunk and every `step`th before it, except those before the first: for one of this many threads.
pub fn plan_from_the_end(db: &Database, root: Root, step: usize, first: usize) {
    for chunk in root.chunks(db).iter().rev().skip(first).step_by(step) {
        for grader in queries::graders(db, root) {
            let may_ask = !programs::is_of_grades(db, *grader);
            if may_ask && known_grades::grades(db, *chunk, *grader).is_none() {
                let _ = queries::plans(db, *chunk, *grader);
            }
        }
    }
}

/// Executes what was not found, until all that landed is durable.
#[tracing::instrument(level = "debug", skip_all, fields(queued = resolver.list.queue.len()))]
async fn execute(resolver: &mut Resolver<'_>, mut stop: Pin<&mut impl Future<Output = ()>>) {
    resolver.enqueue(&|_, _| 0);
    let mut ticks = interval_at(Instant::now() + TICK, TICK);
    loop {
        if resolver.take_shared() {
            give_up_forbidden(resolver);
            resolver.enqueue(&|_, _| 0);
        }
        resolver.go_on();
        let is_refused = resolver.admission.blocked == Some(Obstacle::Budget);
        let can_start = !resolver.admission.queues.is_empty()
            && !resolver.in_flight.is_stopped()
            && !is_refused;
        let waits = !resolver.shared.is_empty() && !resolver.in_flight.is_stopped();
        if resolver.in_flight.is_over() && !can_start && !waits && resolver.ungraded == 0 {
            resolver.settled.out_of_budget = is_refused;
            resolver.list.queue.extend(resolver.admission.queues.take_rest());
            let shared = resolver.shared.take_all();
            resolver.list.queue.extend(shared);
            return;
        }
        let has_answers = resolver.ungraded > 0;
        let is_idle = tokio::select! {
            biased;
            () = stop.as_mut(), if !resolver.settled.interrupted => {
                resolver.stop();
                resolver.settled.interrupted = true;
                false
            }
            () = resolver.wait() => false,
            _ = ticks.tick() => {
                resolver.world.progress.event(&Event::Tick);
                false
            }
            // It comes back once all that is ready was received.
            () = yield_now(), if has_answers => true,
        };
        resolver.apply_arrived();
        // What the target has answered is graded while it goes on with other samples, in moments in which nothing lands.
        if resolver.ungraded > 0 && !is_idle && resolver.ungraded < MAX_UNGRADED {
            continue;
        }
        let answered = resolver.take_answered();
        let rank = u8::from(answered.is_none());
        let plans = answered.or_else(|| resolver.may_confirm_one().then_some(ALL_PLANS));
        if let Some(plans) = plans
            && resolver.wants_more(&plans)
        {
            resolver.look_up(&plans);
            give_up_forbidden(resolver);
            resolver.can_keep();
            resolver.enqueue(&|_, _| rank);
        }
    }
}

fn give_up_forbidden(resolver: &mut Resolver<'_>) {
    let mut missing = resolver.take_forbidden();
    let Some(flag) = resolver.settings.ask.flag() else { return };
    let earlier = superseded(resolver.session, resolver.world.store.as_ref(), &missing);
    let superseded: Vec<WaitingAction> =
        missing.extract_if(.., |waiting| earlier.contains(&waiting.key)).collect();
    let missing = give_up_elsewhere(resolver, missing, flag);
    let message = format!("no cached judgment, and {flag} forbids calls");
    resolver.give_up(missing, FailureKind::NotStored, &message);
    let message =
        format!("its judgment is cached under an earlier key version, and {flag} forbids calls");
    resolver.give_up(superseded, FailureKind::NotStored, &message);
}

/// Gives up what is stored for another endpoint, and says so; the rest is left.
fn give_up_elsewhere(
    resolver: &mut Resolver<'_>,
    missing: Vec<WaitingAction>,
    flag: &str,
) -> Vec<WaitingAction> {
    let Resolver { session, world, endpoints, .. } = resolver;
    let found = stored_elsewhere(session, world.store.as_ref(), endpoints, &missing);
    let mut by_message: BTreeMap<String, Vec<WaitingAction>> = BTreeMap::new();
    let mut rest = Vec::new();
    for waiting in missing {
        let Some(endpoint) = found.get(&waiting.key) else {
            rest.push(waiting);
            continue;
        };
        let OtherEndpoint { asked, stored } = endpoint.as_ref();
        let message =
            format!("{STORED_ELSEWHERE} `{stored}`, not for `{asked}`, and {flag} forbids calls");
        by_message.entry(message).or_default().push(waiting);
    }
    for (message, waiting) in by_message {
        resolver.give_up(waiting, FailureKind::NotStored, &message);
    }
    rest
}

/// What was neither found nor executed becomes a failure that says why.
fn give_up_rest(resolver: &mut Resolver<'_>) {
    let message = if resolver.settled.write_error.is_some() {
        "not called: the store cannot be written"
    } else if resolver.settled.out_of_budget {
        "not called: the budget is used up"
    } else {
        "not called: the run was interrupted"
    };
    let rest = std::mem::take(&mut resolver.list.queue);
    resolver.give_up(rest, FailureKind::NotAsked, message);
}

/// What is out in batches has no outcome yet.
fn give_up_out(resolver: &mut Resolver<'_>) {
    let out = std::mem::take(&mut resolver.batches.out);
    resolver.settled.out = out.len();
    resolver.give_up(out, FailureKind::NotAsked, "not answered yet: it is out in a batch");
}

/// Takes the outcomes that other processes have stored under the keys of this run: all report the
/// winning one.
fn look_again(resolver: &mut Resolver<'_>) {
    let is_sure = resolver.settled.write_error.is_none();
    if !is_sure || resolver.settled.asked.is_empty() || !resolver.world.store.others_wrote() {
        return;
    }
    let asked = std::mem::take(&mut resolver.settled.asked);
    for keys in asked.chunks(LOOKED_AT) {
        let mut news = Vec::new();
        for (key, entry) in keys.iter().zip(resolver.world.store.get_many(keys)) {
            let Some(outcome) = entry.and_then(|entry| read_body(&entry.body).ok()) else {
                continue;
            };
            let is_reply = matches!(outcome, Outcome::Reply(_));
            let held = resolver.session.db.outcome(*key);
            if held.is_some_and(|held| *held != outcome && (is_reply || held.is_kept())) {
                news.push((*key, Arc::new(outcome)));
            }
        }
        resolver.apply(news);
    }
    resolver.settled.asked = asked;
}

/// Calls programs with `deterministic: check` again for some of what they were called for, and warns of what differs.
/// What came first stands.
async fn check_again(resolver: &mut Resolver<'_>, stop: Pin<&mut impl Future<Output = ()>>) {
    if !resolver.may_ask() {
        return;
    }
    let mut repeated = RepeatedCalls::default();
    repeated.begin(resolver.session, resolver.world.executor, &resolver.settled.asked);
    tokio::select! {
        biased;
        () = stop => resolver.settled.interrupted = true,
        differing = repeated.finish(resolver.session) => {
            resolver.settled.warnings.extend(differing);
        }
    }
}

fn finish(mut resolver: Resolver<'_>, plans: &mut SettledPlans) -> Settlement {
    let told = resolver.session.take_told();
    let reads = resolver.session.undeclared_reads(resolver.world.system);
    let mut warnings = resolver.settled.warnings;
    warnings.extend(resolver.world.store.take_warnings());
    warnings.extend(told.into_iter().chain(reads));
    resolver.world.progress.event(&Event::Finished);
    resolver.list.remember(resolver.session);
    *plans = resolver.list.settled;
    let calls = resolver.admission.budget.calls();
    let is_live = answers::is_live(&resolver.session.db, resolver.session.root);
    let conversations = is_live.then_some(resolver.list.conversations);
    Settlement {
        tallies: resolver.list.tallies,
        conversations,
        calls,
        reserved: resolver.admission.budget.reserved(),
        warnings,
        sandbox: resolver.world.executor.loader().sandbox(),
        ..resolver.settled
    }
}

fn write_now(resolver: &mut Resolver<'_>, entries: &[Entry]) {
    if let Err(error) = resolver.world.store.put_many(entries) {
        resolver.note_write_error(error);
    }
}
