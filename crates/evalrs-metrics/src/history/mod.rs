//! Runs of a suite over time: what each came to, where their numbers stop being comparable, and whether they slide.
//!
//! A number means what its grader, the judge behind it and the questions make of it. Where one of these changes, a trend
//! starts anew. The target may change: that is what is measured. Knows lines, not files.

pub mod against_people;
pub mod slide;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::against_people::{AgreesLess, HistoryAgreement, agree_less};
use self::slide::Slide;
use super::gate::GateReport;
use super::metric::Metric;
use super::metric::declared::MetricValue;
use super::metric::labels::LabelAgreement;
use evalrs_base::ordered_map::Ordered;
use evalrs_base::price::Cost;
use evalrs_statistics::interval::{ConfidenceInterval, read_interval};

/// The version of a line.
pub const HISTORY_FORMAT: u32 = 1;

/// The digits of a digest: enough to tell changes from each other, and short to read in a review.
const DIGITS: usize = 16;

/// A run, as its line says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryLine {
    /// [`HISTORY_FORMAT`].
    pub format: u32,
    /// The run.
    pub id: String,
    /// The suite file, from the root of the workspace.
    #[serde(default)]
    pub suite: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// Grader → what its grades came to.
    pub metrics: Ordered<HistoryMetric>,
    /// Metric that the suite declares → what it came to.
    #[serde(default, skip_serializing_if = "has_none")]
    pub declared: Ordered<HistoryDeclared>,
    /// What the gate said.
    #[serde(default)]
    pub gate: GateReport,
    /// Grader → what decides its grades.
    #[serde(default)]
    pub digests: Ordered<GraderDigests>,
    /// What was asked: samples, models, inputs and reference answers.
    pub dataset: Option<String>,
    /// What a live target is; none of one that was recorded.
    pub target: Option<String>,
    /// What the run spent, in US dollars.
    pub cost: Option<Cost>,
}

/// The runs of a suite: the shape of `history --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HistoryReport {
    /// The runs, the oldest first.
    pub runs: Vec<HistoryRun>,
    /// Graders whose means go down, by the last run.
    pub slides: Vec<Slide>,
}

/// A run among those before it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoryRun {
    /// The run.
    pub id: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// Grader → what its grades came to.
    pub metrics: Ordered<HistoryMetric>,
    /// Metric that the suite declares → what it came to.
    #[serde(skip_serializing_if = "has_none")]
    pub declared: Ordered<HistoryDeclared>,
    /// What the gate said.
    pub gate: GateReport,
    /// What it spent, in US dollars.
    pub cost: Option<Cost>,
    /// Grader → the digest of what decides its grades.
    pub digests: Ordered<String>,
    /// The digest of what was asked.
    pub dataset: Option<String>,
    /// The digest of a live target.
    pub target: Option<String>,
    /// What changed against the run before it.
    pub breaks: Vec<HistoryBreak>,
    /// Graders whose mean went up while they agree less with people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agree_less: Vec<AgreesLess>,
}

/// The lines of a suite as runs, each with what changed before it.
pub fn runs_of_lines(lines: &[HistoryLine]) -> Vec<HistoryRun> {
    let run = |at: usize, line: &HistoryLine| {
        let digests = line.digests.0.iter();
        HistoryRun {
            id: line.id.clone(),
            started: line.started.clone(),
            metrics: line.metrics.clone(),
            declared: line.declared.clone(),
            gate: line.gate.clone(),
            cost: line.cost,
            digests: Ordered(digests.map(|(name, parts)| (name.clone(), parts.whole())).collect()),
            dataset: line.dataset.clone(),
            target: line.target.clone(),
            breaks: breaks(&lines[..at], line),
            agree_less: agree_less(&lines[..at], line),
        }
    };
    lines.iter().enumerate().map(|(at, line)| run(at, line)).collect()
}

/// What the grades of a grader came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryMetric {
    /// Grades, errored ones included.
    pub n: usize,
    /// Mean score of those without an error.
    pub mean: Option<f64>,
    /// Its standard error.
    pub stderr: Option<f64>,
    /// Share of passes.
    pub pass_rate: Option<f64>,
    /// Grades with an error.
    pub errors: usize,
    /// How far its verdicts agreed with people; none where nobody had labelled them, and in lines of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<HistoryAgreement>,
}

impl HistoryMetric {
    /// The numbers of a trend, and how far people agreed.
    pub fn of(metric: &Metric, agreement: Option<&LabelAgreement>) -> Self {
        Self {
            agreement: agreement.and_then(HistoryAgreement::of),
            n: metric.n,
            mean: metric.avg_score_attempted,
            stderr: metric.stderr,
            pass_rate: metric.accuracy,
            errors: metric.errors,
        }
    }
}

/// What a declared metric came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryDeclared {
    /// The number.
    pub value: Option<f64>,
    /// Where the true number lies.
    #[serde(deserialize_with = "read_interval")]
    pub interval: Option<ConfidenceInterval>,
    /// What it is over.
    pub n: usize,
    /// Results that could not be graded, or lack what the metric reads.
    pub errors: usize,
    /// Digest of what the suite says of it.
    pub definition: String,
}

impl HistoryDeclared {
    /// The number of a trend.
    pub fn of(metric: &MetricValue) -> Self {
        Self {
            value: metric.value,
            interval: metric.interval,
            n: metric.n,
            errors: metric.errors,
            definition: metric.definition.clone(),
        }
    }
}

fn has_none(metrics: &Ordered<HistoryDeclared>) -> bool {
    metrics.0.is_empty()
}

/// What decides the grades of a grader, in three parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraderDigests {
    /// Its rubric.
    pub rubric: Option<String>,
    /// Its judges.
    pub model: Option<String>,
    /// All else: thresholds, extractors, options, programs.
    pub settings: String,
}

impl GraderDigests {
    /// Of the settings of a grader, as `header.json` holds them.
    pub fn of(settings: &Map<String, Value>) -> Self {
        let mut rest = settings.clone();
        let rubric = rest.remove("prompt").filter(Value::is_string);
        let mut models: Vec<Value> = rest.remove("model").into_iter().collect();
        for judge in rest.get_mut("judges").and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(judge) = judge.as_object_mut() else { continue };
            models.extend(
                ["provider", "endpoint", "model"]
                    .map(|name| judge.remove(name).unwrap_or_default()),
            );
        }
        models.retain(|model| !model.is_null());
        Self {
            rubric: rubric.map(|rubric| digest(&rubric.to_string())),
            model: (!models.is_empty()).then(|| digest(&Value::Array(models).to_string())),
            settings: digest(&said(&Value::Object(rest)).to_string()),
        }
    }

    /// The names of the parts in which another grader differs.
    pub fn changed(&self, now: &Self) -> Vec<String> {
        let parts = [
            ("rubric", self.rubric != now.rubric),
            ("model", self.model != now.model),
            ("settings", self.settings != now.settings),
        ];
        parts.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_owned()).collect()
    }

    /// All of it as one.
    pub fn whole(&self) -> String {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        digest(&[part(&self.rubric), part(&self.model), self.settings.clone()].join(" "))
    }
}

/// A value with its members sorted, and without those that say nothing: a setting that another version of evalrs knows
/// and a suite does not use changes nothing.
fn said(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(_, member)| !member.is_null());
            let sorted: BTreeMap<&String, Value> =
                members.map(|(name, member)| (name, said(member))).collect();
            sorted.into_iter().map(|(name, member)| (name.clone(), member)).collect()
        }
        Value::Array(items) => items.iter().map(said).collect(),
        other => other.clone(),
    }
}

/// The digest of a text, as lines hold it.
pub fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..DIGITS].to_owned()
}

/// What changed between two runs, so that numbers before and after it are not of the same thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryBreak {
    /// The grader whose numbers it breaks; none for all of them.
    pub grader: Option<String>,
    /// The declared metric whose numbers it breaks, and no others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// What changed.
    pub what: ChangedPart,
    /// The same in words.
    pub text: String,
}

/// What a number rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangedPart {
    /// The rubric of a grader.
    Rubric,
    /// The judges of a grader.
    Model,
    /// Other settings of a grader.
    Settings,
    /// The questions.
    Dataset,
    /// What is evaluated.
    Target,
    /// What the suite says of a declared metric.
    Metric,
}

/// What changed since `earlier` runs, the last of which is the one before: of each grader since it was last there, then
/// what is common to all.
fn breaks(earlier: &[HistoryLine], now: &HistoryLine) -> Vec<HistoryBreak> {
    let mut all = Vec::new();
    for (grader, new) in &now.digests.0 {
        let Some(old) = earlier.iter().rev().find_map(|line| line.digests.get(grader)) else {
            continue;
        };
        for (differs, what, word) in [
            (old.rubric != new.rubric, ChangedPart::Rubric, "rubric"),
            (old.model != new.model, ChangedPart::Model, "judge model"),
            (old.settings != new.settings, ChangedPart::Settings, "settings"),
        ] {
            if differs {
                let text = format!("{grader}: {word} changed");
                all.push(HistoryBreak { grader: Some(grader.clone()), metric: None, what, text });
            }
        }
    }
    for (metric, new) in &now.declared.0 {
        let old = earlier.iter().rev().find_map(|line| line.declared.get(metric));
        if old.is_some_and(|old| old.definition != new.definition) {
            let text = format!("{metric}: metric changed");
            let metric = Some(metric.clone());
            all.push(HistoryBreak { grader: None, metric, what: ChangedPart::Metric, text });
        }
    }
    let Some(before) = earlier.last() else { return all };
    for (differs, what, word) in [
        (before.dataset != now.dataset, ChangedPart::Dataset, "dataset"),
        (before.target != now.target, ChangedPart::Target, "target"),
    ] {
        if differs {
            let text = format!("{word} changed");
            all.push(HistoryBreak { grader: None, metric: None, what, text });
        }
    }
    all
}

/// Whether a run says anything that the line before it does not.
pub fn says_more(before: &HistoryLine, now: &HistoryLine) -> bool {
    let figures = |line: &HistoryLine| HistoryLine {
        id: String::new(),
        started: String::new(),
        cost: None,
        ..line.clone()
    };
    figures(before) != figures(now)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn grader(settings: &Value) -> GraderDigests {
        GraderDigests::of(settings.as_object().unwrap())
    }

    fn rubric(prompt: &str, model: &str, threshold: f64) -> GraderDigests {
        grader(&json!({"name": "q", "pass_threshold": threshold, "prompt": prompt, "model": model,
            "judges": [{"provider": "openai", "model": model, "temperature": 0}]}))
    }

    fn line(id: &str, digests: GraderDigests, mean: f64) -> HistoryLine {
        let metric = HistoryMetric {
            n: 100,
            mean: Some(mean),
            stderr: Some(0.01),
            ..HistoryMetric::default()
        };
        HistoryLine {
            format: HISTORY_FORMAT,
            id: id.to_owned(),
            suite: "s.yaml".to_owned(),
            started: String::new(),
            metrics: Ordered(vec![("q".to_owned(), metric)]),
            declared: Ordered::default(),
            gate: GateReport::default(),
            digests: Ordered(vec![("q".to_owned(), digests)]),
            dataset: Some("d".to_owned()),
            target: None,
            cost: None,
        }
    }

    #[test]
    fn what_changed_is_named() {
        let old = line("a", rubric("Good?", "m", 0.5), 0.5);
        let with = |digests: GraderDigests| line("b", digests, 0.5);
        let data = HistoryLine { dataset: Some("e".to_owned()), ..old.clone() };
        let target = HistoryLine { target: Some("t".to_owned()), ..old.clone() };
        let other = HistoryLine {
            digests: Ordered(vec![("k".to_owned(), rubric("x", "y", 1.0))]),
            ..old.clone()
        };
        let declares = |definition: &str| HistoryLine {
            declared: Ordered(vec![(
                "f1".to_owned(),
                HistoryDeclared { definition: definition.to_owned(), ..HistoryDeclared::default() },
            )]),
            ..old.clone()
        };
        let redefined = breaks(&[declares("1"), old.clone()], &declares("2"));
        assert_eq!((redefined.len(), redefined[0].text.as_str()), (1, "f1: metric changed"));
        assert_eq!((&redefined[0].grader, redefined[0].metric.as_deref()), (&None, Some("f1")));
        for (now, expected) in [
            (declares("1"), &[][..]),
            (with(rubric("Good?", "m", 0.5)), &[]),
            (with(rubric("Kind?", "m", 0.5)), &["q: rubric changed"]),
            (with(rubric("Good?", "n", 0.5)), &["q: judge model changed"]),
            (with(rubric("Good?", "m", 0.6)), &["q: settings changed"]),
            (
                with(rubric("Kind?", "n", 0.6)),
                &["q: rubric changed", "q: judge model changed", "q: settings changed"],
            ),
            (data, &["dataset changed"]),
            (target, &["target changed"]),
            (other, &[]),
        ] {
            let found = breaks(std::slice::from_ref(&old), &now);
            let found: Vec<String> = found.into_iter().map(|one| one.text).collect();
            assert_eq!(found, expected);
        }
        let without = HistoryLine { digests: Ordered::default(), ..old.clone() };
        let found = breaks(&[old, without], &with(rubric("Kind?", "m", 0.5)));
        assert_eq!(found[0].text, "q: rubric changed", "a grader that was away");
        assert!(breaks(&[], &with(rubric("Kind?", "m", 0.5))).is_empty());
    }

    #[test]
    fn graders_without_judges_have_settings_alone() {
        let tool = grader(&json!({"name": "q", "function": "contains", "pass_threshold": 1.0}));
        assert_eq!(
            (tool.rubric.is_none(), tool.model.is_none(), tool.settings.len()),
            (true, true, DIGITS)
        );
        assert_ne!(tool.whole(), rubric("", "", 1.0).whole());
        let other =
            json!({"seed": null, "pass_threshold": 1.0, "function": "contains", "name": "q"});
        assert_eq!(tool, grader(&other), "order and what says nothing");
    }

    #[test]
    fn the_same_figures_say_no_more() {
        let old = line("a", rubric("Good?", "m", 0.5), 0.5);
        let again = HistoryLine {
            id: "b".to_owned(),
            started: "later".to_owned(),
            cost: Cost::from_dollars(1.0),
            ..old.clone()
        };
        assert!(!says_more(&old, &again));
        assert!(says_more(&old, &line("b", rubric("Good?", "m", 0.5), 0.51)));
        assert!(says_more(&old, &line("b", rubric("Kind?", "m", 0.5), 0.5)));
    }
}
