//! Files that an agent writes while it runs and that its words name: its conversations are kept and replayed all the same.
#![expect(clippy::disallowed_methods, reason = "tests look at what agents have written")]

use serde_json::{Value, json};

use super::conversations;
use crate::headless;
use crate::programs::executable;
use crate::space::{Ran, Space, has, jsonl};

/// Notes each conversation in the file that `--log` names. What `--once` names it writes one single time.
const AGENT: &str = r#"#!/usr/bin/env python3
import json, os, sys
words = sys.argv[1:]
named = {flag: words[at + 1] for at, flag in enumerate(words[:-1]) if flag.startswith("--")}
if "--log" in named:
    with open(named["--log"], "a") as log:
        log.write("held\n")
if "--once" in named and not os.path.exists("marker"):
    for path in (named["--once"], "marker"):
        with open(path, "a") as once:
            once.write("more\n")
print(json.dumps({"output": "4"}))
"#;

fn space(command: &str, more: &str) -> Option<Space> {
    let suite = format!(
        "name: x\ndataset: d.jsonl\ntarget:\n  kind: command\n  command: [python3, agent.py, {command}]\n{more}graders:\n  g: {{kind: tool, function: contains}}\n"
    );
    let rows = jsonl([json!({"id": "a", "input": "2+2?", "ground_truth": "4"})]);
    has("python3").then(|| {
        Space::new(&[
            ("suite.yaml", &suite),
            ("d.jsonl", &rows),
            ("agent.py", AGENT),
            ("p.txt", "p\n"),
        ])
    })
}

fn run(space: &Space, args: &[&str], code: i32) -> Ran {
    let ran = space.run(&[&["run", "suite.yaml"], args].concat());
    assert_eq!(ran.code(), code, "{}", ran.shown());
    ran
}

/// How often a conversation was held.
fn held(space: &Space) -> usize {
    space.read("agent.log").lines().count()
}

#[test]
fn a_log_that_the_words_name_is_an_output() {
    let Some(space) = space("--log, agent.log", "") else { return };
    let told = |ran: &Ran| ran.stderr().matches("`agent.log`").count();
    assert_eq!(told(&run(&space, &[], 0)), 1);
    assert_eq!((conversations(&space), held(&space)), ([1, 0, 1, 0], 1));
    let first = space.record("results.jsonl");
    assert_eq!(told(&run(&space, &[], 0)), 0);
    run(&space, &["--frozen"], 0);
    space.write("agent.log", "somebody cleared it\n");
    run(&space, &[], 0);
    assert_eq!((conversations(&space), held(&space)), ([1, 1, 0, 0], 1));
    assert_eq!(space.record("results.jsonl"), first);
    // Another agent is asked, once; its log is a log.
    space.write("agent.py", format!("{AGENT}#\n"));
    assert_eq!(told(&run(&space, &[], 0)), 0);
    assert_eq!((conversations(&space), held(&space)), ([1, 0, 1, 0], 2));
    run(&space, &[], 0);
    assert_eq!((conversations(&space), held(&space)), ([1, 1, 0, 0], 2));
    space.write("agent.py", AGENT);
    // Where others replay it they may have a log of their own.
    let export = space.run(&["cache", "export", "suite.yaml", "--targets"]);
    assert_eq!(export.code(), 0, "{}", export.shown());
    let other = Space::new(&[("agent.log", "of another machine\n")]);
    for path in ["suite.yaml", "d.jsonl", "agent.py", "p.txt"] {
        other.write(path, space.read(path));
    }
    for path in space.names("cache").into_iter().map(|name| format!("cache/{name}")) {
        if space.path(&path).is_file() {
            other.write(&path, std::fs::read(space.path(&path)).unwrap());
        }
    }
    run(&other, &["--frozen"], 0);
    assert_eq!(other.record("results.jsonl"), first);
}

#[test]
fn a_log_that_was_there_before_is_an_output_too() {
    let Some(space) = space("--log, agent.log", "") else { return };
    space.write("agent.log", "");
    let ran = run(&space, &[], 0);
    assert_eq!(ran.stderr().matches("writes `agent.log`").count(), 1, "{}", ran.shown());
    // It might have been somebody else who wrote it.
    assert_eq!((conversations(&space), held(&space)), ([1, 0, 1, 0], 2));
    let first = space.record("results.jsonl");
    run(&space, &[], 0);
    run(&space, &["--frozen"], 0);
    assert_eq!((held(&space), space.record("results.jsonl")), (2, first));
}

#[test]
fn a_suite_says_outright_what_is_written_and_what_is_read() {
    let Some(space) = space("--log, agent.log", "  outputs: ['*.log']\n") else { return };
    space.write("agent.log", "");
    for asked in [1, 0, 0] {
        let ran = run(&space, &[], 0);
        assert!(!ran.stderr().contains("agent.log"), "{}", ran.shown());
        assert_eq!((conversations(&space)[2], held(&space)), (asked, 1));
    }
    let suite = space.read("suite.yaml").replace("outputs", "inputs");
    space.write("suite.yaml", suite);
    let ran = run(&space, &[], 3);
    let message = "`agent.log` changed while the program ran: calling it again";
    assert!(ran.stderr().contains(message) || ran.stdout().contains(message), "{}", ran.shown());
    assert_eq!(held(&space), 2);
}

#[test]
fn what_somebody_saves_while_an_agent_runs_is_no_output() {
    let Some(space) = space("--once, p.txt, --log, agent.log", "") else { return };
    let ran = run(&space, &[], 3);
    let message = "`p.txt` changed while the program ran: calling it again";
    assert!(ran.stderr().contains(message) || ran.stdout().contains(message), "{}", ran.shown());
    run(&space, &[], 0);
    assert_eq!(conversations(&space), [1, 0, 1, 0]);
    run(&space, &[], 0);
    assert_eq!(conversations(&space), [1, 1, 0, 0]);
    space.write("p.txt", "another prompt\n");
    run(&space, &[], 0);
    assert_eq!(conversations(&space), [1, 0, 1, 0]);
}

#[test]
fn captures_and_trials_keep_what_an_agent_did_that_writes_a_log() {
    if !has("python3") {
        return;
    }
    let adapter = |log: &str| {
        json!({"version": 1, "name": "logs", "command": ["agent", "--log", log], "sessionMode": "iterative",
            "prompt": {}, "output": {"flag": "", "value": ""},
            "result": {"matchPath": "$.output", "matchValue": "*", "contentPath": "$.output"}})
    };
    for elsewhere in [false, true] {
        let space =
            Space::new(&[("bin/agent", AGENT), ("p.jsonl", "{\"id\":\"a\",\"input\":\"q\"}\n")]);
        executable(&space, "bin/agent");
        let other = Space::new(&[]);
        let log = if elsewhere { other.path("a.log") } else { space.path("a.log") };
        let named = if elsewhere { log.display().to_string() } else { "a.log".to_owned() };
        space.write("logs.json", adapter(&named).to_string());
        let held = || std::fs::read_to_string(&log).unwrap().lines().count();
        let given = |args: &[&str]| {
            let ran = headless::run(&space, args);
            assert_eq!(ran.code(), 0, "{}", ran.shown());
            let record: Value = serde_json::from_str(ran.stdout().trim()).unwrap();
            (record, ran.stderr().matches("a.log` while it runs").count())
        };
        let capture = ["capture", "p.jsonl", "-s", "logs.json"];
        let (first, told) = given(&capture);
        assert_eq!(
            (&first["output"], first.get("errors"), told, held()),
            (&json!("4"), None, 1, 1)
        );
        assert_eq!(given(&capture), (first, 0));
        let trials = ["trials", "p.jsonl", "-s", "logs.json", "-k", "2"];
        let (first, told) = given(&trials);
        assert_eq!((&first["trials"][1]["output"], told, held()), (&json!("4"), 0, 2));
        assert_eq!(given(&trials), (first, 0));
        assert_eq!(held(), 2);
    }
}
