//! Minimality, as execution logs: which queries ran and which actions were asked for after each edit. Never time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::price::Price;
use evalrs_base::price::Prices;
use evalrs_engine::progress::Quiet;
use evalrs_engine::resolve::resolver::Effects;
use evalrs_engine::resolve::settings::Settings;
use evalrs_engine::resolve::settle::SettledPlans;
use evalrs_engine::resolve::settle::settle;
use evalrs_engine::session::Session;
use evalrs_engine::session::reload::ReloadResult;
use evalrs_exec::ActionFuture;
use evalrs_exec::Executor;
use evalrs_exec::Launch;
use evalrs_graph::Database;
use evalrs_graph::folds;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::queries;
use evalrs_graph::results;
use evalrs_model::outcome::Outcome;
use evalrs_model::outcome::Reply;
use evalrs_model::outcome::Usage;
use evalrs_store::MemoryStore;
use evalrs_store::OutcomeStore;
use evalrs_system::changed_paths::ChangedPaths;
use evalrs_system::memory::MemorySystem;

pub(crate) const SUITE: &str = "\
name: incremental
dataset: data.jsonl
graders:
  exact: {kind: tool, function: exact_match}
  kind: {kind: rubric, prompt_path: kind.txt, model: m, endpoint: e}
  short: {kind: rubric, prompt_path: short.txt, model: m, endpoint: e}
gate: {metric_key: kind, metric: avg_score, op: gte, value: 0.5}
";

pub(crate) const SAMPLES: usize = 1_000;

pub(crate) fn row(id: usize, output: &str) -> String {
    format!(
        "{{\"id\": \"s{id}\", \"input\": \"question {id}\", \"ground_truth\": \"a\", \"output\": \"{output} {id}\"}}"
    )
}

pub(crate) fn rows() -> Vec<String> {
    (0..SAMPLES).map(|id| row(id, "answer")).collect()
}

/// The reply to a prompt.
type Answers = fn(&str) -> String;

fn score_by_length(prompt: &str) -> String {
    let score = (prompt.len() % 11) as f64 / 10.0;
    format!("{{\"score\": {score}, \"rationale\": \"r\"}}")
}

/// Answers from the prompt alone, with these tokens, and counts.
struct Counting {
    answers: Answers,
    usage: Option<Usage>,
    asked: std::cell::RefCell<Vec<String>>,
}

impl Executor for Counting {
    fn execute(&self, launch: Launch) -> ActionFuture<'_> {
        let Launch::Judge(launch) = launch else { unreachable!("only judges are asked") };
        let prompt = crate::judge::plain(&launch.action.user);
        let text = (self.answers)(&prompt);
        self.asked.borrow_mut().push(prompt);
        let reply = Reply { usage: self.usage, ..Reply::new(text) };
        Box::pin(std::future::ready(Outcome::Reply(reply)))
    }
}

/// A session that lives through edits, as a watcher's would.
pub(crate) struct Loop {
    pub(crate) system: MemorySystem,
    pub(crate) session: Session,
    plans: SettledPlans,
    store: Arc<dyn OutcomeStore>,
    answers: Answers,
    usage: Option<Usage>,
    is_loaded: bool,
}

fn fresh_session(overrides: Overrides) -> Session {
    let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "k".to_owned())]);
    Session::new(Database::recording(), "suite.yaml", environment, overrides)
}

/// What one evaluation did.
#[derive(Debug)]
pub(crate) struct Did {
    /// Query → how often it ran.
    pub(crate) ran: BTreeMap<String, usize>,
    /// The prompts that were asked.
    pub(crate) asked: Vec<String>,
}

impl Did {
    /// How often a query ran.
    pub(crate) fn ran(&self, query: &str) -> usize {
        self.ran.get(query).copied().unwrap_or(0)
    }

    pub(crate) fn queries(&self) -> BTreeSet<&str> {
        self.ran.keys().map(String::as_str).collect()
    }
}

impl Loop {
    fn new() -> Self {
        Self::with(&[
            ("suite.yaml", SUITE),
            ("data.jsonl", &rows().join("\n")),
            ("kind.txt", "Is it kind? {submission}"),
            ("short.txt", "Is it short? {submission}"),
        ])
    }

    /// A session over `suite.yaml` among these files, before its first evaluation.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        Self::over(files, Overrides::default())
    }

    /// The same with a command line.
    pub(crate) fn over(files: &[(&str, &str)], overrides: Overrides) -> Self {
        let (system, session) = (MemorySystem::with(files), fresh_session(overrides));
        let store: Arc<dyn OutcomeStore> = Arc::new(MemoryStore::default());
        Self {
            system,
            session,
            plans: SettledPlans::default(),
            store,
            answers: score_by_length,
            usage: None,
            is_loaded: false,
        }
    }

    /// Edits a file.
    pub(crate) fn set(&self, path: &str, text: &str) {
        self.system.set(path, text);
    }

    /// Sets what the judges answer.
    pub(crate) fn answer(&mut self, answers: Answers) {
        self.answers = answers;
    }

    /// Says that each reply took a thousand tokens.
    fn answer_with_usage(&mut self) {
        self.usage = Some(Usage::of_tokens(1_000, 0));
    }

    /// Loads everything the first time, what changed from then on; asks what is missing, and folds the summary.
    pub(crate) fn evaluate(&mut self) -> Did {
        self.session.db.take_executed();
        if self.is_loaded {
            let reloaded = self.session.reload(&self.system, &ChangedPaths::Any, None);
            assert!(!matches!(reloaded, ReloadResult::Broken { .. }), "{reloaded:?}");
        } else {
            let diagnostics = self.session.load(&self.system);
            assert!(!diagnostics.iter().any(Diagnostic::is_error), "{diagnostics:?}");
            self.is_loaded = true;
        }
        self.settle()
    }

    /// Reads again what was touched, and settles whatever it found.
    pub(crate) fn reload(&mut self, touched: &[&str]) -> (ReloadResult, Did) {
        self.session.db.take_executed();
        let touched = ChangedPaths::Only(touched.iter().map(|path| (*path).to_owned()).collect());
        let reloaded = self.session.reload(&self.system, &touched, None);
        (reloaded, self.settle())
    }

    /// Asks what is missing, and folds the summary.
    fn settle(&mut self) -> Did {
        let executor = Counting {
            answers: self.answers,
            usage: self.usage,
            asked: std::cell::RefCell::default(),
        };
        let world = Effects {
            store: Arc::clone(&self.store),
            system: &self.system,
            executor: &executor,
            progress: &mut Quiet,
            grades: &mut Quiet,
        };
        let settings = Settings::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let settling =
            settle(&mut self.session, world, &settings, &mut self.plans, std::future::pending());
        runtime.block_on(settling).unwrap();
        let summary = results::summary(&self.session.db, self.session.root);
        assert_eq!(summary.metrics.0.iter().map(|(_, metric)| metric.errors).sum::<usize>(), 0);
        let mut ran = BTreeMap::new();
        for query in self.session.db.take_executed() {
            *ran.entry(query).or_insert(0) += 1;
        }
        Did { ran, asked: executor.asked.into_inner() }
    }

    /// The session as the last evaluation left it.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn chunks(&self) -> usize {
        self.session.chunks().len()
    }
}

pub(crate) fn evaluated() -> Loop {
    let mut session = Loop::new();
    let first = session.evaluate();
    assert_eq!(first.asked.len(), 2 * SAMPLES);
    session
}

#[test]
fn no_edit_runs_no_query_and_no_action() {
    let mut session = evaluated();
    let did = session.evaluate();
    assert_eq!((did.ran.len(), did.asked.len()), (0, 0), "{:?}", did.ran);
}

#[test]
fn recorded_rows_have_no_query_a_case() {
    let mut session = Loop::new();
    let mut did = session.evaluate();
    assert_eq!(did.asked.len(), 2 * SAMPLES);
    let session = session.session();
    for chunk in session.chunks() {
        assert!(results::case_record(&session.db, chunk, 0).is_some());
    }
    for query in session.db.take_executed() {
        *did.ran.entry(query).or_insert(0) += 1;
    }
    for query in ["answer", "picked_of", "plan_of", "graded_text_of", "other_grades_of"] {
        assert_eq!(did.ran(query), 0, "{query}: {:?}", did.ran);
    }
}

#[test]
fn other_prices_sum_up_what_judgments_cost_and_no_more() {
    let priced = |input: f64| Arc::new(Prices::new(vec![("m".to_owned(), Price::new(input, 0.0))]));
    let cost = |session: &Loop| results::summary(&session.session.db, session.session.root).cost;
    let mut session = Loop::new();
    session.answer_with_usage();
    session.session.set_prices(priced(1.0));
    let first = session.evaluate();
    assert_eq!(first.asked.len(), 2 * SAMPLES);
    let before = cost(&session);
    assert!(before.is_some());
    session.session.set_prices(priced(2.0));
    let did = session.evaluate();
    assert_eq!(did.asked, Vec::<String>::new());
    let sums = BTreeSet::from(["judge_usage", "usage", "usage_of_all"]);
    assert_eq!(did.queries(), sums, "{:?}", did.ran);
    assert_eq!(did.ran("judge_usage"), 2);
    assert_eq!(
        cost(&session).map(evalrs_base::price::Cost::nanos),
        before.map(|cost| 2 * cost.nanos())
    );
    session.session.set_prices(priced(2.0));
    let did = session.evaluate();
    assert_eq!((did.ran.len(), did.asked.len()), (0, 0), "{:?}", did.ran);
}

#[test]
fn another_process_asks_nothing() {
    let mut session = evaluated();
    let mut other = Loop::new();
    other.system = std::mem::take(&mut session.system);
    other.store = Arc::clone(&session.store);
    assert_eq!(other.evaluate().asked, Vec::<String>::new());
}

#[test]
fn one_edited_sample_runs_its_chunk_and_its_own_actions() {
    let mut session = evaluated();
    let mut rows = rows();
    rows[500] = row(500, "another answer");
    session.system.set("data.jsonl", rows.join("\n"));
    let did = session.evaluate();
    assert_eq!(
        did.asked,
        ["Is it kind? another answer 500", "Is it short? another answer 500"].map(with_format)
    );
    // Its own chunk, or two if the cut moved; one query for each of the three graders.
    assert!((3..=6).contains(&did.ran("plans")), "{:?}", did.ran);
    assert!(
        (1..=2).contains(&did.ran("submissions")),
        "the graders share one extractor: {:?}",
        did.ran
    );
    assert_eq!(did.ran("suite") + did.ran("graders") + did.ran("ready"), 0, "{:?}", did.ran);
}

fn with_format(rendered: &str) -> String {
    format!(
        "{rendered}\n\nReply with one JSON object and nothing else: {{\"rationale\": <string>, \"score\": <number from 0 to 1>}}."
    )
}

#[test]
fn a_line_in_the_middle_asks_for_the_new_sample_alone() {
    let mut session = evaluated();
    let mut rows = rows();
    rows.insert(300, row(9_999, "new"));
    session.system.set("data.jsonl", rows.join("\n"));
    let did = session.evaluate();
    assert_eq!(did.asked.len(), 2);
    assert!(did.asked.iter().all(|prompt| prompt.contains("new 9999")));
    assert!(did.ran("plans") <= 6, "{:?}", did.ran);
}

#[test]
fn a_comment_in_the_suite_runs_the_reader_alone() {
    let mut session = evaluated();
    session.system.set("suite.yaml", format!("# a comment\n{SUITE}"));
    let did = session.evaluate();
    let per_chunk =
        ["checked", "submissions", "graded_texts", "plans", "cells", "observations", "mask"];
    assert!(per_chunk.iter().all(|query| did.ran(query) == 0), "{:?}", did.ran);
}

#[test]
fn a_rubric_edit_touches_its_own_plans_alone() {
    let mut session = evaluated();
    session.system.set("kind.txt", "Is it really kind? {submission}");
    let did = session.evaluate();
    assert_eq!(did.asked.len(), SAMPLES);
    assert!(did.asked.iter().all(|prompt| prompt.starts_with("Is it really kind?")));
    assert_eq!(
        (did.ran("plans"), did.ran("submissions"), did.ran("ready")),
        (session.chunks(), 0, 1),
        "{:?}",
        did.ran
    );
    session.system.set("kind.txt", "Is it kind? {submission}");
    let back = session.evaluate();
    assert_eq!(back.asked, Vec::<String>::new(), "a rubric that is put back is in the store");
}

#[test]
fn an_extractor_that_picks_the_same_text_stops_the_wave() {
    let mut session = evaluated();
    session.system.set(
        "suite.yaml",
        SUITE.replace("prompt_path: kind.txt", "prompt_path: kind.txt, extractor: all_assistant"),
    );
    let did = session.evaluate();
    assert_eq!((did.ran("plans"), did.ran("cells"), did.asked.len()), (0, 0, 0), "{:?}", did.ran);
    assert_eq!(did.ran("submissions"), session.chunks());
}

#[test]
fn a_threshold_runs_the_gate_alone() {
    let mut session = evaluated();
    session.system.set("suite.yaml", SUITE.replace("value: 0.5", "value: 0.6"));
    let did = session.evaluate();
    assert!(did.asked.is_empty());
    let suite_level = [
        "suite",
        "row_spec",
        "graders",
        "scales",
        "labels_section",
        "gate_rule",
        "gate_report",
        "narrowing",
        "row_condition",
        "declared_metrics",
        "row_needs",
        "sought",
        "written_rubric",
    ];
    let beyond: Vec<&str> =
        did.queries().into_iter().filter(|query| !suite_level.contains(query)).collect();
    assert_eq!(beyond, Vec::<&str>::new());
    assert_eq!(did.ran("gate_report"), 1);
}

#[test]
fn another_grader_asks_for_itself_alone() {
    let mut session = evaluated();
    let edited = SUITE.replace(
        "gate:",
        "  more: {kind: rubric, prompt: 'More? {submission}', model: m, endpoint: e}\ngate:",
    );
    session.system.set("suite.yaml", edited);
    let did = session.evaluate();
    assert_eq!((did.asked.len(), did.ran("plans")), (SAMPLES, session.chunks()), "{:?}", did.ran);
}

#[test]
fn scores_of_single_votes_are_folded_once_a_grader() {
    let suite = SUITE
        .replace("model: m, endpoint: e}\n  short", "model: m, endpoint: e, votes: 2}\n  short");
    let rows = ["", "a", "bb"].map(|output| {
        format!("{{\"input\": \"q\", \"ground_truth\": \"a\", \"output\": \"{output}\"}}")
    });
    let mut session = Loop::with(&[
        ("suite.yaml", &suite),
        ("data.jsonl", &rows.join("\n")),
        ("kind.txt", "Is it kind? {submission}"),
        ("short.txt", "Is it short? {submission}"),
    ]);
    let did = session.evaluate();
    assert_eq!((did.asked.len(), did.ran("ballot_scores")), (2 * 2 + 2, 3));
    let (db, root) = (&session.session.db, session.session.root);
    let scores = |name: &str| {
        let grader = queries::graders(db, root).iter().find(|grader| grader.name(db) == name);
        folds::ballot_scores(db, *grader.unwrap()).clone()
    };
    let score = |at: usize| Some((did.asked[at].len() % 11) as f64 / 10.0);
    assert_eq!(scores("kind"), [vec![score(0); 2], vec![score(2); 2]], "no row without a judge");
    assert_eq!(scores("short"), Vec::<Vec<_>>::new(), "one ballot agrees with nobody");
    assert_eq!(scores("exact"), Vec::<Vec<_>>::new());
}

#[test]
fn slots_are_reused_through_many_rewrites() {
    let mut session = evaluated();
    let before = session.chunks();
    for round in 0..20 {
        let rewritten: Vec<String> =
            (0..SAMPLES).map(|id| row(id, if round % 2 == 0 { "odd" } else { "even" })).collect();
        session.system.set("data.jsonl", rewritten.join("\n"));
        session.evaluate();
    }
    let highest = session.session.chunks().iter().map(|chunk| format!("{chunk:?}")).max();
    assert!(session.chunks() < before * 2, "{highest:?}");
    assert!(queries::selection(&session.session.db, session.session.root).samples == SAMPLES);
}
