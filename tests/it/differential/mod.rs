//! Random edits under `evalrs watch`: after each, the verdicts are those of a fresh run that replays nothing.
//!
//! What a session shows is replayed from its store wherever it can be. A run with a store of its own and `--refresh` calls
//! every program and asks every judgment, so that a difference means that a key leaves something out, or that the session
//! missed an edit. The edits are random and their seeds fixed.

mod workspace;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::events::Telling;
use crate::judge::{Answer, Judge};
use crate::space::{Ran, Space, has, is_slow};

use workspace::Workspace;

/// Sample and grader → score, pass and error.
type Verdicts = BTreeMap<(String, String), (Option<f64>, bool, bool)>;

/// A judge that always answers a prompt in the same way.
fn judge() -> Judge {
    Judge::new(|_, asked| {
        let sum: u32 = asked.question().bytes().map(u32::from).sum();
        Answer::score(f64::from(sum % 5) / 4.0)
    })
}

/// A watched workspace, and what its session has told so far.
struct Session {
    space: Space,
    judge: Judge,
    telling: Telling,
    /// Where the session records its evaluations.
    saves: String,
}

impl Session {
    fn new(workspace: &Workspace) -> Self {
        let space = Space::new(&[]);
        let judge = judge();
        for (path, text) in workspace.files() {
            workspace::save(&space, &path, &text);
        }
        let mut command = space.command(&["watch", "suite.yaml", "--json", "--yes"]);
        command.env("OPENAI_BASE_URL", judge.url());
        let mut telling = Telling::new(command);
        telling.wait_event("evaluated");
        let run = space.names(".evalrs/runs").pop().unwrap();
        let saves = format!(".evalrs/runs/{run}/saves.jsonl");
        Self { space, judge, telling, saves }
    }

    /// Saves what differs, the suite last, and waits until all of it is evaluated.
    fn edit(&mut self, before: &Workspace, after: &Workspace, random: &mut fastrand::Rng) {
        let old = before.files();
        let new = after.files();
        let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let mut paths: Vec<&String> = paths.into_iter().collect();
        random.shuffle(&mut paths);
        paths.sort_by_key(|path| *path == "suite.yaml");
        for path in paths {
            match (old.get(path), new.get(path)) {
                (before, Some(text)) if before != Some(text) => {
                    workspace::save(&self.space, path, text);
                }
                (Some(_), None) => workspace::remove(&self.space, path),
                _ => {}
            }
        }
        // The threshold tells which state of the suite was evaluated; all other files were saved before it.
        let threshold = json!(after.threshold());
        while self.telling.wait_event("evaluated")["gate"]["threshold"] != threshold {}
    }

    /// The verdicts that the session has recorded: each line of its history holds those that moved.
    fn verdicts(&self) -> Verdicts {
        let mut verdicts = Verdicts::new();
        for line in self.space.read(&self.saves).lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            for moved in line["verdicts"].as_array().unwrap() {
                let key = (text(&moved["sample_id"]), text(&moved["grader"]));
                let now = &moved["now"];
                if now.is_null() {
                    verdicts.remove(&key);
                } else {
                    verdicts.insert(key, verdict(now["score"].as_f64(), now, &now["error"]));
                }
            }
        }
        verdicts
    }

    /// The verdicts of a run that replays nothing.
    fn fresh_verdicts(&self) -> Verdicts {
        let args = ["run", "suite.yaml", "--refresh", "--cache-dir", "fresh", "--format", "jsonl"];
        let ran: Ran = self.space.run_with(&self.judge, &args);
        assert!([0, 1, 3].contains(&ran.code()), "{}", ran.shown());
        let mut verdicts = Verdicts::new();
        for line in ran.stdout().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            for (grader, grade) in line["grades"].as_object().unwrap() {
                let error = json!(!grade["error"].is_null());
                let verdict = verdict(grade["score"].as_f64(), grade, &error);
                verdicts.insert((text(&line["sample_id"]), grader.clone()), verdict);
            }
        }
        verdicts
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A verdict; an error has no pass, whatever is written of it.
fn verdict(score: Option<f64>, grade: &Value, error: &Value) -> (Option<f64>, bool, bool) {
    let is_error = error.as_bool().unwrap();
    (score, !is_error && grade["pass"].as_bool().unwrap_or_default(), is_error)
}

/// The verdicts that the others do not have.
fn different(verdicts: &Verdicts, others: &Verdicts) -> Verdicts {
    let mut different = verdicts.clone();
    different.retain(|key, verdict| others.get(key) != Some(verdict));
    different
}

/// Edits a workspace `rounds` times, and compares after each.
fn check(seed: u64, rounds: u32) {
    if !has("python3") || !has("node") || !has("sh") {
        return;
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let mut workspace = Workspace::new();
    let mut session = Session::new(&workspace);
    let mut earlier = vec![workspace.clone()];
    for round in 1..=rounds {
        let mut next = workspace.clone();
        let edits = next.edit(&earlier, &mut random);
        next.number(round);
        session.edit(&workspace, &next, &mut random);
        let watched = session.verdicts();
        let fresh = session.fresh_verdicts();
        let state = format!("seed {seed}, round {round}: {edits:?}\n{:#?}", next.files());
        assert_eq!(different(&watched, &fresh), Verdicts::new(), "watched; {state}");
        assert_eq!(different(&fresh, &watched), Verdicts::new(), "fresh; {state}");
        // What fails on both sides compares nothing.
        assert!(fresh.values().all(|(_, _, is_error)| !is_error), "{fresh:?}; {state}");
        workspace = next;
        earlier.push(workspace.clone());
    }
    session.telling.interrupt();
    assert_eq!(session.telling.finish().1.code(), 130);
}

/// Two hundred rounds in all where tests may take long.
fn rounds() -> u32 {
    if is_slow() { 50 } else { 6 }
}

#[test]
fn a_watched_session_agrees_with_fresh_runs_one() {
    check(1, rounds());
}

#[test]
fn a_watched_session_agrees_with_fresh_runs_two() {
    check(2, rounds());
}

#[test]
fn a_watched_session_agrees_with_fresh_runs_three() {
    check(3, rounds());
}

#[test]
fn a_watched_session_agrees_with_fresh_runs_four() {
    check(4, rounds());
}
