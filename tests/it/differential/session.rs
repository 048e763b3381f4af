//! A session of `evalrs watch` over a workspace that is edited, and a run that replays nothing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::folder::{Files, save_changes};
use crate::events::Telling;
use crate::judge::Judge;
use crate::space::{Ran, Space};

/// Sample and grader → score, pass and error.
pub(super) type Verdicts = BTreeMap<(String, String), (Option<f64>, bool, bool)>;

/// A watched workspace, and what its session has told so far.
pub(super) struct WatchSession<'a> {
    space: Space,
    judge: &'a Judge,
    telling: Telling,
    files: Files,
    /// Where the session records its evaluations.
    saves: String,
}

impl<'a> WatchSession<'a> {
    pub(super) fn new(files: Files, judge: &'a Judge, random: &mut fastrand::Rng) -> Self {
        let space = Space::new(&[]);
        save_changes(&space, &Files::new(), &files, random);
        let mut command = space.command(&["watch", "suite.yaml", "--json", "--yes"]);
        command.env("OPENAI_BASE_URL", judge.url());
        let mut telling = Telling::new(command);
        telling.wait_event("evaluated");
        let run = space.names(".evalrs/runs").pop().unwrap();
        let saves = format!(".evalrs/runs/{run}/saves.jsonl");
        Self { space, judge, telling, files, saves }
    }

    /// Saves what differs, and waits until all of it is evaluated: the threshold of the gate tells which state of the suite
    /// was, and all other files were saved before it.
    pub(super) fn edit(&mut self, files: Files, threshold: f64, random: &mut fastrand::Rng) {
        save_changes(&self.space, &self.files, &files, random);
        self.files = files;
        let threshold = json!(threshold);
        while self.telling.wait_event("evaluated")["gate"]["threshold"] != threshold {}
    }

    /// Fails unless the verdicts of the session are those of a run that replays nothing. `state` says how it came to that.
    pub(super) fn compare(&self, state: &str) {
        let watched = self.verdicts();
        let fresh = self.fresh_verdicts();
        let state = format!("{state}\n{:#?}", self.files);
        assert_eq!(different(&watched, &fresh), Verdicts::new(), "watched; {state}");
        assert_eq!(different(&fresh, &watched), Verdicts::new(), "fresh; {state}");
        // What fails on both sides compares nothing.
        assert!(fresh.values().all(|(_, _, is_error)| !is_error), "{fresh:?}; {state}");
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

    /// The verdicts of a run over an empty store.
    fn fresh_verdicts(&self) -> Verdicts {
        let _ = std::fs::remove_dir_all(self.space.path("fresh"));
        let args = ["run", "suite.yaml", "--cache-dir", "fresh", "--format", "jsonl"];
        let ran: Ran = self.space.run_with(self.judge, &args);
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

    pub(super) fn end(self) {
        self.telling.interrupt();
        assert_eq!(self.telling.finish().1.code(), 130);
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
