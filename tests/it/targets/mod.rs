//! Targets that evalrs runs, through the binary: what is run, what is replayed, and what is left behind.
#![expect(
    clippy::disallowed_methods,
    clippy::format_push_string,
    reason = "tests look at what agents have noted, and write what they see as text"
)]

mod changes;
mod failures;
mod folders;
mod keys;
mod killed;
mod letta;
mod letta_code;
mod letta_functions;
mod letta_layout;
mod replays;
mod outputs;
mod written;

use serde_json::{Value, json};

use crate::space::{Ran, Space, has, jsonl};

/// An agent that notes each of its runs in the file `runs` beside it, and answers with its prompt.
const AGENT: &str = r#"
import json, os, sys
asked = json.load(sys.stdin)
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "runs"), "a") as runs:
    runs.write("%s/%s/%s\n" % (asked["id"], asked.get("model"), asked["trial"]))
greeting = open(os.path.join(here, "prompts", "greeting.txt")).read().strip()
print(json.dumps({"event": "step", "type": "tool_call", "name": "search", "status": "completed", "timestamp": 1}))
answer = greeting + " " + str(asked["input"]) + " " * (asked["trial"] % 2)
print(json.dumps({"output": answer, "usage": {"input_tokens": 10, "output_tokens": 2}, "cost": 0.5}))
"#;

const SUITE: &str = r#"
name: live
dataset: data.jsonl
target:
  kind: command
  command: [python3, agent.py]
  inputs: ["prompts/**"]
num_runs: 2
graders:
  greets: {kind: tool, function: contains}
  searches: {kind: tool, function: tool_called, config: {name: search}}
"#;

/// A space with the agent; none where nothing runs it.
fn space(suite: &str) -> Option<Space> {
    let rows = ["a", "b", "c"].map(|id| json!({"id": id, "input": id, "ground_truth": "hello"}));
    has("python3").then(|| {
        Space::new(&[
            ("suite.yaml", suite),
            ("data.jsonl", &jsonl(rows)),
            ("agent.py", AGENT),
            ("prompts/greeting.txt", "hello"),
        ])
    })
}

#[track_caller]
fn run(space: &Space, args: &[&str], code: i32) -> Ran {
    let ran = space.run(&[&["run", "suite.yaml", "--quiet"], args].concat());
    assert_eq!(ran.code(), code, "{}", ran.shown());
    ran
}

/// The runs of the agent since the last call, sorted.
fn runs(space: &Space) -> Vec<String> {
    let path = space.path("runs");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    let mut runs: Vec<String> = text.lines().map(str::to_owned).collect();
    runs.sort();
    runs
}

/// Total, cached, asked and failed conversations of the last run.
fn conversations(space: &Space) -> [u64; 4] {
    let facts: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    ["total", "cached", "asked", "failed"].map(|name| facts["target"][name].as_u64().unwrap())
}

#[test]
fn an_agent_runs_again_only_if_what_decides_its_answer_changed() {
    let Some(space) = space(SUITE) else { return };
    run(&space, &[], 0);
    assert_eq!(
        runs(&space),
        ["a/None/0", "a/None/1", "b/None/0", "b/None/1", "c/None/0", "c/None/1"]
    );
    assert_eq!(conversations(&space), [6, 0, 6, 0]);
    let first = space.record("results.jsonl");
    for args in [&[][..], &["--offline"], &["--frozen"], &["--refresh"]] {
        run(&space, args, 0);
        assert_eq!(runs(&space), [""; 0], "{args:?}");
        assert_eq!(space.record("results.jsonl"), first, "{args:?}");
    }
    // More trials: what is missing.
    run(&space, &["--trials", "3"], 0);
    assert_eq!(runs(&space), ["a/None/2", "b/None/2", "c/None/2"]);
    // Another grader: nothing.
    space.write("suite.yaml", SUITE.replace("function: contains", "function: starts_differently"));
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 2);
    space.write("suite.yaml", SUITE.replace("contains", "exact_match"));
    run(&space, &[], 0);
    assert_eq!(runs(&space), [""; 0]);
    // A row that was added, and one whose id alone changed.
    let rows = ["a", "b", "new"].map(|id| json!({"id": id, "input": id, "ground_truth": "hello"}));
    let renamed = json!({"id": "renamed", "input": "c", "ground_truth": "hello"});
    space.write("data.jsonl", jsonl(rows.into_iter().chain([renamed])));
    run(&space, &[], 0);
    assert_eq!(runs(&space), ["new/None/0", "new/None/1"]);
    // What does not decide its answer.
    let other = SUITE.replace("  inputs", "  timeout: 7\n  retries: 3\n  inputs");
    space.write("suite.yaml", other + "max_concurrent_targets: 2\n");
    run(&space, &[], 0);
    assert_eq!(runs(&space), [""; 0]);
    // A file that it declares, and the file that it is.
    space.write("prompts/greeting.txt", "hello there");
    run(&space, &[], 0);
    assert_eq!(runs(&space).len(), 8);
    space.write("agent.py", format!("{AGENT}# edited\n"));
    run(&space, &[], 0);
    assert_eq!(runs(&space).len(), 8);
    run(&space, &["--refresh=target"], 0);
    assert_eq!(runs(&space).len(), 8);
}

#[test]
fn models_are_told_and_are_results_of_their_own() {
    let suite = format!("{SUITE}models: [one, {{name: two, provider: anthropic}}]\n");
    let Some(space) = space(&suite.replace("num_runs: 2\n", "")) else { return };
    run(&space, &[], 0);
    assert_eq!(runs(&space), ["a/one/0", "a/two/0", "b/one/0", "b/two/0", "c/one/0", "c/two/0"]);
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    assert_eq!(summary["by_model"]["two"]["greets"]["n"], 3);
}

#[test]
fn the_bill_of_the_target_is_its_own() {
    let Some(space) = space(SUITE) else { return };
    let ran = space.run(&["run", "suite.yaml"]);
    let told = "target: 6 conversations: 6 run, 0 cached; spent $3.00, 72 tokens";
    assert!(ran.stdout().contains(told), "{}", ran.stdout());
    let ran = space.run(&["run", "suite.yaml"]);
    let told = "target: 6 conversations: 0 run, 6 cached; saved $3.00, 72 tokens";
    assert!(ran.stdout().contains(told), "{}", ran.stdout());
    // Each conversation counts against a limit on calls.
    space.write("prompts/greeting.txt", "hello again");
    runs(&space);
    run(&space, &["--max-calls", "2", "--max-concurrent-targets", "1"], 3);
    assert_eq!(runs(&space).len(), 2);
}

#[test]
fn only_targets_grades_nothing() {
    let Some(space) = space(SUITE) else { return };
    let ran = space.run(&["run", "suite.yaml", "--only-targets", "--quiet"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 0
    --- stdout
    target: 6 conversations: 6 run, 0 cached; spent $3.00, 72 tokens
    --- stderr
    ");
    assert_eq!(runs(&space).len(), 6);
    assert_eq!(space.names(".evalrs/runs"), [""; 0]);
    run(&space, &["--offline"], 0);
}

#[test]
fn what_a_function_loads_while_it_is_called_loses_no_answer() {
    let suite = "name: lazy\ndataset: data.jsonl\ntarget: {kind: function, path: 'bot.py:answer'}\ngraders:\n  greets: {kind: tool, function: contains}\n";
    let Some(space) = space(suite) else { return };
    space.write(
        "bot.py",
        "def answer(sample):\n    from words import GREETING\n    return GREETING\n",
    );
    space.write("words.py", "GREETING = 'hello'\n");
    run(&space, &[], 0);
    assert_eq!(conversations(&space), [3, 0, 3, 0]);
    run(&space, &[], 0);
    assert_eq!(conversations(&space), [3, 3, 0, 0]);
    // Nor does a run that grades nothing key them otherwise.
    space.write("words.py", "GREETING = 'hello you'\n");
    space.run(&["run", "suite.yaml", "--only-targets", "--quiet"]);
    run(&space, &["--offline"], 0);
    assert_eq!(conversations(&space), [3, 3, 0, 0]);
}

#[test]
fn a_script_in_the_folder_it_runs_in_is_in_the_key() {
    let suite =
        SUITE.replace("command: [python3, agent.py]", "command: [python3, agent.py]\n  cwd: sub");
    let Some(space) = space(&suite) else { return };
    let agent = "print('hello')\n";
    space.write("sub/agent.py", agent);
    run(&space, &[], 0);
    space.write("sub/agent.py", format!("{agent}# edited\n"));
    run(&space, &[], 0);
    assert_eq!(conversations(&space), [6, 0, 6, 0]);
}

#[test]
fn secrets_that_an_agent_prints_are_not_kept() {
    let suite = SUITE.replace("  inputs", "  env: [{SHOP_KEY: secret}]\n  inputs");
    let Some(space) = space(&suite) else { return };
    space.write("agent.py", "import os\nprint('hello ' + os.environ['SHOP_KEY'])\n");
    let mut command = space.command(&["run", "suite.yaml", "--quiet"]);
    command.env("SHOP_KEY", "sesame-0123456789abcdef");
    let ran = Ran(command.output().unwrap());
    let told = ran.shown() + &space.record("results.jsonl") + &space.stored_lines().join("");
    assert!(told.contains("hello [secret]") && !told.contains("sesame"), "{told}");
}

#[test]
fn what_is_stored_is_planned_as_stored() {
    let Some(space) = space(SUITE) else { return };
    run(&space, &[], 0);
    let told = |space: &Space| {
        let ran = space.run(&["plan", "suite.yaml"]);
        let line = ran.stdout().lines().find(|line| line.starts_with("target:")).map(str::to_owned);
        line.unwrap_or_default()
    };
    assert_eq!(told(&space), "target: nothing to run of 6 conversations");
    space.write("prompts/greeting.txt", "hello there");
    insta::assert_snapshot!(told(&space), @"target: 6 to run of 6 conversations; about $3.00, about 72 tokens, by the mean of 6 stored");
    let ran = space.run(&["explain", "suite.yaml", "a"]);
    assert!(ran.stdout().contains("in the file prompts/greeting.txt"), "{}", ran.stdout());
}

#[test]
fn what_combines_graders_may_stand_before_them() {
    let first = "graders:\n  half: {kind: combine, combine: 0.5*greets}\n";
    let Some(space) = space(&SUITE.replace("graders:\n", first)) else { return };
    run(&space, &[], 0);
    assert_eq!(conversations(&space), [6, 0, 6, 0]);
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    assert_eq!(summary["metrics"]["half"]["avg_score_total"], 0.5, "{summary}");
}
