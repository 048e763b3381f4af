//! Agents that fail: always an error, never a low score, and never kept.

use serde_json::{Value, json};

use crate::space::{Space, has, jsonl};

/// An agent that does what its input says.
const AGENT: &str = r#"
import json, os, signal, sys, time
asked = json.load(sys.stdin)
what = asked["input"]
print("about to", what, file=sys.stderr)
if what == "exit": sys.exit(3)
if what == "signal": os.kill(os.getpid(), signal.SIGKILL)
if what == "raise": raise ValueError("no idea")
if what == "hang": time.sleep(600)
if what == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        time.sleep(600)
    time.sleep(600)
if what == "error": print(json.dumps({"error": {"message": "out of stock"}}))
if what == "other": print(json.dumps({"answer": 7}))
if what == "messages": print(json.dumps({"messages": [{"role": "nobody"}]}))
if what == "null": print("null")
if what == "text": print("plain hello\n")
if what == "number": print("17")
if what == "children":
    if os.fork() == 0:
        time.sleep(600)
    print("left a child")
if what == "deaf": print("did not listen")
if what == "unicode": sys.stdout.buffer.write(b"\xff\xfe hello \xf0\x9f\x98\x80")
"#;

const SUITE: &str = "
name: failing
dataset: data.jsonl
target: {kind: command, command: [python3, agent.py], timeout: 1.5, retries: 0}
max_concurrent_targets: 8
graders:
  said: {kind: tool, function: ascii_printable_only}
";

const WHAT: [&str; 16] = [
    "exit", "signal", "raise", "hang", "stubborn", "error", "other", "messages", "null", "silence",
    "text", "number", "children", "deaf", "unicode", "nothing",
];

fn told(space: &Space) -> String {
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let grade = &line["grades"]["said"];
        let said = match grade["error"]["kind"].as_str() {
            Some(kind) => format!("{kind}: {}", grade["error"]["message"].as_str().unwrap()),
            None => format!("{} {}", grade["score"], line["submission"]),
        };
        format!("{}: {said}\n", line["sample_id"].as_str().unwrap())
    };
    space.record("results.jsonl").lines().map(line).collect()
}

#[test]
fn failures_are_errors_and_are_run_again() {
    if !has("python3") {
        return;
    }
    let rows = WHAT.map(|what| json!({"id": what, "input": what}));
    let space =
        Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &jsonl(rows)), ("agent.py", AGENT)]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    insta::assert_snapshot!(told(&space), @r#"
    exit: target_failed: the target exited with code 3: about to exit
    signal: target_failed: the target was ended by signal 9 (SIGKILL): about to signal
    raise: target_failed: the target exited with code 1: ValueError: no idea
    hang: timeout: the target did not answer within 1.5 s
    stubborn: timeout: the target did not answer within 1.5 s
    error: target_failed: the target reported an error: out of stock
    other: target_failed: the target's reply is not a valid answer: it has neither `output` nor `messages` nor `trajectory`, only `answer`: name the answer `output`, or set its path (`answer: $.answer`)
    messages: target_failed: the target's reply is not a valid answer: `messages` cannot be read: expected at least one message of a known kind, found an array
    null: 1.0 "null"
    silence: target_failed: the target's reply is not a valid answer: it printed nothing
    text: 1.0 "plain hello"
    number: 1.0 "17"
    children: 1.0 "left a child"
    deaf: 1.0 "did not listen"
    unicode: 0.0 "�� hello 😀"
    nothing: target_failed: the target's reply is not a valid answer: it printed nothing
    "#);
    let first = super::conversations(&space);
    space.run(&["run", "suite.yaml", "--quiet"]);
    let again = super::conversations(&space);
    assert_eq!(again[1], first[2] - first[3], "what was answered is replayed");
    assert_eq!(again[2], first[3], "what failed is run again");
}

#[expect(clippy::too_many_lines, reason = "most of it is what is told")]
#[test]
fn what_cannot_run_is_told_before_anything_runs() {
    let cases = [
        ("{kind: command, command: [no-such-agent]}", "no such program"),
        ("{kind: command, command: [./agent.sh]}", "no such file"),
        ("{kind: command, command: python3 agent.py}", "a line for a shell"),
        ("{kind: command, command: []}", "no words"),
        ("{kind: command}", "nothing"),
        ("{kind: function, path: bot.py}", "no function"),
        ("{kind: function, path: bot.rb}", "another language"),
        ("{kind: headless, adapter: cluade-code}", "a misspelt adapter"),
        ("{kind: headless, adapter: ./mine.json}", "a missing adapter"),
        ("{kind: command, command: [sh], workspace: {template: nowhere}}", "no template"),
        ("{kind: command, command: [sh], template: shop}", "a stray field"),
    ];
    let mut shown = String::new();
    for (target, what) in cases {
        let suite = SUITE.replace(
            "{kind: command, command: [python3, agent.py], timeout: 1.5, retries: 0}",
            target,
        );
        let space = Space::new(&[
            ("suite.yaml", &suite),
            ("data.jsonl", "{\"id\": \"a\", \"input\": \"b\"}\n"),
        ]);
        let ran = space.run(&["run", "suite.yaml"]);
        assert_eq!(ran.code(), 2, "{what}: {}", ran.shown());
        shown.push_str(&format!("--- {what}\n{}", ran.stderr()));
    }
    insta::assert_snapshot!(shown, @"
    --- no such program
    error: cannot call `no-such-agent`: no program `no-such-agent` in PATH
     --> suite.yaml:4:34
      |
    4 | target: {kind: command, command: [no-such-agent]}
      |                                  ^^^^^^^^^^^^^^^
    --- no such file
    error: cannot call `agent.sh`: the file `agent.sh` does not exist
     --> suite.yaml:4:34
      |
    4 | target: {kind: command, command: [./agent.sh]}
      |                                  ^^^^^^^^^^^^
    --- a line for a shell
    error: `command` is a list of words, not a line for a shell
     --> suite.yaml:4:34
      |
    4 | target: {kind: command, command: python3 agent.py}
      |                                  ^^^^^^^^^^^^^^^^
      |
      = help: write `command: [python3, agent.py]`
    --- no words
    error: `command` is empty
     --> suite.yaml:4:34
      |
    4 | target: {kind: command, command: []}
      |                                  ^^
      |
      = help: for example `[python3, agent.py]`
    --- nothing
    error: a command target needs a `command`
     --> suite.yaml:4:1
      |
    4 | target: {kind: command}
      | ^^^^^^
      |
      = help: for example `command: [python3, agent.py]`
    --- no function
    error: `bot.py` is a file, not a function
     --> suite.yaml:4:32
      |
    4 | target: {kind: function, path: bot.py}
      |                                ^^^^^^
      |
      = help: write `bot.py:NAME`
    --- another language
    error: `bot.rb` names neither a function of a Python file nor a module
     --> suite.yaml:4:32
      |
    4 | target: {kind: function, path: bot.rb}
      |                                ^^^^^^
      |
      = help: write `agent.py:run`, or a `.ts`, `.js` or `.mjs` file that exports `run`
    --- a misspelt adapter
    error: unknown adapter `cluade-code`
     --> suite.yaml:4:35
      |
    4 | target: {kind: headless, adapter: cluade-code}
      |                                   ^^^^^^^^^^^ expected `claude-code`, `gemini-cli` or `codex`
      |
      = help: did you mean `claude-code`?
    --- a missing adapter
    error: the file `mine.json` does not exist
     --> suite.yaml:4:35
      |
    4 | target: {kind: headless, adapter: ./mine.json}
      |                                   ^^^^^^^^^^^
    --- no template
    error: cannot call `sh`: `inputs`: nothing matches `nowhere`
     --> suite.yaml:4:34
      |
    4 | target: {kind: command, command: [sh], workspace: {template: nowhere}}
      |                                  ^^^^
    --- a stray field
    error: a command target has no field `template`
     --> suite.yaml:4:40
      |
    4 | target: {kind: command, command: [sh], template: shop}
      |                                        ^^^^^^^^
      |
      = help: known fields: `kind`, `command`, `answer`, `sandbox`, `cwd`, `version`, `inputs`, `env`, `cache`, `timeout`, `retries`, `setup`, `teardown`, `sees`, `workspace`, `outputs`, `setup_each`, `teardown_each`
    ");
}

/// What a run of 15 samples says, one conversation after the other, where the target is the one given.
fn one_after_the_other(target: &str, agent: &str) -> String {
    let rows = (0..15).map(|id| json!({"id": id.to_string(), "input": format!("ask {id}")}));
    let suite = format!(
        "name: dead\ndataset: data.jsonl\ntarget: {target}\nmax_concurrent_targets: 1\n\
         graders: {{said: {{kind: tool, function: ascii_printable_only}}}}\n"
    );
    let rows: Vec<Value> = rows.collect();
    let files = [("suite.yaml", suite.as_str()), ("data.jsonl", &jsonl(rows)), ("agent.sh", agent)];
    let space = Space::new(&files);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    let lines = space.record("results.jsonl");
    let kind = |kind: &str| lines.matches(&format!("\"kind\":\"{kind}\"")).count();
    format!(
        "exit {}: {} failed, {} could not connect, {} not asked\n{}",
        ran.code(),
        kind("target_failed"),
        kind("connection"),
        kind("not_asked"),
        ran.stderr()
    )
}

#[test]
fn a_target_that_never_answers_is_left_alone() {
    let exits = "echo broken >&2; exit 7";
    let command = "{kind: command, command: [sh, agent.sh], retries: 0}";
    insta::assert_snapshot!(one_after_the_other(command, exits), @r"
    exit 3: 10 failed, 0 could not connect, 5 not asked
    stopped the target: it failed 10 times in the same way: the target exited with code 7: broken; 5 conversations not run
    ");
    let nobody = "{kind: http, url: 'http://127.0.0.1:9/ask', answer: $.text, retries: 0}";
    insta::assert_snapshot!(one_after_the_other(nobody, ""), @r"
    exit 3: 0 failed, 10 could not connect, 5 not asked
    stopped the target: it failed 10 times in the same way: nothing listens at http://127.0.0.1:9/ask: is a server running there?; 5 conversations not run
    ");
}

#[test]
fn a_target_that_fails_on_some_samples_is_asked_on() {
    let fails_later = "case $(cat) in *'ask 1\"'*) echo hello;; *) exit 7;; esac";
    let command = "{kind: command, command: [sh, agent.sh], retries: 0}";
    insta::assert_snapshot!(one_after_the_other(command, fails_later), @"exit 3: 14 failed, 0 could not connect, 0 not asked");
}
