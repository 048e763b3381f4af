//! What is known of how far a grader agreed with people when it was calibrated, and whether that is still of this grader.

use serde::{Deserialize, Serialize};

use crate::metric::holdout::HeldOutAgreement;
use crate::metric::labels::LabelAgreement;
use evalrs_base::text::percent;
use evalrs_base::threshold::reaches;
use evalrs_model::spec::CalibrationBounds;
use evalrs_statistics::interval::rate_interval;

/// How far a grader agreed with human labels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraderCalibration {
    /// Labels that had a verdict.
    pub n: usize,
    /// Share of verdicts that agree (0.0..=1.0); null without any.
    pub agreement: Option<f64>,
    /// The bounds of its 95 % interval, as for other rates; null where it is.
    pub agreement_interval: Option<(f64, f64)>,
    /// Cohen's kappa of pass and fail (-1.0..=1.0); null where it is not defined.
    pub kappa: Option<f64>,
    /// The bounds of its 95 % confidence interval; null where kappa is.
    pub kappa_interval: Option<(f64, f64)>,
    /// Verdicts that pass what a person fails.
    pub false_pass: usize,
    /// Verdicts that fail what a person passes.
    pub false_fail: usize,
    /// The reported agreement with held-out labels; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOutAgreement>,
}

impl GraderCalibration {
    /// What the agreement of an evaluation says.
    pub fn of(found: &LabelAgreement, held_out: Option<HeldOutAgreement>) -> Self {
        let agreeing = found.both_pass + found.both_fail;
        let interval = rate_interval(agreeing, found.n, 0.95);
        Self {
            n: found.n,
            agreement: found.accuracy,
            agreement_interval: interval.map(|interval| (interval.low, interval.high)),
            kappa: found.kappa,
            kappa_interval: found.kappa_interval,
            false_pass: found.false_pass,
            false_fail: found.false_fail,
            held_out,
        }
    }

    /// Which bounds it does not reach, a sentence each.
    pub fn below(&self, bounds: CalibrationBounds) -> Vec<String> {
        let kappa = short_of("kappa", self.kappa, bounds.min_kappa, |kappa| format!("{kappa:.2}"));
        let share = |share: f64| percent(Some(share));
        let agreement = short_of("agreement", self.agreement, bounds.min_agreement, share);
        kappa.into_iter().chain(agreement).collect()
    }
}

/// That a value lies below its bound, if so. What is not defined reaches none.
fn short_of(
    name: &str,
    value: Option<f64>,
    bound: Option<f64>,
    shown: fn(f64) -> String,
) -> Option<String> {
    let bound = bound?;
    match value {
        Some(value) if reaches(value, bound) => None,
        Some(value) => Some(format!("{name} {} is below {}", shown(value), shown(bound))),
        None => Some(format!("{name} is not defined, and must be at least {}", shown(bound))),
    }
}

/// A calibration beside the grader as it is now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportedCalibration {
    /// What was found then.
    pub calibration: GraderCalibration,
    /// What of the grader is other than then: `rubric`, `model`, `settings`. It is stale unless this is empty.
    pub stale: Vec<String>,
    /// The bounds of the agreement that are not reached, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
}
