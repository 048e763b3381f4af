//! The workspace of a judge that is checked by labels, some of them held out, edited at random.
//!
//! Its state says which judgments there are, and of what a calibration was found.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::folder::{Files, PathContent};
use crate::judge::{Answer, Judge};
use crate::space::jsonl;

/// What a calibration is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CalibratedState {
    rubric: u32,
    model: u32,
    votes: u32,
    pass_threshold: &'static str,
}

impl CalibratedState {
    /// What is another thing now.
    pub(super) fn stale(&self, now: &Self) -> Vec<&'static str> {
        let settings = [self.votes != now.votes, self.pass_threshold != now.pass_threshold];
        let differs = [
            ("rubric", self.rubric != now.rubric),
            ("model", self.model != now.model),
            ("settings", settings.contains(&true)),
        ];
        differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

/// The state of a workspace.
#[derive(Clone, Debug)]
pub(super) struct LabelledWorkspace {
    pub(super) judge: CalibratedState,
    /// Number of the row → the number of its answer.
    rows: BTreeMap<u32, u32>,
    /// Number of the row → whether a person passed it.
    labels: BTreeMap<u32, bool>,
    /// Whether labels stand in the rows, in place of a file of their own.
    are_in_rows: bool,
    holdout: &'static str,
    display_name: u32,
    round: u32,
}

/// How many answers there are; every other one is good.
const ANSWERS: u32 = 50;
const ROWS: u32 = 80;

impl LabelledWorkspace {
    pub(super) fn new(random: &mut fastrand::Rng) -> Self {
        let rows: BTreeMap<u32, u32> = (0..ROWS).map(|at| (at, random.u32(..ANSWERS))).collect();
        let labels = rows.iter().map(|(at, answer)| (*at, label(*answer, random))).collect();
        Self {
            judge: CalibratedState { rubric: 0, model: 1, votes: 1, pass_threshold: "0.5" },
            rows,
            labels,
            are_in_rows: false,
            holdout: "0.4",
            display_name: 0,
            round: 0,
        }
    }

    pub(super) fn number(&mut self, round: u32) {
        self.round = round;
    }

    /// One to three edits at random, or back to how it was `earlier`. Returns what was done.
    pub(super) fn edit(&mut self, earlier: &[Self], random: &mut fastrand::Rng) -> Vec<String> {
        super::some_edits(self, earlier, random, Self::edit_once)
    }

    fn edit_once(&mut self, random: &mut fastrand::Rng) -> String {
        let at = random.u32(..ROWS);
        match random.u32(..12) {
            0..=1 => {
                let answer = random.u32(..ANSWERS);
                self.rows.insert(at, answer);
                return format!("row {at}: answer {answer}");
            }
            2..=4 => {
                let answer = self.rows[&at];
                self.labels.insert(at, label(answer, random));
                return format!("label row {at}");
            }
            // Few labels tell nothing.
            5 if self.labels.len() > 60 => {
                self.labels.remove(&at);
                return format!("no label of row {at}");
            }
            6 => self.are_in_rows = !self.are_in_rows,
            7 => self.holdout = ["0.3", "0.4", "0.5"][random.usize(..3)],
            8 => self.display_name = random.u32(..3),
            9 => self.judge.rubric = random.u32(..4),
            10 => self.judge.model = random.u32(1..=2),
            11 => self.judge.votes = random.u32(1..=2),
            _ => self.judge.pass_threshold = ["0.5", "0.75"][random.usize(..2)],
        }
        let Self { judge, are_in_rows, holdout, display_name, .. } = self;
        format!("{judge:?}, holdout {holdout}, in rows {are_in_rows}, name {display_name}")
    }

    /// Every judgment: what the judge is told, and how often.
    pub(super) fn judgments(&self) -> BTreeSet<String> {
        let CalibratedState { rubric, model, votes, .. } = &self.judge;
        let of_vote = |vote| {
            let of_row = move |answer: &u32| format!("{rubric} {model} {vote} {}", output(*answer));
            self.rows.values().map(of_row)
        };
        (0..*votes).flat_map(of_vote).collect()
    }

    /// Every file.
    pub(super) fn files(&self) -> Files {
        let passed =
            |at: &u32| self.labels.get(at).map(|passes| if *passes { "pass" } else { "fail" });
        let rows = self.rows.iter().map(|(at, answer)| {
            let mut row = json!({"id": format!("r{at}"), "input": "q", "output": output(*answer)});
            if let Some(label) = passed(at).filter(|_| self.are_in_rows) {
                row["label"] = json!(label);
            }
            row
        });
        let label =
            |at: &u32| json!({"id": format!("r{at}"), "grader": "quality", "label": passed(at)});
        let labels = self.labels.keys().map(label);
        let adverb = ["", "very ", "hardly ", "not "][self.judge.rubric as usize];
        let mut files: Files = [
            ("rows.jsonl", jsonl(rows)),
            ("rubric.txt", format!("Is it {adverb}helpful? {{submission}}\n")),
            ("suite.yaml", self.suite()),
        ]
        .map(|(path, text)| (path.to_owned(), PathContent::Text(text)))
        .into();
        if !self.are_in_rows {
            files.insert("suite.labels.jsonl".to_owned(), PathContent::Text(jsonl(labels)));
        }
        files
    }

    fn suite(&self) -> String {
        let CalibratedState { model, votes, pass_threshold, .. } = &self.judge;
        let Self { holdout, display_name, round, .. } = self;
        format!(
            "\
name: held
dataset: rows.jsonl
graders:
  quality: {{kind: rubric, display_name: Quality {display_name}, prompt_path: rubric.txt, model: judge-{model}, endpoint: test, votes: {votes}, pass_threshold: {pass_threshold}}}
labels: {{holdout: {holdout}}}
gate: {{metric_key: quality, metric: agreement, op: gte, value: 0.{round:04}}}
"
        )
    }
}

fn output(answer: u32) -> String {
    let word = if answer.is_multiple_of(2) { "good" } else { "bad" };
    format!("{word} answer {answer}.")
}

/// What a person says of an answer: now and then something surprising.
fn label(answer: u32, random: &mut fastrand::Rng) -> bool {
    answer.is_multiple_of(2) != (random.u32(..8) == 0)
}

/// A judge that mostly agrees, and otherwise with each rubric.
pub(super) fn judge() -> Judge {
    Judge::new(|_, asked| {
        let sum: u32 = asked.question().bytes().map(u32::from).sum();
        let is_good = asked.question().contains("good");
        Answer::score(match sum % 6 {
            0 => 0.5,
            1 => f64::from(u8::from(!is_good)),
            _ => f64::from(u8::from(is_good)),
        })
    })
}
