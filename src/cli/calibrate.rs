//! The flags of `evalrs calibrate` in builds without the commands of agent-eval-harness, which samples results too.

use clap::Args;

use evalrs_model::spec::CalibrationBounds;
use evalrs_use_cases::args::{LimitArgs, StoreArgs};
use evalrs_use_cases::calibration::CalibrationOptions;

/// `evalrs calibrate --suite`.
#[derive(Debug, Args)]
pub struct CalibrateSuiteArgs {
    /// Evaluates this suite and writes how far its graders agree with labels of people to `cache/SUITE.calibration.json`, which
    /// runs then show.
    #[arg(long, value_name = "SUITE")]
    pub suite: String,
    /// Labels of people, as `evalrs run` takes them.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    /// The least kappa between a judge and people (exit code 3), for runs with --require-calibration too.
    #[arg(long, value_name = "KAPPA", allow_negative_numbers = true)]
    pub min_kappa: Option<f64>,
    /// The least share of verdicts that agree, between 0 and 1 (exit code 3), for such runs too.
    #[arg(long, value_name = "SHARE")]
    pub min_agreement: Option<f64>,
    /// Only replays stored outcomes.
    #[arg(long)]
    pub frozen: bool,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

impl CalibrateSuiteArgs {
    /// How the suite is calibrated.
    pub fn options(&self) -> CalibrationOptions {
        CalibrationOptions {
            labels: self.labels.clone(),
            store: self.store.clone(),
            limits: self.limits.clone(),
            frozen: self.frozen,
            bounds: CalibrationBounds {
                min_kappa: self.min_kappa,
                min_agreement: self.min_agreement,
            },
        }
    }
}
