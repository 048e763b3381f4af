//! A target that runs while its prompt is edited: a preview of conversations, and those that failed come first.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Session, judge, mean, save};
use crate::space::{Space, jsonl};

const SUITE: &str = "\
name: shop
dataset: data.jsonl
target: {kind: command, command: [sh, agent.sh], inputs: [prompt.md], retries: 0}
max_concurrent_targets: 1
graders:
  quality: {kind: tool, function: contains}
";

/// Answers with its prompt, and notes what it was asked.
const AGENT: &str = "cat >> calls; echo >> calls; cat prompt.md";

fn shop() -> Space {
    let truth = |at: usize| if at < 4 { "kind" } else { "brief" };
    let row = |at: usize| json!({"id": at, "input": format!("s{at}"), "ground_truth": truth(at)});
    let rows = jsonl((0..6).map(row));
    let files = [("suite.yaml", SUITE), ("agent.sh", AGENT), ("prompt.md", "kind")];
    Space::new(&[files[0], files[1], files[2], ("data.jsonl", &rows), ("calls", "")])
}

/// The samples that the agent was asked, after the first `skip`.
fn asked(space: &Space, skip: usize) -> Vec<String> {
    let id = |line: &str| {
        let asked: Value = serde_json::from_str(line).unwrap();
        asked["input"].as_str().unwrap().to_owned()
    };
    space.read("calls").lines().skip(skip).map(id).collect()
}

#[test]
fn a_prompt_that_is_saved_runs_a_preview_of_what_failed_first() {
    let mut session = Session::begin(shop(), judge(), &["--preview-targets", "3"]);
    let held = session.telling.wait_event("paused");
    assert_eq!((asked(&session.space, 0).len(), &held["waiting"]), (3, &json!(3)), "{held}");
    session.telling.say("");
    let first = session.telling.wait_event("evaluated");
    assert_eq!((asked(&session.space, 0).len(), mean(&first)), (6, json!(4.0 / 6.0)), "{first}");
    // What graders do with answers asks for none.
    save(&session.space, "suite.yaml", &SUITE.replace("contains}", "exact_match}"));
    session.telling.wait_event("evaluated");
    assert_eq!(asked(&session.space, 0).len(), 6);
    save(&session.space, "prompt.md", "brief");
    let held = session.telling.wait_event("paused");
    let first = asked(&session.space, 6);
    let failed = BTreeSet::from(["s4", "s5"]);
    assert_eq!((first.len(), &held["waiting"]), (3, &json!(3)), "{held}");
    assert_eq!(first[..2].iter().map(String::as_str).collect::<BTreeSet<_>>(), failed);
    session.telling.say("");
    let told = session.telling.wait_event("evaluated");
    assert_eq!((asked(&session.space, 6).len(), mean(&told)), (6, json!(2.0 / 6.0)), "{told}");
    // What was said before is there.
    save(&session.space, "prompt.md", "kind");
    let told = session.telling.wait_event("evaluated");
    assert_eq!((asked(&session.space, 0).len(), mean(&told)), (12, json!(4.0 / 6.0)), "{told}");
    session.end();
}

#[test]
fn an_agent_that_is_mended_is_asked_what_it_could_not_answer() {
    let space = shop();
    space.write("agent.sh", "cat >> calls; echo >> calls; exit 4");
    let mut session = Session::begin(space, judge(), &["--yes"]);
    let told = session.telling.wait_event("evaluated");
    assert_eq!((asked(&session.space, 0).len(), mean(&told)), (6, Value::Null), "{told}");
    save(&session.space, "agent.sh", AGENT);
    let told = session.telling.wait_event("evaluated");
    assert_eq!((asked(&session.space, 6).len(), mean(&told)), (6, json!(4.0 / 6.0)), "{told}");
    session.end();
}
