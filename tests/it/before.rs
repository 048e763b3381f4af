//! What earlier versions wrote is read as they read it: store, records of runs and of a `watch` session, committed
//! judgments, and the reports that follow from them, byte for byte.
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
use crate::space::{Ran, Space, has, submission_of};

/// What is asked of the workspace: the name of the file that holds the answer, and the arguments. Nothing here may ask a
/// judge or call a program.
const COMMANDS: &[(&str, &[&str])] = &[
    ("support.json", &["run", "support.yaml", "--frozen", "--format", "json"]),
    ("support.jsonl", &["run", "support.yaml", "--frozen", "--format", "jsonl"]),
    ("support.xml", &["run", "support.yaml", "--frozen", "--format", "junit"]),
    (
        "labels.json",
        &["run", "support.yaml", "--frozen", "--format", "json", "--labels", "labels.csv"],
    ),
    (
        "narrowed.json",
        &[
            "run",
            "support.yaml",
            "--frozen",
            "--format",
            "json",
            "--tags",
            "smoke",
            "--trials",
            "1",
        ],
    ),
    ("programs.json", &["run", "programs.yaml", "--frozen", "--format", "json"]),
    ("programs.xml", &["run", "programs.yaml", "--frozen", "--format", "junit"]),
    ("against.json", &["run", "against.yaml", "--frozen", "--format", "json"]),
    ("table.json", &["run", "table.yaml", "--frozen", "--format", "json"]),
    ("graded.jsonl", &["grade", "records.jsonl", "--grader", "graders/length.sh", "--frozen"]),
    ("plan.json", &["plan", "support.yaml", "programs.yaml", "against.yaml", "--json"]),
    (
        "plan-errors.json",
        &["plan", "support.yaml", "programs.yaml", "--retry-errors", "--refresh=better", "--json"],
    ),
    ("explain-one.json", &["explain", "support.yaml", "one", "--json"]),
    ("explain-three.json", &["explain", "support.yaml", "three", "--json"]),
    ("explain-program.json", &["explain", "programs.yaml", "three", "--json"]),
    ("explain-against.json", &["explain", "against.yaml", "vier", "--json"]),
    ("explain-first.json", &["explain", "support.yaml", "one", "--run", "runs/first", "--json"]),
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
    let shown = with_all_submissions(&without_trials(&ran.stdout()));
    format!("exit: {}\n{shown}", ran.code())
}

/// Lines of results as the binary that wrote the fixture has them: with what was graded under every grader.
fn with_all_submissions(report: &str) -> String {
    let (head, line) = ("{\"format\":2,\"sample_id\":", "{\"format\":1,\"sample_id\":");
    let Some(at) = report.find(head) else { return report.to_owned() };
    let mut values = serde_json::Deserializer::from_str(&report[at..]).into_iter::<Value>();
    let result = values.next().unwrap().unwrap();
    let end = at + values.byte_offset();
    let written = &report[at + head.len()..end];
    let (before, rest) = written.split_once(",\"submission\":").unwrap();
    let grades = &rest[rest.find(",\"grades\":{").unwrap()..];
    let not_applicable = result["not_applicable"].as_object();
    let names = result["grades"].as_object().unwrap().keys();
    let names = names.chain(not_applicable.into_iter().flat_map(|all| all.keys()));
    let graded: serde_json::Map<String, Value> =
        names.map(|name| (name.clone(), submission_of(&result, name).clone())).collect();
    let graded = Value::from(graded);
    let rest = with_all_submissions(&report[end..]);
    format!("{}{line}{before},\"submissions\":{graded}{grades}{rest}", &report[..at])
}

/// A report without what the binary that wrote the fixture did not say: what trials tell.
fn without_trials(report: &str) -> String {
    const MEMBER: &str = ",\"trials\":";
    let Some(at) = report.find(&format!("{MEMBER}{{")) else { return report.to_owned() };
    let (before, rest) = report.split_at(at);
    let mut value = serde_json::Deserializer::from_str(&rest[MEMBER.len()..]).into_iter::<Value>();
    value.next().unwrap().unwrap();
    format!("{before}{}", &rest[MEMBER.len() + value.byte_offset()..])
}

/// A plan, an explanation or a comparison without what people say, which the binary that wrote the fixture left out.
fn without_labels(name: &str, report: String) -> String {
    if !["plan", "explain", "diff"].iter().any(|command| name.starts_with(command)) {
        return report;
    }
    let member = regex::Regex::new(r#",\s*"(labels|label|agreement)": (\{)"#).unwrap();
    let mut kept = report;
    while let Some(found) = member.captures(&kept) {
        let all = found.get(0).unwrap();
        let value = found.get(2).unwrap();
        let mut values =
            serde_json::Deserializer::from_str(&kept[value.start()..]).into_iter::<Value>();
        values.next().unwrap().unwrap();
        let end = value.start() + values.byte_offset();
        kept = format!("{}{}", &kept[..all.start()], &kept[end..]);
    }
    kept
}

/// A JUnit document without what says where a result stands and, of all suites together, how many were skipped: the
/// schema of Jenkins takes these elsewhere than the binary that wrote the fixture had them.
fn without_places(xml: &str) -> String {
    if !xml.contains("<testsuites ") {
        return xml.to_owned();
    }
    let places = regex::Regex::new(
        r#"( file="[^"]*"| line="\d+"|(?m:^(<testsuites .*) skipped="\d+")|\n\n[^ <\n]+:\d+</)"#,
    );
    let kept = |found: &regex::Captures<'_>| match found.get(2) {
        Some(before) => before.as_str().to_owned(),
        None if found[0].ends_with("</") => "</".to_owned(),
        None => String::new(),
    };
    places.unwrap().replace_all(xml, kept).into_owned()
}

/// Without how far both sides of a comparison agree with people, what people would have said, means on the scale of their grader and the intervals of means, rates and differences, which earlier versions do not write or make otherwise.
fn without_intervals(json: &str) -> String {
    let intervals = regex::Regex::new(concat!(
        r#""people":\s*\{(\s*"[^"]*":\s*\{[^{}]*\},?)*\s*\},\s*|"#,
        r#""native":\s*\{[^{}]*\},\s*|"#,
        r#""stale":\s*0,\s*|"#,
        r#",\s*"agreement":\s*\{\s*"n":\s*\d+,\s*"labelled"[^{}]*(\{[^{}]*\}[^{}]*)*\}|"#,
        r#""(accuracy_)?interval":\s*(\{[^{}]*\}|\[[^\[\]]*\]|null),\s*|"#,
        r#""(interval_method|difference_p_value|minimum_detectable_effect)":\s*("[a-z_]*"|null|[-0-9.e]+),\s*"#
    ));
    intervals.unwrap().replace_all(json, "").into_owned()
}

/// A plan without what programs have extracted already: earlier versions counted that in runs and not in plans.
fn without_extractions(name: &str, report: String) -> String {
    let Some(json) = report.strip_prefix("exit: 0\n").filter(|_| name.starts_with("plan")) else {
        return report;
    };
    let Ok(mut plans) = serde_json::from_str::<Value>(json) else { return report };
    for plan in plans.as_array_mut().unwrap() {
        let extracted = plan["graders"]["extracted"]["cached"].as_u64().unwrap_or_default();
        for count in ["total", "cached"] {
            for place in ["/graders/extracted/", "/totals/"] {
                if let Some(number) = plan.pointer_mut(&format!("{place}{count}")) {
                    *number = (number.as_u64().unwrap() - extracted).into();
                }
            }
        }
    }
    serde_json::to_string_pretty(&plans).unwrap()
}

fn expected(name: &str) -> String {
    std::fs::read_to_string(fixture().join("expected").join(name)).unwrap()
}

#[test]
fn every_report_over_what_an_earlier_version_wrote_is_the_same() {
    let differs = |(name, args): &&(&str, &[&str])| {
        let now = without_labels(name, answer(workspace().command(args)));
        let [now, then] = [now, expected(name)]
            .map(|report| without_intervals(&without_places(&without_extractions(name, report))));
        now != then
    };
    let differing: Vec<_> = COMMANDS.iter().filter(differs).map(|(name, _)| name).collect();
    let Some(name) = differing.first() else { return };
    let args = COMMANDS.iter().find(|command| command.0 == **name).unwrap().1;
    let now = answer(workspace().command(args));
    panic!("differ: {differing:?}\n--- {name}, before\n{}--- now\n{now}", expected(name));
}

#[test]
fn nothing_is_asked_again() {
    let judge = judge();
    for (suite, graders) in [
        ("support.yaml", &["quality", "polite", "better", "messages", "candidates"] as &[&str]),
        ("programs.yaml", &["shell", "python", "extracted", "module", "reward"]),
        ("against.yaml", &["polite"]),
    ] {
        let space = workspace();
        let ran = Ran(with(space.command(&["run", suite, "--quiet"]), &judge).output().unwrap());
        assert!(ran.code() != 2, "{suite}: {}", ran.shown());
        for grader in graders {
            let [asked, cached, _, pending] = space.actions(grader);
            assert_eq!((asked, pending), (0, 0), "{suite}: {grader}");
            assert!(cached > 0, "{suite}: {grader}");
        }
    }
    assert_eq!(judge.count(), 0);
}

#[test]
fn committed_judgments_stand_in_for_the_store() {
    let space = workspace();
    std::fs::remove_dir_all(space.path("cache/v1")).unwrap();
    for name in ["support.json", "programs.json"] {
        let args = COMMANDS.iter().find(|command| command.0 == name).unwrap().1;
        assert_eq!(without_intervals(&answer(space.command(args))), expected(name), "{name}");
    }
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
