//! How far verdicts agree with the labels that people gave.

use serde::{Deserialize, Serialize};

/// What a person says of a submission.
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
            Self::Score(score) => score >= threshold,
        }
    }
}

/// How far the verdicts of a grader agree with labels. Passing is the positive class; errors are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LabelAgreement {
    /// Verdicts that have a label.
    pub n: usize,
    /// Labels whose grade is an error or not known yet.
    pub without_verdict: usize,
    /// Both pass.
    pub both_pass: usize,
    /// The grader passes what a person fails.
    pub false_pass: usize,
    /// The grader fails what a person passes.
    pub false_fail: usize,
    /// Both fail.
    pub both_fail: usize,
    /// Share of verdicts that agree (0.0..=1.0); null if there is none.
    pub accuracy: Option<f64>,
    /// Cohen's kappa of pass and fail (-1.0..=1.0); null where chance alone would agree always.
    pub kappa: Option<f64>,
    /// The bounds of its 95 % confidence interval.
    pub kappa_interval: Option<(f64, f64)>,
    /// Mean distance of scores from labels that are scores (0.0..=1.0); null if there is none.
    pub mean_distance: Option<f64>,
}

pub fn disagrees(_c: crate::delta::Cell, _l: Label, _t: f64) -> Option<f64> {
    None
}
