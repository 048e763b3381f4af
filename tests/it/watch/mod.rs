//! `evalrs watch`: what each save asks of a judge, and what is told and shown of it.
//!
//! Every test starts the binary over a small suite and a scripted judge whose rationale is what it was asked, edits
//! files, and waits for events or for what stands on a screen.
#![expect(clippy::disallowed_methods, reason = "tests save files as editors do")]

#[cfg(unix)]
mod agreement;
#[cfg(unix)]
mod as_sent;
mod commands;
mod edits;
mod ends;
mod files;
mod labels;
mod lines;
#[cfg(unix)]
mod lists;
mod programs;
#[cfg(unix)]
mod saves;
#[cfg(unix)]
mod screen;
mod spending;
mod superseded;
mod surroundings;
mod targets;
#[cfg(unix)]
mod to_label;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::events::Telling;
use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt_path: rubric.txt, model: judge-1, endpoint: test, max_retries: 0}
gate: {metric_key: quality, metric: avg_score, op: gte, value: 0.75}
";

const POLITE: &str = "Is it polite? {submission}";
const TERSE: &str = "Is it terse? {submission}";

/// What is done to files.
type Edit = fn(&Space);

fn row(at: usize) -> Value {
    json!({"id": format!("s{at}"), "input": "q", "output": format!("answer {at}.")})
}

fn rows(ats: impl IntoIterator<Item = usize>) -> String {
    jsonl(ats.into_iter().map(row))
}

/// The rows with the label of a person.
fn labelled(labels: &[bool]) -> String {
    jsonl(labels.iter().enumerate().map(|(at, label)| {
        let mut row = row(at);
        row["label"] = json!(label);
        row
    }))
}

fn space(count: usize) -> Space {
    Space::new(&[("suite.yaml", SUITE), ("rubric.txt", POLITE), ("data.jsonl", &rows(0..count))])
}

/// What is asked of sample `at` by a rubric that asks whether it is `what`.
fn question(what: &str, at: usize) -> String {
    format!("Is it {what}? answer {at}.")
}

fn questions(what: &str, ats: impl IntoIterator<Item = usize>) -> BTreeSet<String> {
    ats.into_iter().map(|at| question(what, at)).collect()
}

/// A judge whose rationale is the question. Everything is polite, and every other answer is terse. A reply has 200
/// tokens, which is what is expected of one.
fn judge() -> Judge {
    Judge::new(|_, asked| {
        let question = asked.question();
        let at: String = question.chars().filter(char::is_ascii_digit).collect();
        let is_odd = at.parse::<usize>().unwrap_or(0) % 2 == 1;
        let score = if question.contains("terse") && is_odd { 0.0 } else { 1.0 };
        let verdict = json!({"score": score, "rationale": question}).to_string();
        let body = json!({
            "model": "scripted-1",
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": verdict},
                "finish_reason": "stop",
            }],
            "usage": {"prompt_tokens": 10, "completion_tokens": 200, "total_tokens": 210},
        });
        Answer::Http(200, Vec::new(), body.to_string())
    })
}

/// Saves a file as careful editors do: never is a half of it there.
fn save(space: &Space, path: &str, text: &str) {
    space.write(".saved", text);
    std::fs::rename(space.path(".saved"), space.path(path)).unwrap();
}

fn replace(space: &Space, path: &str, old: &str, new: &str) {
    let text = space.read(path);
    assert!(text.contains(old), "{path} has no `{old}`");
    save(space, path, &text.replace(old, new));
}

/// A session that tells its events.
struct Session {
    space: Space,
    judge: Judge,
    telling: Telling,
}

/// What was asked since an edit, and what was told of it.
struct Edited {
    asked: BTreeSet<String>,
    /// From what follows the edit to its `evaluated`.
    events: Vec<Value>,
}

impl Edited {
    fn told(&self) -> &Value {
        self.events.last().unwrap()
    }

    /// The events of one name.
    fn all(&self, name: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["event"] == name).collect()
    }
}

fn telling(space: &Space, judge: &Judge, args: &[&str]) -> Telling {
    let mut command = space.command(&["watch", "suite.yaml", "--json"]);
    command.args(args).env("OPENAI_BASE_URL", judge.url());
    Telling::new(command)
}

impl Session {
    /// A session over so many samples whose first evaluation asks nothing that is held.
    fn new(count: usize, args: &[&str]) -> Self {
        let mut session = Self::begin(space(count), judge(), args);
        let first = session.telling.wait_event("evaluated");
        assert_eq!((&first["save"], &first["actions"]["asked"]), (&json!(0), &json!(count)));
        assert_eq!(session.judge.count(), count);
        session
    }

    /// A session before its first evaluation.
    fn begin(space: Space, judge: Judge, args: &[&str]) -> Self {
        let telling = telling(&space, &judge, args);
        Self { space, judge, telling }
    }

    /// Does `edit`, waits until it is evaluated, and returns what was asked and what was told of it.
    fn edit(&mut self, edit: impl FnOnce(&Space)) -> Edited {
        let mark = self.judge.count();
        edit(&self.space);
        let events = self.telling.events_until("evaluated");
        let asked = self.judge.asked_since(mark);
        let edited = Edited { asked: asked.iter().cloned().collect(), events };
        assert_eq!(asked.len(), edited.asked.len(), "asked twice: {asked:?}");
        let told = edited.told();
        assert_eq!(told["actions"]["asked"], json!(asked.len()), "{told}");
        edited
    }

    /// Ends it, and leaves its files.
    fn leave(self) -> Space {
        self.telling.interrupt();
        self.telling.finish();
        self.space
    }

    /// Ends it as Ctrl-C does; what was not told yet is returned.
    fn end(self) -> Vec<Value> {
        self.telling.interrupt();
        let (events, ran) = self.telling.finish();
        assert_eq!(ran.code(), 130, "{}", ran.shown());
        assert_eq!(events.last().unwrap()["event"], "ended");
        assert_eq!(ran.stderr(), "");
        events
    }
}

/// The mean of the one grader.
fn mean(told: &Value) -> Value {
    told["metrics"]["quality"]["mean"].clone()
}

/// The mean and how far it moved since the save before and since the start.
fn means(told: &Value) -> [Value; 3] {
    ["mean", "since_last", "since_start"].map(|name| told["metrics"]["quality"][name].clone())
}
