//! The record of a run as something to compare with: what was submitted for each case.
//!
//! Only submissions are read; grades, inputs and models that were not run again are of no interest. It knows the
//! lines of `results.jsonl`, not where the file is.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Deserialize;

use crate::dataset::split::SHOWN_PROBLEMS;
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::json_syntax::slip;
use evalrs_model::record_format::{LINE_FORMAT, reads_line};

/// What a run submitted, case by case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedRun {
    samples: HashMap<String, Vec<RecordedCase>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct RecordedCase {
    model: Option<String>,
    trial: u32,
    /// Grader → what it graded, sorted by grader.
    submissions: Vec<(String, RecordedSubmission)>,
}

/// What a grader of a recorded run graded of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedSubmission {
    text: Arc<str>,
    /// Empty where turns were not graded one by one.
    turns: Arc<[String]>,
}

impl RecordedSubmission {
    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of one turn, from 0, where turns were graded one by one.
    pub fn turn(&self, turn: usize) -> Option<&str> {
        self.turns.get(turn).map(String::as_str)
    }
}

/// One line of `results.jsonl`, as far as it is read.
#[derive(Deserialize)]
struct RecordedLine {
    format: u32,
    sample_id: String,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    trial: u32,
    submission: Option<String>,
    #[serde(default)]
    submissions: BTreeMap<String, String>,
    #[serde(default)]
    not_applicable: BTreeMap<String, String>,
    #[serde(default)]
    grades: BTreeMap<String, RecordedGrade>,
}

#[derive(Deserialize)]
struct RecordedGrade {
    #[serde(default)]
    per_turn: Vec<RecordedTurn>,
}

#[derive(Deserialize)]
struct RecordedTurn {
    submission: String,
}

/// The file that holds the results of the run at `path`: itself, or the one inside the folder that it names.
pub fn results_file(path: &str) -> String {
    let is_file = path.rsplit_once('.').is_some_and(|(_, extension)| extension == "jsonl");
    if is_file { path.to_owned() } else { format!("{}/results.jsonl", path.trim_end_matches('/')) }
}

/// Reads `results.jsonl`, whose name is `path`. Stops after so many bad lines: then it is something else.
pub fn read(path: &str, text: &str) -> (RecordedRun, Vec<Diagnostic>) {
    let mut run = RecordedRun::default();
    let mut problems = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if line.trim().is_empty() {
            continue;
        }
        if let Err(problem) = run.add(line, |span| Place::in_line(path, number, line, span)) {
            problems.push(problem);
            if problems.len() == SHOWN_PROBLEMS {
                break;
            }
        }
    }
    if run.samples.is_empty() && problems.is_empty() {
        problems.push(Diagnostic::error(Place::file(path), "the record of the run is empty"));
    }
    (run, problems)
}

impl RecordedRun {
    fn add(
        &mut self,
        line: &str,
        place: impl Fn(std::ops::Range<usize>) -> Place,
    ) -> Result<(), Diagnostic> {
        let mut line: RecordedLine = serde_json::from_str(line).map_err(|error| {
            let slip = slip(line, &error);
            let place = place(slip.span.clone());
            let diagnostic = slip.diagnostic("this is not a line of a recorded run", place);
            diagnostic
                .hint("`compare_to: {run: …}` names the folder of a run, or its results.jsonl")
        })?;
        if !reads_line(line.format) {
            let message = format!("this is format {}, not one of 1 to {LINE_FORMAT}", line.format);
            let problem = Diagnostic::error(place(0..1), message);
            return Err(problem.hint("record the run again with this version of evalrs"));
        }
        let submissions = line.graded();
        let cases = self.samples.entry(line.sample_id).or_default();
        if cases.iter().any(|case| case.model == line.model && case.trial == line.trial) {
            let message = "an earlier line has the same sample, model and trial";
            return Err(Diagnostic::error(place(0..1), message));
        }
        cases.push(RecordedCase { model: line.model, trial: line.trial, submissions });
        Ok(())
    }

    /// What was submitted for a case: with its model and trial, else for the first trial, else without a model. Of
    /// several graders the one of this name is meant.
    pub fn find(
        &self,
        id: &str,
        model: Option<&str>,
        trial: u32,
        grader: &str,
    ) -> Option<&RecordedSubmission> {
        let cases = self.samples.get(id)?;
        let case = [(model, trial), (model, 0), (None, trial), (None, 0)].into_iter().find_map(
            |(model, trial)| {
                cases.iter().find(|case| case.model.as_deref() == model && case.trial == trial)
            },
        )?;
        let named = case.submissions.iter().find(|(name, _)| name == grader);
        let only = match case.submissions.as_slice() {
            [only] => Some(only),
            _ => None,
        };
        named.or(only).map(|(_, submitted)| submitted)
    }
}

impl RecordedLine {
    /// What each grader graded. Graders mostly share an extractor: equal texts are kept once.
    fn graded(&mut self) -> Vec<(String, RecordedSubmission)> {
        let mut submissions = std::mem::take(&mut self.submissions);
        if let Some(shared) = &self.submission {
            for grader in self.grades.keys().chain(self.not_applicable.keys()) {
                submissions.entry(grader.clone()).or_insert_with(|| shared.clone());
            }
        }
        let mut kept: Vec<(String, RecordedSubmission)> = Vec::with_capacity(submissions.len());
        for (grader, text) in submissions {
            let turns = self.grades.remove(&grader).map(|grade| grade.per_turn).unwrap_or_default();
            let turns: Vec<String> = turns.into_iter().map(|turn| turn.submission).collect();
            let alike = kept.iter().find(|(_, kept)| *kept.text == *text && *kept.turns == *turns);
            let submitted = match alike {
                Some((_, kept)) => kept.clone(),
                None => RecordedSubmission { text: text.into(), turns: turns.into() },
            };
            kept.push((grader, submitted));
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{RecordedSubmission, read, results_file};

    fn line(id: &str, model: &Value, trial: u32, submissions: &Value) -> String {
        json!({
            "format": 1, "sample_id": id, "input": "q", "ground_truth": null, "model": model, "trial": trial,
            "submissions": submissions, "grades": {"a": {"score": 1.0, "per_turn": [{"turn": 0, "submission": "t0"}]}},
        })
        .to_string()
    }

    #[test]
    fn a_case_is_found_by_who_it_is_and_who_asks() {
        let both = json!({"a": "of a", "b": "of b"});
        let text = [
            line("s", &Value::Null, 0, &both),
            line("s", &Value::Null, 1, &json!({"a": "trial 1", "b": ""})),
            line("s", &json!("m"), 0, &json!({"a": "of m"})),
            line("t", &json!("m"), 3, &json!({"other": "only"})),
        ]
        .join("\r\n\n");
        let (run, problems) = read("results.jsonl", &text);
        assert_eq!(problems, []);
        for (id, model, trial, grader, expected) in [
            ("s", None, 0, "a", Some("of a")),
            ("s", None, 0, "b", Some("of b")),
            ("s", None, 0, "c", None),
            ("s", None, 1, "a", Some("trial 1")),
            ("s", None, 1, "b", Some("")),
            ("s", None, 2, "a", Some("of a")),
            ("s", Some("m"), 0, "b", Some("of m")),
            ("s", Some("m"), 7, "b", Some("of m")),
            ("s", Some("n"), 1, "a", Some("trial 1")),
            ("s", Some("n"), 7, "a", Some("of a")),
            ("t", Some("m"), 3, "x", Some("only")),
            ("t", Some("m"), 0, "x", None),
            ("t", None, 3, "x", None),
            ("u", None, 0, "a", None),
        ] {
            let found = run.find(id, model, trial, grader);
            assert_eq!(
                found.map(RecordedSubmission::text),
                expected,
                "{id} {model:?} {trial} {grader}"
            );
        }
        let newest = json!({
            "format": 2, "sample_id": "s", "submission": "shared", "submissions": {"b": "of b"},
            "grades": {"a": {"per_turn": [{"submission": "t0"}]}, "b": {}}, "not_applicable": {"c": "why"},
        });
        let (newest, problems) = read("results.jsonl", &newest.to_string());
        assert_eq!(problems, []);
        let found = ["a", "b", "c", "d"].map(|grader| newest.find("s", None, 0, grader));
        assert_eq!(
            found.map(|found| found.map(RecordedSubmission::text)),
            [Some("shared"), Some("of b"), Some("shared"), None]
        );
        let turns = run.find("s", None, 0, "a").map(|found| [found.turn(0), found.turn(1)]);
        assert_eq!(turns, Some([Some("t0"), None]));
    }

    #[test]
    fn bad_lines_are_named_where_they_stand() {
        let good = line("s", &Value::Null, 0, &json!({"a": "x"}));
        for (text, at, message) in [
            (
                "{\"id\": 1}".to_owned(),
                1,
                "this is not a line of a recorded run: missing field `format`",
            ),
            (
                format!("{good}\n{{\"format\": 1, \"sample_id\": 7}}"),
                2,
                "this is not a line of a recorded run: invalid type: integer `7`, expected a string",
            ),
            (
                format!("{good}\n\n{good}"),
                3,
                "an earlier line has the same sample, model and trial",
            ),
            (
                good.replace("\"format\":1", "\"format\":3"),
                1,
                "this is format 3, not one of 1 to 2",
            ),
            (
                good[..20].to_owned(),
                1,
                "this is not a line of a recorded run: the text ends inside a string",
            ),
        ] {
            let (_, problems) = read("r.jsonl", &text);
            let [problem] = problems.as_slice() else { panic!("{text}: {problems:?}") };
            assert_eq!(
                (problem.place.as_ref().unwrap().line, problem.message.as_str()),
                (at, message)
            );
        }
        assert_eq!(read("r.jsonl", " \n").1.len(), 1);
    }

    #[test]
    fn a_file_that_is_something_else_is_not_read_to_its_end() {
        let (_, problems) = read("r.jsonl", &"{\"input\": 1}\n".repeat(1_000));
        assert_eq!(problems.len(), 20);
    }

    #[test]
    fn a_run_is_a_file_or_its_folder() {
        for (path, file) in [
            ("runs/1", "runs/1/results.jsonl"),
            ("runs/1/", "runs/1/results.jsonl"),
            ("runs/1/results.jsonl", "runs/1/results.jsonl"),
            ("base.jsonl", "base.jsonl"),
            ("v1.2", "v1.2/results.jsonl"),
            ("/", "/results.jsonl"),
        ] {
            assert_eq!(results_file(path), file);
        }
    }
}
