//! Programs that are edited while they are watched, and taken back: what answers is what is on the disk.
#![expect(clippy::disallowed_methods, reason = "tests save files as editors do")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::run;
use crate::events::Telling;
use crate::space::{Space, has};

const SUITE: &str = "\
name: s
dataset: rows.jsonl
graders:
  g: {kind: tool, function: 'f.py:f'}
";

/// Saves a file as careful editors do: never is a half of it there.
fn save(space: &Space, path: &str, text: &str) {
    space.write(".saved", text);
    std::fs::rename(space.path(".saved"), space.path(path)).unwrap();
}

fn rows(count: usize) -> String {
    let row = |at| format!("{{\"id\":\"{at}\",\"input\":\"q\",\"output\":\"answer {at}\"}}\n");
    (0..count).map(row).collect()
}

fn scoring(score: &str) -> String {
    format!("def f(sample, submission):\n    return {score}\n")
}

fn watch(space: &Space) -> Telling {
    Telling::new(space.command(&["watch", "suite.yaml", "--json"]))
}

/// How many results there are, how many of them are errors, how much was called, and the mean.
fn told(evaluated: &Value) -> Value {
    let actions = &evaluated["actions"];
    json!([
        actions["total"],
        evaluated["counts"]["errored"],
        actions["asked"],
        evaluated["metrics"]["g"]["mean"]
    ])
}

#[test]
fn what_was_loaded_and_taken_back_answers_nothing() {
    if !has("python3") {
        return;
    }
    let space =
        Space::new(&[("suite.yaml", SUITE), ("rows.jsonl", &rows(2)), ("f.py", &scoring("0.25"))]);
    run(&space, &[], 0);
    save(&space, "f.py", &scoring("1.0"));
    run(&space, &[], 0);
    let mut telling = watch(&space);
    assert_eq!(told(&telling.wait_event("evaluated")), json!([2, 0, 0, 1.0]));
    for (path, text, expected) in [
        ("f.py", scoring("0.25"), json!([2, 0, 0, 0.25])),
        ("f.py", scoring("1.0"), json!([2, 0, 0, 1.0])),
        ("rows.jsonl", rows(3), json!([3, 0, 1, 1.0])),
    ] {
        save(&space, path, &text);
        assert_eq!(told(&telling.wait_event("evaluated")), expected, "{path} {text}");
    }
    telling.interrupt();
    telling.finish();
}

/// Loads a module only when it is called, notes each call, and holds the last one.
const LATE: &str = "\
import os
import time


def f(sample, submission):
    import late
    with open('calls', 'a') as calls:
        calls.write(submission + '\\n')
    while submission == 'answer 2' and os.path.exists('hold'):
        time.sleep(0.01)
    return late.SCORE
";

/// A session in the middle of its first evaluation: the first of three calls is told of, the last is held.
fn in_the_middle() -> (Space, Telling) {
    let space = Space::new(&[
        ("suite.yaml", SUITE),
        ("rows.jsonl", &rows(3)),
        ("f.py", LATE),
        ("late.py", "SCORE = 0.5\n"),
        ("hold", ""),
    ]);
    let mut telling = watch(&space);
    telling.wait_event("verdict");
    let since = Instant::now();
    while space.read("calls").lines().count() < 3 {
        assert!(since.elapsed() < Duration::from_mins(1));
        std::thread::yield_now();
    }
    (space, telling)
}

#[test]
fn a_save_of_rows_calls_nothing_again_because_of_what_was_loaded_late() {
    if !has("python3") {
        return;
    }
    let (space, mut telling) = in_the_middle();
    save(&space, "rows.jsonl", &rows(4));
    telling.wait_event("saved");
    std::fs::remove_file(space.path("hold")).unwrap();
    let evaluated = telling.wait_event("evaluated");
    assert_eq!((&told(&evaluated)[1], &told(&evaluated)[3]), (&json!(0), &json!(0.5)));
    telling.interrupt();
    telling.finish();
    let mut calls: Vec<String> = space.read("calls").lines().map(str::to_owned).collect();
    calls.sort();
    assert_eq!(calls, ["answer 0", "answer 1", "answer 2", "answer 3"]);
    run(&space, &[], 0);
    assert_eq!(space.actions("g"), [0, 4, 0, 0]);
}

#[test]
fn what_was_loaded_late_and_is_edited_is_loaded_again() {
    if !has("python3") {
        return;
    }
    let (space, mut telling) = in_the_middle();
    save(&space, "late.py", "SCORE = 1.0\n");
    save(&space, "rows.jsonl", &rows(4));
    telling.wait_event("saved");
    std::fs::remove_file(space.path("hold")).unwrap();
    let mut evaluated = telling.wait_event("evaluated");
    while told(&evaluated)[3] != json!(1.0) || told(&evaluated)[0] != json!(4) {
        evaluated = telling.wait_event("evaluated");
    }
    assert_eq!(told(&evaluated)[1], json!(0));
    telling.interrupt();
    telling.finish();
    run(&space, &[], 0);
    assert_eq!(space.actions("g"), [0, 4, 0, 0]);
}
