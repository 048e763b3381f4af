//! `evalrs grade` while its grader waits: records come as they are done, and a kill loses none.
#![expect(clippy::disallowed_methods, reason = "tests start shells and make pipes")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::space::{Ran, Running, Space, jsonl};

fn executable(space: &Space, name: &str, text: &str) {
    space.write(name, text);
    let path = space.path(name);
    assert!(Command::new("chmod").arg("+x").arg(path).status().unwrap().success());
}

fn row(id: usize, output: &str) -> Value {
    json!({"z": 1.0, "id": id.to_string(), "input": ["q", "r"], "output": output, "hint": "Paris", "metadata": {"a": 1}})
}

fn space(rows: impl IntoIterator<Item = Value>) -> Space {
    Space::new(&[("in.jsonl", &jsonl(rows))])
}

fn parsed(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// How many calls `grade --progress` says it made.
fn called(ran: &Ran) -> u64 {
    let stderr = ran.stderr();
    let line = stderr.lines().find(|line| line.ends_with(" called")).unwrap();
    line.rsplit(' ').nth(1).unwrap().parse().unwrap()
}

/// Waits for somebody to write to the pipe that `GATE` names where the output says so.
const GATED: &str = "#!/bin/sh
if grep -q wait; then cat $GATE > /dev/null; fi
echo '{\"pass\":true,\"score\":1}'
";

fn gated(outputs: &[&str]) -> Space {
    let rows = outputs.iter().enumerate().map(|(id, output)| row(id, output));
    let space = space(rows);
    executable(&space, "gated.sh", GATED);
    let gates = ["first", "second"].map(|gate| space.path(gate));
    assert!(Command::new("mkfifo").args(gates).status().unwrap().success());
    space
}

/// Grades with the gated grader, which waits at `gate`.
fn grade_gated(space: &Space, gate: &str, args: &[&str]) -> Command {
    let mut command = space.command(&["grade", "in.jsonl", "-g", "./gated.sh"]);
    command.args(args).env("GATE", gate);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_record_is_written_as_soon_as_those_before_it_are() {
    let space = gated(&["one", "two", "wait", "four"]);
    let mut child = grade_gated(&space, "first", &[]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("\"one\""));
    assert!(lines.next().unwrap().contains("\"two\""));
    space.write("first", "go");
    assert!(lines.next().unwrap().contains("\"wait\""));
    assert!(lines.next().unwrap().contains("\"four\""));
    assert_eq!(Running::of(child).finish().code(), 0);
}

#[test]
fn what_was_graded_before_a_kill_is_not_graded_again() {
    let space = gated(&["one", "wait", "three", "four"]);
    let args = ["-o", "out.jsonl", "--progress"];
    let running = Running::new(grade_gated(&space, "first", &args));
    space.wait_stored(3);
    running.kill();
    // What was called may live on. Opened for both ways, the pipe lets it go whether or not it is there.
    let mut gate = std::fs::File::options().read(true).write(true).open(space.path("first"));
    gate.as_mut().unwrap().write_all(b"go").unwrap();
    drop(gate);
    assert!(parsed(&space.read("out.jsonl")).len() <= 1, "the second is not graded yet");
    let running = Running::new(grade_gated(&space, "second", &args));
    space.write("second", "go");
    let ran = running.finish();
    assert_eq!((ran.code(), called(&ran)), (0, 1));
    assert_eq!(parsed(&space.read("out.jsonl")).len(), 4);
}
