//! Minimality without a process: a suite, its rows, edits, and which judgments are asked after them.
//!
//! Every row of the tables starts from the same files, whose judgments are all stored. The edited files are evaluated by
//! the session that lives through the edit and, over another such store, by a fresh one: both ask the same. The living
//! one asks nothing once the edit is reverted.

mod briefs;
mod known;
mod known_criteria;
mod reloads;
mod rows;
mod ticks;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use crate::inspect::forecast::forecast;
use crate::inspect::preview::{Preview, preview};
use crate::progress::Quiet;
use crate::resolve::resolver::Effects;
use crate::resolve::settings::Settings;
use crate::resolve::settle::{SettledPlans, settle};
use crate::session::Session;
use crate::session::known::ResultPlaces;
use crate::session::reload::ReloadResult;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::price::Prices;
use evalrs_eval::dataset::chunk::Records;
use evalrs_exec::{ActionFuture, Executor, Launch};
use evalrs_graph::briefs::briefs;
use evalrs_graph::change::Change;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::known::{KnownChunk, KnownChunks};
use evalrs_graph::known_chunks::CollectedChunk;
use evalrs_graph::{Database, results};
use evalrs_metrics::results::{ResultLine, Summary};
use evalrs_model::key::KeySet;
use evalrs_model::outcome::{Outcome, Reply};
use evalrs_report::digest::ReportDigest;
use evalrs_store::{MemoryStore, OutcomeStore};
use evalrs_system::changed_paths::ChangedPaths;
use evalrs_system::memory::MemorySystem;

/// Two judges of which one reads the reference answer.
const SUITE: &str = "\
name: keys
dataset: data.jsonl
graders:
  says: {kind: tool, function: contains}
  kind:
    kind: rubric
    prompt: 'Is {submission} kind?'
    model: judge-1
    endpoint: test
    extractor: last_assistant
  right:
    kind: rubric
    prompt: 'Does {submission} mean {ground_truth}?'
    model: judge-1
    endpoint: test
gate: {metric_key: kind, metric: avg_score, op: gte, value: 0.0}
";

/// The rows of the dataset: `s0` to `s5`.
const ROWS: usize = 6;

fn row(at: usize) -> String {
    format!(
        "{{\"id\": \"s{at}\", \"input\": \"q{at}\", \"ground_truth\": \"truth {at}\", \"output\": \"answer {at}\"}}\n"
    )
}

fn rows() -> String {
    (0..ROWS).map(row).collect()
}

/// Answers every judge, and notes for which grader and sample it was asked.
#[derive(Default)]
struct Scripted(RefCell<Vec<String>>);

impl Executor for Scripted {
    fn execute(&self, launch: Launch) -> ActionFuture<'_> {
        let Launch::Judge(launch) = launch else { unreachable!("there are no programs") };
        self.0.borrow_mut().push(launch.what_for.replace(" of ", " "));
        let score = (launch.action.user.len() % 11) as f64 / 10.0;
        let text = if launch.action.user.contains("\"verdict\"") {
            let verdict = if score < 0.5 { "yes" } else { "no" };
            format!("{{\"reason\": \"r\", \"verdict\": \"{verdict}\"}}")
        } else {
            format!("{{\"rationale\": \"r\", \"score\": {score}}}")
        };
        Box::pin(std::future::ready(Outcome::Reply(Reply::new(text))))
    }
}

/// A session over files in memory, and what it has stored.
struct Evaluation {
    system: MemorySystem,
    session: Session,
    plans: SettledPlans,
    store: Arc<dyn OutcomeStore>,
}

/// What another process reads of what one has found.
fn read_known(found: Vec<CollectedChunk>) -> KnownChunks {
    let read = found
        .into_iter()
        .filter_map(|chunk| Some((chunk.hash, KnownChunk::read(chunk.bytes, chunk.results)?)));
    read.collect()
}

impl Evaluation {
    /// The files as they are before an edit, with every judgment stored.
    fn stored() -> Self {
        let (evaluation, asked) = Self::over(&rows());
        assert_eq!(asked, expanded("kind *, right *"), "the first run");
        evaluation
    }

    /// The suite over these rows, with every judgment stored; and what was asked.
    fn over(rows: &str) -> (Self, Vec<String>) {
        Self::of(SUITE, rows)
    }

    /// The same of another suite.
    fn of(suite: &str, rows: &str) -> (Self, Vec<String>) {
        let system = MemorySystem::with(&[("suite.yaml", suite), ("data.jsonl", rows)]);
        let mut evaluation = Self {
            session: fresh(),
            system,
            plans: SettledPlans::default(),
            store: Arc::new(MemoryStore::default()),
        };
        evaluation.load();
        let asked = evaluation.asked();
        (evaluation, asked)
    }

    fn load(&mut self) {
        let diagnostics = self.session.load(&self.system);
        assert!(!diagnostics.iter().any(Diagnostic::is_error), "{diagnostics:?}");
    }

    fn reload(&mut self, what: &str) {
        let reloaded = self.session.reload(&self.system, &ChangedPaths::Any, None);
        assert!(
            matches!(reloaded, ReloadResult::Changed { .. } | ReloadResult::Same),
            "{what}: {reloaded:?}"
        );
    }

    /// What `plan` knows before anything is settled.
    fn planned(&mut self) -> String {
        let settings = Settings::default();
        let found = preview(&mut self.session, self.store.as_ref(), &self.system, &settings);
        let Preview { tallies, failures, is_open, to_ask, warnings, .. } = &found;
        let keys: Vec<_> = to_ask.iter().map(|missing| (missing.key, missing.held)).collect();
        let forecast = forecast(&self.session, &found, &Prices::default());
        format!("{:?}", (tallies, failures, is_open, keys, warnings, forecast))
    }

    /// Settles, and returns what was asked for, sorted.
    fn asked(&mut self) -> Vec<String> {
        let executor = Scripted::default();
        let world = Effects {
            store: Arc::clone(&self.store),
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
        let mut asked = executor.0.into_inner();
        asked.sort();
        asked
    }

    /// The digest of what the results are made of, and the results.
    fn results(&self) -> (String, Vec<ResultLine>) {
        let Session { db, root, .. } = &self.session;
        let digest = self.session.results_digest("test").unwrap();
        let lines: Vec<ResultLine> = results::lines(db, *root).collect();
        for keep in [0, 2, 100] {
            let brief = ReportDigest::of_briefs(Box::new(briefs(db, *root, keep)), keep, &|_| true);
            let whole = ReportDigest::of_lines(lines.iter().cloned(), keep);
            assert_eq!(format!("{brief:?}"), format!("{whole:?}"), "{keep} failures");
        }
        (digest, lines)
    }

    /// All that a report is made of.
    fn reported(&self) -> (Summary, Vec<ResultLine>, String) {
        let Session { db, root, .. } = &self.session;
        // The digest first: it is to read what it shows, and no more.
        let digest = ReportDigest::of_briefs(Box::new(briefs(db, *root, 2)), 2, &|_| true);
        (results::summary(db, *root), results::lines(db, *root).collect(), format!("{digest:?}"))
    }

    /// The same files and the same store in another process that knows what this one found, and records its queries. Nothing
    /// is trusted yet.
    fn again_knowing(self) -> Self {
        let known = self.session.known_chunks(&[], ResultPlaces::Unknown);
        let db = Database::recording();
        db.set_known(read_known(known));
        let mut again = Self { session: session_in(db), plans: SettledPlans::default(), ..self };
        again.load();
        again
    }

    /// The same files and the same store in another process.
    fn again(self) -> Self {
        let mut again = Self { session: fresh(), plans: SettledPlans::default(), ..self };
        again.load();
        again
    }
}

fn fresh() -> Session {
    session_in(Database::default())
}

fn session_in(db: Database) -> Session {
    let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "k".to_owned())]);
    Session::new(db, "suite.yaml", environment, Overrides::default())
}

/// `2 kind *, right s3`: twice for each row of one grader, and once for one row of another.
fn expanded(expected: &str) -> Vec<String> {
    let mut all = Vec::new();
    for one in expected.split(", ").filter(|one| !one.is_empty()) {
        let words: Vec<&str> = one.split(' ').collect();
        let (times, grader, sample) = match words[..] {
            [grader, sample] => (1, grader, sample),
            [times, grader, sample] => (times.parse().unwrap(), grader, sample),
            _ => panic!("{one}"),
        };
        let samples = match sample {
            "*" => (0..ROWS).map(|at| format!("s{at}")).collect(),
            sample => vec![sample.to_owned()],
        };
        for sample in samples {
            all.extend(std::iter::repeat_n(format!("{grader} {sample}"), times));
        }
    }
    all.sort();
    all
}

/// A file and its text after an edit.
type Edit = (&'static str, String);

/// Asserts what `edits`, made at once, ask for.
fn check(what: &str, edits: &[Edit], expected: &str) {
    let expected = expanded(expected);
    let mut living = Evaluation::stored();
    let cold = Evaluation::stored();
    let before = living.results();
    for (path, text) in edits {
        living.system.set(path, text);
        cold.system.set(path, text);
    }
    living.reload(what);
    assert_eq!(living.asked(), expected, "{what}");
    let mut cold = cold.again();
    let planned = cold.planned();
    assert_eq!(cold.asked(), expected, "{what}, in a fresh session");
    let knowing = Evaluation::stored();
    for (path, text) in edits {
        knowing.system.set(path, text);
    }
    let mut knowing = knowing.again_knowing();
    knowing.session.trust_known(&KeySet::default());
    assert_eq!(knowing.planned(), planned, "{what}: the plan of a session that knows the chunks");
    assert_eq!(knowing.asked(), expected, "{what}, in a fresh session that knows the chunks");
    assert_eq!(knowing.reported(), cold.reported(), "{what}: what is known is what is found");
    let after = cold.results();
    assert!(after.0 != before.0 || after.1 == before.1, "results are told apart: {what}");
    living.system.set("suite.yaml", SUITE);
    living.system.set("data.jsonl", rows());
    living.reload(what);
    assert_eq!(living.asked(), Vec::<String>::new(), "reverted: {what}");
}

#[test]
fn results_of_the_same_are_known_by_their_digest() {
    let stored = Evaluation::stored();
    let before = stored.results();
    let mut again = stored.again();
    assert_ne!(again.results().0, before.0, "outcomes belong to it");
    assert_eq!(again.asked(), Vec::<String>::new());
    assert_eq!(again.results(), before);
    let outcome = |text: &str, model: Option<&str>| {
        let key = again.store.keys()[0];
        let reply = Reply { model: model.map(str::to_owned), ..Reply::new(text) };
        (key, Arc::new(Outcome::Reply(reply)))
    };
    let text = r#"{"rationale": "r", "score": 0.5}"#;
    let mut digests = std::collections::BTreeSet::from([before.0]);
    for (text, model) in [(text, None), (text, Some("judge-2")), ("{}", None)] {
        let outcomes = vec![outcome(text, model)];
        let chunks = again.session.chunks();
        Change { outcomes, waiting: chunks, ..Change::default() }
            .apply(&mut again.session.db, again.session.root);
        assert!(digests.insert(again.results().0), "{text} by {model:?}");
    }
}

/// The suite with another text in one place.
fn suite(from: &str, to: &str) -> Edit {
    assert!(SUITE.contains(from), "the suite has no {from}");
    ("suite.yaml", SUITE.replace(from, to))
}

/// The suite with one more setting of `right`.
fn right_with(setting: &str) -> Edit {
    suite("endpoint: test\ngate", &format!("endpoint: test\n    {setting}\ngate"))
}

fn data(text: String) -> Edit {
    assert_ne!(text, rows(), "nothing is edited");
    ("data.jsonl", text)
}

fn replaced(from: &str, to: &str) -> Edit {
    data(rows().replace(from, to))
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table is as long as what it lists")]
fn edits_of_the_suite_ask_for_what_changes_a_question() {
    let panel = "panel: [{model: judge-1, endpoint: test}, {model: judge-2, endpoint: test}]";
    let third = "  third: {kind: rubric, prompt: 'Is {submission} kind?', model: judge-1, endpoint: test}\n";
    for (what, edit, expected) in [
        // What no question holds.
        ("a comment", suite("graders:\n", "# why\ngraders: # these\n"), ""),
        ("blank lines", suite("graders:\n", "\n\ngraders:\n\n"), ""),
        ("the name", suite("name: keys", "name: other"), ""),
        ("a description", suite("name: keys", "name: keys\ndescription: longer"), ""),
        (
            "the order of the suite",
            suite("name: keys\ndataset: data.jsonl\n", "dataset: data.jsonl\nname: keys\n"),
            "",
        ),
        ("max_concurrent", suite("name: keys", "name: keys\nmax_concurrent: 3"), ""),
        ("timeout", right_with("timeout: 7.5"), ""),
        ("max_retries", right_with("max_retries: 1"), ""),
        ("the variable of the key", right_with("api_key_env: OTHER"), ""),
        ("a base URL behind an endpoint", right_with("base_url: http://x/v1"), ""),
        ("the threshold of the gate", suite("value: 0.0", "value: 0.01"), ""),
        (
            "no gate",
            suite("gate: {metric_key: kind, metric: avg_score, op: gte, value: 0.0}\n", ""),
            "",
        ),
        ("pass_threshold", right_with("pass_threshold: 0.5"), ""),
        ("display_name", right_with("display_name: Right"), ""),
        (
            "a tool grader removed",
            suite("  says: {kind: tool, function: contains}\n  kind:\n", "  kind:\n"),
            "",
        ),
        (
            "a tool grader added",
            suite("  says: ", "  spells: {kind: tool, function: exact_match}\n  says: "),
            "",
        ),
        ("a tool grader's function", suite("function: contains", "function: exact_match"), ""),
        (
            "another alias of rubrics",
            suite("kind: rubric\n    prompt: 'Is", "kind: model_judge\n    prompt: 'Is"),
            "",
        ),
        (
            "the defaults spelt out",
            right_with(
                "provider: openai\n    temperature: 0.0\n    votes: 1\n    scale: {min: 0, max: 1}",
            ),
            "",
        ),
        ("an empty extra_body", right_with("extra_body: {}"), ""),
        (
            "an extractor with equal text",
            suite("extractor: last_assistant", "extractor: final_output"),
            "",
        ),
        (
            "another extractor with equal text",
            suite("extractor: last_assistant", "extractor: all_assistant"),
            "",
        ),
        (
            "the prompt in another style of YAML",
            suite("prompt: 'Is {submission} kind?'", "prompt: |-\n      Is {submission} kind?"),
            "",
        ),
        ("a grader renamed", suite("  right:", "  correct:"), ""),
        (
            "a third grader with the question of the first",
            suite("gate:", &format!("{third}gate:")),
            "",
        ),
        // What one grader's questions hold.
        ("a rubric", suite("Is {submission} kind?", "Is {submission} very kind?"), "kind *"),
        ("the other rubric", suite("Does {submission}", "Does really {submission}"), "right *"),
        ("a space in a rubric", suite("Is {submission}", "Is  {submission}"), "kind *"),
        (
            "the model",
            suite("judge-1\n    endpoint: test\ngate", "judge-2\n    endpoint: test\ngate"),
            "right *",
        ),
        ("the endpoint", suite("endpoint: test\ngate", "endpoint: other\ngate"), "right *"),
        ("temperature", right_with("temperature: 0.5"), "right *"),
        ("no temperature", right_with("temperature: null"), "right *"),
        ("seed", right_with("seed: 7"), "right *"),
        ("max_tokens", right_with("max_tokens: 99"), "right *"),
        ("top_p", right_with("top_p: 0.5"), "right *"),
        ("scale", right_with("scale: {min: 0, max: 10}"), "right *"),
        ("extra_body", right_with("extra_body: {a: 1}"), "right *"),
        ("votes: the first is there", right_with("votes: 3"), "2 right *"),
        ("their mean", right_with("votes: {n: 3, combine: mean}"), "2 right *"),
        (
            "a second judge: the first is there",
            suite("model: judge-1\n    endpoint: test\ngate", &format!("{panel}\ngate")),
            "right *",
        ),
        (
            "a part of the reference answer",
            right_with("ground_truth_pattern: 'truth (.)'"),
            "right *",
        ),
        (
            "an extractor with other text",
            suite(
                "extractor: last_assistant",
                "extractor: pattern\n    extractor_config: {pattern: '[0-9]'}",
            ),
            "kind *",
        ),
        (
            "a grader added",
            suite("gate:", &format!("{}gate:", third.replace("kind?", "terse?"))),
            "third *",
        ),
        (
            "a grader removed",
            suite(
                "  right:\n    kind: rubric\n    prompt: 'Does {submission} mean {ground_truth}?'\n    model: judge-1\n    endpoint: test\n",
                "",
            ),
            "",
        ),
    ] {
        check(what, &[edit], expected);
    }
}

#[test]
fn edits_of_the_dataset_ask_for_what_they_touch() {
    let inserted = |at: usize| {
        let all = (0..at).map(row).chain([row(90)]).chain((at..ROWS).map(row));
        data(all.collect())
    };
    let backwards = |at: usize| {
        format!(
            "{{\"output\": \"answer {at}\", \"ground_truth\": \"truth {at}\", \"input\": \"q{at}\", \"id\": \"s{at}\"}}\n"
        )
    };
    let again = |from: &str, to: &str| data(format!("{}{}", rows(), row(2).replace(from, to)));
    let more = |member: &str| replaced(", \"input\"", &format!(", {member}, \"input\""));
    for (what, edit, expected) in [
        ("rows reordered", data((0..ROWS).rev().map(row).collect()), ""),
        ("a row moved", data([1, 2, 3, 4, 0, 5].map(row).concat()), ""),
        ("ids renamed", replaced("\"id\": \"s", "\"id\": \"renamed-"), ""),
        ("ids removed", replaced("\"id\": \"s", "\"was\": \"s"), ""),
        (
            "ids as numbers",
            data(
                rows().replace("\"id\": \"s", "\"id\": 1").replace("\", \"input\"", ", \"input\""),
            ),
            "",
        ),
        ("a blank line", data(rows().replacen('\n', "\n\n", 1)), ""),
        (
            "a byte-order mark and CRLF",
            data(format!("\u{feff}{}", rows().replace('\n', "\r\n"))),
            "",
        ),
        ("no last newline", data(rows().trim_end().to_owned()), ""),
        ("metadata", more("\"metadata\": {\"a\": 1}"), ""),
        ("tags", more("\"tags\": [\"t\"]"), ""),
        ("a label", more("\"label\": true"), ""),
        ("rubric_vars that no rubric names", more("\"rubric_vars\": {\"x\": 1}"), ""),
        ("members in another order", data((0..ROWS).map(backwards).collect()), ""),
        ("spaces in the JSON", replaced(": ", ":  "), ""),
        ("an escape of the same text", replaced("answer 3", "\\u0061nswer 3"), ""),
        ("aliases", replaced("ground_truth", "expected"), ""),
        ("another input, which no rubric names", replaced("q3", "another question"), ""),
        ("a row removed", replaced(&row(2), ""), ""),
        ("a row twice", again("s2", "again"), ""),
        ("trials that say the same", again("\"input\"", "\"trial\": 1, \"input\""), ""),
        ("a model that says the same", again("\"input\"", "\"model\": \"m\", \"input\""), ""),
        ("one output edited", replaced("answer 3", "another answer"), "kind s3, right s3"),
        ("one output edited by a space", replaced("answer 4", "answer  4"), "kind s4, right s4"),
        ("one reference answer edited", replaced("truth 3", "another truth"), "right s3"),
        (
            "two rows swap their outputs' texts",
            data(
                rows()
                    .replace("answer 1", "x")
                    .replace("answer 2", "answer 1")
                    .replace("\"x\"", "\"answer 2\""),
            ),
            "right s1, right s2",
        ),
        ("a row inserted in the middle", inserted(3), "kind s90, right s90"),
        ("a row inserted in front", inserted(0), "kind s90, right s90"),
        (
            "a rubric of the row's own",
            replaced("\"id\": \"s5\"", "\"id\": \"s5\", \"rubric\": \"{submission}!\""),
            "kind s5",
        ),
    ] {
        check(what, &[edit], expected);
    }
}

#[test]
fn edits_of_several_files_ask_for_what_they_touch_together() {
    let prompt_file = suite("prompt: 'Is {submission} kind?'", "prompt_path: kind.txt");
    let file = |text: &str| ("kind.txt", text.to_owned());
    let elsewhere = |path| suite("dataset: data.jsonl", &format!("dataset: {path}"));
    let array = format!("[{}]", rows().trim_end().replace('\n', ",\n"));
    let cells = (0..ROWS).map(|at| format!("s{at},q{at},truth {at},answer {at}\n"));
    let cells = format!("id,input,ground_truth,output\n{}", cells.collect::<String>());
    let listed = rows().lines().map(|row| ["- ", row, "\n"].concat()).collect();
    for (what, edits, expected) in [
        ("the same rubric in a file", [prompt_file.clone(), file("Is {submission} kind?")], ""),
        (
            "with white space at its end",
            [prompt_file.clone(), file("Is {submission} kind? \n\n")],
            "",
        ),
        ("another rubric in a file", [prompt_file, file("Is {submission} kinder?")], "kind *"),
        (
            "a rubric and a row",
            [suite("kind?", "kinder?"), replaced("answer 3", "another answer")],
            "kind *, right s3",
        ),
        (
            "a model, and rows without references",
            [
                suite(
                    "judge-1\n    endpoint: test\n    extractor",
                    "judge-2\n    endpoint: test\n    extractor",
                ),
                replaced("truth 3", "another truth"),
            ],
            "kind *, right s3",
        ),
        ("the rows as a JSON array", [elsewhere("rows.json"), ("rows.json", array)], ""),
        ("the rows as CSV", [elsewhere("rows.csv"), ("rows.csv", cells)], ""),
        ("the rows as a YAML list", [elsewhere("rows.yaml"), ("rows.yaml", listed)], ""),
        (
            "half of the rows in another file",
            [elsewhere("half.jsonl"), ("half.jsonl", (3..ROWS).map(row).collect())],
            "",
        ),
    ] {
        check(what, &edits, expected);
    }
}
