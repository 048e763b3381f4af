//! A run as a line of the history of its suite: what each grader and declared metric came to, and digests of what that rests on.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::gate::GateReport;
use crate::metric::Metric;
use crate::metric::declared::MetricValue;
use crate::metric::labels::LabelAgreement;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::Cost;
use evalrs_statistics::interval::{ConfidenceInterval, read_interval};

/// The version of a line.
pub const HISTORY_FORMAT: u32 = 1;

/// The digits of a digest: enough to tell changes from each other, and short to read in a review.
pub(super) const DIGITS: usize = 16;

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
    /// Grader → its result.
    pub metrics: OrderedMap<HistoryMetric>,
    /// Metric that the suite declares → its result.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub declared: OrderedMap<HistoryDeclared>,
    /// The status of the gate.
    #[serde(default)]
    pub gate: GateReport,
    /// Grader → what decides its grades.
    #[serde(default)]
    pub digests: OrderedMap<GraderDigests>,
    /// The input of a run: samples, models, inputs and reference answers.
    pub dataset: Option<String>,
    /// What a live target is; none of one that was recorded.
    pub target: Option<String>,
    /// What the run spent, in US dollars.
    pub cost: Option<Cost>,
}

/// The result of the grades of a grader.
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

/// The result of a declared metric.
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
        let [rubric, model] =
            [&self.rubric, &self.model].map(|part| part.as_deref().unwrap_or_default());
        digest(&[rubric, model, &self.settings].join(" "))
    }
}

/// A value with its members sorted, and without those that say nothing: a setting that another version of evalrs knows
/// and a suite does not use changes nothing.
fn said(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut said: Map<String, Value> = members
                .iter()
                .filter(|(_, member)| !member.is_null())
                .map(|(name, member)| (name.clone(), said(member)))
                .collect();
            said.sort_keys();
            Value::Object(said)
        }
        Value::Array(items) => items.iter().map(said).collect(),
        other => other.clone(),
    }
}

/// The digest of a text, as lines hold it.
pub fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..DIGITS].to_owned()
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

/// How far the verdicts of a grader agreed with the labels that there were at the time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryAgreement {
    /// Verdicts that had a label.
    pub n: usize,
    /// The share of them that agreed (0.0..=1.0).
    pub accuracy: Option<f64>,
    /// Cohen's kappa; none where it is not defined.
    pub kappa: Option<f64>,
    /// Verdicts that passed what a person failed.
    pub false_pass: usize,
    /// Verdicts that failed what a person passed.
    pub false_fail: usize,
}

impl HistoryAgreement {
    /// The numbers of a trend; none where no verdict had a label.
    pub fn of(agreement: &LabelAgreement) -> Option<Self> {
        let LabelAgreement { n, accuracy, kappa, false_pass, false_fail, .. } = *agreement;
        (n > 0).then_some(Self { n, accuracy, kappa, false_pass, false_fail })
    }
}
