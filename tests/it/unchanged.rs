//! A run of which nothing has changed repeats the last one and reads no data; whatever has changed, it does not.
//!
//! Whether a run evaluated anything is known by the steps that it logs, and what it prints is compared with a whole run.
#![expect(clippy::disallowed_methods, reason = "tests touch the files of the user")]

#[cfg(unix)]
mod damage;
#[cfg(unix)]
mod edits;
#[cfg(unix)]
mod rounds;

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::judge::{Answer, Judge};
use crate::space::{Ran, Space};

const SUITE: &str = "\
name: bot
dataset: data
graders:
  short: {kind: tool, function: length, config: {max: 40}}
  kind: {kind: rubric, prompt_path: kind.md, model: judge-1}
gate: {metric_key: short, metric: accuracy, op: gte, value: 0.5}
";

const ROW: &str = r#"{"id": "a", "input": "Hello", "output": "Good day to you"}"#;

fn space() -> Space {
    let space = Space::new(&[
        ("suite.yaml", SUITE),
        ("kind.md", "Is {submission} kind?\n"),
        ("data/a.json", ROW),
        ("evalrs.toml", ""),
        // It is listed, so that a run does not change the folder of the cache.
        ("cache/v1/seg/.keep", ""),
        ("cache/v1/blob/ab/cd", "a large body"),
        ("cache/.gitignore", "v1/\n"),
    ]);
    space.write(".evalrs/.gitignore", "*\n");
    space
}

fn judge() -> Judge {
    Judge::new(|at, _| Answer::score(if at % 2 == 0 { 1.0 } else { 0.5 }))
}

/// Makes all files old enough that no write to them could go unseen.
fn age(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path);
        } else if let Ok(file) = File::options().write(true).open(&path) {
            let hour = SystemTime::now() - Duration::from_hours(1);
            // Records are read-only, and stay as they are.
            let _ = file.set_modified(hour);
        }
    }
}

/// Longer than two changes may have one time. evalrs waits for 50 ms.
const SETTLED: Duration = Duration::from_millis(60);

/// Waits until the clock has moved on, so that no write could go unseen any more.
fn wait_until_settled() {
    let since = Instant::now();
    while since.elapsed() < SETTLED {
        std::thread::yield_now();
    }
}

fn run(space: &Space, judge: &Judge, args: &[&str]) -> Ran {
    let mut command = space.command(&["run", "suite.yaml"]);
    command.args(args).env("OPENAI_BASE_URL", judge.url()).env("EVALRS_LOG", "debug");
    Ran(command.output().unwrap())
}

/// Whether a run read no suite.
fn is_repeated(ran: &Ran) -> bool {
    !ran.stderr().contains("load")
}

/// What a run printed, without its log.
fn printed(ran: &Ran) -> String {
    let shown = ran.shown();
    shown.lines().filter(|line| !line.contains("evalrs_")).collect::<Vec<_>>().join("\n")
}

type SpaceEdit = fn(&Space);

/// Adds a space to a file of the last record.
fn edit_in_place(space: &Space, name: &str) {
    let mut file = File::options().append(true).open(space.latest().join(name)).unwrap();
    file.write_all(b" ").unwrap();
}

/// A space in which the last run can be repeated.
fn repeatable(judge: &Judge) -> Space {
    let space = space();
    for folder in ["data", ".", "cache"] {
        age(&space.path(folder));
    }
    wait_until_settled();
    assert!(!is_repeated(&run(&space, judge, &[])), "nothing is known yet");
    let second = run(&space, judge, &[]);
    assert!(is_repeated(&second), "{}", second.shown());
    space
}

#[test]
fn the_run_after_the_first_repeats_it() {
    let space = Space::new(&[
        ("suite.yaml", SUITE),
        ("kind.md", "Is {submission} kind?\n"),
        ("data/a.json", ROW),
    ]);
    space.write("evalrs.toml", "");
    for folder in ["data", "."] {
        age(&space.path(folder));
    }
    wait_until_settled();
    let judge = judge();
    assert_eq!(run(&space, &judge, &[]).code(), 0);
    let second = run(&space, &judge, &[]);
    assert!(is_repeated(&second), "{}", second.shown());
    // What somebody commits beside it is one more input.
    space.write("cache/bot.judgments.jsonl", "");
    assert!(!is_repeated(&run(&space, &judge, &[])));
}

#[test]
fn a_run_that_repeats_the_last_prints_and_records_what_a_whole_run_does() {
    for args in [&[][..], &["--verify"]] {
        assert_repeats(args);
    }
}

fn assert_repeats(args: &[&str]) {
    let judge = judge();
    let space = repeatable(&judge);
    // Nobody has digested anything so far.
    let whole = run(&space, &judge, &["--verify"]);
    assert!(!is_repeated(&whole));
    let facts_of_whole: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    let before = space.latest();
    let repeated = run(&space, &judge, args);
    assert!(is_repeated(&repeated), "{}", repeated.shown());
    assert_eq!(printed(&repeated), printed(&whole));
    assert_ne!(space.latest(), before, "it has a record of its own");
    for name in ["header.json", "results.jsonl", "summary.json"] {
        assert_eq!(space.record(name), fs::read_to_string(before.join(name)).unwrap(), "{name}");
    }
    let mut facts: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    let mut expected = facts_of_whole;
    for facts in [&mut facts, &mut expected] {
        for name in ["id", "started", "finished", "moved", "facts_digest"] {
            facts.as_object_mut().unwrap().remove(name);
        }
    }
    assert_eq!(facts, expected);
    assert_eq!(judge.count(), 1);
    let shown = space.run(&["report", "latest"]);
    assert_eq!(shown.code(), 0, "{}", shown.shown());
    for args in [args, &["--verify"], &[]] {
        assert!(is_repeated(&run(&space, &judge, args)), "{args:?}");
    }
}

/// Edits of what a run and a plan depend on.
const OF_INPUTS: [(&str, SpaceEdit); 11] = [
    ("a row", |space| space.write("data/a.json", ROW.replace("Good", "Bad "))),
    ("a new row", |space| space.write("data/b.json", ROW.replace("\"a\"", "\"b\""))),
    ("a row that goes", |space| {
        space.write("data/b.json", ROW.replace("\"a\"", "\"b\""));
        fs::remove_file(space.path("data/a.json")).unwrap();
    }),
    ("the suite", |space| space.write("suite.yaml", SUITE.replace("40", "10"))),
    ("the rubric", |space| space.write("kind.md", "Is {submission} curt?\n")),
    ("the workspace", |space| space.write("evalrs.toml", "[run]\nmax_calls = 9\n")),
    ("variables", |space| space.write(".env", "A=1\n")),
    ("labels", |space| space.write("suite.labels.jsonl", "{\"id\":\"a\",\"label\":1}\n")),
    ("committed judgments", |space| space.write("cache/bot.judgments.jsonl", "")),
    ("an outcome that another process stored", |space| {
        let judge = Judge::new(|_, _| Answer::score(0.25));
        let args = ["run", "suite.yaml", "--refresh", "--no-record"];
        assert_eq!(space.run_with(&judge, &args).code(), 0);
    }),
    ("a segment that is gone", |space| fs::remove_file(&space.segments()[0]).unwrap()),
];

#[test]
fn whatever_changes_is_read_again() {
    let judge = judge();
    let of_records: [(&str, SpaceEdit); 6] = [
        ("the record", |space| fs::remove_dir_all(space.latest()).unwrap()),
        ("the results in the record", |space| {
            let path = space.latest().join("results.jsonl");
            fs::remove_file(&path).unwrap();
            fs::write(path, "{}\n").unwrap();
        }),
        ("the summary in the record", |space| edit_in_place(space, "summary.json")),
        ("the facts in the record", |space| edit_in_place(space, "run.json")),
        ("the history", |space| fs::remove_file(space.path(".evalrs/bot.history.jsonl")).unwrap()),
        ("another run of the suite", |space| {
            assert_eq!(space.run(&["run", "suite.yaml", "--grader", "short"]).code(), 0);
        }),
    ];
    for (what, edit) in OF_INPUTS.into_iter().chain(of_records) {
        let space = repeatable(&judge);
        edit(&space);
        let ran = run(&space, &judge, &[]);
        assert!(!is_repeated(&ran), "{what}: {}", ran.shown());
    }
}

#[test]
fn another_command_line_or_environment_is_another_run() {
    let judge = judge();
    let space = repeatable(&judge);
    for args in [
        &["--verify"][..],
        &["--failures", "3"],
        &["--format", "json"],
        &["--no-record"],
        &["--grader", "short"],
        &["--retry-errors"],
        &["--against", "latest"],
        &["--output", "there"],
    ] {
        let space = repeatable(&judge);
        assert!(!is_repeated(&run(&space, &judge, args)), "{args:?}");
    }
    for (name, value) in [("CI", "true"), ("ANY", "1")] {
        let mut command = space.command(&["run", "suite.yaml"]);
        command.env("OPENAI_BASE_URL", judge.url()).env("EVALRS_LOG", "debug").env(name, value);
        assert!(!is_repeated(&Ran(command.output().unwrap())), "{name}");
    }
}

#[test]
fn a_suite_over_a_record_is_always_read() {
    let judge = judge();
    let space = repeatable(&judge);
    let record = space.latest();
    let rows = format!("dataset: .evalrs/runs/{}/rows", record.file_name().unwrap().display());
    space.write("suite.yaml", SUITE.replace("dataset: data", &rows));
    fs::create_dir(record.join("rows")).unwrap();
    fs::write(record.join("rows/a.json"), ROW).unwrap();
    age(&space.path("."));
    for _ in 0..3 {
        let ran = run(&space, &judge, &[]);
        assert!(!is_repeated(&ran) && ran.code() == 0, "{}", ran.shown());
    }
}

#[test]
fn judgments_that_are_committed_among_the_records_are_looked_at() {
    let judge = judge();
    let space = space();
    space.write("evalrs.toml", "[cache]\ndir = \".evalrs/cache\"\n");
    space.write(".evalrs/cache/bot.judgments.jsonl", "");
    space.write(".evalrs/cache/v1/seg/.keep", "");
    wait_until_settled();
    run(&space, &judge, &[]);
    run(&space, &judge, &[]);
    let repeated = run(&space, &judge, &[]);
    assert!(is_repeated(&repeated), "{}", repeated.shown());
    space.write(".evalrs/cache/bot.judgments.jsonl", "\n");
    assert!(!is_repeated(&run(&space, &judge, &[])));
}

#[test]
fn a_row_that_was_written_a_moment_ago_is_read_again() {
    let judge = judge();
    let space = space();
    assert!(!is_repeated(&run(&space, &judge, &[])));
    // Whatever its clock says, the file is of the future.
    let file = File::options().write(true).open(space.path("data/a.json")).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_hours(1)).unwrap();
    for _ in 0..2 {
        assert!(!is_repeated(&run(&space, &judge, &[])));
    }
}

#[test]
fn an_index_that_is_damaged_or_gone_changes_nothing() {
    let judge = judge();
    let space = repeatable(&judge);
    let expected = printed(&run(&space, &judge, &[]));
    for text in ["", "{", "{\"format\": 1}", "null"] {
        for name in space.names(".evalrs/index") {
            space.write(&format!(".evalrs/index/{name}"), text);
        }
        let ran = run(&space, &judge, &[]);
        assert!(!is_repeated(&ran), "{text}");
        assert_eq!(printed(&ran), expected, "{text}");
    }
    fs::remove_dir_all(space.path(".evalrs/index")).unwrap();
    assert_eq!(printed(&run(&space, &judge, &[])), expected);
    assert!(is_repeated(&run(&space, &judge, &[])));
}

/// A space in which the last run can be verified.
fn verifiable(judge: &Judge) -> Space {
    let space = repeatable(judge);
    assert!(!is_repeated(&run(&space, judge, &["--verify"])), "nothing is digested yet");
    space
}

/// Writes other bytes into a file, as many as before, and hides it.
fn forge(path: &Path, old: &str, new: &str) {
    let bytes = fs::read(path).unwrap();
    let at = bytes.windows(old.len()).position(|bytes| bytes == old.as_bytes()).unwrap();
    let times = fs::metadata(path).unwrap();
    let mut permissions = times.permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "the file is of this test")]
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions).unwrap();
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(new.as_bytes()).unwrap();
    file.set_modified(times.modified().unwrap()).unwrap();
    fs::set_permissions(path, times.permissions()).unwrap();
    assert_eq!(fs::metadata(path).unwrap().len(), bytes.len() as u64);
}

#[test]
fn an_edit_that_hides_itself_is_found_by_its_bytes() {
    let judge = judge();
    let edits: [(&str, SpaceEdit); 9] = [
        ("a row", |space| forge(&space.path("data/a.json"), "Good", "Dark")),
        ("the suite", |space| forge(&space.path("suite.yaml"), "40", "10")),
        ("the rubric", |space| forge(&space.path("kind.md"), "kind", "curt")),
        ("a segment", |space| forge(&space.segments()[0], "{", "[")),
        ("a large body", |space| forge(&space.path("cache/v1/blob/ab/cd"), "large", "small")),
        ("the results", |space| forge(&space.latest().join("results.jsonl"), "Good", "Dark")),
        ("the summary", |space| forge(&space.latest().join("summary.json"), "1", "2")),
        ("the header", |space| forge(&space.latest().join("header.json"), "bot", "bat")),
        ("the facts", |space| forge(&space.latest().join("run.json"), "exit", "fixt")),
    ];
    for (what, edit) in edits {
        let space = verifiable(&judge);
        edit(&space);
        let ran = run(&space, &judge, &["--verify"]);
        assert!(!is_repeated(&ran), "{what}: {}", ran.shown());
    }
}

/// Gives every file and folder another time.
fn touch(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            touch(&path);
        }
        let times = fs::FileTimes::new().set_modified(SystemTime::now() - Duration::from_hours(9));
        File::open(&path).unwrap().set_times(times).unwrap();
    }
}

/// Puts a copy of each file in its place: another one, with the same bytes.
fn copy_all(space: &Space) {
    let [old, new] = [space.path("."), space.path("../copy")];
    fs::remove_dir_all(&new).ok();
    copy(&old, &new);
    for entry in fs::read_dir(&old).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
    }
    copy(&new, &old);
    fs::remove_dir_all(&new).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn files_with_the_same_bytes_are_the_same_whatever_their_times() {
    let judge = judge();
    let edits: [(&str, SpaceEdit); 2] =
        [("touched", |space| touch(&space.path("."))), ("copied", copy_all)];
    for (what, edit) in edits {
        let space = verifiable(&judge);
        edit(&space);
        let ran = run(&space, &judge, &["--verify"]);
        assert!(is_repeated(&ran), "{what}: {}", ran.shown());
        let space = verifiable(&judge);
        edit(&space);
        assert!(!is_repeated(&run(&space, &judge, &[])), "{what}, without --verify");
    }
}

/// A run of a job of CI.
fn run_in_job(space: &Space, judge: &Judge, job: &str) -> Ran {
    let mut command = space.command(&["run", "suite.yaml", "--frozen"]);
    command.env("OPENAI_BASE_URL", judge.url()).env("EVALRS_LOG", "debug");
    Ran(command.env("CI", "true").env("GITHUB_RUN_ID", job).output().unwrap())
}

#[test]
fn a_job_of_ci_repeats_another_unless_the_suite_names_its_variables() {
    let judge = judge();
    let space = repeatable(&judge);
    assert!(!is_repeated(&run_in_job(&space, &judge, "1")));
    copy_all(&space);
    let second = run_in_job(&space, &judge, "2");
    assert!(is_repeated(&second), "{}", second.shown());
    assert_eq!(second.code(), 0);
    space.write(
        "suite.yaml",
        SUITE.replace("dataset", "description: run ${GITHUB_RUN_ID}\ndataset"),
    );
    for job in ["3", "4"] {
        let ran = run_in_job(&space, &judge, job);
        assert!(!is_repeated(&ran), "{}", ran.shown());
    }
}

#[test]
fn digests_that_are_damaged_or_gone_are_made_again() {
    let judge = judge();
    let space = verifiable(&judge);
    let name = format!(".evalrs/index/{}", space.names(".evalrs/index")[0]);
    let text = space.read(&name);
    let whole: Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
    let run_files = "/answers/3/1/run/contents";
    let edits = [
        ("/contents", Value::Null),
        ("/contents", Value::Array(Vec::new())),
        ("/contents/0/1", Value::from("missing")),
        ("/contents/0/1", serde_json::json!({"bytes": ""})),
        (run_files, Value::Null),
        (run_files, Value::Array(Vec::new())),
    ];
    for (place, value) in edits {
        let mut damaged = whole.clone();
        *damaged.pointer_mut(place).unwrap() = value;
        let damaged = damaged.to_string();
        let digest = blake3::hash(damaged.as_bytes()).to_hex();
        space.write(&name, format!("{digest}\n{damaged}"));
        assert!(!is_repeated(&run(&space, &judge, &["--verify"])), "{place}");
        assert!(is_repeated(&run(&space, &judge, &["--verify"])), "{place}");
    }
}

fn plan(space: &Space, judge: &Judge, args: &[&str]) -> Ran {
    let mut command = space.command(&["plan", "suite.yaml"]);
    command.args(args).env("OPENAI_BASE_URL", judge.url()).env("EVALRS_LOG", "debug");
    Ran(command.output().unwrap())
}

/// What `plan` prints if nothing is known.
fn printed_without_index(space: &Space, judge: &Judge, args: &[&str]) -> String {
    without_index(space, || plan(space, judge, args))
}

/// What a command prints if nothing is known.
fn without_index(space: &Space, command: impl Fn() -> Ran) -> String {
    let index = space.path(".evalrs/index");
    let hidden = space.path(".evalrs/hidden");
    fs::rename(&index, &hidden).unwrap();
    let ran = command();
    assert!(!is_repeated(&ran), "{}", ran.shown());
    let _ = fs::remove_dir_all(&index);
    fs::rename(&hidden, &index).unwrap();
    printed(&ran)
}

#[test]
fn a_plan_after_a_run_prints_what_a_whole_plan_does() {
    let votes = "model: judge-1, votes: 3";
    let confirmed = "model: judge-1, pass_threshold: 0.8, confirm_fails: 2";
    let tools = "graders: {short: {kind: tool, function: length, config: {max: 40}}}";
    let label = "{\"id\": \"a\", \"grader\": \"kind\", \"label\": 1}\n";
    let suites = [
        (SUITE.to_owned(), ""),
        (SUITE.to_owned(), label),
        (SUITE.replace("model: judge-1", votes), ""),
        (SUITE.replace("model: judge-1", confirmed), ""),
        (format!("name: bot\ndataset: data\n{tools}\n"), ""),
    ];
    for (suite, labels) in suites {
        let judge = Judge::new(|_, _| Answer::score(0.5));
        let space = space();
        space.write("suite.yaml", &suite);
        if !labels.is_empty() {
            space.write("suite.labels.jsonl", labels);
        }
        for folder in ["data", ".", "cache"] {
            age(&space.path(folder));
        }
        wait_until_settled();
        let ran = run(&space, &judge, &[]);
        assert_eq!(ran.code(), 0, "{suite}\n{}", ran.shown());
        for args in [&[][..], &["--json"]] {
            let known = plan(&space, &judge, args);
            assert!(is_repeated(&known), "{suite}\n{}", known.shown());
            assert_eq!(printed(&known), printed_without_index(&space, &judge, args), "{suite}");
        }
    }
}

#[test]
fn a_plan_sees_every_edit() {
    let judge = judge();
    for (what, edit) in OF_INPUTS {
        let space = repeatable(&judge);
        assert!(is_repeated(&plan(&space, &judge, &[])), "{what}");
        edit(&space);
        for args in [&[][..], &["--json"]] {
            for _ in 0..2 {
                let known = printed(&plan(&space, &judge, args));
                assert_eq!(known, printed_without_index(&space, &judge, args), "{what}");
            }
        }
    }
}

#[test]
fn a_plan_of_another_command_line_is_made_and_leaves_nothing() {
    let judge = judge();
    let space = repeatable(&judge);
    let index = || -> Vec<String> {
        let names = space.names(".evalrs/index").into_iter();
        names.map(|name| space.read(&format!(".evalrs/index/{name}"))).collect()
    };
    let before = index();
    for args in [&["--grader", "short"][..], &["--max-samples", "1"], &["--retry-errors"]] {
        let made = [(); 2].map(|()| plan(&space, &judge, args));
        assert!(made.iter().all(|ran| !is_repeated(ran)), "{args:?}");
        assert_eq!(printed(&made[0]), printed(&made[1]));
    }
    assert!(!is_repeated(&plan(&space, &judge, &["--refresh"])));
    assert_eq!(index(), before, "a plan changes nothing");
    assert!(is_repeated(&run(&space, &judge, &[])));
}

fn diff(space: &Space, judge: &Judge) -> Ran {
    let mut command = space.command(&["diff"]);
    command.env("OPENAI_BASE_URL", judge.url()).env("EVALRS_LOG", "debug");
    Ran(command.output().unwrap())
}

#[test]
fn a_comparison_reads_the_suite_where_it_may_have_labels() {
    let judge = judge();
    for (what, edit) in OF_INPUTS {
        let space = repeatable(&judge);
        let known = diff(&space, &judge);
        assert!(is_repeated(&known), "{what}: {}", known.shown());
        assert_eq!(printed(&known), without_index(&space, || diff(&space, &judge)), "{what}");
        edit(&space);
        let found = diff(&space, &judge);
        assert!(!is_repeated(&found), "{what}: {}", found.shown());
        assert_eq!(printed(&found), without_index(&space, || diff(&space, &judge)), "{what}");
    }
    // A run over some of the cases does not know of the others.
    let space = space();
    for _ in 0..2 {
        age(&space.path("data"));
        wait_until_settled();
        assert_eq!(run(&space, &judge, &["--sample", "a"]).code(), 0);
    }
    assert!(!is_repeated(&diff(&space, &judge)));
    // A run over labels knows that there are some.
    let space = repeatable(&judge);
    assert!(!diff(&space, &judge).stdout().contains("agreement"));
    let label = "{\"id\": \"a\", \"grader\": \"kind\", \"label\": 0}\n";
    space.write("suite.labels.jsonl", label);
    for _ in 0..2 {
        assert_eq!(run(&space, &judge, &[]).code(), 0);
        let found = diff(&space, &judge);
        assert!(!is_repeated(&found) && found.stdout().contains("agreement"), "{}", found.shown());
    }
}
