//! The report of an evaluation as plain data, and the formats it is written in.
//!
//! A report is a function of inputs and outcomes alone: no clock, no absolute path, nothing of what was
//! cached. What belongs to one process stands in [`crate::effects::record`]. One file a format.

pub(crate) mod diff;
pub(crate) mod ending;
pub(crate) mod explain;
pub(crate) mod github;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod jsonl;
pub(crate) mod junit;
pub(crate) mod labels;
pub(crate) mod markdown;
pub(crate) mod origin;
pub(crate) mod plan;
pub(crate) mod settings;
pub(crate) mod terminal;
pub(crate) mod text;
pub(crate) mod usage;
pub(crate) mod words;

mod digest;
pub(crate) mod flow;
#[cfg(test)]
mod made_up;
pub(crate) mod table;
pub(crate) mod verdict;

use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::grade::GradeError;
use super::metric::Metric;
use super::metric::agreement::Agreement;
use super::metric::labels::LabelAgreement;
use crate::base::price::Cost;
use usage::{ModelUsage, Usage};

/// The version of every file of a run record.
pub const FORMAT: u32 = 1;

/// A map written in the order of its entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered<T>(pub Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Ordered<T> {
    /// What stands under `name`.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Vec<(String, T)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }

        deserializer.deserialize_map(Entries(PhantomData)).map(Self)
    }
}

/// Everything a format is written from. Results are asked for, not held: a run may have many, and some formats
/// read them more than once.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// What was evaluated.
    pub header: &'a Header,
    /// The aggregates.
    pub summary: &'a Summary,
    /// The results from the first on, in dataset order; each call gives the same.
    pub results: &'a dyn Fn() -> Results<'a>,
}

/// Results, one after the other.
pub type Results<'a> = Box<dyn Iterator<Item = ResultLine> + 'a>;

/// What was evaluated: `header.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// The suite's name.
    pub suite: String,
    /// The suite's description.
    pub description: Option<String>,
    /// The version of evalrs that made the report.
    pub evalrs: String,
    /// File, relative to the suite's folder → blake3 digest of its bytes, sorted.
    pub inputs: Ordered<String>,
    /// The settings that decide the results; never a secret.
    pub settings: Map<String, Value>,
}

/// One sample × model × trial: a line of `results.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultLine {
    /// [`FORMAT`].
    pub format: u32,
    /// The sample.
    pub sample_id: String,
    /// What the target was given.
    pub input: Value,
    /// The reference answer: text, a list of texts, or null.
    pub ground_truth: Value,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
    /// Grader → what it graded.
    pub submissions: Ordered<String>,
    /// Grader → its grade, in the order of the suite.
    pub grades: Ordered<GradeLine>,
}

/// One grade as it is reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GradeLine {
    /// 0.0..=1.0.
    pub score: f64,
    /// Whether it counts as a pass.
    pub pass: bool,
    /// Why.
    pub rationale: String,
    /// Set when the grade could not be made.
    pub error: Option<GradeError>,
    /// The action key of the judgment (of the first, if there are several).
    pub key: Option<String>,
    /// Whatever else the grader reports.
    pub metadata: Map<String, Value>,
    /// The grades of single turns, where turns were graded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_turn: Option<Vec<TurnLine>>,
}

/// The grade of one turn.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    pub metrics: Ordered<Metric>,
    /// Grader → its name for people; only graders that have another than their key.
    #[serde(skip_serializing_if = "has_none")]
    pub labels: Ordered<String>,
    /// Model → grader → aggregates; only with more than one model.
    pub by_model: Option<Ordered<Ordered<Metric>>>,
    /// Tag → grader → aggregates; only where rows have tags. Sorted by tag.
    pub by_tag: Option<Ordered<Ordered<Metric>>>,
    /// What the gate says; null without a gate.
    pub gate: GateReport,
    /// Grader → how far its judges and votes agree; only graders with several judgments a submission.
    #[serde(skip_serializing_if = "has_none")]
    pub agreement: Ordered<Agreement>,
    /// Grader → how far its verdicts agree with labels of people; only graders that have some.
    #[serde(skip_serializing_if = "has_none")]
    pub label_agreement: Ordered<LabelAgreement>,
    /// Grader → what its judgments used, whenever they were made.
    pub usage: Ordered<Usage>,
    /// What the judgments cost when they were made, in US dollars, where prices are known.
    pub cost: Option<Cost>,
    /// What all judgments used, each once: graders may share some.
    #[serde(skip)]
    pub all_usage: ModelUsage,
}

fn has_none<T>(map: &Ordered<T>) -> bool {
    map.0.is_empty()
}

/// What a gate says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateReport {
    /// `passed`, `failed`, `undecided`; null without a gate.
    pub status: Option<GateStatus>,
    /// The aggregate, with errored grades as 0.0; null for logical gates and for zero samples.
    pub value: Option<f64>,
    /// The comparison.
    pub op: Option<super::suite::Op>,
    /// What the value is compared with.
    pub threshold: Option<f64>,
    /// The least the value can be, whatever the errored grades would have been.
    pub lowest: Option<f64>,
    /// The most it can be.
    pub highest: Option<f64>,
    /// The rule in words.
    pub rule: Option<String>,
    /// The conditions of a logical gate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<GateReport>,
}

/// The three answers of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateStatus {
    /// It passed whatever the errored grades would have been.
    Passed,
    /// It failed whatever they would have been.
    Failed,
    /// They decide it, or there was nothing to decide on.
    Undecided,
}
