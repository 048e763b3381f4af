//! A session that lives through edits: what it runs for each, and that nothing broken ever reaches it.

use std::collections::{BTreeMap, BTreeSet};

use evalrs_base::diagnostic::Diagnostic;
use evalrs_engine::session::Session;
use evalrs_engine::session::reload::ReloadResult;
use evalrs_graph::Database;
use evalrs_graph::Db;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::queries;
use evalrs_graph::results;
use evalrs_model::key::KeySet;
use evalrs_system::FileBytes;
use evalrs_system::changed_paths::ChangedPaths;
use evalrs_system::memory::MemorySystem;
use proptest::prelude::{Strategy, any, prop};
use proptest::{prop_assert, prop_assert_eq, proptest};

use crate::incremental::{Did, Loop, SAMPLES, SUITE, evaluated, row, rows};
use crate::noted::Noted;

/// What reading a suite runs, beyond any row.
const OF_SUITE: &[&str] = &[
    "suite",
    "row_spec",
    "graders",
    "gate_rule",
    "narrowing",
    "row_condition",
    "declared_metrics",
    "row_needs",
    "sought",
    "scales",
    "labels_section",
    "written_rubric",
    "row_facts",
    "rubric_lints",
];

/// A suite over recordings.
const RECORDED: &str = "name: s\ndataset: d.jsonl\ntarget: {kind: recorded, path: r}\ngraders:\n  g: {kind: tool, function: exact_match}\n";

/// Asserts that an edit changed these files and ran these queries alone.
fn check(what: &str, (reloaded, did): (ReloadResult, Did), files: &[&str], allowed: &[&str]) {
    let ReloadResult::Changed { files: changed, warnings } = reloaded else {
        panic!("{what}: {reloaded:?}")
    };
    assert_eq!(changed, files, "{what}");
    assert_eq!(warnings, [], "{what}");
    let beyond: Vec<&str> =
        did.queries().into_iter().filter(|query| !allowed.contains(query)).collect();
    assert_eq!(beyond, Vec::<&str>::new(), "{what}");
    assert_eq!(did.asked, Vec::<String>::new(), "{what}");
}

fn problems(what: &str, (reloaded, did): (ReloadResult, Did), files: &[&str]) -> Vec<Diagnostic> {
    let ReloadResult::Broken { files: changed, problems } = reloaded else {
        panic!("{what}: {reloaded:?}")
    };
    assert_eq!(changed, files, "{what}");
    assert!(problems.iter().any(Diagnostic::is_error), "{what}");
    assert_eq!((did.ran.len(), did.asked.len()), (0, 0), "{what}: {:?}", did.ran);
    problems
}

#[test]
fn a_touch_runs_nothing() {
    let mut session = evaluated();
    session.set("suite.yaml", SUITE);
    session.set("data.jsonl", &rows().join("\n"));
    let some = ["data.jsonl", "suite.yaml", "kind.txt", "unknown"].map(str::to_owned);
    for touched in [ChangedPaths::Any, ChangedPaths::Only(some.into())] {
        let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "k".to_owned())]);
        session.session.db.take_executed();
        let reloaded = session.session.reload(&session.system, &touched, Some(environment));
        assert!(matches!(reloaded, ReloadResult::Same), "{reloaded:?}");
        assert_eq!(session.session.db.take_executed(), Vec::<String>::new());
    }
}

#[test]
fn what_was_not_touched_is_not_read() {
    let mut session = evaluated();
    session.set("suite.yaml", "no suite at all");
    session.set("data.jsonl", "no dataset at all");
    let (reloaded, did) = session.reload(&["kind.txt"]);
    assert!(matches!(reloaded, ReloadResult::Same), "{reloaded:?}");
    assert_eq!(did.ran.len(), 0);
}

#[test]
fn each_edit_runs_what_it_must() {
    let mut session = evaluated();
    session.set("suite.yaml", &format!("# a comment\n{SUITE}"));
    check("a comment", session.reload(&["suite.yaml"]), &["suite.yaml"], OF_SUITE);

    session.set("suite.yaml", &SUITE.replace("value: 0.5", "value: 0.6"));
    let allowed = [OF_SUITE, &["gate_report"]].concat();
    check("the gate", session.reload(&["suite.yaml"]), &["suite.yaml"], &allowed);

    session.set("suite.yaml", SUITE);
    session.reload(&["suite.yaml"]);
    session.set("kind.txt", "Is it so kind? {submission}");
    let (reloaded, did) = session.reload(&["kind.txt"]);
    assert!(matches!(reloaded, ReloadResult::Changed { .. }));
    assert_eq!(did.asked.len(), SAMPLES);
    assert_eq!(
        (did.ran("plans"), did.ran("ready"), did.ran("submissions"), did.ran("checked")),
        (session.chunks(), 1, 0, 0),
        "{:?}",
        did.ran
    );
    assert_eq!((did.ran("found"), did.ran("in_vain")), (0, 0), "the rubric looks for the same");

    session.set("kind.txt", "Is it kind? {submission}");
    let (_, did) = session.reload(&["kind.txt"]);
    assert_eq!(did.asked, Vec::<String>::new(), "what is put back is in the store");
    assert_eq!(did.ran("plans"), session.chunks());
}

#[test]
fn an_edit_of_rows_runs_their_chunks() {
    let mut session = evaluated();
    let mut edited = rows();
    edited[500] = row(500, "another");
    session.set("data.jsonl", &edited.join("\n"));
    let (reloaded, did) = session.reload(&["data.jsonl"]);
    assert!(matches!(&reloaded, ReloadResult::Changed { files, .. } if files == &["data.jsonl"]));
    assert_eq!(did.asked.len(), 2);
    assert!((3..=6).contains(&did.ran("plans")), "{:?}", did.ran);
    assert!((1..=2).contains(&did.ran("checked")), "{:?}", did.ran);
    assert_eq!(did.ran("suite"), 0);

    edited.insert(300, row(9_999, "new"));
    session.set("data.jsonl", &edited.join("\n"));
    let (_, did) = session.reload(&["data.jsonl"]);
    assert_eq!(did.asked.len(), 2);
    assert!(did.asked.iter().all(|prompt| prompt.contains("new 9999")));
    assert!(did.ran("plans") <= 6, "{:?}", did.ran);

    session.set("data.jsonl", &rows().join("\n"));
    let (_, did) = session.reload(&["data.jsonl"]);
    assert_eq!(did.asked, Vec::<String>::new(), "what is put back is in the store");
    assert!(did.ran("plans") <= 12, "{:?}", did.ran);
}

#[test]
fn nothing_broken_reaches_the_session_and_fixing_it_runs_nothing() {
    let duplicate = format!("{}\n{}", rows().join("\n"), row(7, "again"));
    let bad_line = rows().join("\n").replace("\"question 400\"", "\"question 400");
    let no_input =
        rows().join("\n").replace("\"input\": \"question 400\"", "\"input\": {\"q\": 400}");
    let broken = [
        ("bad YAML", "suite.yaml", Some("name: [")),
        ("an unknown grader", "suite.yaml", Some(&*SUITE.replace("exact_match", "exact_mtch"))),
        (
            "a dataset that is not there",
            "suite.yaml",
            Some(&*SUITE.replace("data.jsonl", "x.jsonl")),
        ),
        (
            "a field that no row has",
            "suite.yaml",
            Some(&*SUITE.replace("data.jsonl", "{path: data.jsonl, fields: {input: x}}")),
        ),
        (
            "a variable that no row has",
            "suite.yaml",
            Some(
                &*SUITE.replace("prompt_path: kind.txt,", "prompt: 'Kind? {v}', rubric_vars: [v],"),
            ),
        ),
        (
            "another rubric that is not there",
            "suite.yaml",
            Some(&*SUITE.replace("kind.txt", "new.txt")),
        ),
        ("a rubric that is empty", "kind.txt", Some("")),
        ("a rubric that is gone", "kind.txt", None),
        ("a suite that is gone", "suite.yaml", None),
        ("a dataset that is gone", "data.jsonl", None),
        ("an empty dataset", "data.jsonl", Some("")),
        ("a line that is no JSON", "data.jsonl", Some(&*bad_line)),
        ("a row whose input is an object", "data.jsonl", Some(&*no_input)),
        ("the same sample twice", "data.jsonl", Some(&*duplicate)),
    ];
    let mut session = evaluated();
    let lines = |session: &Loop| {
        let (db, root) = (&session.session.db, session.session.root);
        results::lines(db, root)
            .map(|line| serde_json::to_string(&line).unwrap())
            .collect::<Vec<_>>()
    };
    let good = lines(&session);
    let digests = session.session.digests();
    for (what, path, text) in broken {
        let before = session.system.text(path).unwrap();
        match text {
            Some(text) => session.set(path, text),
            None => session.system.remove(path),
        }
        session.session.db.take_executed();
        let first = problems(what, session.reload(&[path]), &[path]);
        let fresh = fresh(&session.system).load(&session.system);
        assert_eq!(first, fresh, "{what}: as a first loading would say");
        assert_eq!(problems(what, session.reload(&[]), &[path]), fresh, "{what}: still");
        assert_eq!(lines(&session), good, "{what}");
        assert_eq!(session.session.digests(), digests, "{what}");
        assert!(session.session.paths().contains(path), "{what}");
        session.set(path, &before);
        let (reloaded, did) = session.reload(&[path]);
        assert!(matches!(reloaded, ReloadResult::Same), "{what}: {reloaded:?}");
        assert_eq!((did.ran.len(), did.asked.len()), (0, 0), "{what}: {:?}", did.ran);
    }
    assert!(lines(&session) == good);
}

#[test]
fn what_is_asked_for_in_vain_is_looked_for_until_it_is_there() {
    let mut session = evaluated();
    session.set("suite.yaml", &SUITE.replace("kind.txt", "new.txt"));
    problems("no such rubric", session.reload(&["suite.yaml"]), &["suite.yaml"]);
    assert!(session.session.paths().contains("new.txt"));
    session.set("new.txt", "Is it kind? {submission}");
    let (reloaded, did) = session.reload(&["new.txt"]);
    assert!(matches!(&reloaded, ReloadResult::Changed { files, .. } if files == &["suite.yaml"]));
    assert_eq!((did.ran("plans"), did.asked.len()), (0, 0), "the same rubric: {:?}", did.ran);
}

#[test]
fn two_broken_files_are_fixed_one_after_the_other() {
    let mut session = evaluated();
    session.set("suite.yaml", "name: [");
    session.set("data.jsonl", "[]");
    problems("both", session.reload(&["suite.yaml", "data.jsonl"]), &["suite.yaml"]);
    session.set("suite.yaml", &SUITE.replace("value: 0.5", "value: 0.7"));
    problems("one", session.reload(&["suite.yaml"]), &["data.jsonl", "suite.yaml"]);
    session.set("data.jsonl", &rows().join("\n"));
    let allowed = [OF_SUITE, &["gate_report"]].concat();
    check("none", session.reload(&["data.jsonl"]), &["data.jsonl", "suite.yaml"], &allowed);
}

#[test]
fn a_session_that_was_never_good_becomes_so() {
    let system = MemorySystem::with(&[("suite.yaml", "name: [")]);
    let mut session = fresh(&system);
    let nothing = ChangedPaths::default();
    for _ in 0..2 {
        let reloaded = session.reload(&system, &nothing, None);
        assert!(matches!(reloaded, ReloadResult::Broken { .. }), "{reloaded:?}");
    }
    system.set(
        "suite.yaml",
        "name: s\ndataset: d.jsonl\ngraders:\n  g: {kind: tool, function: ascii_printable_only}\n",
    );
    system.set("d.jsonl", "{\"input\": \"q\", \"output\": \"a\"}\n");
    let reloaded = session.reload(&system, &nothing, None);
    let ReloadResult::Changed { files, .. } = reloaded else { panic!("{reloaded:?}") };
    assert_eq!(files, ["d.jsonl", "suite.yaml"]);
    assert!(matches!(session.reload(&system, &nothing, None), ReloadResult::Same));
}

#[test]
fn an_environment_is_compared() {
    let suite = SUITE
        .replace("model: m, endpoint: e}\n  short", "model: '${MODEL}', endpoint: e}\n  short");
    let system = MemorySystem::with(&[
        ("suite.yaml", &suite),
        ("data.jsonl", &row(1, "a")),
        ("kind.txt", "Kind? {submission}"),
        ("short.txt", "Short? {submission}"),
    ]);
    let mut session = fresh(&system);
    let nothing = ChangedPaths::default();
    let mut reload = |model: Option<&str>| {
        let model = model.map(|model| ("MODEL".to_owned(), model.to_owned()));
        session.reload(&system, &nothing, Some(model.into_iter().collect()))
    };
    assert!(matches!(reload(None), ReloadResult::Broken { .. }));
    assert!(matches!(reload(Some("m")), ReloadResult::Changed { .. }));
    assert!(matches!(reload(Some("m")), ReloadResult::Same));
    assert!(matches!(reload(Some("n")), ReloadResult::Changed { files, .. } if files.is_empty()));
    assert!(matches!(reload(None), ReloadResult::Broken { .. }));
    assert!(matches!(reload(Some("n")), ReloadResult::Same));
}

#[test]
fn joined_recordings_are_read_again_when_they_change() {
    let recorded = |output: &str| format!("{{\"id\": \"a\", \"output\": \"{output}\"}}\n");
    let system = MemorySystem::with(&[
        ("suite.yaml", RECORDED),
        ("d.jsonl", "{\"id\": \"a\", \"input\": \"q\", \"ground_truth\": \"x\"}\n"),
        ("r/a.txt", "x"),
    ]);
    let mut session = fresh(&system);
    assert_eq!(session.load(&system), []);
    let mut reload = |touched: &str| {
        let touched = ChangedPaths::Only(BTreeSet::from([touched.to_owned()]));
        session.db.take_executed();
        let reloaded = session.reload(&system, &touched, None);
        (reloaded, session.db.take_executed().len())
    };
    assert!(matches!(reload("r/a.txt"), (ReloadResult::Same, 0)));
    system.set("r/a.txt", "y");
    assert!(matches!(reload("d.jsonl"), (ReloadResult::Same, 0)));
    assert!(
        matches!(reload("r/a.txt"), (ReloadResult::Changed { files, .. }, _) if files == ["r/a.txt"])
    );
    system.set("r/b.txt", "z");
    let (reloaded, _) = reload("r/b.txt");
    assert!(
        matches!(&reloaded, ReloadResult::Changed { files, warnings } if files == &["r/b.txt"] && warnings.len() == 1),
        "{reloaded:?}"
    );
    system.set("r/a.json", recorded("x"));
    system.set_fault("r/a.txt", FileBytes::Unreadable("gone".to_owned()));
    assert!(matches!(reload("r/a.txt"), (ReloadResult::Broken { .. }, 0)));
    system.remove("r/a.json");
    system.set("r/a.txt", "y");
    assert!(matches!(reload("r/a.json"), (ReloadResult::Same, 0)));
}

#[test]
fn whatever_a_reading_looks_for_is_named_also_when_it_is_broken() {
    let result =
        "{\"sample_id\": \"a\", \"trajectory\": [{\"role\": \"assistant\", \"content\": \"x\"}]}\n";
    let system = MemorySystem::with(&[
        ("suite.yaml", RECORDED),
        ("d.jsonl", "{\"id\": \"a\", \"input\": \"q\", \"ground_truth\": \"x\"}\n"),
        ("r/run_1/results.jsonl", "no result\n"),
    ]);
    let mut session = fresh(&system);
    for (path, text, is_good) in [
        ("r/run_1/results.jsonl", "still no result\n", false),
        ("r/run_1/results.jsonl", result, true),
        ("r/run_2/results.jsonl", "no result\n", false),
        ("r/run_2/results.jsonl", result, true),
    ] {
        system.set(path, text);
        let noted = Noted::new(&system);
        let reloaded = session.reload(&noted, &ChangedPaths::Any, None);
        assert_eq!(matches!(reloaded, ReloadResult::Changed { .. }), is_good, "{reloaded:?}");
        let (looked_for, named) = (noted.take(), session.paths());
        assert!(looked_for.contains(path), "{looked_for:?}");
        assert!(looked_for.is_subset(&named), "{:?}", &looked_for - &named);
    }
}

#[test]
fn outcomes_that_no_plan_wants_go_and_the_others_stay() {
    let mut session = evaluated();
    session.set("kind.txt", "Is it so kind? {submission}");
    session.reload(&["kind.txt"]);
    let keys =
        |session: &Loop| {
            let (db, root) = (&session.session.db, session.session.root);
            let mut keys = KeySet::default();
            for (chunk, grader) in root.chunks(db).iter().flat_map(|chunk| {
                queries::graders(db, root).iter().map(move |grader| (chunk, grader))
            }) {
                for planned in queries::plans(db, *chunk, *grader).iter() {
                    planned.each_key(&mut |_, key| _ = keys.insert(key));
                }
            }
            keys
        };
    let wanted = keys(&session);
    assert_eq!(wanted.len(), 2 * SAMPLES);
    session.session.db.outcomes.keep(|key| wanted.contains(key));
    assert!(wanted.iter().all(|key| session.session.db.outcome(*key).is_some()));
    let (_, did) = session.reload(&[]);
    assert_eq!((did.ran.len(), did.asked.len()), (0, 0));
    // What was dropped comes back from the store.
    session.set("kind.txt", "Is it kind? {submission}");
    let dropped = {
        let touched = ChangedPaths::Only(BTreeSet::from(["kind.txt".to_owned()]));
        session.session.reload(&session.system, &touched, None);
        keys(&session).difference(&wanted).copied().collect::<Vec<_>>()
    };
    assert_eq!(dropped.len(), SAMPLES);
    assert!(dropped.iter().all(|key| session.session.db.outcome(*key).is_none()));
    let (_, did) = session.reload(&[]);
    assert_eq!(did.asked, Vec::<String>::new());
    assert!(dropped.iter().all(|key| session.session.db.outcome(*key).is_some()));
}

/// A session of its own over the files of `system`.
fn fresh(_: &MemorySystem) -> Session {
    let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "k".to_owned())]);
    Session::new(Database::recording(), "suite.yaml", environment, Overrides::default())
}

/// What a session holds: its chunks, who is evaluated, what every line says, what was read.
fn state(session: &Session) -> (Vec<String>, Vec<String>, BTreeMap<String, String>) {
    let (db, root) = (&session.db, session.root);
    let chunks = root.chunks(db).iter().map(|chunk| format!("{:?}", chunk.records(db)));
    let lines = results::lines(db, root).map(|line| serde_json::to_string(&line).unwrap());
    assert!(queries::selection(db, root).duplicates.is_empty());
    (chunks.collect(), lines.collect(), session.digests())
}

const SMALL: &str = "\
name: s
dataset: data.jsonl
graders:
  exact: {kind: tool, function: exact_match}
  rubric: {kind: rubric, prompt_path: r.txt, model: m, endpoint: e}
";

/// One save: a file and what becomes of it.
fn save(system: &MemorySystem, (kind, at, count): (u8, usize, usize)) -> &'static str {
    let text = system.text("data.jsonl").unwrap_or_default();
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let at = at % (lines.len() + 1);
    let end = (at + count).min(lines.len());
    match kind % 16 {
        0 => drop(lines.drain(at..end)),
        1 => lines.insert(at, row(10_000 + at + 7 * count, "new")),
        2 | 3 => lines[at..end].iter_mut().for_each(|line| *line = line.replace("answer", "other")),
        4 => lines[at..end].iter_mut().for_each(|line| line.push('\r')),
        5 => lines.insert(at, String::new()),
        6 => lines[at..end].rotate_left((end - at) / 2),
        7 => lines.insert(at, "{\"input\": ".to_owned()),
        8 => lines.insert(at, row(count, "answer")),
        9 => lines = rows().into_iter().take(300).collect(),
        10 => lines[at..end].iter_mut().for_each(|line| *line = line.replace("ground_truth", "gt")),
        11 => {
            system.set("suite.yaml", if count % 2 == 0 { SMALL } else { "name: [" });
            return "suite.yaml";
        }
        12 => {
            let fields = "{path: data.jsonl, fields: {ground_truth: gt}}";
            system.set("suite.yaml", SMALL.replace("data.jsonl", fields));
            return "suite.yaml";
        }
        13 => {
            system.set("r.txt", ["{submission}", "{tone}", "", "{row.gt}"][count % 4]);
            return "r.txt";
        }
        14 => system.remove("data.jsonl"),
        _ => lines.insert(0, "\u{feff}".to_owned()),
    }
    if kind % 16 != 14 {
        system.set("data.jsonl", lines.join("\n"));
    }
    "data.jsonl"
}

fn saves() -> impl Strategy<Value = Vec<(u8, usize, usize)>> {
    prop::collection::vec((any::<u8>(), any::<usize>(), 0..30usize), 1..8)
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(24))]
    #[test]
    fn reloading_is_loading(saves in saves()) {
        let rows = rows()[..300].join("\n");
        let system =
            MemorySystem::with(&[("suite.yaml", SMALL), ("data.jsonl", &rows), ("r.txt", "{submission}")]);
        let mut session = fresh(&system);
        prop_assert_eq!(session.load(&system), Vec::new());
        let mut good = state(&session);
        for one in saves {
            let touched = ChangedPaths::Only(BTreeSet::from([save(&system, one).to_owned()]));
            let reloaded = session.reload(&system, &touched, None);
            let mut other = fresh(&system);
            let said = other.load(&system);
            match reloaded {
                ReloadResult::Broken { problems, .. } => {
                    prop_assert!(said.iter().any(Diagnostic::is_error));
                    prop_assert_eq!(problems, said);
                }
                ReloadResult::Changed { warnings, .. } => {
                    prop_assert_eq!(warnings, said);
                    good = state(&other);
                }
                ReloadResult::Same => prop_assert!(!said.iter().any(Diagnostic::is_error)),
                ReloadResult::NeedsPreflight(_) => prop_assert!(false, "there are no programs"),
            }
            prop_assert_eq!(state(&session), good.clone());
        }
    }
}
