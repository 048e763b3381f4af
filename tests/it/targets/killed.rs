//! `kill -9` in the middle of conversations: what is finished is kept, and nothing of it is run twice.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::json;

use crate::space::{Ran, Running, Space, has, is_slow, jsonl};

/// An agent that notes in which run it begins and, after some work, that it ends. Every program sees `XDG_*`.
const AGENT: &str = r#"#!/bin/sh
read -r asked
note() { printf '%s %s\n' "$1" "$asked" | sed 's/"input.*"trial"/"trial"/' >> "$0.log"; }
note "begin $XDG_RUN"
sleep 0.01
note end
echo done
"#;

const SUITE: &str = "
name: killed
dataset: data.jsonl
target: {kind: command, command: [./agent.sh]}
num_runs: 3
max_concurrent_targets: 32
graders:
  said: {kind: tool, function: exact_match}
";

/// The run that is not killed. Programs of the others may still begin while it runs.
const LAST: &str = "last";

/// How often each conversation has begun, in all runs and in the last one.
fn begun(space: &Space) -> BTreeMap<String, [usize; 2]> {
    let mut begun = BTreeMap::new();
    for line in space.read("agent.sh.log").lines() {
        // One that was killed while it noted it has noted a part.
        let whole = line.strip_prefix("begin ").filter(|asked| asked.ends_with('}'));
        if let Some((run, asked)) = whole.and_then(|whole| whole.split_once(' ')) {
            let counts = begun.entry(asked.to_owned()).or_insert([0, 0]);
            counts[0] += 1;
            counts[1] += usize::from(run == LAST);
        }
    }
    begun
}

/// A run that its agents know by `name`.
#[cfg(unix)]
fn run_as(space: &Space, name: &str) -> Command {
    let mut command = space.command(&["run", "suite.yaml", "--quiet"]);
    command.env("XDG_RUN", name);
    command
}

#[cfg(unix)]
#[test]
fn every_finished_conversation_is_kept_and_none_is_held_twice() {
    if !has("sh") {
        return;
    }
    let (rows, kills) = if is_slow() { (500, 50) } else { (40, 6) };
    let data = (0..rows)
        .map(|at| json!({"id": format!("s{at}"), "input": at.to_string(), "ground_truth": "done"}));
    let space =
        Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &jsonl(data)), ("agent.sh", AGENT)]);
    crate::programs::executable(&space, "agent.sh");
    let total = rows * 3;
    let mut kept = 0;
    for kill in 1..=kills {
        let running = Running::new(run_as(&space, &kill.to_string()));
        // Each is killed once some more are on disk: a part of the way, and never at the end.
        let next = (total * kill / (kills + 1)).max(kept);
        space.wait_stored(next);
        running.kill();
        kept = space.stored_lines().len();
    }
    let ran = run_as(&space, LAST).output().map(Ran).unwrap();
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let [all, cached, asked, failed] = super::conversations(&space);
    assert_eq!([all, cached + asked, failed], [total as u64, total as u64, 0]);
    assert_eq!(cached as usize, kept, "what was on disk is replayed");
    let begun = begun(&space);
    assert_eq!(begun.len(), total);
    let again: usize = begun.values().map(|[_, last]| last).sum();
    assert_eq!(again as u64, asked, "what was kept is not run again");
    // Those that were under way when a process was killed are run again, and no others.
    let twice: usize = begun.values().map(|[all, _]| all - 1).sum();
    assert!(twice <= kills * 32 * 2, "{twice} conversations were held more than once");
}
