//! The first run over a target and its replay: what is written is the same.

use serde_json::json;

use crate::space::{Space, has, jsonl};

/// Whether it is known what a program extracts of a conversation rests on who else has the same one: of a grader that
/// does not apply that is nothing to show.
#[test]
fn a_first_run_and_its_replay_write_the_same_results() {
    if !has("python3") {
        return;
    }
    let suite = "
name: live
dataset: data.jsonl
target: {kind: command, command: [sh, agent.sh]}
graders:
  d: {kind: tool, function: length, config: {max: 99}}
  g: {kind: tool, function: length, config: {max: 99}, extractor: 'g.py:pick'}
";
    let agent = "read l; case \"$l\" in *'\"q\"'*) echo out;; *) echo z;; esac\n";
    let extractor = "def pick(trajectory, config):\n    return 'picked'\n";
    let first = json!({"id": "na", "input": "q", "graders": ["d"], "metadata": {"m": 0}});
    let last = json!({"id": "other", "input": "q", "metadata": {"m": 1}});
    let between = (0..300).map(|at| json!({"id": format!("x{at}"), "input": format!("x{at}")}));
    let rows = jsonl([first].into_iter().chain(between).chain([last]));
    let space = Space::new(&[
        ("suite.yaml", suite),
        ("data.jsonl", &rows),
        ("agent.sh", agent),
        ("g.py", extractor),
    ]);
    let results = || {
        let ran = space.run(&["run", "suite.yaml", "--quiet"]);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        space.record("results.jsonl")
    };
    let first = results();
    assert_eq!(results(), first);
    let line = first.lines().next().unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(
        (&line["submission"], &line["submissions"]),
        (&json!("out"), &serde_json::Value::Null)
    );
    let last = first.lines().last().unwrap();
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["submissions"], json!({"g": "picked"}));
}
