//! The engine against the plain loop that does the same work: `cargo bench`.
//!
//! Generated data: rows of about 600 bytes, two deterministic graders and one judge whose outcomes are all in the
//! store. The plain loop parses, grades, renders, hashes and looks up the same rows against the same store, and
//! nothing else. Each size runs in a process of its own, so that peak memory is its own too.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench measures the outside"
)]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use evalrs_base::path::Row;
use evalrs_engine::progress::Quiet;
use evalrs_engine::resolve::resolver::Effects;
use evalrs_engine::resolve::settings::Settings;
use evalrs_engine::resolve::settle::SettledPlans;
use evalrs_engine::resolve::settle::settle;
use evalrs_engine::session::Session;
use evalrs_eval::action::Action;
use evalrs_eval::judge::Judge;
use evalrs_eval::judge::question::Question;
use evalrs_eval::judge::reply;
use evalrs_eval::judge::template::Placeholders;
use evalrs_exec::ActionFuture;
use evalrs_exec::Executor;
use evalrs_exec::Launch;
use evalrs_graph::Database;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::results;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Outcome;
use evalrs_model::outcome::Reply;
use evalrs_model::outcome::StoredOutcome;
use evalrs_model::outcome::read_body;
use evalrs_model::spec::Scale;
use evalrs_store::Entry;
use evalrs_store::OutcomeStore;
use evalrs_store::SegmentStore;
use evalrs_system::os::OsSystem;

const RUBRIC: &str = "You grade answers of a support agent.\n\nCriteria: is the answer correct, complete and polite?\n\nQuestion: {input}\nExpected: {ground_truth}\nAnswer: {submission}\n";

fn suite(rubric: &str) -> String {
    format!(
        "name: bench\ndataset: data.jsonl\ngraders:\n  exact: {{kind: tool, function: exact_match}}\n  \
         contains: {{kind: tool, function: contains}}\n  judge:\n    kind: rubric\n    model: judge-1\n    endpoint: bench\n    \
         prompt: {}\ngate: {{metric_key: judge, metric: avg_score, op: gte, value: 0.5}}\n",
        serde_json::to_string(rubric).unwrap()
    )
}

fn row(at: usize, version: usize) -> String {
    let question =
        "What happens to my order if the warehouse is closed on the day I return it? ".repeat(3);
    let answer =
        "Your return is accepted on the next working day and the refund follows within five days. "
            .repeat(3);
    format!(
        "{{\"id\": \"sample-{at:06}\", \"input\": \"{question}({at})\", \"ground_truth\": \"accepted on the next working day\", \"output\": \"{answer}({at}.{version})\"}}"
    )
}

fn write_dataset(folder: &Path, count: usize, edited: Option<usize>) {
    let rows: Vec<String> = (0..count).map(|at| row(at, usize::from(edited == Some(at)))).collect();
    std::fs::write(folder.join("data.jsonl"), rows.join("\n")).unwrap();
}

/// Answers at once.
struct Instantly;

impl Executor for Instantly {
    fn execute(&self, launch: Launch) -> ActionFuture<'_> {
        let Launch::Judge(launch) = launch else { unreachable!("only judges are asked") };
        let score = (launch.action.user.len() % 11) as f64 / 10.0;
        let text = format!(
            "{{\"score\": {score}, \"rationale\": \"The answer is correct and polite but leaves one question open.\"}}"
        );
        Box::pin(std::future::ready(Outcome::Reply(Reply {
            text,
            model: Some("judge-1".to_owned()),
            usage: None,
            exchange: None,
        })))
    }
}

fn session(folder: &Path) -> Session {
    let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "none".to_owned())]);
    let suite = folder.join("suite.yaml").to_string_lossy().into_owned();
    Session::new(Database::default(), &suite, environment, Overrides::default())
}

/// Loads, settles and folds; returns how many actions were executed.
fn evaluate(
    session: &mut Session,
    plans: &mut SettledPlans,
    store: Arc<dyn OutcomeStore>,
) -> (usize, Arc<dyn OutcomeStore>) {
    assert!(session.load(&OsSystem).is_empty());
    settle_and_fold(session, plans, store)
}

fn settle_and_fold(
    session: &mut Session,
    plans: &mut SettledPlans,
    store: Arc<dyn OutcomeStore>,
) -> (usize, Arc<dyn OutcomeStore>) {
    let world = Effects {
        store: Arc::clone(&store),
        system: &OsSystem,
        executor: &Instantly,
        progress: &mut Quiet,
        grades: &mut Quiet,
    };
    let settings = Settings { max_concurrent: 64, ..Settings::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let settling = settle(session, world, &settings, plans, std::future::pending());
    let settled = runtime.block_on(settling).unwrap();
    let summary = results::summary(&session.db, session.root);
    assert_eq!(summary.metrics.0.iter().map(|(_, metric)| metric.errors).sum::<usize>(), 0);
    (settled.asked.len(), store)
}

#[derive(serde::Deserialize)]
struct PlainRow<'a> {
    #[serde(borrow)]
    input: Cow<'a, str>,
    #[serde(borrow)]
    ground_truth: Cow<'a, str>,
    #[serde(borrow)]
    output: Cow<'a, str>,
}

fn judge() -> Judge {
    let text = suite(RUBRIC);
    let mut session =
        Session::new(Database::default(), "suite.yaml", BTreeMap::new(), Overrides::default());
    let system = evalrs_system::memory::MemorySystem::with(&[
        ("suite.yaml", &text),
        ("data.jsonl", &row(0, 0)),
    ]);
    assert!(session.load(&system).is_empty());
    let grader = session.suite().unwrap().graders.last().unwrap().clone();
    match grader.kind {
        evalrs_model::spec::GraderKind::Rubric(rubric) => Judge::new(*rubric, &|_| None),
        _ => panic!("the last grader is the judge"),
    }
}

fn plain_action(judge: &Judge, row: &PlainRow<'_>, text: &str) -> Action {
    let vars = serde_json::Map::new();
    let placeholders = Placeholders {
        input: &row.input,
        submission: &row.output,
        other: None,
        ground_truth: Some(&row.ground_truth),
        vars: &vars,
        row: Row::new(text),
    };
    Action::Judge(judge.asked(RUBRIC, None, &placeholders, 0).unwrap().action())
}

/// What the engine does, without an engine: parse, grade, render, hash, look up, read the reply, fold.
fn plain_loop(folder: &Path, judge: &Judge) -> f64 {
    let text = std::fs::read_to_string(folder.join("data.jsonl")).unwrap();
    let store = SegmentStore::open(folder.join("cache"));
    let mut deterministic = 0.0;
    let mut keys: Vec<ActionKey> = Vec::new();
    for line in text.lines() {
        let row: PlainRow<'_> = serde_json::from_str(line).unwrap();
        deterministic += f64::from(u8::from(row.output.trim() == row.ground_truth.trim()));
        deterministic += f64::from(u8::from(
            row.output.to_lowercase().contains(&row.ground_truth.to_lowercase()),
        ));
        keys.push(plain_action(judge, &row, line).key());
    }
    let mut judged = 0.0;
    for entry in store.get_many(&keys) {
        if let Outcome::Reply(found) = read_body(&entry.unwrap().body).unwrap() {
            judged += reply::read(&found.text, &Question::Score(Scale::UNIT)).unwrap().score;
        }
    }
    (deterministic + judged) / keys.len() as f64
}

/// Keeps an outcome for every row, as earlier runs would have.
fn fill_store(folder: &Path, judge: &Judge) {
    let text = std::fs::read_to_string(folder.join("data.jsonl")).unwrap();
    let store = SegmentStore::open(folder.join("cache"));
    let lines: Vec<&str> = text.lines().collect();
    for batch in lines.chunks(10_000) {
        let entries: Vec<Entry> = batch.iter().map(|line| entry(judge, line)).collect();
        store.put_many(&entries).unwrap();
    }
}

fn entry(judge: &Judge, line: &str) -> Entry {
    let row: PlainRow<'_> = serde_json::from_str(line).unwrap();
    let action = plain_action(judge, &row, line);
    let text = "{\"score\": 0.8, \"rationale\": \"The answer is correct and polite but leaves one question open.\"}".to_owned();
    let outcome = Outcome::Reply(Reply { model: Some("judge-1".to_owned()), ..Reply::new(text) });
    Entry {
        key: action.key(),
        generation: 0,
        body: StoredOutcome::new(action.ingredients(), outcome, "2026-01-01T00:00:00Z".to_owned())
            .to_body(),
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed(), done)
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// The peak of this process's resident memory, in bytes; 0 where the system does not say.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// One size, in a process of its own.
fn measure(count: usize, folder: &Path) {
    let judge = judge();
    let plain = median((0..3).map(|_| timed(|| plain_loop(folder, &judge)).0).collect());
    let cold = median(
        (0..3)
            .map(|_| {
                let (time, (asked, _)) = timed(|| {
                    evaluate(&mut session(folder), &mut SettledPlans::default(), open(folder))
                });
                assert_eq!(asked, 0);
                time
            })
            .collect(),
    );
    let mut session = session(folder);
    let mut plans = SettledPlans::default();
    let (_, mut store) = evaluate(&mut session, &mut plans, open(folder));
    let mut times: [Vec<Duration>; 3] = Default::default();
    for round in 0..5 {
        let (time, (asked, back)) = timed(|| settle_and_fold(&mut session, &mut plans, store));
        assert_eq!(asked, 0);
        times[0].push(time);
        write_dataset(folder, count, Some((count / 2 + round) % count));
        let (time, (_, back)) = timed(|| evaluate(&mut session, &mut plans, back));
        times[1].push(time);
        std::fs::write(folder.join("suite.yaml"), suite(&format!("{RUBRIC}Round {round}.")))
            .unwrap();
        assert!(session.load(&OsSystem).is_empty());
        let (time, _) = timed(|| evalrs_plans(&session));
        times[2].push(time);
        std::fs::write(folder.join("suite.yaml"), suite(RUBRIC)).unwrap();
        write_dataset(folder, count, None);
        store = evaluate(&mut session, &mut plans, back).1;
    }
    let [noop, edit, rubric] = times.map(median);
    println!("{plain} {cold} {noop} {edit} {rubric}");
}

fn open(folder: &Path) -> Arc<dyn OutcomeStore> {
    Arc::new(SegmentStore::open(folder.join("cache")))
}

/// Plans everything again, up to the keys that would be asked for.
fn evalrs_plans(session: &Session) -> usize {
    use evalrs_graph::queries;
    let (db, root) = (&session.db, session.root);
    let graders = queries::graders(db, root);
    let chunks = root.chunks(db).iter();
    chunks
        .map(|chunk| {
            graders.iter().map(|grader| queries::plans(db, *chunk, *grader).len()).sum::<usize>()
        })
        .sum()
}

/// Peak memory of one cold evaluation, over what the dataset and the outcomes' text take.
fn measure_memory(folder: &Path) {
    let before = peak_memory();
    let mut session = session(folder);
    let (_, store) = evaluate(&mut session, &mut SettledPlans::default(), open(folder));
    let after = peak_memory();
    drop(store);
    println!("{}", after - before);
}

fn child(count: usize, what: &str, folder: &Path) -> Vec<f64> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--child", what, &count.to_string()])
        .arg(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--child") {
        let (count, folder) = (args[at + 2].parse().unwrap(), Path::new(&args[at + 3]));
        return match args[at + 1].as_str() {
            "memory" => measure_memory(folder),
            _ => measure(count, folder),
        };
    }
    println!(
        "samples   plain ms    cold ms  cold/plain   no-op ms  1 edit ms  rubric ms  memory B/sample over text"
    );
    let most = if args.iter().any(|arg| arg == "--quick") { 1_000 } else { 100_000 };
    for count in [1_000, 10_000, 100_000].into_iter().filter(|count| *count <= most) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("suite.yaml"), suite(RUBRIC)).unwrap();
        write_dataset(folder.path(), count, None);
        fill_store(folder.path(), &judge());
        let text = std::fs::metadata(folder.path().join("data.jsonl")).unwrap().len();
        let memory = child(count, "memory", folder.path())[0];
        let outcomes = 130.0 * count as f64;
        let over = (memory - text as f64 - outcomes) / count as f64;
        let times = child(count, "time", folder.path());
        let [plain, cold, noop, edit, rubric] = times[..] else { panic!("{times:?}") };
        println!(
            "{count:>7} {plain:>10.2} {cold:>10.2} {:>11.2} {noop:>10.3} {edit:>10.2} {rubric:>10.2} {over:>10.0}",
            cold / plain
        );
    }
}
