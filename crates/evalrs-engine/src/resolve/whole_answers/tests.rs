//! Answers that were let go of, without a process: what rests on them is the same as if they were there.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::MAX_HELD;
use crate::progress::Quiet;
use crate::resolve::resolver::Effects;
use crate::resolve::settings::Settings;
use crate::resolve::settle::{SettledPlans, settle};
use crate::session::Session;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_exec::{ActionFuture, Executor, Launch};
use evalrs_graph::inputs::Overrides;
use evalrs_graph::{Database, results};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Outcome, Reply};
use evalrs_store::{Entry, MemoryStore, OutcomeStore, StoreError};
use evalrs_system::changed_paths::ChangedPaths;
use evalrs_system::memory::MemorySystem;

const SUITE: &str = "\
name: large
dataset: data.jsonl
target: {kind: http, url: 'http://127.0.0.1:9/'}
graders:
  says: {kind: tool, function: contains}
  kind: {kind: rubric, fence: false, prompt: 'Is {submission} kind? {row.tag}', model: judge-1, endpoint: test}
";

/// Bytes of an answer, and as many of them as do not fit.
const SIZE: usize = 64 << 10;
const ROWS: usize = MAX_HELD / SIZE + 4;

/// A store that counts what is read of it one by one, and can lose all it has.
#[derive(Default)]
struct Counted {
    store: Mutex<MemoryStore>,
    reads: AtomicUsize,
}

impl OutcomeStore for Counted {
    fn get_many(&self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
        self.reads.fetch_add(usize::from(keys.len() == 1), Ordering::Relaxed);
        self.store.lock().unwrap().get_many(keys)
    }

    fn put_many(&self, entries: &[Entry]) -> Result<(), StoreError> {
        self.store.lock().unwrap().put_many(entries)
    }

    fn keys(&self) -> Vec<ActionKey> {
        self.store.lock().unwrap().keys()
    }

    fn take_warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Notes conversations by their samples, and judgments by what judges are told.
#[derive(Default)]
struct Scripted {
    conversations: RefCell<Vec<String>>,
    prompts: RefCell<Vec<String>>,
}

impl Executor for Scripted {
    fn execute(&self, launch: Launch) -> ActionFuture<'_> {
        let text = match launch {
            Launch::Target(launch) => {
                let sample = launch.action.sample.clone();
                let notes = "n".repeat(SIZE);
                let text = format!(
                    r#"{{"output": "said {sample}", "tag": "tag {sample}", "notes": "{notes}"}}"#
                );
                self.conversations.borrow_mut().push(sample);
                text
            }
            Launch::Judge(launch) => {
                self.prompts.borrow_mut().push(launch.action.user.clone());
                r#"{"rationale": "r", "score": 1}"#.to_owned()
            }
            Launch::Program(_) => unreachable!("there are no programs"),
        };
        Box::pin(std::future::ready(Outcome::Reply(Reply::new(text))))
    }
}

struct Evaluation {
    system: MemorySystem,
    session: Session,
    plans: SettledPlans,
    store: Arc<Counted>,
}

impl Evaluation {
    fn new(store: Arc<Counted>) -> Self {
        let row = |at| {
            format!(
                "{{\"id\": \"s{at}\", \"input\": \"q{at}\", \"ground_truth\": \"said s{at}\"}}\n"
            )
        };
        let rows: String = (0..ROWS).map(row).collect();
        let system = MemorySystem::with(&[("suite.yaml", SUITE), ("data.jsonl", &rows)]);
        let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "k".to_owned())]);
        let db = Database::default();
        let mut session = Session::new(db, "suite.yaml", environment, Overrides::default());
        let diagnostics = session.load(&system);
        assert!(!diagnostics.iter().any(Diagnostic::is_error), "{diagnostics:?}");
        Self { system, session, plans: SettledPlans::default(), store }
    }

    fn edit(&mut self, from: &str, to: &str) {
        self.system.set("suite.yaml", SUITE.replace(from, to));
        self.session.reload(&self.system, &ChangedPaths::Any, None);
    }

    /// Settles; how many conversations were held, how many answers read again, and what judges were told.
    fn settled(&mut self) -> (usize, usize, Vec<String>) {
        let executor = Scripted::default();
        let world = Effects {
            store: Arc::<Counted>::clone(&self.store),
            system: &self.system,
            executor: &executor,
            progress: &mut Quiet,
            grades: &mut Quiet,
        };
        let settings = Settings::default();
        let stop = std::future::pending();
        let settling = settle(&mut self.session, world, &settings, &mut self.plans, stop);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(settling).unwrap();
        let reads = self.store.reads.swap(0, Ordering::Relaxed);
        (executor.conversations.into_inner().len(), reads, executor.prompts.into_inner())
    }

    fn results(&self) -> String {
        let lines = results::lines(&self.session.db, self.session.root);
        lines.map(|line| serde_json::to_string(&line).unwrap()).collect::<Vec<_>>().join("\n")
    }
}

/// What the judge is told of every sample, sorted.
fn prompts(question: &str) -> Vec<String> {
    let mut all: Vec<String> =
        (0..ROWS).map(|at| format!("Is said s{at} {question}? tag s{at}")).collect();
    all.sort();
    all
}

#[track_caller]
fn assert_asked(prompts: Vec<String>, expected: &[String]) {
    let mut prompts = prompts;
    prompts.sort();
    assert_eq!(prompts.len(), expected.len());
    for (prompt, expected) in prompts.iter().zip(expected) {
        assert!(prompt.contains(expected), "{prompt} does not hold {expected}");
    }
}

#[test]
fn what_rests_on_answers_that_were_let_go_of_is_as_if_they_were_there() {
    let store = Arc::new(Counted::default());
    let mut living = Evaluation::new(Arc::clone(&store));
    let (conversations, reads, asked) = living.settled();
    assert_eq!(conversations, ROWS);
    assert_asked(asked, &prompts("kind"));
    assert!(reads <= ROWS, "an answer was read again more than once: {reads}");
    let first = living.results();
    // An edit of a rubric needs all of them again, and holds none of the conversations again.
    living.edit("kind?", "polite?");
    let (conversations, reads, asked) = living.settled();
    assert_eq!(conversations, 0);
    assert!(reads > 0, "nothing was let go of");
    assert_asked(asked, &prompts("polite"));
    // A fresh session sees the same, and replays what the first one has seen.
    let mut fresh = Evaluation::new(Arc::clone(&store));
    let (conversations, _, asked) = fresh.settled();
    assert_eq!([conversations, asked.len()], [0, 0]);
    assert_eq!(fresh.results(), first);
}

#[test]
fn an_answer_that_the_store_has_lost_is_given_again() {
    let store = Arc::new(Counted::default());
    let mut living = Evaluation::new(Arc::clone(&store));
    living.settled();
    let first = living.results();
    *store.store.lock().unwrap() = MemoryStore::default();
    living.edit("function: contains}", "function: contains, extractor: all_assistant}");
    let (conversations, _, _) = living.settled();
    let lost = ROWS - MAX_HELD / SIZE;
    assert!((lost..=lost + 1).contains(&conversations), "{conversations} conversations");
    assert_eq!(living.results(), first);
}
