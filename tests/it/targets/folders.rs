//! Workspaces and the commands around conversations.

use std::time::Instant;

use serde_json::{Value, json};

use crate::judge::PATIENCE;
use crate::space::{Running, Space, has, jsonl};

const AGENT: &str = r#"
import json, os, sys
asked = json.load(sys.stdin)
assert os.path.realpath(asked["workspace"]) == os.path.realpath(os.getcwd())
open("stock.txt", "a").write(asked["input"] + "\n")
open("new.txt", "w").write("made\n")
print("files: " + " ".join(sorted(name for name in os.listdir(".") if name != ".git")))
"#;

const SUITE: &str = "
name: folders
dataset: data.jsonl
target:
  kind: command
  command: [python3, agent.py]
  workspace: {template: shop, git: true, keep: always}
  setup: [sh, -c, 'echo setup >> order']
  teardown: [sh, -c, 'echo teardown >> order']
  setup_each: [sh, -c, 'echo prepared > prepared.txt']
  teardown_each: [sh, -c, 'test -f new.txt']
graders:
  files: {kind: tool, function: contains}
  changed: {kind: program, path: changed.py}
";

const CHANGED: &str = r#"#!/usr/bin/env python3
import json, os, sys
graded = json.load(sys.stdin)
there = os.path.exists(os.path.join(graded.get("cwd", "/nowhere"), "new.txt"))
print(json.dumps({"pass": there, "score": float(there)}))
"#;

fn space() -> Option<Space> {
    let rows = [json!({"id": "a", "input": "apples", "ground_truth": "prepared.txt"})];
    (has("python3") && has("git")).then(|| {
        let space = Space::new(&[
            ("suite.yaml", SUITE),
            ("data.jsonl", &jsonl(rows)),
            ("agent.py", AGENT),
            ("changed.py", CHANGED),
            ("shop/stock.txt", "pears\n"),
        ]);
        #[cfg(unix)]
        crate::programs::executable(&space, "changed.py");
        space
    })
}

#[test]
fn a_conversation_has_a_folder_of_its_own_and_what_changed_in_it_is_told() {
    let Some(space) = space() else { return };
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let line: Value = serde_json::from_str(&space.record("results.jsonl")).unwrap();
    assert_eq!(line["submission"], "files: new.txt prepared.txt stock.txt");
    assert_eq!(line["grades"]["changed"]["score"], 1.0, "{line}");
    assert_eq!(space.read("order"), "setup\nteardown\n");
    assert_eq!(space.read("shop/stock.txt"), "pears\n");
    assert_eq!(space.names(".evalrs/workspaces"), [".gitignore", "kept"]);
    // The template decides what an agent does.
    space.write("shop/stock.txt", "plums\n");
    space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(super::conversations(&space), [1, 0, 1, 0]);
    let kept = SUITE.replace("keep: always", "keep: never").replace("echo setup", "echo set up");
    space.write("suite.yaml", kept);
    space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(super::conversations(&space), [1, 1, 0, 0]);
}

#[test]
fn the_diff_of_a_workspace_is_part_of_the_row() {
    let Some(space) = space() else { return };
    let suite = SUITE.replace("  files: {kind: tool, function: contains}\n", "")
        + "  diff: {kind: rubric, prompt: 'Is this right? {row.workspace_diff}', model: m, endpoint: e}\n";
    space.write("suite.yaml", suite);
    let judge = crate::judge::Judge::new(|_: usize, asked: &crate::judge::Asked| {
        let is_whole = ["+apples", "+made"].iter().all(|part| asked.prompt().contains(part));
        crate::judge::Answer::text(&json!({"score": f64::from(u8::from(is_whole))}).to_string())
    });
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let line: Value = serde_json::from_str(&space.record("results.jsonl")).unwrap();
    assert_eq!(line["grades"]["diff"]["score"], 1.0, "{line}");
}

#[test]
fn commands_that_fail_fail_conversations() {
    let Some(space) = space() else { return };
    let mut shown = String::new();
    for (from, to) in [
        ("echo setup >> order", "echo no database >&2; exit 4"),
        ("echo prepared > prepared.txt", "exit 5"),
    ] {
        space.write("suite.yaml", SUITE.replace(from, to));
        let ran = space.run(&["run", "suite.yaml", "--quiet"]);
        let line: Value = serde_json::from_str(&space.record("results.jsonl")).unwrap();
        let message = line["grades"]["files"]["error"]["message"].as_str().unwrap();
        let message = message.split("; its workspace").next().unwrap_or_default();
        shown.push_str(&format!("{} {message}\n", ran.code()));
    }
    insta::assert_snapshot!(shown, @r"
    3 `setup` failed: `sh -c echo no database >&2; exit 4` exited with code 4
    3 `setup_each` failed: `sh -c exit 5` exited with code 5
    ");
}

#[test]
fn ctrl_c_tears_down_and_leaves_no_folder_behind() {
    let Some(space) = space() else { return };
    space.write("agent.py", "import time, sys\nopen('new.txt', 'w')\nprint('{\"event\": \"waits\"}', flush=True)\ntime.sleep(600)\n");
    let mut running = Running::new(space.command(&["run", "suite.yaml", "-v"]));
    running.read_until("waits");
    running.interrupt();
    let ran = running.finish();
    assert_eq!(ran.code(), 130, "{}", ran.shown());
    assert_eq!(space.read("order"), "setup\nteardown\n");
    assert_eq!(space.names(".evalrs/workspaces"), [".gitignore"]);
}

#[test]
fn a_second_ctrl_c_ends_what_cleans_up() {
    let Some(space) = space() else { return };
    let hangs = "teardown: [sh, -c, 'echo teardown >> order; exec sleep 600']";
    space.write("suite.yaml", SUITE.replace("teardown: [sh, -c, 'echo teardown >> order']", hangs));
    space.write("agent.py", "import time\ntime.sleep(600)\n");
    let mut running = Running::new(space.command(&["run", "suite.yaml"]));
    let wait_for = |order: &str| {
        let since = Instant::now();
        while std::fs::read_to_string(space.path("order")).unwrap_or_default() != order {
            assert!(since.elapsed() < PATIENCE, "{order} never came");
            std::thread::yield_now();
        }
    };
    wait_for("setup\n");
    running.interrupt();
    wait_for("setup\nteardown\n");
    running.interrupt();
    running.read_until("interrupted again, so the cleanup is incomplete");
    assert_eq!(running.finish().code(), 130);
}

#[test]
fn an_agent_that_removes_its_repository_shows_nothing_of_another() {
    let Some(space) = space() else { return };
    space.write("private.txt", "top secret");
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        let ran = git.arg("-C").arg(space.path("")).args(args).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    git(&["init", "-q"]);
    let agent = format!("import shutil\nshutil.rmtree('.git')\n{AGENT}");
    space.write("agent.py", agent);
    space.write("shop/.git/HEAD", "ref: refs/heads/other\n");
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let stored = space.stored_lines().join("");
    assert!(!stored.contains("top secret"), "{stored}");
    assert!(stored.contains("+made") && stored.contains("+apples"), "{stored}");
}
