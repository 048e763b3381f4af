//! Aggregates of the grades of one grader, each with the source of its formula.

use serde::Serialize;

use crate::report::Ordered;

/// One grade, as the aggregates see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The ordinal of the sample.
    pub sample: u32,
    /// The ordinal of the model.
    pub model: u32,
    /// 0.0..=1.0; 0.0 if errored.
    pub score: f64,
    /// Whether it counts as a pass.
    pub pass: bool,
    /// Whether the grade could not be made.
    pub errored: bool,
}

/// The aggregates of one grader.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metric {
    /// Grades, errored ones included.
    pub n: usize,
    /// Grades without an error.
    pub attempted: usize,
    /// Grades with an error.
    pub errors: usize,
    /// Mean score over `attempted`; null if there is none.
    pub avg_score_attempted: Option<f64>,
    /// Mean score over `n`, errored ones as 0.0; null if there is none.
    pub avg_score_total: Option<f64>,
    /// Standard error of `avg_score_attempted`: clustered by sample where a sample has several grades.
    pub stderr: Option<f64>,
    /// The standard error as if every grade were independent.
    pub stderr_naive: Option<f64>,
    /// Share of passes among `attempted`.
    pub accuracy: Option<f64>,
    /// Least score.
    pub min: Option<f64>,
    /// Greatest score.
    pub max: Option<f64>,
    /// 50th percentile.
    pub median: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// k → chance that at least one of k trials passes; only where samples have trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_at: Option<Ordered<f64>>,
    /// k → chance that all of k trials pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_hat: Option<Ordered<f64>>,
}
