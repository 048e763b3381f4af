//! The result of an evaluation, as plain data: what every report is written from and a record
//! holds.
//!
//! A function of inputs and outcomes alone: no clock, no absolute path, nothing of what was cached. How it looks is a
//! matter of reports.

pub mod calibration;
mod nested;
pub mod report;
pub mod trials;
pub mod usage;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::calibration::ReportedCalibration;
use super::gate::GateReport;
use super::metric::Metric;
use super::metric::agreement::Agreement;
use super::metric::annotators::{AnnotatorAgreement, DisputedCase};
use super::metric::declared::MetricValue;
use super::metric::holdout::HeldOutAgreement;
use super::metric::labels::LabelAgreement;
use super::metric::people::PeopleEstimate;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::Cost;
use evalrs_eval::grade::GradeError;
pub use evalrs_model::record_format::{FORMAT, LINE_FORMAT};
use evalrs_model::spec::rubric_of;
use trials::TrialsSummary;
use usage::{GraderUsage, ModelUsage};

/// What was evaluated: `header.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportHeader {
    /// [`FORMAT`].
    pub format: u32,
    /// The suite's name.
    pub suite: String,
    /// The suite's description.
    #[serde(default)]
    pub description: Option<String>,
    /// The version of evalrs that made the report.
    #[serde(default)]
    pub evalrs: String,
    /// File, relative to the suite's folder → blake3 digest of its bytes, sorted.
    #[serde(default)]
    pub inputs: OrderedMap<String>,
    /// The settings that decide the results; never a secret.
    #[serde(default)]
    pub settings: Map<String, Value>,
}

impl ReportHeader {
    /// Which part of the samples was evaluated, as `2/7`; none where all were.
    pub fn part(&self) -> Option<&str> {
        self.settings.get("partition")?.as_str()
    }

    /// The graders: their names and settings.
    pub fn graders(&self) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
        let graders = self.settings.get("graders").and_then(Value::as_array).into_iter().flatten();
        graders.filter_map(|grader| {
            let settings = grader.as_object()?;
            Some((settings.get("name")?.as_str()?, settings))
        })
    }
}

/// One sample × model × trial: a line of `results.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultLine {
    /// [`LINE_FORMAT`].
    pub format: u32,
    /// The sample.
    pub sample_id: String,
    /// What the target was given.
    #[serde(default)]
    pub input: Value,
    /// The reference answer: text, a list of texts, or null.
    #[serde(default)]
    pub ground_truth: Value,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    #[serde(default)]
    pub trial: u32,
    /// The action key of the conversation of a target that is run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// What was graded, by every grader that `submissions` does not name.
    #[serde(default)]
    pub submission: String,
    /// Grader → what it graded, where that is something else.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub submissions: OrderedMap<String>,
    /// Grader → its grade, in the order of the suite. Written with those of criteria inside that of their rubric.
    #[serde(default, with = "nested")]
    pub grades: OrderedMap<GradeLine>,
    /// Grader → why it has nothing to say of the result; it has no grade then.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub not_applicable: OrderedMap<String>,
}

impl ResultLine {
    /// What `grader` graded; none where it had nothing to do with the result.
    pub fn submission_of(&self, grader: &str) -> Option<&str> {
        let own = self.submissions.get(grader);
        own.or_else(|| self.graders().any(|name| name == grader).then_some(&self.submission))
            .map(String::as_str)
    }

    /// The graders, those that had nothing to say last.
    pub fn graders(&self) -> impl Iterator<Item = &str> {
        let silent = self.not_applicable.0.iter().map(|(name, _)| name);
        self.grades.0.iter().map(|(name, _)| name).chain(silent).map(String::as_str)
    }

    /// The same line as this version writes it.
    #[must_use]
    pub fn in_newest_format(mut self) -> Self {
        if self.format < LINE_FORMAT {
            self.format = LINE_FORMAT;
            let shared = self.submissions.0.iter().find(|(_, text)| !text.is_empty());
            self.submission = shared.map(|(_, text)| text.clone()).unwrap_or_default();
            self.submissions.0.retain(|(_, text)| *text != self.submission);
        }
        self
    }
}

/// What `grader` graded, from a line of results of any format as it was read; none where it had nothing to do with it.
pub fn recorded_submission<'l>(line: &'l Map<String, Value>, grader: &str) -> Option<&'l str> {
    let named = |field: &str| line.get(field).and_then(|by_grader| by_grader.get(grader));
    let is_here = || recorded_grade(line, grader).or_else(|| named("not_applicable")).is_some();
    named("submissions").or_else(|| line.get("submission").filter(|_| is_here()))?.as_str()
}

/// The grade by `grader` in a line of results: that of a criterion stands in that of its rubric.
pub fn recorded_grade<'l>(line: &'l Map<String, Value>, grader: &str) -> Option<&'l Value> {
    let grades = line.get("grades")?;
    grades.get(grader).or_else(|| {
        let (rubric, criterion) = rubric_of(grader)?;
        grades.get(rubric)?.get("criteria")?.get(criterion)
    })
}

/// One grade as it is reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradeLine {
    /// 0.0..=1.0.
    pub score: f64,
    /// Whether it counts as a pass.
    pub pass: bool,
    /// Why.
    #[serde(default)]
    pub rationale: String,
    /// Set when the grade could not be made.
    pub error: Option<GradeError>,
    /// The action key of the judgment (of the first, if there are several).
    pub key: Option<String>,
    /// Whatever else the grader reports.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// The grades of single turns, where turns were graded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_turn: Option<Vec<TurnLine>>,
}

/// The grade of one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnLine {
    /// The turn, from 0.
    pub turn: usize,
    /// 0.0..=1.0.
    pub score: f64,
    /// Why.
    pub rationale: String,
    /// What was graded.
    pub submission: String,
}

/// The aggregates: `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`FORMAT`].
    pub format: u32,
    /// The suite's name.
    pub suite: String,
    /// Samples evaluated.
    pub samples: usize,
    /// Results: samples × models × trials.
    pub results: usize,
    /// Grader → its aggregates, in the order of the suite.
    pub metrics: OrderedMap<Metric>,
    /// Metric that the suite declares → its result.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub declared: OrderedMap<MetricValue>,
    /// Grader → its name for people; only graders that have another than their key.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub labels: OrderedMap<String>,
    /// Model → grader → aggregates; only with more than one model.
    pub by_model: Option<OrderedMap<OrderedMap<Metric>>>,
    /// Tag → grader → aggregates; only where rows have tags. Sorted by tag.
    pub by_tag: Option<OrderedMap<OrderedMap<Metric>>>,
    /// The status of the gate; null without a gate.
    #[serde(default)]
    pub gate: GateReport,
    /// Grader → what the trials of its samples tell; only where a sample has several.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub trials: OrderedMap<TrialsSummary>,
    /// Grader → how far its judges and votes agree; only graders with several judgments a submission.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub agreement: OrderedMap<Agreement>,
    /// Grader → how far its verdicts agree with human labels; only graders that have some.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub label_agreement: OrderedMap<LabelAgreement>,
    /// Grader → its reported agreement with held-out labels; only graders that have some, in evaluations of all rows.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub held_out: OrderedMap<HeldOutAgreement>,
    /// Grader → how far the people agree who labelled the same cases; only graders with labels of several.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub annotators: OrderedMap<AnnotatorAgreement>,
    /// Grader → the cases on which these people differ; only graders with such cases.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub disputed: OrderedMap<Vec<DisputedCase>>,
    /// Grader → how far it agreed with people when it was calibrated; only graders that were.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub calibration: OrderedMap<ReportedCalibration>,
    /// Grader → the estimated human verdict on everything; only graders with labels for a part of their verdicts.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub people: OrderedMap<PeopleEstimate>,
    /// Grader → what its judgments used, whenever they were made.
    #[serde(default)]
    pub usage: OrderedMap<GraderUsage>,
    /// What the judgments cost when they were made, in US dollars, where prices are known.
    pub cost: Option<Cost>,
    /// What all judgments used, each once: graders may share some.
    #[serde(skip)]
    pub all_usage: ModelUsage,
}

impl Summary {
    /// Whether a grader is a criterion of a rubric that is among the graders, too.
    pub fn is_of_rubric(&self, grader: &str) -> bool {
        rubric_of(grader).is_some_and(|(rubric, _)| self.metrics.get(rubric).is_some())
    }
}

/// The display names to be used, of graders with their display names: those that are nobody else's name.
pub fn usable_labels<'a>(graders: &[(&'a str, Option<&'a str>)]) -> OrderedMap<String> {
    let labels = graders.iter().filter_map(|(name, label)| {
        let label = label.filter(|label| !label.trim().is_empty() && label != name)?;
        let is_taken = graders.iter().any(|(other, shown)| {
            other != name && (*other == label || shown.unwrap_or(other) == label)
        });
        (!is_taken).then(|| ((*name).to_owned(), label.to_owned()))
    });
    OrderedMap(labels.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{ResultLine, recorded_submission, usable_labels};

    #[test]
    fn only_names_of_ones_own_are_used() {
        let labels = |graders: &[(&str, Option<&str>)]| {
            usable_labels(graders)
                .0
                .into_iter()
                .map(|(name, label)| format!("{name}={label}"))
                .collect()
        };
        let check = |graders: &[(&str, Option<&str>)], expected: &[&str]| {
            let found: Vec<String> = labels(graders);
            assert_eq!(found, expected, "{graders:?}");
        };
        check(&[("a", Some("A")), ("b", None)], &["a=A"]);
        check(&[("a", Some("a")), ("b", Some(" "))], &[]);
        check(&[("a", Some("X")), ("b", Some("X")), ("c", Some("C"))], &["c=C"]);
        check(&[("a", Some("b")), ("b", Some("c"))], &["b=c"]);
    }

    #[test]
    fn lines_of_every_format_say_what_each_grader_graded() {
        let grade = json!({"score": 1.0, "pass": true});
        let line = |mut line: Value| -> Map<String, Value> {
            line["sample_id"] = json!("s");
            line["grades"] = json!({"a": grade, "b": grade});
            line["not_applicable"] = json!({"c": "why"});
            line.as_object().cloned().unwrap()
        };
        for (line, expected) in [
            (
                line(json!({"format": 1, "submissions": {"a": "x", "b": "", "c": "x"}})),
                [Some("x"), Some(""), Some("x"), None],
            ),
            (
                line(json!({"format": 2, "submission": "x", "submissions": {"b": "y"}})),
                [Some("x"), Some("y"), Some("x"), None],
            ),
            (line(json!({"format": 2, "submission": ""})), [Some(""), Some(""), Some(""), None]),
        ] {
            let graders = ["a", "b", "c", "d"];
            assert_eq!(graders.map(|grader| recorded_submission(&line, grader)), expected);
            let read: ResultLine = serde_json::from_value(Value::from(line)).unwrap();
            let newest = read.clone().in_newest_format();
            for line in [read, newest] {
                assert_eq!(graders.map(|grader| line.submission_of(grader)), expected);
            }
        }
    }
}
