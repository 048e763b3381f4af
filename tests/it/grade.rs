//! Grading without a suite: `grade`, `calibrate`, `validate-refs`, `schemas` and `init`, as agent-eval-harness has them.
#![expect(clippy::disallowed_methods, reason = "tests start shells and make pipes")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Ran, Running, Space, jsonl};

/// Looks for the hint in the output; fails with code 3 where the output says so.
const GRADER: &str = r#"#!/usr/bin/env python3
import json, sys

data = json.load(sys.stdin)
output, hint = data.get("output", "").lower(), (data.get("hint") or "").lower()
if "break" in output:
    sys.exit("no such\nhint")
found = hint in output
print(json.dumps({"pass": found, "score": 1.0 if found else 0.0, "reasoning": ",".join(data)}))
"#;

/// The same as a shell script, with an outcome and nothing else.
const SHELL: &str = r#"#!/bin/sh
if grep -q '"output":"[^"]*Paris' ; then echo '{"pass":true,"score":1,"outcome":{"city":"Paris"}}'
else echo '{"score":0.25,"pass":false}'
fi
"#;

fn executable(space: &Space, name: &str, text: &str) {
    space.write(name, text);
    let path = space.path(name);
    assert!(Command::new("chmod").arg("+x").arg(path).status().unwrap().success());
}

fn row(id: usize, output: &str) -> Value {
    json!({"z": 1.0, "id": id.to_string(), "input": ["q", "r"], "output": output, "hint": "Paris", "metadata": {"a": 1}})
}

fn space(rows: impl IntoIterator<Item = Value>) -> Space {
    let space = Space::new(&[("in.jsonl", &jsonl(rows))]);
    executable(&space, "grader.py", GRADER);
    executable(&space, "grader.sh", SHELL);
    space
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// How many calls `grade --progress` says it made.
fn called(ran: &Ran) -> u64 {
    let stderr = ran.stderr();
    let line = stderr.lines().find(|line| line.ends_with(" called")).unwrap();
    line.rsplit(' ').nth(1).unwrap().parse().unwrap()
}

fn run_with_stdin(space: &Space, args: &[&str], stdin: &str) -> Ran {
    let mut command = space.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may end without reading all of it.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    Running::of(child).finish()
}

#[test]
fn what_is_wrong_is_said_in_order_and_before_anything_is_done() {
    let space = space([row(1, "Paris"), row(2, "Rome")]);
    space.write("bad.jsonl", "\n{\"input\":1,\"output\":2}\n{\"input\": 1,}\n");
    space.write("lacking.jsonl", "{\"input\":1}\n");
    space.write("prompts.jsonl", "{\"id\":\"a\",\"input\":\"q\"}\n\n{\"id\":\"b\"}\n");
    space.write("results.jsonl", "{\"id\":\"a\",\"input\":\"q\",\"output\":5}\n");
    space.write("empty.jsonl", "\n");
    space.write("pretty.jsonl", "{\n  \"input\": \"q\"\n}\n");
    let missing = format!("Error: Grader not found: {}", space.path("no.py").display());
    let bad = "Error: Invalid JSON at line 3: a comma before the closing bracket";
    for (line, strict, expected) in [
        ("grade nowhere.jsonl", 2, "Error: --grader is required"),
        ("grade nowhere.jsonl -g no.py", 2, &missing),
        ("grade nowhere.jsonl -g no.py:grade", 2, &missing),
        ("grade nowhere.jsonl -g grader.py", 2, "Error: cannot read `nowhere.jsonl`: there is no"),
        ("grade -g grader.py", 2, "Error: No extracted results provided"),
        ("grade in.jsonl -g .", 2, " is a folder; name a file in it"),
        ("grade in.jsonl -g in.jsonl", 2, "Error: `in.jsonl` may not be executed; run `chmod +x"),
        (
            "grade pretty.jsonl -g grader.py",
            2,
            "Error: Invalid JSON at line 1: this is only the beginning of JSON: every record stands",
        ),
        ("grade bad.jsonl -g grader.py -o out", 2, bad),
        (
            "grade lacking.jsonl -g grader.py",
            2,
            "Error: Invalid JSON at line 1: a record to grade needs `output`",
        ),
        (
            "grade in.jsonl -g grader.py --frozen",
            3,
            "Error: no stored grade, and --frozen forbids calling the grader\n  at line 1",
        ),
        ("grade in.jsonl --grader", 2, "a value is required"),
        ("grade in.jsonl --nonsense", 2, "unexpected argument '--nonsense'"),
        ("grade in.jsonl -g grader.py --grader-timeout soon", 2, "not a number of seconds"),
        ("calibrate", 2, "Error: results.jsonl path is required"),
        ("calibrate results.jsonl -g no.py", 2, &missing),
        (
            "calibrate results.jsonl",
            2,
            "Error: Invalid result at line 1: `output` must be text, not a number",
        ),
        ("calibrate results.jsonl -s some", 2, "invalid value 'some'"),
        ("validate-refs", 2, "Error: prompts.jsonl path is required"),
        ("validate-refs prompts.jsonl", 2, "Error: --grader is required for validate-refs"),
        ("validate-refs prompts.jsonl -g no.py", 2, &missing),
        (
            "validate-refs prompts.jsonl -g grader.py",
            2,
            "Error: Invalid prompt at line 3: `input` is missing",
        ),
    ] {
        space.write("out", "old");
        let mut args: Vec<&str> = line.split(' ').collect();
        let ran = run_with_stdin(&space, &args, "");
        assert_eq!((ran.code(), ran.stdout().as_str()), (1, ""), "{line}: {}", ran.stderr());
        assert!(ran.stderr().contains(expected), "{line}: {}", ran.stderr());
        args.insert(1, "--strict");
        assert_eq!(run_with_stdin(&space, &args, "").code(), strict, "{line}");
        assert_eq!(space.read("out"), "old", "{line}");
    }
    let ran =
        space.run(&["grade", "empty.jsonl", "other.jsonl", "-g", "grader.py", "-o", "a/b/out"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, ""));
    assert!(ran.stderr().contains("`other.jsonl` is ignored"), "{}", ran.stderr());
    assert_eq!(space.read("a/b/out"), "", "a file of no records");
}

#[test]
fn failures_are_sampled_for_people() {
    let graded = |id: usize, pass: bool| {
        let score = json!({"pass": pass, "score": f64::from(u8::from(pass))});
        json!({"id": id.to_string(), "input": "q", "output": "o", "score": score})
    };
    let space = Space::new(&[
        ("results.jsonl", &jsonl((0..40).map(|id| graded(id, id % 2 == 0)))),
        (
            "passes.jsonl",
            &jsonl([graded(1, true), json!({"id": "x", "input": "q", "output": "o"})]),
        ),
    ]);
    let ids = |args: &str| {
        let args = format!("calibrate {args}");
        let ran = space.run(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code(), 0, "{}", ran.stderr());
        let ids = ran.stdout();
        let ids = ids.lines().filter_map(|line| {
            Some(line.strip_prefix("## Sample ")?.split_once(": ")?.1.to_owned())
        });
        ids.collect::<Vec<String>>()
    };
    let ten = ids("results.jsonl");
    assert!(ten.len() == 10 && ten.iter().all(|id| id.parse::<u32>().unwrap() % 2 == 1), "{ten:?}");
    assert_eq!(ids("results.jsonl"), ten, "the same sample");
    assert_ne!(ids("results.jsonl --seed 1"), ten);
    for (args, count) in [
        ("-s 100", 20),
        ("-s 3", 3),
        ("-s 0", 0),
        ("--sample=-4", 0),
        ("-s 100 --include-passes", 40),
    ] {
        assert_eq!(ids(&format!("results.jsonl {args}")).len(), count, "{args}");
    }
    let ran = space.run(&["calibrate", "passes.jsonl", "-o", "report.md"]);
    assert_eq!(ran.shown(), "exit: 0\n--- stdout\n--- stderr\nNo failures found in results\n");
    assert!(!space.path("report.md").exists());
    assert_eq!(
        space.run(&["calibrate", "results.jsonl", "-o", "report.md"]).shown(),
        "exit: 0\n--- stdout\n--- stderr\n"
    );
    assert!(space.read("report.md").ends_with("---"), "no line break at the end");
}

#[test]
fn schemas_are_printed_written_and_listed() {
    let space = Space::new(&[]);
    let ran = space.run(&["schemas", "GraderResult", "--json", "-o", "new/grader-result.json"]);
    assert_eq!(ran.shown(), "exit: 0\n--- stdout\n--- stderr\n");
    let schema: Value = serde_json::from_str(&space.read("new/grader-result.json")).unwrap();
    assert_eq!(schema["required"], json!(["pass", "score"]));
    assert_eq!(
        space.run(&["schemas", "GraderResult"]).stdout(),
        space.read("new/grader-result.json") + "\n"
    );
    let all: Value = serde_json::from_str(&space.run(&["schemas", "--json"]).stdout()).unwrap();
    assert_eq!(all["GraderResult"], schema);
    let listed = space.run(&["schemas", "--list"]).stdout();
    let names: Vec<&str> =
        listed.lines().skip(1).map(|line| line.trim_start_matches("  - ")).collect();
    assert_eq!(names, all.as_object().unwrap().keys().collect::<Vec<_>>());
    assert_eq!(
        space.run(&["schemas"]).stdout(),
        listed.replacen(':', " (use --json to export):", 1)
    );
    let ran = space.run(&["schemas", "--split", "-o", "folder/"]);
    assert_eq!(ran.stderr(), "Wrote 26 schema files to folder/\n");
    assert_eq!(space.names("folder").len(), 26);
    assert_eq!(space.read("folder/GraderResult.json"), space.read("new/grader-result.json"));
    let ran = space.run(&["schemas", "PromptInput"]);
    assert_eq!(ran.code(), 1);
    assert!(
        ran.stderr().starts_with("Error: Unknown schema 'PromptInput'\nAvailable: PromptCase, ")
    );
}

#[test]
fn a_starter_is_written_once_and_runs() {
    let space = Space::new(&[("taken/dataset.jsonl", "mine")]);
    let ran = space.run(&["init", "new"]);
    assert_eq!(ran.code(), 0);
    assert!(
        ran.stdout().ends_with("next:\n  cd new\n  evalrs run suite.yaml\n"),
        "{}",
        ran.stdout()
    );
    let ran = space.run(&["run", "new/suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.stderr());
    assert!(ran.stdout().contains("mentions avg_score >= 0.6: 0.667"), "{}", ran.stdout());
    for (dir, there) in
        [("taken", "taken/dataset.jsonl"), ("new", "new/suite.yaml` and `new/dataset.jsonl")]
    {
        let ran = space.run(&["init", dir, "--grader", "python"]);
        let expected = format!("there is `{there}` already, and nothing was written");
        assert_eq!((ran.code(), ran.stderr().contains(&expected)), (2, true), "{}", ran.stderr());
    }
    assert_eq!(space.names("taken"), ["dataset.jsonl"]);
    assert_eq!(space.read("taken/dataset.jsonl"), "mine");
}

#[test]
fn a_starter_with_a_judge_has_all_that_git_and_ci_need() {
    let space = Space::new(&[("j/.gitignore", "mine\n")]);
    let ran = space.run(&["init", "j", "--rubric"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert!(ran.stdout().contains("left j/.gitignore as it is"), "{}", ran.stdout());
    assert_eq!(space.read("j/.gitignore"), "mine\n");
    let names = ["dataset.jsonl", "evals.yml", "rubric.txt", "suite.yaml"];
    assert_eq!(space.names("j")[2..], names);
    let judge = Judge::new(|_, _| Answer::score(0.75));
    let ran = space.run_with(&judge, &["run", "j"]);
    assert_eq!((ran.code(), ran.stderr().contains("warning")), (0, false), "{}", ran.shown());
    assert!(ran.stdout().contains("helpful agrees with 3 labels"), "{}", ran.stdout());
    let ran = space.run(&["init", "j", "--rubric"]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
}

#[test]
fn results_of_a_run_are_sampled_too() {
    let space = Space::new(&[]);
    assert_eq!(space.run(&["init", "s"]).code(), 0);
    assert_eq!(space.run(&["run", "s", "--output", "out"]).code(), 0);
    let ran = space.run(&["calibrate", "out/results.jsonl"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let report = ran.stdout();
    assert!(report.contains("## Sample 1: australia, mentions"), "{report}");
    assert!(report.contains("**Hint:** Canberra") && report.contains("It is Sydney."), "{report}");
}

/// Language, file, what it is tested with.
const STARTERS: [(&str, &str); 4] = [
    ("python", "grader.py"),
    ("bash", "grader.sh"),
    ("typescript", "grader.ts"),
    ("javascript", "grader.mjs"),
];

/// Runs a line in a folder of the space, with `evalrs` to be found.
fn shell(space: &Space, folder: &str, line: &str) -> Ran {
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_evalrs")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binary.display());
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(space.path(folder)).env("PATH", path);
    Ran(command.output().unwrap())
}

#[test]
fn a_starter_tells_how_to_test_its_grader() {
    for (language, file) in STARTERS {
        let space = Space::new(&[]);
        let ran = space.run(&["init", language, "--grader", language]);
        assert_eq!(ran.code(), 0, "{}", ran.stderr());
        let said = ran.stdout();
        let test = said.lines().find(|line| line.starts_with("  echo ")).unwrap().trim();
        let text = space.read(&format!("{language}/{file}"));
        assert!(
            text.lines().any(|line| line.trim_start_matches(['#', '/', ' ']) == test),
            "{test}"
        );
        if test.ends_with("./grader.py") || (test.ends_with("./grader.sh") && has("jq")) {
            let ran = shell(&space, language, test);
            let result: Value = serde_json::from_str(&ran.stdout()).unwrap();
            assert_eq!((&result["pass"], result["score"].as_f64()), (&json!(true), Some(1.0)));
        }
    }
}

fn has(program: &str) -> bool {
    shell(&Space::new(&[]), "", &format!("command -v {program}")).code() == 0
}

/// Runs the lines that `init` says are next, those with `word` in them, for every language that is here.
fn check_next(word: &str, check: fn(&Ran)) {
    for (language, file) in STARTERS {
        if (file == "grader.sh" && !has("jq"))
            || (["grader.ts", "grader.mjs"].contains(&file) && !has("node"))
        {
            continue;
        }
        let space = Space::new(&[]);
        let said = space.run(&["init", "s", "--grader", language]).stdout();
        let lines = said.lines().filter(|line| line.starts_with("  e") && line.contains(word));
        for line in lines {
            let ran = shell(&space, "s", line);
            assert_eq!(ran.code(), 0, "{language}: {line}: {}", ran.stderr());
            check(&ran);
        }
    }
}

#[test]
fn starters_grade_as_they_say() {
    check_next("echo", |ran| assert!(ran.stdout().contains("Output contains hint")));
    check_next("grade dataset.jsonl", |ran| {
        let graded = parsed(&ran.stdout());
        let passes = graded.iter().map(|record| record["score"]["pass"].as_bool());
        assert_eq!(passes.collect::<Vec<_>>(), [Some(true), Some(true), Some(false)]);
    });
}

#[test]
fn starters_run_as_they_say() {
    check_next("evalrs run", |ran| {
        assert!(ran.stdout().contains("mine avg_score >= 0.6: 0.667"), "{}", ran.stdout());
    });
}

#[test]
fn records_are_graded_once_in_order_and_otherwise_unchanged() {
    let outputs = ["In Paris.", "In Rome.", "PARIS", "In Rome."];
    let rows: Vec<Value> =
        outputs.into_iter().enumerate().map(|(id, text)| row(id, text)).collect();
    let space = space(rows.clone());
    let args = ["grade", "in.jsonl", "--grader", "./grader.py", "--progress"];
    let ran = space.run(&args);
    assert_eq!((ran.code(), called(&ran)), (0, 3), "two are equal: {}", ran.stderr());
    let graded = parsed(&ran.stdout());
    for (row, graded) in rows.iter().zip(&graded) {
        let pass = row["output"].as_str().unwrap().to_lowercase().contains("paris");
        let mut expected = row.clone();
        let reasoning = "input,output,hint,metadata";
        expected["z"] = json!(1);
        expected["score"] = json!({"pass": pass, "score": u8::from(pass), "reasoning": reasoning});
        assert_eq!(graded, &expected);
        assert_eq!(
            graded.as_object().unwrap().keys().next_back().map(String::as_str),
            Some("score")
        );
    }
    assert!(ran.stdout().starts_with(r#"{"z":1,"id":"0","#), "as JavaScript writes it");

    // Nothing is done twice, wherever it is written and however it is read.
    let first = ran.stdout();
    let again = space.run(&[&args[..], &["-o", "out/graded.jsonl"]].concat());
    assert_eq!((called(&again), again.stdout().as_str()), (0, ""));
    assert_eq!(space.read("out/graded.jsonl"), first);
    let piped =
        run_with_stdin(&space, &["grade", "-g", "grader.py", "--frozen"], &space.read("in.jsonl"));
    assert_eq!((piped.code(), piped.stdout()), (0, first.clone()));
    let strict = space.run(&["grade", "in.jsonl", "-g", "grader.py", "--strict"]);
    assert_eq!((strict.code(), strict.stdout()), (1, first.clone()), "some fail");

    // An edited record is one call, an edited grader is all of them, and so it is with --refresh.
    space.write("in.jsonl", jsonl([row(0, "In Paris."), row(1, "In Oslo."), row(2, "PARIS")]));
    assert_eq!(called(&space.run(&args)), 1);
    assert_eq!(called(&space.run(&[&args[..], &["--refresh"]].concat())), 3);
    executable(&space, "grader.py", &format!("{GRADER}\n"));
    assert_eq!(called(&space.run(&args)), 3);
    assert_eq!(called(&space.run(&args)), 0);
}

#[test]
fn results_are_graded_again_and_old_outcomes_go() {
    let mut old = row(1, "In Rome.");
    old["score"] = json!({"pass": true, "score": 1, "reasoning": "old"});
    old["outcome"] = json!({"city": "Oslo"});
    let space = space([old, row(2, "In Paris.")]);
    let ran = space.run(&["grade", "in.jsonl", "--grader", "./grader.sh"]);
    let graded = parsed(&ran.stdout());
    assert_eq!(graded[0]["score"], json!({"pass": false, "score": 0.25}));
    assert_eq!(graded[0].get("outcome"), None);
    assert_eq!(graded[1]["score"], json!({"pass": true, "score": 1, "outcome": {"city": "Paris"}}));
    assert_eq!(graded[1]["outcome"], json!({"city": "Paris"}));
    // The file that is read may be the one that is written.
    let output = ran.stdout();
    let ran = space.run(&["grade", "in.jsonl", "--grader", "./grader.sh", "-o", "in.jsonl"]);
    assert_eq!((ran.code(), space.read("in.jsonl")), (0, output));
}

#[test]
fn a_grader_that_fails_ends_it_and_is_asked_again() {
    let space = space([row(1, "In Paris."), row(2, "break"), row(3, "In Rome.")]);
    let args = ["grade", "in.jsonl", "--grader", "./grader.py", "-o", "out.jsonl"];
    for (more, code) in [(None, 1), (Some("--strict"), 3)] {
        let ran = space.run(&args.into_iter().chain(more).collect::<Vec<_>>());
        let expected = "Error: Grader exited with code 1: no such\nhint\n  at line 2\n";
        assert_eq!((ran.code(), ran.stderr().as_str()), (code, expected));
        let written = parsed(&space.read("out.jsonl"));
        assert_eq!(written.len(), 1, "what was graded before it is kept");
        assert_eq!(written[0]["id"], "1");
    }
    space.write("in.jsonl", jsonl([row(1, "In Paris."), row(3, "In Rome.")]));
    assert_eq!(space.run(&args).code(), 0);
    assert_eq!(parsed(&space.read("out.jsonl")).len(), 2);
}

/// Waits for somebody to write to the pipe that `GATE` names where the output says so.
const GATED: &str = "#!/bin/sh
if grep -q wait; then cat $GATE > /dev/null; fi
echo '{\"pass\":true,\"score\":1}'
";

fn gated(outputs: &[&str]) -> Space {
    let rows = outputs.iter().enumerate().map(|(id, output)| row(id, output));
    let space = space(rows);
    executable(&space, "gated.sh", GATED);
    let gates = ["first", "second"].map(|gate| space.path(gate));
    assert!(Command::new("mkfifo").args(gates).status().unwrap().success());
    space
}

/// Grades with the gated grader, which waits at `gate`.
fn grade_gated(space: &Space, gate: &str, args: &[&str]) -> Command {
    let mut command = space.command(&["grade", "in.jsonl", "-g", "./gated.sh"]);
    command.args(args).env("GATE", gate);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_record_is_written_as_soon_as_those_before_it_are() {
    let space = gated(&["one", "two", "wait", "four"]);
    let mut child = grade_gated(&space, "first", &[]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("\"one\""));
    assert!(lines.next().unwrap().contains("\"two\""));
    space.write("first", "go");
    assert!(lines.next().unwrap().contains("\"wait\""));
    assert!(lines.next().unwrap().contains("\"four\""));
    assert_eq!(Running::of(child).finish().code(), 0);
}

#[test]
fn what_was_graded_before_a_kill_is_not_graded_again() {
    let space = gated(&["one", "wait", "three", "four"]);
    let args = ["-o", "out.jsonl", "--progress"];
    let running = Running::new(grade_gated(&space, "first", &args));
    space.wait_stored(3);
    running.kill();
    // What was called may live on. Opened for both ways, the pipe lets it go whether or not it is there.
    let mut gate = std::fs::File::options().read(true).write(true).open(space.path("first"));
    gate.as_mut().unwrap().write_all(b"go").unwrap();
    drop(gate);
    assert!(parsed(&space.read("out.jsonl")).len() <= 1, "the second is not graded yet");
    let running = Running::new(grade_gated(&space, "second", &args));
    space.write("second", "go");
    let ran = running.finish();
    assert_eq!((ran.code(), called(&ran)), (0, 1));
    assert_eq!(parsed(&space.read("out.jsonl")).len(), 4);
}

#[test]
fn the_environment_is_inherited_and_named_variables_decide_grades() {
    let space = space([row(1, "a")]);
    executable(&space, "env.sh", "#!/bin/sh\necho \"{\\\"pass\\\":true,\\\"score\\\":$SCORE}\"\n");
    let run = |score: &str, args: &[&str]| {
        let args = [&["grade", "in.jsonl", "-g", "./env.sh"], args].concat();
        let ran = Ran(space.command(&args).env("SCORE", score).output().unwrap());
        parsed(&ran.stdout())[0]["score"]["score"].clone()
    };
    assert_eq!(run("0.5", &[]), 0.5);
    assert_eq!(run("0.75", &[]), 0.5, "its value is no part of the key");
    for score in ["0.5", "0.75", "0.5"] {
        assert_eq!(run(score, &["--env", "SCORE"]).to_string(), score);
    }
}

#[test]
fn samples_are_scored_again() {
    let score = json!({"pass": false, "score": 0, "reasoning": "old"});
    let result = json!({
        "id": "a", "input": "q", "output": "In Paris.", "hint": "Paris", "trajectory": [],
        "metadata": {}, "cwd": "/", "score": score,
    });
    let space = space([]);
    space.write("results.jsonl", jsonl([result]));
    let args = ["calibrate", "results.jsonl", "-g", "./grader.py"];
    let ran = space.run(&args);
    let expected = "**Original Score:** FAIL (0)\n\n**Reasoning:** old\n\n**Re-scored:** PASS (1)\n\n**Re-score Reasoning:** input,output,hint,trajectory,metadata\n";
    assert!(ran.stdout().contains(expected), "{}", ran.stdout());
    space.write("results.jsonl", space.read("results.jsonl").replace("In Paris", "break"));
    let ran = space.run(&[&args[..], &["-o", "report.md"]].concat());
    assert_eq!((ran.code(), ran.stdout().as_str()), (1, ""));
    assert!(ran.stderr().ends_with("\n  in the result `a`\n"), "{}", ran.stderr());
    assert!(!space.path("report.md").exists());
}

#[test]
fn references_are_graded_like_outputs() {
    let case = |id: &str, reference: &str| json!({"id": id, "input": "q", "hint": "Paris", "reference": reference, "metadata": {"a": 1}});
    let space = space([]);
    space.write(
        "prompts.jsonl",
        jsonl([case("a", "Paris"), json!({"id": "x", "input": "q"}), case("b", "")]),
    );
    let args = ["validate-refs", "prompts.jsonl", "-g", "./grader.py"];
    insta::assert_snapshot!(space.run(&args).shown(), @r#"
    exit: 0
    --- stdout
    {"id":"a","reference":"Paris","passes":true,"graderResult":{"pass":true,"score":1,"reasoning":"input,output,hint,trajectory,metadata"}}
    {"id":"b","reference":"","passes":false,"graderResult":{"pass":false,"score":0,"reasoning":"input,output,hint,trajectory,metadata"}}
    --- stderr
    Validating 2 reference solutions...
      ✓ a
      ✗ b
    Results: 1 passed, 1 failed
    References that fail:
      b: input,output,hint,trajectory,metadata
    "#);
    assert_eq!(space.run(&[&args[..], &["--strict"]].concat()).code(), 1);
    let output = space.run(&args).stdout();
    assert_eq!(space.run(&[&args[..], &["-o", "refs.jsonl"]].concat()).stdout(), "");
    assert_eq!(space.read("refs.jsonl") + "\n", output);

    space.write("none.jsonl", jsonl([json!({"id": "x", "input": "q"})]));
    let ran = space.run(&["validate-refs", "none.jsonl", "-g", "./grader.py", "-o", "none"]);
    assert_eq!(
        ran.shown(),
        "exit: 0\n--- stdout\n--- stderr\nNo prompts with reference solutions found\n"
    );
    assert!(!space.path("none").exists());
}
