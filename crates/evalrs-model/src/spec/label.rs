//! Human labels of submissions, their place in the suite's files, and how far judges must agree with them.

use serde::{Deserialize, Serialize, Serializer};
use strum::{EnumString, IntoStaticStr};

use evalrs_base::ordered_map::as_map;
use evalrs_base::threshold::reaches;

/// The human label of a submission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Label {
    /// Whether it passes.
    Pass(bool),
    /// How good it is, 0.0..=1.0.
    Score(f64),
}

impl Label {
    /// Whether it passes where scores of at least `threshold` do.
    pub fn passes(self, threshold: f64) -> bool {
        match self {
            Self::Pass(pass) => pass,
            Self::Score(score) => reaches(score, threshold),
        }
    }

    /// Its score; none of a label that says no more than whether the answer passes.
    pub fn score(self) -> Option<f64> {
        match self {
            Self::Pass(_) => None,
            Self::Score(score) => Some(score),
        }
    }

    /// Its score: of a label without one 1.0 for a pass, and 0.0 for a fail.
    pub fn number(self) -> f64 {
        match self {
            Self::Pass(pass) => f64::from(pass),
            Self::Score(score) => score,
        }
    }
}

/// The place of human labels, their graders and their form.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LabelsSpec {
    /// The file that holds them, joined to the suite's folder; none if they stand in rows.
    pub path: Option<String>,
    /// The graders that a label is for which names none; empty is all.
    #[serde(rename = "for")]
    pub graders: Vec<String>,
    /// Our names of the fields in a line of the file, each with its dotted path.
    #[serde(serialize_with = "as_map")]
    pub fields: Vec<(String, String)>,
    /// The dotted paths under which the labels of several people stand in one line, each person being called as their path;
    /// empty where a line has one label.
    #[serde(rename = "at")]
    pub columns: Vec<String>,
    /// What is written, and what it means.
    #[serde(serialize_with = "as_map")]
    pub map: Vec<(String, LabelMeaning)>,
    /// The share of labels that is held out of what is shown, 0.01..=0.99.
    pub holdout: Option<f64>,
}

impl LabelsSpec {
    /// Whether it is about labels in rows. What only holds labels out is about all there are.
    pub fn is_of_rows(&self) -> bool {
        let only_holds_out = self.holdout.is_some() && self.is_own_layout();
        self.path.is_none() && !only_holds_out
    }

    /// Whether lines are written as evalrs writes them.
    pub fn is_own_layout(&self) -> bool {
        let is_one_label = self.fields.is_empty() && self.columns.is_empty();
        is_one_label && self.map.is_empty() && self.graders.is_empty()
    }
}

/// How the answer of a label came to be labelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum LabelPick {
    /// It was sampled at random.
    Random,
    /// Judges or votes disagree.
    Disagreement,
    /// Its score is near the threshold.
    Threshold,
    /// The person chose it.
    Chosen,
}

impl LabelPick {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// That of the name.
    pub fn of_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

/// What a label that is written in words of its own means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LabelMeaning {
    /// That it passes, or fails.
    #[serde(serialize_with = "as_pass_or_fail")]
    Pass(bool),
    /// This score, on the scale of the grader.
    Score(f64),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn as_pass_or_fail<S: Serializer>(passes: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(if *passes { "pass" } else { "fail" })
}

/// Bounds of the agreement between a judge and human labels; none where nothing is required.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CalibrationBounds {
    /// The least kappa (-1.0..=1.0).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_kappa: Option<f64>,
    /// The least share of verdicts that agree (0.0..=1.0).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_agreement: Option<f64>,
}

impl CalibrationBounds {
    /// Whether nothing is required.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These, and those of `other` where these say nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            min_kappa: self.min_kappa.or(other.min_kappa),
            min_agreement: self.min_agreement.or(other.min_agreement),
        }
    }
}
