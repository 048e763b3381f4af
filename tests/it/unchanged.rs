//! A run of which nothing has changed repeats the last one and reads no data; whatever has changed, it does not.
//!
//! Whether a run read anything is known by the steps that it logs, and what it prints is compared with `--verify`.
#![expect(clippy::disallowed_methods, reason = "tests touch the files of the user")]

#[cfg(unix)]
mod damage;
#[cfg(unix)]
mod edits;
#[cfg(unix)]
mod rounds;

use std::fs::{self, File};
use std::io::Write as _;
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
fn a_run_that_repeats_the_last_prints_and_records_what_a_whole_run_does() {
    let judge = judge();
    let space = repeatable(&judge);
    let whole = run(&space, &judge, &["--verify"]);
    assert!(!is_repeated(&whole));
    let facts_of_whole: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    // It was not the last run of its command line.
    assert!(!is_repeated(&run(&space, &judge, &[])));
    let before = space.latest();
    let repeated = run(&space, &judge, &[]);
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
}

#[test]
fn whatever_changes_is_read_again() {
    let judge = judge();
    let edits: [(&str, SpaceEdit); 17] = [
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
    for (what, edit) in edits {
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
