//! `capture` and `trials` through the binary: prompts and flags against agents that are scripts.
#![expect(clippy::disallowed_methods, reason = "tests wait for processes")]

use std::time::Instant;

use serde_json::{Value, json};

use crate::headless::{CLAUDE, assert_gone, command, run};
use crate::judge::PATIENCE;
use crate::programs::executable;
use crate::space::{Ran, Running, Space, has, jsonl};

const AGENT: &str = include_str!("fixtures/agents/echo.py");
const ADAPTER: &str = r#"{
  "version": 1, "name": "echo", "command": ["echo-agent"], "sessionMode": "iterative", "timeout": 30000,
  "prompt": {}, "output": {"flag": "", "value": ""},
  "outputEvents": [
    {"match": {"path": "$.kind", "value": "say"}, "emitAs": "message", "extract": {"content": "$.text"}},
    {"match": {"path": "$.kind", "value": "tool"}, "emitAs": "tool_call", "extract": {"title": "$.name", "status": "$.state"}}
  ],
  "result": {"matchPath": "$.kind", "matchValue": "end", "contentPath": "$.text"}
}"#;
/// Passes what is good, fails on `crash`, and notes what it was handed.
const GRADER: &str = r#"#!/usr/bin/env python3
import json, os, sys
given = json.load(sys.stdin)
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "graded.log"), "a") as log:
    log.write(json.dumps(given) + "\n")
if given["output"] == "good ungradable":
    sys.exit("no idea")
found = {"touched": os.path.exists(os.path.join(given["cwd"], "touched"))} if "cwd" in given else None
passes = given["output"].startswith("good")
print(json.dumps({"pass": passes, "score": 1 if passes else 0, **({"outcome": found} if found else {})}))
"#;

fn prompt(id: &str, input: &str) -> Value {
    json!({"id": id, "input": input})
}

fn space(prompts: &[Value]) -> Space {
    let space = Space::new(&[
        ("echo.json", ADAPTER),
        ("bin/echo-agent", AGENT),
        ("grader.py", GRADER),
        ("prompts.jsonl", &jsonl(prompts.to_vec())),
    ]);
    executable(&space, "bin/echo-agent");
    executable(&space, "grader.py");
    space
}

fn capture(space: &Space, args: &[&str]) -> Ran {
    run(space, &[&["capture", "prompts.jsonl", "-s", "echo.json"], args].concat())
}

fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// How often the agent was run.
fn runs(space: &Space) -> usize {
    let log = std::fs::read_to_string(space.path("bin/runs.log")).unwrap_or_default();
    log.lines().count()
}

#[test]
fn a_prompt_becomes_a_record_and_is_not_run_twice() {
    if !has("python3") {
        return;
    }
    let whole = json!({"id": "a", "input": ["one", "more"], "hint": "h", "reference": "r", "metadata": {"k": [1]}});
    let space = space(&[whole, prompt("b", "tool"), json!({"id": "c", "input": []})]);
    let ran = capture(&space, &["-g", "grader.py", "-o", "out/records.jsonl"]);
    assert_eq!((ran.code(), ran.stdout().as_str(), ran.stderr().as_str()), (0, "", ""));
    let text = space.read("out/records.jsonl");
    let all = records(&text);
    let mut first = all[0].clone();
    let timing = first["timing"].take();
    assert_eq!(
        timing["start"].as_u64().unwrap() + timing["total"].as_u64().unwrap(),
        timing["end"]
    );
    for step in first["trajectory"].as_array_mut().unwrap() {
        assert!(step["timestamp"].take().is_u64());
    }
    let message = |text: &str| json!({"type": "message", "content": text, "timestamp": null});
    let second = "User: one\nAssistant: good one\n\nUser: more";
    let expected = json!({
        "id": "a", "input": ["one", "more"], "output": format!("good {second}"), "hint": "h",
        "trajectory": [message("good one"), message(&format!("good {second}"))],
        "metadata": {"k": [1], "agent": "echo", "trajectoryRichness": "messages-only", "turnCount": 2, "exitCode": 0, "timedOut": false},
        "timing": null, "toolErrors": false, "score": {"pass": true, "score": 1},
    });
    assert_eq!(first, expected);
    let call = &all[1]["trajectory"][0];
    assert_eq!([&call["name"], &call["status"]], ["Read", "failed"]);
    assert!(call["duration"].is_u64() && call["timestamp"].is_u64());
    assert_eq!(
        (&all[1]["toolErrors"], &all[1]["metadata"]["turnCount"]),
        (&json!(true), &json!(1))
    );
    assert_eq!((&all[2]["output"], &all[2]["metadata"]["turnCount"]), (&json!(""), &json!(0)));
    assert_eq!((all[2].get("hint"), all[2]["metadata"].get("exitCode")), (None, None));
    let handed = records(&space.read("graded.log"));
    assert_eq!((&handed[0]["hint"], &handed[0]["metadata"]), (&json!("h"), &json!({"k": [1]})));
    assert_eq!(handed.len(), 3);
    assert_eq!(runs(&space), 3);
    // The same prompts again: no agent runs, and the records are the same.
    let ran = capture(&space, &["-g", "grader.py"]);
    assert_eq!(ran.stdout(), text);
    assert_eq!((runs(&space), records(&space.read("graded.log")).len()), (3, 3));
    // A hint is the grader's, and not the agent's.
    let changed = space.read("prompts.jsonl").replace("\"h\"", "\"other\"");
    space.write("prompts.jsonl", changed);
    assert_eq!(capture(&space, &["-g", "grader.py", "--frozen"]).code(), 0);
    capture(&space, &["-g", "grader.py"]);
    assert_eq!((runs(&space), records(&space.read("graded.log")).len()), (3, 4));
    assert_eq!(capture(&space, &["--refresh"]).code(), 0);
    assert_eq!(runs(&space), 6);
    // What the agent is decides too; how long it may take does not.
    space.write("echo.json", ADAPTER.replace("30000", "30001"));
    capture(&space, &[]);
    assert_eq!(runs(&space), 6);
    space.write("echo.json", ADAPTER.replace("$.state", "$.status"));
    capture(&space, &[]);
    assert_eq!(runs(&space), 9);
}

#[test]
fn what_goes_wrong_is_a_record_and_is_tried_again() {
    if !has("python3") {
        return;
    }
    let mut late = prompt("late", "hang");
    late["timeout"] = json!(2500);
    let space = space(&[
        prompt("crash", "crash"),
        late,
        prompt("ungradable", "ungradable"),
        prompt("silent", "silent"),
    ]);
    let ran = capture(&space, &["-g", "grader.py"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let all = records(&ran.stdout());
    let of = |at: usize| {
        let record = &all[at];
        let metadata = &record["metadata"];
        json!([
            record["output"],
            metadata["exitCode"],
            metadata["timedOut"],
            record["toolErrors"],
            record.get("errors"),
            record["score"]["pass"]
        ])
    };
    assert_eq!(of(0), json!(["so far", 3, false, false, null, false]));
    assert_eq!(of(1), json!(["a part", 143, true, true, null, false]));
    assert_eq!(all[1]["metadata"]["signal"], "SIGTERM");
    assert_eq!(all[2]["output"], "good ungradable");
    let errors = all[2]["errors"][0].as_str().unwrap();
    assert!(errors.contains("no idea") && all[2].get("score").is_none(), "{errors}");
    assert_eq!(of(3), json!(["", 0, false, false, null, false]));
    capture(&space, &[]);
    let log = space.read("bin/runs.log");
    let count = |prompt: &str| log.lines().filter(|line| line.trim_matches('"') == prompt).count();
    assert_eq!(["crash", "hang", "ungradable", "silent"].map(count), [2, 2, 1, 1]);
}

#[test]
fn an_agent_that_is_not_there_leaves_error_records() {
    let space = space(&[prompt("a", "x"), prompt("b", "y")]);
    for (program, expected) in [("nowhere-agent", "nowhere-agent"), ("./gone", "gone")] {
        space.write("echo.json", ADAPTER.replace("echo-agent", program));
        let ran = capture(&space, &[]);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        let all = records(&ran.stdout());
        assert_eq!(all.len(), 2);
        assert!(all[0]["errors"][0].as_str().unwrap().contains(expected), "{}", ran.shown());
        assert_eq!((&all[0]["toolErrors"], &all[0]["trajectory"]), (&json!(true), &json!([])));
    }
}

#[test]
fn what_cannot_be_read_is_said_before_anything_runs() {
    let space = space(&[prompt("a", "x")]);
    space.write("old.jsonl", "kept\n");
    space.write("bad.jsonl", "{\"id\": \"a\", \"input\": \"x\"}\n\n{\"id\": \"b\"}\n");
    space.write("bad.json", "{\"version\": 2}");
    space.write("none.json", ADAPTER.replace("[\"echo-agent\"]", "[]"));
    let s = ["-s", "echo.json"];
    for (args, expected) in [
        (vec![], "prompts.jsonl path is required (or use --stdin)"),
        (vec!["prompts.jsonl", "--stdin"], "mutually exclusive"),
        (vec!["prompts.jsonl"], "--schema is required"),
        ([&["--stdin"][..], &s].concat(), "no prompts received on stdin"),
        ([&["prompts.jsonl", "-g", "no.sh"][..], &s].concat(), "Grader not found: "),
        (
            [&["prompts.jsonl", "-j", "0"][..], &s].concat(),
            "--concurrency must be a positive integer",
        ),
        (
            [&["prompts.jsonl", "-j", "x"][..], &s].concat(),
            "--concurrency must be a positive integer",
        ),
        ([&["prompts.jsonl", "-t", "2x"][..], &s].concat(), "--timeout must be a positive number"),
        (vec!["prompts.jsonl", "-s", "nope.json"], "Schema file not found: nope.json"),
        (vec!["prompts.jsonl", "-s", "bad.json"], "Invalid schema: version 2 is not known"),
        (vec!["prompts.jsonl", "-s", "none.json"], "Invalid schema: `command` is empty"),
        ([&["bad.jsonl"][..], &s].concat(), "Invalid prompt at line 3: `input` is missing"),
        ([&["no.jsonl"][..], &s].concat(), "no.jsonl"),
        ([&["prompts.jsonl", "--nonsense"][..], &s].concat(), "--nonsense"),
    ] {
        let args = [&["capture", "-o", "old.jsonl"][..], &args].concat();
        let ran = run(&space, &args);
        assert_eq!((ran.code(), ran.stdout().as_str()), (1, ""), "{args:?}: {}", ran.shown());
        assert!(ran.stderr().contains(expected), "{args:?}: {}", ran.shown());
        assert_eq!(space.read("old.jsonl"), "kept\n", "{args:?}");
    }
    for k in ["0", "x", "1.5"] {
        let ran = run(&space, &["trials", "prompts.jsonl", "-s", "echo.json", "-k", k]);
        assert_eq!(ran.code(), 1, "{}", ran.shown());
        assert!(ran.stderr().contains("-k must be a positive integer"), "{}", ran.shown());
    }
}

#[test]
fn records_come_as_they_are_done_and_may_be_added_to_a_file() {
    if !has("python3") {
        return;
    }
    let space = space(&[prompt("slow", "wait for go"), prompt("fast", "fast")]);
    let args = ["capture", "prompts.jsonl", "-s", "echo.json", "-j", "2", "-o", "out.jsonl"];
    let running = Running::new(command(&space, &args));
    let since = Instant::now();
    while !std::fs::read_to_string(space.path("out.jsonl")).unwrap_or_default().ends_with('\n') {
        assert!(since.elapsed() < PATIENCE, "no record was written");
        std::thread::yield_now();
    }
    assert_eq!(records(&space.read("out.jsonl"))[0]["id"], "fast");
    space.write("bin/go", "");
    assert_eq!(running.finish().code(), 0);
    let ids = |text: &str| -> Vec<Value> {
        records(text).iter().map(|record| record["id"].clone()).collect()
    };
    assert_eq!(ids(&space.read("out.jsonl")), ["fast", "slow"]);
    assert_eq!(capture(&space, &["-o", "out.jsonl", "--append"]).code(), 0);
    assert_eq!(ids(&space.read("out.jsonl")), ["fast", "slow", "slow", "fast"]);
    assert_eq!(capture(&space, &["-o", "out.jsonl"]).code(), 0);
    assert_eq!(ids(&space.read("out.jsonl")), ["slow", "fast"]);
}

#[test]
fn prompts_may_have_folders_of_their_own() {
    if !has("python3") {
        return;
    }
    let space = space(&[prompt("a/b", "touch"), prompt("a:b", "touch"), prompt("..", "x")]);
    let args = ["--workspace-dir", "work", "-g", "grader.py"];
    let ran = capture(&space, &args);
    assert_eq!(space.names("work"), ["prompt-..", "prompt-a_b", "prompt-a_b-2"]);
    let all = records(&ran.stdout());
    let folder = space.path("work/prompt-a_b").canonicalize().unwrap();
    assert_eq!(all[0]["metadata"]["workspaceDir"], folder.to_str().unwrap());
    assert_eq!(
        (&all[0]["outcome"], &all[0]["score"]["outcome"]),
        (&json!({"touched": true}), &json!({"touched": true}))
    );
    assert_eq!(runs(&space), 3);
    capture(&space, &args);
    assert_eq!(runs(&space), 3, "the folders are still there");
    std::fs::remove_dir_all(space.path("work/prompt-a_b")).unwrap();
    let again = records(&capture(&space, &args).stdout());
    assert_eq!((runs(&space), &again[0]["outcome"]), (4, &json!({"touched": true})));
    // Two prompts that are the same are one conversation. Where the agent works is part of what it is asked, if that is said.
    space.write("elsewhere/x", "");
    for (args, expected) in
        [(vec!["-c", "elsewhere"], 6), (vec!["-c", "elsewhere"], 6), (vec![], 8)]
    {
        assert_eq!(capture(&space, &args).code(), 0);
        assert_eq!(runs(&space), expected, "{args:?}");
    }
    assert!(space.path("elsewhere/touched").exists());
}

#[test]
fn what_was_finished_before_a_crash_is_not_run_again() {
    if !has("python3") {
        return;
    }
    let space = space(&[prompt("a", "one"), prompt("b", "two"), prompt("c", "wait for go")]);
    let args = ["capture", "prompts.jsonl", "-s", "echo.json", "-o", "out.jsonl"];
    let running = Running::new(command(&space, &args));
    let since = Instant::now();
    while runs(&space) < 3 {
        assert!(since.elapsed() < PATIENCE, "the agent never came so far");
        std::thread::yield_now();
    }
    running.kill();
    assert_eq!(records(&space.read("out.jsonl")).len(), 2);
    space.write("bin/go", "");
    assert_eq!(capture(&space, &["-o", "out.jsonl"]).code(), 0);
    assert_eq!(records(&space.read("out.jsonl")).len(), 3);
    let log = space.read("bin/runs.log");
    let count = |prompt: &str| log.lines().filter(|line| line.trim_matches('"') == prompt).count();
    assert_eq!(["one", "two", "wait for go"].map(count), [1, 1, 2]);
}

#[test]
fn an_interruption_ends_agents_and_keeps_records() {
    if !has("python3") {
        return;
    }
    let space = Space::new(&[
        ("bin/claude", CLAUDE),
        ("prompts.jsonl", &jsonl([prompt("a", "one"), prompt("b", "stubborn")])),
    ]);
    executable(&space, "bin/claude");
    let args = ["capture", "prompts.jsonl", "-s", "claude-code", "-o", "out.jsonl"];
    let running = Running::new(command(&space, &args));
    let since = Instant::now();
    while std::fs::read_to_string(space.path("bin/pids")).unwrap_or_default().is_empty() {
        assert!(since.elapsed() < PATIENCE, "the agent never began");
        std::thread::yield_now();
    }
    running.interrupt();
    let ran = running.finish();
    assert_eq!(ran.code(), 130, "{}", ran.shown());
    assert_gone(&space);
    let all = records(&space.read("out.jsonl"));
    assert_eq!((all.len(), &all[0]["output"]), (1, &json!("heard one")));
    assert_eq!(all[0]["timing"]["inputTokens"], 10);
}

#[test]
fn trials_come_to_rates() {
    if !has("python3") {
        return;
    }
    let space = space(&[prompt("f", "flaky"), prompt("s", "steady"), prompt("x", "crash")]);
    let args = ["trials", "prompts.jsonl", "-s", "echo.json", "-k", "5"];
    let graded = [&args[..], &["-g", "grader.py"]].concat();
    let ran = run(&space, &graded);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let all = records(&ran.stdout());
    let rates =
        |record: &Value| ["passRate", "passAtK", "passExpK"].map(|name| record[name].as_f64());
    let close = |found: [Option<f64>; 3], expected: [f64; 3]| {
        found.iter().zip(expected).all(|(found, expected)| (found.unwrap() - expected).abs() < 1e-9)
    };
    assert!(close(rates(&all[0]), [0.6, 0.98976, 0.07776]), "{}", all[0]);
    assert!(close(rates(&all[1]), [1.0, 1.0, 1.0]), "{}", all[1]);
    assert!(close(rates(&all[2]), [0.0, 0.0, 0.0]), "{}", all[2]);
    let outputs: Vec<&Value> =
        all[0]["trials"].as_array().unwrap().iter().map(|trial| &trial["output"]).collect();
    assert_eq!(outputs, ["good flaky", "bad flaky", "good flaky", "bad flaky", "good flaky"]);
    let numbers = all[0]["trials"].as_array().unwrap().iter().map(|trial| &trial["trialNum"]);
    assert!(numbers.eq([1, 2, 3, 4, 5].map(|number| json!(number)).iter()));
    assert_eq!(runs(&space), 15);
    // What crashed is tried again, the rest is not.
    assert_eq!(run(&space, &graded).code(), 0);
    assert_eq!(runs(&space), 20);
    let plain = records(&run(&space, &args).stdout());
    assert_eq!((plain[0].get("passRate"), plain[0]["trials"][0].get("pass")), (None, None));
    assert_eq!(plain[0]["metadata"], json!({"agent": "echo"}));
    // The first trials are those of before.
    let before = runs(&space);
    let two = space.read("prompts.jsonl").lines().take(2).collect::<Vec<_>>().join("\n");
    space.write("prompts.jsonl", two);
    let fewer = run(
        &space,
        &["trials", "prompts.jsonl", "-s", "echo.json", "-k", "3", "--workspace-dir", "w"],
    );
    assert_eq!(space.names("w").len(), 6, "{}", fewer.shown());
    assert!(space.names("w").contains(&"prompt-f-trial-3".to_owned()));
    assert_eq!(runs(&space), before + 6);
    assert_eq!(run(&space, &["trials", "prompts.jsonl", "-s", "echo.json", "-k", "3"]).code(), 0);
    assert_eq!(runs(&space), before + 6);
}

#[test]
fn records_are_what_the_other_commands_read() {
    if !has("python3") {
        return;
    }
    let space = space(&[prompt("a", "one"), prompt("b", "tool")]);
    for file in ["one.jsonl", "two.jsonl"] {
        assert_eq!(capture(&space, &["-g", "grader.py", "-o", file]).code(), 0);
    }
    for args in [
        &["compare", "one.jsonl", "two.jsonl"][..],
        &["summarize", "one.jsonl"],
        &["calibrate", "one.jsonl"],
        &["grade", "one.jsonl", "-g", "grader.py"],
        &["format", "one.jsonl", "-f", "csv"],
    ] {
        let ran = run(&space, args);
        assert_eq!(ran.code(), 0, "{args:?}: {}", ran.shown());
    }
    let args = ["trials", "prompts.jsonl", "-s", "echo.json", "-k", "2", "-g", "grader.py", "-o"];
    for file in ["t1.jsonl", "t2.jsonl"] {
        assert_eq!(run(&space, &[&args[..], &[file]].concat()).code(), 0);
    }
    let ran = run(&space, &["compare", "t1.jsonl", "t2.jsonl"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
}

#[test]
fn raw_output_goes_through_the_pipeline() {
    if !has("python3") {
        return;
    }
    let whole = json!({"id": "a", "input": ["one", "tool"], "hint": "h", "metadata": {"k": 1}});
    let space = space(&[whole, prompt("b", "tool"), prompt("c", "crash")]);
    let ran =
        run(&space, &["run", "--raw", "prompts.jsonl", "--schema", "echo.json", "-o", "raw.jsonl"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, ""), "{}", ran.shown());
    let raw = records(&space.read("raw.jsonl"));
    let names: Vec<&String> = raw[0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["id", "input", "hint", "metadata", "rawLines", "rawTimes", "timing"]);
    assert_eq!(
        (raw[0]["rawLines"].as_array().unwrap().len(), &raw[1]["metadata"]),
        (4, &json!({}))
    );
    assert_eq!(raw[1]["rawLines"][3], r#"{"kind": "end", "text": "good tool"}"#);
    assert_eq!(raw[2]["rawLines"], json!([r#"{"kind": "say", "text": "so far"}"#]));
    let error = "the agent exited with code 3 without a result: out of luck";
    assert_eq!(raw[2]["error"], error);
    assert_eq!(runs(&space), 4);
    let read = |args: &[&str]| {
        let ran = run(&space, args);
        assert_eq!(ran.code(), 0, "{args:?}: {}", ran.shown());
    };
    read(&["extract", "raw.jsonl", "-s", "echo.json", "-o", "extracted.jsonl"]);
    read(&["grade", "extracted.jsonl", "-g", "grader.py", "-o", "graded.jsonl"]);
    read(&["format", "graded.jsonl", "-f", "markdown"]);
    read(&["compare", "graded.jsonl", "again:graded.jsonl"]);
    let graded = records(&space.read("graded.jsonl"));
    let told: Vec<Value> = graded
        .iter()
        .map(|record| json!([record["output"], record["score"]["pass"], record["toolErrors"]]))
        .collect();
    let second = "good User: one\nAssistant: good one\n\nUser: tool";
    let expected = [
        json!([second, true, false]),
        json!(["good tool", true, true]),
        json!(["so far", false, true]),
    ];
    assert_eq!(told, expected);
    // It is the same conversation as that of `capture`.
    let before = runs(&space);
    capture(&space, &[]);
    assert_eq!(runs(&space), before + 1, "only what crashed");
}

#[test]
fn lines_for_a_shell_are_agents_too() {
    let texts = ["it's $HOME {} \"x\" $&", "-n", "two\nlines"];
    let mut prompts: Vec<Value> = texts.iter().map(|text| prompt("p", text)).collect();
    prompts.push(json!({"id": "t", "input": ["a", "b"]}));
    let space = space(&prompts);
    space.write("here/x", "");
    let raw = |args: &[&str]| {
        let ran = run(&space, &[&["run", "--raw", "prompts.jsonl"], args].concat());
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        records(&ran.stdout())
    };
    let lines = json!([
        ["[it's $HOME {} \"x\" $&] {}"],
        ["[-n] {}"],
        ["[two", "lines] {}"],
        ["[a] {}", "[b] {}"]
    ]);
    let found = |all: &[Value]| {
        json!(all.iter().map(|record| record["rawLines"].clone()).collect::<Vec<_>>())
    };
    assert_eq!(found(&raw(&["--simple", "printf '[%s] %s\\n\\n' {} '{}'"])), lines);
    assert_eq!(found(&raw(&["--shell", "printf '[%s] {}\\n' \"$PROMPT\""])), lines);
    let all = raw(&["--shell", "pwd; echo careful >&2; echo once >> ran.log", "-c", "here"]);
    assert!(all[0]["rawLines"][0].as_str().unwrap().ends_with("/here"), "{}", all[0]);
    assert_eq!([&all[0]["error"], &all[3]["error"]], ["careful", "careful\ncareful"]);
    raw(&["--shell", "pwd; echo careful >&2; echo once >> ran.log", "-c", "here"]);
    assert_eq!(space.read("here/ran.log").lines().count(), 5);
    let all = raw(&["--shell", "echo part; sleep 60 & sleep 60", "-t", "300"]);
    assert_eq!(
        (&all[0]["rawLines"], &all[0]["error"]),
        (&json!(["part"]), &json!("a turn took longer than 0.3 s"))
    );
    let all = raw(&["--shell", "exit 7"]);
    assert!(all[0]["error"].as_str().unwrap().contains("exited with code 7"), "{}", all[0]);
    let ran = run(&space, &["run", "--raw", "prompts.jsonl"]);
    assert_eq!(ran.code(), 1);
    assert!(
        ran.stderr().contains("Must specify --schema, --simple, or --shell mode"),
        "{}",
        ran.shown()
    );
    let ran = run(&space, &["run", "--raw", "--shell", "true"]);
    assert_eq!(ran.code(), 1);
    assert!(ran.stderr().contains("No prompts provided"), "{}", ran.shown());
}
