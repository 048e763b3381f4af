//! The flags of `evalrs calibrate` in builds without the commands of agent-eval-harness, which samples results too.

use clap::Args;

use evalrs_model::spec::CalibrationBounds;
use evalrs_use_cases::args::{LimitArgs, StoreArgs};
use evalrs_use_cases::calibration::CalibrationOptions;

/// `evalrs calibrate --suite`.
#[derive(Debug, Args)]
pub struct CalibrateSuiteArgs {
    /// Suite file
    ///
    /// evalrs evaluates it and writes the agreement with human labels to `cache/SUITE.calibration.json`. Runs then show it.
    #[arg(long, value_name = "SUITE")]
    pub suite: String,
    /// Compare with these human labels
    ///
    /// The file is as for `evalrs run`.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    /// Require this kappa of each judge (exit code 3)
    ///
    /// Runs with --require-calibration require it too.
    #[arg(long, value_name = "KAPPA", allow_negative_numbers = true)]
    pub min_kappa: Option<f64>,
    /// Require this share of equal verdicts, from 0 to 1
    ///
    /// Below it evalrs exits with 3. Runs with --require-calibration require it too.
    #[arg(long, value_name = "SHARE")]
    pub min_agreement: Option<f64>,
    /// Replay the cache only
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
