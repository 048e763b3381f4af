//! Targets that are the command lines of agents, through the binary: adapters, turns, time limits and workspaces. The agents
//! are scripts.
#![expect(clippy::disallowed_methods, reason = "tests wait for processes")]

use std::time::Instant;

use serde_json::{Value, json};

use crate::judge::PATIENCE;
use crate::programs::executable;
use crate::space::{Ran, Running, Space, has, jsonl};

/// Stands for Claude Code.
pub(crate) const CLAUDE: &str = include_str!("fixtures/agents/claude.py");
const GEMINI: &str = include_str!("fixtures/agents/gemini.sh");
const CODEX: &str = include_str!("fixtures/agents/codex.sh");

/// A space whose suite runs `adapter`, whose program `name` is this script, on these inputs.
fn space(adapter: &str, [name, script]: [&str; 2], more: &str, inputs: &[Value]) -> Space {
    let suite = format!(
        "name: s\ndataset: rows.jsonl\ntarget:\n  kind: headless\n  adapter: {adapter}\n  timeout: 60\n{more}graders:\n  \
         g: {{kind: tool, function: contains, extractor: last_assistant}}\n"
    );
    let row = |input: &Value| json!({"id": "a", "input": input, "ground_truth": "e"});
    let mut rows: Vec<Value> = inputs.iter().map(row).collect();
    for (at, row) in rows.iter_mut().enumerate() {
        row["id"] = json!(format!("row{at}"));
    }
    let bin = format!("bin/{name}");
    let space = Space::new(&[("suite.yaml", &suite), ("rows.jsonl", &jsonl(rows)), (&bin, script)]);
    executable(&space, &bin);
    space
}

/// The binary, for which the scripts of the space are installed.
pub(crate) fn command(space: &Space, args: &[&str]) -> std::process::Command {
    let mut command = space.command(args);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", space.path("bin").display()));
    command
}

pub(crate) fn run(space: &Space, args: &[&str]) -> Ran {
    Ran(command(space, args).output().unwrap())
}

/// The conversations that are stored, in the order of their inputs.
fn stored(space: &Space) -> Vec<Value> {
    let mut found = Vec::new();
    for line in space.stored_lines() {
        let entry: Value = serde_json::from_str(&line).unwrap();
        let text = entry["v"]["outcome"]["reply"]["text"].as_str().unwrap_or("null");
        let answer: Value = serde_json::from_str(text).unwrap_or_default();
        if answer["lines"].is_array() {
            found.push((entry["v"]["ingredients"].to_string(), answer));
        }
    }
    found.sort_by(|left, right| left.0.cmp(&right.0));
    found.into_iter().map(|(_, answer)| answer).collect()
}

/// The steps of a conversation, without times.
fn steps(answer: &Value) -> Vec<Value> {
    let mut steps = answer["trajectory"].as_array().unwrap().clone();
    for step in &mut steps {
        let step = step.as_object_mut().unwrap();
        assert!(step.remove("timestamp").unwrap().is_u64());
        if step["type"] == "tool_call" {
            assert!(step.remove("duration").is_some_and(|duration| duration.is_u64()), "{step:?}");
        }
    }
    steps
}

/// Waits until the processes that an agent has noted are gone.
pub(crate) fn assert_gone(space: &Space) {
    let pids = space.read("bin/pids");
    let since = Instant::now();
    let is_alive = |pid: &str| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z ")
    };
    while pids.split(' ').any(is_alive) {
        assert!(since.elapsed() < PATIENCE, "{pids} are still there");
        std::thread::yield_now();
    }
}

#[test]
fn every_call_of_a_tool_is_in_the_trajectory() {
    if !has("python3") {
        return;
    }
    let call = |name: &str, status: &str, input: Value, output: Value| json!({"type": "tool_call", "name": name, "status": status, "input": input, "output": output});
    let message = |text: &str| json!({"type": "message", "content": text});
    let thought = |text: &str| json!({"type": "thought", "content": text});
    for (adapter, program, script, expected, usage) in [
        (
            "claude-code",
            "claude",
            CLAUDE,
            vec![
                thought("two files"),
                message("I read both."),
                call("Read", "completed", json!({"file_path": "a"}), json!("text of a")),
                call("Read", "failed", json!({"file_path": "b"}), json!("no such file")),
                call(
                    "Bash",
                    "completed",
                    json!({"command": "ls"}),
                    json!([{"type": "text", "text": "a"}]),
                ),
                message("Done."),
            ],
            [10, 3],
        ),
        (
            "gemini-cli",
            "gemini",
            GEMINI,
            vec![
                call("search", "completed", json!({"query": "q"}), json!("found")),
                call("search", "failed", json!({"query": "r"}), json!("none")),
                message("It is there."),
            ],
            [7, 2],
        ),
        (
            "codex",
            "codex",
            CODEX,
            vec![
                thought("look"),
                call("command_execution", "completed", json!("ls"), json!("a\n")),
                call("find", "failed", json!({"x": 1}), json!({"found": 0})),
                message("One file."),
            ],
            [5, 1],
        ),
    ] {
        let space = space(adapter, [program, script], "", &[json!("tools")]);
        let ran = run(&space, &["run", "suite.yaml"]);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        let answers = stored(&space);
        assert_eq!(steps(&answers[0]), expected, "{adapter}");
        let output = expected.last().unwrap()["content"].clone();
        assert_eq!(answers[0]["output"], output, "{adapter}");
        let line =
            space.stored_lines().into_iter().find(|line| line.contains("\\\"lines\\\"")).unwrap();
        let entry: Value = serde_json::from_str(&line).unwrap();
        let used = &entry["v"]["outcome"]["reply"]["usage"];
        assert_eq!([&used["input"], &used["output"]], [&json!(usage[0]), &json!(usage[1])]);
        let again = run(&space, &["run", "suite.yaml", "--frozen"]);
        assert_eq!(again.code(), 0, "{}", again.shown());
    }
}

#[test]
fn turns_are_one_conversation() {
    if !has("python3") {
        return;
    }
    let turns = [json!(["one", "two", "three"])];
    let space = space("claude-code", ["claude", CLAUDE], "models: [m-1]\n", &turns);
    let ran = run(&space, &["run", "suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let runs = space.read("bin/runs.log");
    let runs: Vec<Vec<String>> =
        runs.lines().map(|run| serde_json::from_str(run).unwrap()).collect();
    let first = "--output-format stream-json --dangerously-skip-permissions --verbose --model m-1";
    let runs: Vec<String> = runs.iter().map(|run| run.join(" ")).collect();
    let expected = [
        format!("{first} -p one"),
        format!("{first} --resume s-1 -p two"),
        format!("{first} --resume s-1 -p three"),
    ];
    assert_eq!(runs, expected);
    let answers = stored(&space);
    assert_eq!(answers[0]["output"], "s-1 heard three");
    let lines = answers[0]["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 3);
    assert!(lines[1][0][1].as_str().unwrap().starts_with(r#"{"type": "system""#));
    let space = self::space("gemini-cli", ["gemini", GEMINI], "", &[json!(["one", "two"])]);
    assert_eq!(run(&space, &["run", "suite.yaml"]).code(), 0);
    assert_eq!(
        space.read("bin/prompts.log"),
        "one\nUser: one\nAssistant: It is there.\n\nUser: two\n"
    );
    let space = self::space("codex", ["codex", CODEX], "", &[json!(["one", "two"])]);
    assert_eq!(run(&space, &["run", "suite.yaml"]).code(), 0);
    let flags = "exec --json --full-auto --skip-git-repo-check";
    assert_eq!(space.read("bin/runs.log"), format!("{flags} one\n{flags} resume th-9 two\n"));
}

#[test]
fn what_goes_wrong_is_a_failure_of_the_target_and_not_kept() {
    if !has("python3") {
        return;
    }
    for (input, timeout, expected) in [
        ("fail", "", "the agent exited with code 3 without a result: no network"),
        ("error", "", "the agent reported an error: Credit is too low"),
        ("stubborn", "1", "the target did not answer within 1 s"),
        ("hang", "1", "the target did not answer within 1 s"),
    ] {
        let space = space("claude-code", ["claude", CLAUDE], "", &[json!(input)]);
        let suite = space.read("suite.yaml");
        if !timeout.is_empty() {
            space.write("suite.yaml", suite.replace("timeout: 60", "timeout: 1\n  retries: 0"));
        }
        let ran = run(&space, &["run", "suite.yaml"]);
        assert_eq!(ran.code(), 3, "{}", ran.shown());
        assert!(ran.stdout().contains(expected), "{}", ran.shown());
        assert_eq!(stored(&space), Vec::<Value>::new());
        if !timeout.is_empty() {
            assert_gone(&space);
        }
    }
    let space = space("claude-code", ["claude", CLAUDE], "", &[json!("late")]);
    assert_eq!(
        run(&space, &["run", "suite.yaml"]).code(),
        0,
        "a result counts whatever comes after it"
    );
    assert_eq!(stored(&space)[0]["output"], "on time");
}

#[test]
fn what_an_agent_writes_after_its_result_is_discarded_and_ends_it_not() {
    if !has("python3") {
        return;
    }
    let space = space("claude-code", ["claude", CLAUDE], "", &[json!("saves")]);
    let ran = run(&space, &["run", "suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(space.read("bin/saved"), "all of it");
    let answer = &stored(&space)[0];
    assert_eq!((&answer["output"], &answer["exit"]["code"]), (&json!("told"), &Value::Null));
    assert_eq!(answer["lines"][0].as_array().unwrap().len(), 2, "{answer}");
}

#[test]
fn an_interruption_leaves_no_process_behind() {
    if !has("python3") {
        return;
    }
    let inputs = [json!("stubborn")];
    let space = space("claude-code", ["claude", CLAUDE], "", &inputs);
    let running = Running::new(command(&space, &["run", "suite.yaml"]));
    let since = Instant::now();
    while std::fs::read_to_string(space.path("bin/pids")).unwrap_or_default().is_empty() {
        assert!(since.elapsed() < PATIENCE, "the agent never began");
        std::thread::yield_now();
    }
    running.interrupt();
    assert_eq!(running.finish().code(), 130);
    assert_gone(&space);
}

#[test]
fn an_agent_works_in_a_folder_of_its_own_and_what_it_changed_is_kept() {
    if !has("python3") || !has("git") {
        return;
    }
    let more = "  workspace: {git: true}\n";
    let space = space("claude-code", ["claude", CLAUDE], more, &[json!("write")]);
    let ran = run(&space, &["run", "suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let diff = stored(&space)[0]["workspace_diff"].as_str().unwrap().to_owned();
    assert!(diff.contains("+++ b/new.txt") && diff.contains("+made"), "{diff}");
    assert!(!space.path("new.txt").exists());
}

#[test]
fn an_adapter_of_ones_own_stands_beside_the_suite() {
    let adapter = json!({
        "version": 1, "name": "mine", "command": ["./agent.sh", "--json"], "sessionMode": "iterative",
        "prompt": {"stdin": true}, "output": {"flag": "", "value": ""}, "timeout": 1000,
        "result": {"matchPath": "$.done", "matchValue": "*", "contentPath": "$.done"},
    });
    let agent = "#!/bin/sh\nread -r line\ncase $line in slow) exec sleep 60;; esac\nprintf '{\"done\":\"%s %s\"}' \"$1\" \"$line\"";
    let space =
        space("mine.json", ["unused", ""], "  retries: 0\n", &[json!("hello"), json!("slow")]);
    space.write("mine.json", adapter.to_string());
    space.write("agent.sh", agent);
    executable(&space, "agent.sh");
    let ran = run(&space, &["run", "suite.yaml"]);
    assert!(ran.stdout().contains("a turn took longer than 1 s"), "{}", ran.shown());
    let answers = stored(&space);
    assert_eq!((answers.len(), &answers[0]["output"]), (1, &json!("--json hello")));
    // What the adapter says decides the key: with another one the agent is run again.
    space.write("mine.json", adapter.to_string().replace("\"--json\"", "\"--other\""));
    run(&space, &["run", "suite.yaml"]);
    assert!(stored(&space).iter().any(|answer| answer["output"] == "--other hello"));
    let models = space.read("suite.yaml").replace("graders:", "models: [m]\ngraders:");
    space.write("suite.yaml", models);
    let ran = run(&space, &["run", "suite.yaml"]);
    assert!(ran.stdout().contains("the adapter has no flag for the model `m`"), "{}", ran.shown());
}

#[test]
fn a_simulated_user_talks_with_an_agent_until_it_has_what_it_wants() {
    if !has("sh") {
        return;
    }
    let judge = crate::judge::Judge::new(|_, asked| {
        let is_late = asked.body["messages"].as_array().unwrap().len() > 4;
        crate::judge::Answer::text(if is_late { "[done]" } else { "where exactly?" })
    });
    let user = format!(
        "  user: {{model: p, base_url: '{}', persona: Asks twice., stop_when: '[done]'}}\n",
        judge.url()
    );
    let space = space("gemini-cli", ["gemini", GEMINI], &user, &[json!("where is it?")]);
    let ran = run(&space, &["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let answer = stored(&space).remove(0);
    assert_eq!(answer["said_by_user"], json!(["where is it?", "where exactly?"]), "{answer}");
    assert_eq!(answer["stopped"], "user");
    // The agent is told all that was said.
    let prompts = space.read("bin/prompts.log");
    assert!(prompts.contains("where exactly?") && prompts.contains("It is there."), "{prompts}");
    let asked = judge.asked().len();
    let again = run(&space, &["run", "suite.yaml", "--quiet"]);
    assert_eq!((again.code(), judge.asked().len()), (0, asked), "{}", again.shown());
}
