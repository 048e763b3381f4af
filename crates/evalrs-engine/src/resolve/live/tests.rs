//! Who makes room for a save, with an executor that never answers; and what is known again of programs that are named again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::{LAST, Live, Ranking, ResolveState};
use crate::progress::Quiet;
use crate::resolve::resolver::Effects;
use crate::resolve::settings::Settings;
use crate::session::Session;
use crate::session::reload::ReloadResult;
use evalrs_eval::program::{ProgramIdentity, file_digest};
use evalrs_exec::executor::NoPrograms;
use evalrs_exec::{
    ActionFuture, ChangeFuture, CheckFuture, DiscoveredFiles, Endpoint, EndpointId,
    ExecutionLimits, Executor, JudgeEndpointId, Launch, LimitSettings, LoadFuture, Notice,
    ProgramLoader, Room, Start,
};
use evalrs_graph::Database;
use evalrs_graph::inputs::{CellId, Chunk, Overrides};
use evalrs_graph::snapshot::Snapshot;
use evalrs_model::key::{ActionKey, KeySet};
use evalrs_model::outcome::{Outcome, Reply};
use evalrs_store::MemoryStore;
use evalrs_system::System;
use evalrs_system::changed_paths::ChangedPaths;
use evalrs_system::memory::MemorySystem;

const SUITE: &str = "\
name: s
dataset: d.jsonl
graders:
  g: {kind: rubric, prompt_path: rubric.txt, model: m, endpoint: e}
";

const ROWS: &str = "\
{\"id\": \"a\", \"input\": \"q\", \"output\": \"x\"}
{\"id\": \"b\", \"input\": \"q\", \"output\": \"y\"}
{\"id\": \"c\", \"input\": \"q\", \"output\": \"z\"}
";

/// How many may be asked at once.
const MOST: usize = 2;

/// Never answers, and is full until what was let go is gone.
#[derive(Default)]
struct Silent {
    asked: Cell<usize>,
    under_way: Cell<usize>,
}

impl Executor for Silent {
    fn execute(&self, _launch: Launch) -> ActionFuture<'_> {
        self.asked.set(self.asked.get() + 1);
        self.under_way.set(self.under_way.get() + 1);
        let place = Place(&self.under_way);
        Box::pin(async move {
            let _place = place;
            std::future::pending().await
        })
    }

    fn limits(&self) -> &dyn ExecutionLimits {
        self
    }
}

impl ExecutionLimits for Silent {
    fn begin(&self) {}

    fn halt(&self, _reason: &str) {}

    fn open(&self, _endpoint: &Endpoint, _limits: LimitSettings) -> JudgeEndpointId {
        JudgeEndpointId::default()
    }

    fn room(&self, _endpoint: EndpointId) -> Room {
        if self.under_way.get() < MOST { Room::Now } else { Room::Full }
    }

    fn closed_model(&self, _endpoint: JudgeEndpointId, _model: &str) -> Option<String> {
        None
    }

    fn changed(&self) -> ChangeFuture<'_> {
        Box::pin(std::future::pending())
    }

    fn take_notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

/// A place that is free once this is gone.
struct Place<'a>(&'a Cell<usize>);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Everything matters alike.
struct Alike;

impl Ranking for Alike {
    fn of_chunk(&self, _db: &Database, _ordinal: usize, _chunk: Chunk) -> u8 {
        LAST
    }

    fn of(&self, _db: &Database, _cell: CellId) -> u8 {
        LAST
    }
}

#[test]
fn one_judgment_that_nobody_waits_for_makes_room_and_no_more() {
    let rubric = |what| format!("Is it {what}? {{submission}}");
    let polite = rubric("polite");
    let terse = rubric("terse");
    let files = [("suite.yaml", SUITE), ("d.jsonl", ROWS), ("rubric.txt", &polite)];
    let system = MemorySystem::with(&files);
    let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "k".to_owned())]);
    let mut session =
        Session::new(Database::default(), "suite.yaml", environment, Overrides::default());
    assert_eq!(session.load(&system), []);
    let executor = Silent::default();
    let mut quiet = Quiet;
    let world = Effects {
        store: Arc::new(MemoryStore::default()),
        system: &system,
        executor: &executor,
        progress: &mut quiet,
        grades: &mut Quiet,
    };
    let settings = || Settings { max_concurrent: MOST, ..Settings::default() };
    let mut live = Live::new(&mut session, world, settings());
    live.begin(Box::new(Alike), u64::MAX, settings());
    while live.go_on() {}
    assert_eq!((executor.asked.get(), executor.under_way.get()), (2, 2));

    system.set("rubric.txt", &terse);
    assert!(matches!(live.reload(&ChangedPaths::Any, None), ReloadResult::Changed { .. }));
    live.begin(Box::new(Alike), u64::MAX, settings());
    // Something else may happen several times before what was let go is gone.
    for _ in 0..3 {
        live.go_on();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(live.wait());
    live.go_on();
    let done = live.progressed();
    assert_eq!((done.under_way, done.superseded), (1, 1));
    assert_eq!((executor.asked.get(), executor.under_way.get()), (3, 2));
}

#[test]
fn a_promise_of_the_graph_that_does_not_hold_is_reported() {
    let rubric = "Is it polite? {submission}";
    let system =
        MemorySystem::with(&[("suite.yaml", SUITE), ("d.jsonl", ROWS), ("rubric.txt", rubric)]);
    let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "k".to_owned())]);
    let mut session =
        Session::new(Database::default(), "suite.yaml", environment, Overrides::default());
    assert_eq!(session.load(&system), []);
    let executor = Silent::default();
    let mut quiet = Quiet;
    let world = Effects {
        store: Arc::new(MemoryStore::default()),
        system: &system,
        executor: &executor,
        progress: &mut quiet,
        grades: &mut Quiet,
    };
    let mut live = Live::new(&mut session, world, Settings::default());
    live.begin(Box::new(Alike), u64::MAX, Settings::default());
    live.plan_slice();
    // Rows go away, and nobody says that what was planned is to be dropped.
    system.set("d.jsonl", ROWS.lines().next().unwrap());
    assert!(matches!(live.reload(&ChangedPaths::Any, None), ReloadResult::Changed { .. }));
    live.go_on();
    assert_eq!((executor.asked.get(), live.progressed().tally.pending), (1, 2));
    let bugs = live.notes().into_iter().filter(|note| note.contains("a bug in evalrs"));
    assert_eq!(bugs.count(), 2);
}

/// Extracts a word at once, loads nothing, and is told by the test what it was seen to load.
#[derive(Default)]
struct Extracting {
    called: RefCell<Vec<Arc<ProgramIdentity>>>,
    discovered: RefCell<Vec<(Arc<ProgramIdentity>, DiscoveredFiles)>>,
}

impl Executor for Extracting {
    fn execute(&self, launch: Launch) -> ActionFuture<'_> {
        let Launch::Program(launch) = launch else { unreachable!("nothing but programs") };
        self.called.borrow_mut().push(Arc::clone(&launch.action.identity));
        let word = json!({"submission": "x"}).to_string();
        Box::pin(std::future::ready(Outcome::Reply(Reply::new(word))))
    }

    fn loader(&self) -> &dyn ProgramLoader {
        self
    }
}

impl ProgramLoader for Extracting {
    fn load(&self, start: Arc<Start>, base: ActionKey) -> LoadFuture<'_> {
        NoPrograms.load(start, base)
    }

    fn check_sandbox<'a>(&'a self, start: &'a Start) -> CheckFuture<'a> {
        NoPrograms.check_sandbox(start)
    }

    fn sandbox(&self) -> Option<&'static str> {
        None
    }

    fn take_discovered(&self) -> Vec<(Arc<ProgramIdentity>, DiscoveredFiles)> {
        self.discovered.take()
    }
}

/// Goes on until nothing is left to do, and forgets what `watch` forgets then.
async fn settle(live: &mut Live<'_>) -> Snapshot {
    live.begin(Box::new(Alike), u64::MAX, Settings::default());
    while live.go_on() || live.standing() != ResolveState::Done {
        tokio::select! {
            () = live.wait() => {}
            () = tokio::task::yield_now() => {}
        }
        live.apply_arrived();
    }
    let session = live.session_mut();
    let snapshot = Snapshot::take(&session.db, session.root);
    let mut wanted = KeySet::default();
    snapshot.each_key(&mut |key| _ = wanted.insert(key));
    session.db.outcomes.keep(|key| wanted.contains(key));
    snapshot
}

/// What is extracted anew although its text is known is called as an extraction: it never was the call of a grader.
#[tokio::test]
async fn an_extractor_that_reads_the_world_is_called_again_once_it_is_named_again() {
    let with = "name: s\ndataset: d.jsonl\ngraders:\n  g: {kind: tool, function: ascii_printable_only, extractor: 'pick.py:pick', extractor_options: {cache: false}}\n";
    let without =
        with.replace(", extractor: 'pick.py:pick', extractor_options: {cache: false}", "");
    let files = [("suite.yaml", with), ("d.jsonl", ROWS), ("pick.py", "def pick(): ...")];
    let system = MemorySystem::with(&files).with_program("python3", "/usr/bin/python3", "3.11.7");
    let mut session =
        Session::new(Database::default(), "suite.yaml", BTreeMap::new(), Overrides::default());
    assert_eq!(session.load(&system), []);
    let executor = Extracting::default();
    let mut quiet = Quiet;
    let world = Effects {
        store: Arc::new(MemoryStore::default()),
        system: &system,
        executor: &executor,
        progress: &mut quiet,
        grades: &mut Quiet,
    };
    let mut live = Live::new(&mut session, world, Settings::default());
    settle(&mut live).await;
    for suite in [without.as_str(), with] {
        system.set("suite.yaml", suite);
        assert!(matches!(live.reload(&ChangedPaths::Any, None), ReloadResult::Changed { .. }));
        assert!(settle(&mut live).await.is_whole(), "{suite}");
        assert_eq!(live.notes(), Vec::<String>::new());
    }
    assert_eq!(executor.called.borrow().len(), 6);
}

/// What was seen of a program may be told after the save that called it, and concerns what is extracted again only once
/// a suite names it again.
#[tokio::test]
async fn an_extractor_that_is_named_again_may_have_turned_out_to_load_more() {
    let with = "name: s\ndataset: d.jsonl\ngraders:\n  g: {kind: tool, function: ascii_printable_only, extractor: 'pick.py:pick'}\n";
    let without = with.replace(", extractor: 'pick.py:pick'", "");
    let files = [("suite.yaml", with), ("d.jsonl", ROWS), ("pick.py", "def pick(): ...")];
    let system = MemorySystem::with(&files).with_program("python3", "/usr/bin/python3", "3.11.7");
    system.set("late.py", "WORD = 1");
    let mut session =
        Session::new(Database::default(), "suite.yaml", BTreeMap::new(), Overrides::default());
    assert_eq!(session.load(&system), []);
    let executor = Extracting::default();
    let mut quiet = Quiet;
    let world = Effects {
        store: Arc::new(MemoryStore::default()),
        system: &system,
        executor: &executor,
        progress: &mut quiet,
        grades: &mut Quiet,
    };
    let mut live = Live::new(&mut session, world, Settings::default());
    assert!(settle(&mut live).await.is_whole());
    assert_eq!(executor.called.borrow().len(), 3);
    for suite in [without.as_str(), with] {
        system.set("suite.yaml", suite);
        assert!(matches!(live.reload(&ChangedPaths::Any, None), ReloadResult::Changed { .. }));
        let identity = Arc::clone(&executor.called.borrow()[0]);
        let path = system.absolute("late.py");
        let files = BTreeMap::from([(path, Some(file_digest(Some(b"WORD = 1"))))]);
        let late = DiscoveredFiles { files, ..DiscoveredFiles::default() };
        if suite == with {
            executor.discovered.borrow_mut().push((identity, late));
        }
        assert!(settle(&mut live).await.is_whole(), "{suite}");
        assert_eq!(executor.called.borrow().len(), 3, "what is stored is not called for");
    }
}
