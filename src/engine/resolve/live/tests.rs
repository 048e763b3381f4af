//! Who makes room for a save, with an executor that never answers.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::{LAST, Live, Ranking};
use crate::base::system::memory::MemorySystem;
use crate::effects::exec::{EndpointId, Executing, Executor, Launch, Room};
use crate::effects::fs_watch::ChangedPaths;
use crate::effects::store::MemoryStore;
use crate::engine::progress::Quiet;
use crate::engine::resolve::{resolver::Effects, settings::Settings};
use crate::engine::session::Session;
use crate::engine::session::reload::Reloaded;
use crate::graph::Database;
use crate::graph::inputs::{CellId, Chunk, Overrides};

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
    fn execute(&self, _launch: Launch) -> Executing<'_> {
        self.asked.set(self.asked.get() + 1);
        self.under_way.set(self.under_way.get() + 1);
        let place = Place(&self.under_way);
        Box::pin(async move {
            let _place = place;
            std::future::pending().await
        })
    }

    fn room(&self, _endpoint: EndpointId) -> Room {
        if self.under_way.get() < MOST { Room::Now } else { Room::Full }
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
    let world =
        Effects { system: &system, executor: &executor, progress: &mut quiet, grades: &mut Quiet };
    let settings = || Settings { max_concurrent: MOST, ..Settings::default() };
    let mut live = Live::new(&mut session, Arc::new(MemoryStore::default()), world, settings());
    live.begin(Box::new(Alike), u64::MAX, settings());
    while live.go_on() {}
    assert_eq!((executor.asked.get(), executor.under_way.get()), (2, 2));

    system.set("rubric.txt", &terse);
    assert!(matches!(live.reload(&ChangedPaths::Any, None), Reloaded::Changed { .. }));
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
    let world =
        Effects { system: &system, executor: &executor, progress: &mut quiet, grades: &mut Quiet };
    let store = Arc::new(MemoryStore::default());
    let mut live = Live::new(&mut session, store, world, Settings::default());
    live.begin(Box::new(Alike), u64::MAX, Settings::default());
    live.plan_slice();
    // Rows go away, and nobody says that what was planned is to be dropped.
    system.set("d.jsonl", ROWS.lines().next().unwrap());
    assert!(matches!(live.reload(&ChangedPaths::Any, None), Reloaded::Changed { .. }));
    live.go_on();
    assert_eq!((executor.asked.get(), live.progressed().tally.pending), (1, 2));
    let bugs = live.notes().into_iter().filter(|note| note.contains("a bug in evalrs"));
    assert_eq!(bugs.count(), 2);
}
