//! Calls with a scripted executor and a store in memory.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};

use super::{AHEAD, Calls, CallsEnd, End, Receiver, call_in_order};
use crate::resolve::prepare::{PrepareContext, prepare};
use crate::resolve::settings::AskPolicy;
use evalrs_eval::program::ProgramAction;
use evalrs_exec::{ActionFuture, Executor, Launch, Notice};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Failure, FailureKind, Outcome, Reply};
use evalrs_model::spec::ProgramSpec;
use evalrs_store::{Entry, MemoryStore, OutcomeStore, StoreError};
use evalrs_system::memory::MemorySystem;

/// Turns that are over only when as much was called as may be before this call.
const LAST: usize = usize::MAX;

/// Answers `grade:INPUT`, after as many turns of others as `turns` says.
struct Scripted {
    turns: fn(usize) -> usize,
    fails: fn(&str) -> bool,
    called: RefCell<Vec<String>>,
    flying: Cell<usize>,
    most: Cell<usize>,
}

impl Scripted {
    fn new(turns: fn(usize) -> usize) -> Self {
        let called = RefCell::default();
        let flying = Cell::new(0);
        let most = Cell::new(0);
        Self { turns, fails: |_| false, called, flying, most }
    }
}

impl Executor for Scripted {
    fn execute(&self, launch: Launch) -> ActionFuture<'_> {
        let Launch::Program(launch) = launch else { panic!("a judge") };
        let ordinal = self.called.borrow().len();
        let input = launch.action.input;
        self.called.borrow_mut().push(input.clone());
        self.flying.set(self.flying.get() + 1);
        self.most.set(self.most.get().max(self.flying.get()));
        Box::pin(async move {
            let turns = (self.turns)(ordinal);
            let is_last = || self.flying.get() == 1 && self.called.borrow().len() == AHEAD;
            for _ in (0..turns).take_while(|_| turns != LAST || !is_last()) {
                tokio::task::yield_now().await;
            }
            self.flying.set(self.flying.get() - 1);
            if (self.fails)(&input) {
                return Outcome::Failure(Failure::new(FailureKind::Exit, "exited with code 3"));
            }
            reply(&format!("grade:{input}"))
        })
    }
}

fn reply(text: &str) -> Outcome {
    Outcome::Reply(Reply::new(text))
}

/// Takes outcomes until it has as many as it wants.
struct Taken {
    texts: Vec<String>,
    most: usize,
}

impl Receiver<Outcome> for Taken {
    fn receive(&mut self, outcome: Outcome) -> ControlFlow<()> {
        self.texts.push(match outcome {
            Outcome::Reply(reply) => reply.text,
            Outcome::Failure(failure) => failure.message,
        });
        if self.texts.len() < self.most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    fn notice(&mut self, _notice: Notice) {}
}

struct Setting<'a> {
    executor: &'a Scripted,
    ask: AskPolicy,
    refresh: bool,
    most: usize,
    stop_after: Option<usize>,
    /// Where the disk waits for the stop.
    disk: Option<Arc<Barrier>>,
    max_concurrent: usize,
}

impl<'a> Setting<'a> {
    fn of(executor: &'a Scripted) -> Self {
        Self {
            executor,
            ask: AskPolicy::Ask,
            refresh: false,
            most: usize::MAX,
            stop_after: None,
            disk: None,
            max_concurrent: 8,
        }
    }
}

fn call(
    setting: &Setting<'_>,
    store: &Arc<dyn OutcomeStore>,
    inputs: &[String],
) -> (CallsEnd, Vec<String>) {
    let spec = ProgramSpec::of_file("g.sh".to_owned());
    let system = MemorySystem::with(&[("g.sh", "")]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let place = PrepareContext {
        workspace: "",
        environment: &BTreeMap::new(),
        system: &system,
        loader: Some(setting.executor.loader()),
        store: &MemoryStore::default(),
    };
    let prepared = runtime.block_on(prepare(spec, place)).unwrap();
    let calls = Calls {
        executor: setting.executor,
        system: &system,
        prepared: &prepared,
        max_concurrent: setting.max_concurrent,
        ask: setting.ask,
        refresh: setting.refresh,
    };
    let identity = &prepared.identity;
    let actions = inputs
        .iter()
        .map(|input| ProgramAction { identity: Arc::clone(identity), input: input.clone() });
    let mut taken = Taken { texts: Vec::new(), most: setting.most };
    let stop = async {
        match setting.stop_after {
            None => std::future::pending::<()>().await,
            Some(turns) => {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                if let Some(disk) = &setting.disk {
                    disk.wait();
                }
            }
        }
    };
    let called =
        runtime.block_on(call_in_order(&calls, Arc::clone(store), actions, &mut taken, stop));
    (called, taken.texts)
}

fn in_memory() -> Arc<dyn OutcomeStore> {
    Arc::new(MemoryStore::default())
}

fn inputs(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|number| number.to_string()).collect()
}

fn grades(inputs: &[String]) -> Vec<String> {
    inputs.iter().map(|input| format!("grade:{input}")).collect()
}

#[test]
fn outcomes_come_in_the_order_of_the_calls() {
    // What is called last lands first, and every third call is one that was made before.
    for (count, turns) in
        [(0, (|_| 0) as fn(usize) -> usize), (40, |at| 40 - at), (4_200, |at| at % 7)]
    {
        let executor = Scripted::new(turns);
        let inputs = inputs((0..count).map(|at| if at % 3 == 2 { at - 2 } else { at }));
        let store = in_memory();
        let (called, texts) = call(&Setting::of(&executor), &store, &inputs);
        assert_eq!(texts, grades(&inputs));
        assert_eq!(called.end, Ok(End::Done));
        let distinct = count - count / 3;
        assert_eq!(executor.called.borrow().len(), distinct, "equal calls are made once");
        assert_eq!((called.executed, called.keys.len()), (distinct as u64, distinct));
        assert!(executor.most.get() <= 8);

        let (again, texts) = call(&Setting::of(&executor), &store, &inputs);
        assert_eq!((texts, again.executed), (grades(&inputs), 0), "all is stored");
        assert_eq!(again.cached, inputs.len() as u64);
    }
}

/// A store whose first write lasts until somebody else comes to the barrier.
struct SlowStore {
    inner: MemoryStore,
    disk: Arc<Barrier>,
    has_waited: AtomicBool,
}

impl OutcomeStore for SlowStore {
    fn get_many(&self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
        self.inner.get_many(keys)
    }

    fn put_many(&self, entries: &[Entry]) -> Result<(), StoreError> {
        if !self.has_waited.swap(true, Ordering::SeqCst) {
            self.disk.wait();
        }
        self.inner.put_many(entries)
    }

    fn keys(&self) -> Vec<ActionKey> {
        self.inner.keys()
    }
}

#[test]
fn nothing_is_called_while_too_much_waits_for_the_disk() {
    let executor = Scripted::new(|_| 0);
    let disk = Arc::new(Barrier::new(2));
    let inner = MemoryStore::default();
    let has_waited = AtomicBool::new(false);
    let store: Arc<dyn OutcomeStore> =
        Arc::new(SlowStore { inner, disk: Arc::clone(&disk), has_waited });
    let setting = Setting { stop_after: Some(20_000), disk: Some(disk), ..Setting::of(&executor) };
    call(&setting, &store, &inputs(0..20_000));
    let called = executor.called.borrow().len();
    assert!((1..AHEAD).contains(&called), "{called}");
}

#[test]
fn there_is_one_place_at_least() {
    let executor = Scripted::new(|_| 1);
    let setting = Setting { max_concurrent: 0, ..Setting::of(&executor) };
    let inputs = inputs(0..5);
    let (_, texts) = call(&setting, &in_memory(), &inputs);
    assert_eq!((texts, executor.most.get()), (grades(&inputs), 1));
}

#[test]
fn what_is_refreshed_is_called_once_more_and_no_more() {
    let executor = Scripted::new(|_| 1);
    let inputs = inputs((0..1_500).map(|at| at % 700));
    let store = in_memory();
    call(&Setting::of(&executor), &store, &inputs);
    let setting = Setting { refresh: true, ..Setting::of(&executor) };
    let (refreshed, texts) = call(&setting, &store, &inputs);
    assert_eq!((texts, refreshed.executed), (grades(&inputs), 700));
    assert_eq!(executor.called.borrow().len(), 1_400);
}

#[test]
fn a_first_call_that_takes_longest_holds_up_nobody_for_ever() {
    let executor = Scripted::new(|ordinal| if ordinal == 0 { LAST } else { 0 });
    let inputs = inputs(0..2 * AHEAD);
    let setting = Setting { stop_after: Some(2_000_000), ..Setting::of(&executor) };
    let store = in_memory();
    let (called, texts) = call(&setting, &store, &inputs);
    assert_eq!((called.end, texts), (Ok(End::Done), grades(&inputs)));
}

#[test]
fn nothing_is_called_where_it_is_forbidden() {
    let executor = Scripted::new(|_| 0);
    let store = in_memory();
    call(&Setting::of(&executor), &store, &inputs([0, 1]));
    let setting = Setting { ask: AskPolicy::Frozen, ..Setting::of(&executor) };
    let (frozen, texts) = call(&setting, &store, &inputs([1, 2]));
    let missing = "no cached grade, and --frozen forbids calling the grader";
    assert_eq!(texts, ["grade:1", missing]);
    assert_eq!((frozen.cached, frozen.executed), (1, 0));
}

#[test]
fn a_stored_failure_is_called_again_and_what_comes_of_it_stands() {
    let failing = Scripted { fails: |_| true, ..Scripted::new(|_| 0) };
    let store = in_memory();
    let (_, texts) = call(&Setting::of(&failing), &store, &inputs([0, 0]));
    assert_eq!(texts, ["exited with code 3"; 2]);
    assert_eq!(failing.called.borrow().len(), 1, "not once more within one run");
    let setting = Setting { ask: AskPolicy::Frozen, ..Setting::of(&failing) };
    let (_, texts) = call(&setting, &store, &inputs([0]));
    assert_eq!(texts, ["exited with code 3"], "what is stored is told where nothing may be called");
    let mended = Scripted::new(|_| 0);
    let (_, texts) = call(&Setting::of(&mended), &store, &inputs([0]));
    assert_eq!(texts, ["grade:0"]);
    let (_, texts) = call(&Setting::of(&mended), &store, &inputs([0]));
    assert_eq!(
        (texts.as_slice(), mended.called.borrow().len()),
        (["grade:0".to_owned()].as_slice(), 1)
    );
}

#[test]
fn what_has_landed_is_kept_whoever_ends_it() {
    let ends = [
        (usize::MAX, None, End::Done),
        (3, None, End::Refused),
        (usize::MAX, Some(30), End::Interrupted),
    ];
    let inputs = inputs(0..200);
    for (most, stop_after, end) in ends {
        // The call after every tenth takes long.
        let executor = Scripted::new(|at| if at % 10 == 9 { 40 } else { 0 });
        let setting = Setting { most, stop_after, ..Setting::of(&executor) };
        let store = in_memory();
        let (called, texts) = call(&setting, &store, &inputs);
        assert_eq!(called.end, Ok(end));
        assert_eq!(texts, grades(&inputs[..texts.len()]), "what was received is the beginning");
        assert!(texts.len() <= setting.most);
        let executed = executor.called.borrow().len();
        let landed = executed - executor.flying.get();
        let kept = store.keys().len();
        assert!(kept >= texts.len() && kept <= landed, "{kept} of {landed}");
        let rest = Scripted::new(|_| 0);
        let (done, texts) = call(&Setting::of(&rest), &store, &inputs);
        assert_eq!((texts, done.executed), (grades(&inputs), (inputs.len() - kept) as u64));
    }
}

/// A store on a disk that is full.
struct Full;

impl OutcomeStore for Full {
    fn get_many(&self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
        keys.iter().map(|_| None).collect()
    }

    fn put_many(&self, _entries: &[Entry]) -> Result<(), StoreError> {
        Err(StoreError::Write { path: "/full".to_owned(), reason: "no space".to_owned() })
    }

    fn keys(&self) -> Vec<ActionKey> {
        Vec::new()
    }

    fn take_warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn what_cannot_be_kept_does_not_count() {
    let executor = Scripted::new(|_| 0);
    let full: Arc<dyn OutcomeStore> = Arc::new(Full);
    let (called, texts) = call(&Setting::of(&executor), &full, &inputs(0..5_000));
    assert_eq!(called.end.unwrap_err().to_string(), "cannot write the store at `/full`: no space");
    assert_eq!(texts, Vec::<String>::new());
    assert!(executor.called.borrow().len() < 5_000, "nothing is called that cannot be kept");
}
