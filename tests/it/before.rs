//! What earlier versions wrote is read as they read it: store, records of runs and of a `watch` session, committed
//! judgments, and the reports for programs that follow from them, byte for byte. Texts for people may change.
//!
//! `fixtures/before/work` is a workspace in which a released binary ran, and `fixtures/before/expected` what that binary
//! says of it. Both are written by it alone, never by the one under test:
//!
//! ```sh
//! EVALRS_BEFORE=/path/to/the/earlier/evalrs cargo test --test it before:: -- --ignored
//! ```
#![expect(
    clippy::disallowed_methods,
    reason = "the test copies its fixture and starts an earlier binary"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::events::Telling;
use crate::judge::{Answer, Asked, Judge};
use crate::space::{Ran, Space, has};

/// What is asked of the records and of the store: the name of the file that holds the answer, and the arguments. Nothing here
/// may ask a judge or call a program, and none of it looks for a judgment by its key.
const COMMANDS: &[(&str, &[&str])] = &[
    ("support.json", &["report", "runs/second", "--format", "json"]),
    ("support.jsonl", &["report", "runs/second", "--format", "jsonl"]),
    ("support.xml", &["report", "runs/second", "--format", "junit"]),
    ("support.csv", &["report", "runs/second", "--format", "csv"]),
    ("programs.json", &["report", "latest", "--suite", "programs.yaml", "--format", "json"]),
    ("history.json", &["history", "support.yaml", "--json"]),
    ("table.json", &["run", "table.yaml", "--frozen", "--format", "json"]),
    ("diff.json", &["diff", "runs/first", "runs/second", "--json"]),
    ("diff-records.json", &["diff", "--suite", "support.yaml", "--json"]),
    ("diff-saves.json", &["diff", "latest@start", "latest@-1", "--json"]),
    ("verify.json", &["cache", "verify", "--json"]),
    (
        "import.json",
        &["cache", "import", "cache/support.judgments.jsonl", "--cache-dir", "other", "--json"],
    ),
    ("gc.json", &["cache", "gc", "--dry-run", "--json"]),
];

/// The suites whose judgments the earlier version keyed otherwise, and their graders that keep something.
const KEYED: &[(&str, &[&str])] = &[
    ("support.yaml", &["quality", "polite", "better", "messages", "candidates"]),
    ("programs.yaml", &["shell", "python", "extracted", "module"]),
    ("against.yaml", &["polite"]),
];

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/before")
}

/// Copies a folder, with the permissions of its files.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// A copy of the workspace that an earlier binary left.
fn workspace() -> Space {
    let space = Space::new(&[]);
    copy(&fixture().join("work"), &space.path(""));
    space
}

/// Exit code and standard output of a command.
fn answer(mut command: Command) -> String {
    let ran = Ran(command.output().unwrap());
    assert!(!ran.stderr().contains("panicked"), "{}", ran.shown());
    format!("exit: {}\n{}", ran.code(), ran.stdout())
}

fn expected(name: &str) -> String {
    std::fs::read_to_string(fixture().join("expected").join(name)).unwrap()
}

#[test]
fn every_answer_over_what_an_earlier_version_wrote_is_the_same() {
    let differs =
        |(name, args): &&(&str, &[&str])| answer(workspace().command(args)) != expected(name);
    let differing: Vec<_> = COMMANDS.iter().filter(differs).map(|(name, _)| name).collect();
    let Some(name) = differing.first() else { return };
    let args = COMMANDS.iter().find(|command| command.0 == **name).unwrap().1;
    let now = answer(workspace().command(args));
    panic!("differ: {differing:?}\n--- {name}, before\n{}--- now\n{now}", expected(name));
}

/// Why a plan would ask the actions of a grader: reason → how many.
fn reasons(space: &Space, suite: &str, grader: &str) -> Value {
    let ran = space.run(&["plan", suite, "--json"]);
    let plan: Value = serde_json::from_str(&ran.stdout()).unwrap();
    let plan = if plan.is_array() { &plan[0] } else { &plan };
    plan["graders"][grader]["reasons"].clone()
}

#[test]
fn a_plan_names_the_key_version_of_judgments() {
    let committed_alone = workspace();
    std::fs::remove_dir_all(committed_alone.path("cache/v1")).unwrap();
    for space in [workspace(), committed_alone] {
        for (suite, graders) in KEYED {
            // Nobody has exported those of this suite.
            if *suite == "against.yaml" && !space.path("cache/v1").exists() {
                continue;
            }
            for grader in *graders {
                let reasons = reasons(&space, suite, grader);
                let names: Vec<&String> = reasons.as_object().unwrap().keys().collect();
                assert_eq!(names, ["key version"], "{suite}: {grader}");
            }
        }
    }
}

#[test]
fn a_frozen_run_says_that_a_judgment_has_an_earlier_key_version() {
    let space = workspace();
    let judge = judge();
    let ran =
        Ran(with(space.command(&["run", "against.yaml", "--frozen"]), &judge).output().unwrap());
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 3
    --- stdout
    passed  against a run: 6 samples, 7 results, 6 errors
    polite avg_score >= 0: 0.000

    since the last run: 4 errored
    errored  one              polite  0.500 → error
    errored  two              polite  0.500 → error
    errored  three [agent-1]  polite  0.500 → error
    errored  vier             polite  0.500 → error

    exit code 3: 6 grades could not be made: run `evalrs run against.yaml` with an API key, then `evalrs cache export against.yaml`, and commit the file
    6 errors
    5 ×  not_stored  first one polite                    its judgment is stored under an earlier key
                                                         version, and --frozen forbids asking again
    1 ×  compare_to  first line 7 (e2c3319739b2) polite  the recorded run has no submission of this
                                                         sample
      for more, run `evalrs explain against.yaml e2c3319739b2`

    grader  passed  pass rate [95 %]  errors
    polite     0/1              0.0%       6

    model    n  polite
    (none)   5    0.0%
    agent-1  2       -

    grader  samples
    polite  ! one  ! two  !! three [agent-1]  ! vier  ✗ empty  ! line 7
    ✗ failed  ! error

    1 failure
    sample  trial  grader  rationale
    empty       0  polite  Empty submission - extractor found no content

    1 grade is 0.0 because there was nothing to grade
    polite has no verdict for 2 labels
    calls: 0 made, 0 cached, 0 failed, in N s
    report: .evalrs/runs/RUN
    --- stderr
    ");
    assert_eq!(judge.count(), 0);
    let explained = space.run(&["explain", "support.yaml", "one", "polite"]);
    assert!(explained.stdout().contains("key version"), "{}", explained.shown());
}

#[test]
fn judgments_of_an_earlier_key_version_are_asked_once_more_and_pruned() {
    let space = workspace();
    let judge = judge();
    let command = |args: &[&str]| with(space.command(args), &judge);
    let ran = Ran(command(&["run", "support.yaml", "--quiet"]).output().unwrap());
    assert!(ran.code() != 2, "{}", ran.shown());
    assert!(judge.count() > 0);
    assert_eq!(reasons(&space, "support.yaml", "polite"), json!({}));
    let earlier = space.read("cache/support.judgments.jsonl");
    let ran = Ran(command(&["cache", "export", "support.yaml", "--prune"]).output().unwrap());
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let now = space.read("cache/support.judgments.jsonl");
    let keys = |lines: &str| -> Vec<Value> {
        let keys = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        keys.map(|line| line["k"].clone()).filter(|key| !key.is_null()).collect()
    };
    let earlier = keys(&earlier);
    let now = keys(&now);
    assert!(!now.is_empty() && now.iter().all(|key| !earlier.contains(key)));
}

#[test]
#[ignore = "writes the fixture, with the binary that EVALRS_BEFORE names"]
fn an_earlier_version_writes_the_fixture() {
    let binary = std::env::var_os("EVALRS_BEFORE").expect("EVALRS_BEFORE names the earlier binary");
    assert!(has("python3") && has("node"));
    let space = workspace();
    for folder in ["cache", ".evalrs", "runs"] {
        let _ = std::fs::remove_dir_all(space.path(folder));
    }
    let judge = judge();
    let command = |space: &Space, args: &[&str]| {
        let mut command = Command::new(&binary);
        command.args(args).current_dir(space.path("")).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", space.path(""));
        command.env("COLUMNS", "100");
        command
    };
    let run = |args: &[&str]| {
        let ran = Ran(with(command(&space, args), &judge).output().unwrap());
        assert!([0, 1, 3].contains(&ran.code()), "{args:?}: {}", ran.shown());
    };
    let rubric = space.read("rubrics/quality.txt");
    let rows = space.read("rows.jsonl");
    space.write("rubrics/quality.txt", rubric.replace("tone", "manner"));
    space.write(
        "rows.jsonl",
        rows.replace("It is on its way.", "Somewhere.").replace("tone", "manner"),
    );
    let suite = space.read("support.yaml");
    space.write("support.yaml", suite.replace("tone", "manner"));
    run(&["run", "support.yaml", "-o", "runs/first"]);
    space.write("rubrics/quality.txt", &rubric);
    space.write("rows.jsonl", &rows);
    space.write("support.yaml", &suite);
    run(&["run", "support.yaml", "-o", "runs/second"]);
    run(&["run", "support.yaml", "--refresh=candidates", "--sample", "one"]);
    run(&["run", "programs.yaml"]);
    run(&["run", "against.yaml"]);
    run(&["run", "table.yaml"]);
    run(&["grade", "records.jsonl", "--grader", "graders/length.sh"]);
    watch(&space, with(command(&space, &["watch", "support.yaml", "--json", "--yes"]), &judge));
    run(&["cache", "export", "support.yaml", "--git"]);
    run(&["cache", "export", "programs.yaml"]);
    for folder in ["cache", ".evalrs"] {
        std::fs::remove_file(space.path(folder).join(".gitignore")).unwrap();
    }
    for folder in ["cache", ".evalrs", "runs"] {
        let to = fixture().join("work").join(folder);
        let _ = std::fs::remove_dir_all(&to);
        copy(&space.path(folder), &to);
    }
    let _ = std::fs::remove_dir_all(fixture().join("expected"));
    std::fs::create_dir_all(fixture().join("expected")).unwrap();
    for (name, args) in COMMANDS {
        let answer = answer(command(&workspace(), args));
        std::fs::write(fixture().join("expected").join(name), answer).unwrap();
    }
}

/// A session that evaluates, sees one save and its way back, and is quit.
fn watch(space: &Space, command: Command) {
    let mut telling = Telling::new(command);
    telling.wait_event("evaluated");
    let rubric = space.read("rubrics/house.txt");
    space.write("rubrics/house.txt", "A reply is long.\n");
    telling.wait_event("evaluated");
    space.write("rubrics/house.txt", rubric);
    telling.wait_event("evaluated");
    telling.say("q");
    telling.finish();
}

fn with(mut command: Command, judge: &Judge) -> Command {
    command.env("OPENAI_BASE_URL", judge.url());
    command.env("ANTHROPIC_BASE_URL", judge.root()).env("GOOGLE_GEMINI_BASE_URL", judge.root());
    command
}

/// Scores by the length of the question, prefers the longer of two, and refuses what is broken.
fn judge() -> Judge {
    Judge::new(|_, asked: &Asked| {
        let question = asked.question();
        if question.contains("broken") {
            return Answer::error(400, "the reply is broken");
        }
        let length = question.len();
        if asked.path.contains("/messages") {
            let verdict = json!({"score": length % 5 + 1, "rationale": format!("length {length}")});
            return Answer::message(&verdict.to_string(), "end_turn");
        }
        let score = (length % 11) as f64 / 10.0;
        let verdict = json!({"score": score, "rationale": format!("length {length}")});
        if asked.path.contains("generateContent") {
            return Answer::candidate(&verdict.to_string(), "STOP");
        }
        if question.contains("kinder") {
            let winner = ["A", "B", "tie"][length % 3];
            let verdict = json!({"rationale": format!("length {length}"), "winner": winner});
            return Answer::text(&verdict.to_string());
        }
        let verdict = json!({"score": length % 5 + 1, "rationale": format!("length {length}")});
        if question.contains("tone") || question.contains("manner") {
            Answer::text(&verdict.to_string())
        } else {
            Answer::score(score)
        }
    })
}
