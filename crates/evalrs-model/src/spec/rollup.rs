//! What a roll-up says: numbers over several suites, and the gate on them.

use super::gate::Gate;

/// Numbers over several suites, checked: every suite, grader and metric in it is one that is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct RollupSpec {
    /// Its name in reports.
    pub name: String,
    pub description: Option<String>,
    /// Its numbers, in the order of the file.
    pub metrics: Vec<RollupMetric>,
    /// The rule that decides the exit code beside the gates of the suites; it names these numbers.
    pub gate: Option<Gate>,
}

/// A mean of numbers of several suites.
#[derive(Clone, Debug, PartialEq)]
pub struct RollupMetric {
    /// Its key in the file.
    pub name: String,
    /// Whether the file gives weights; all count the same otherwise.
    pub is_weighted: bool,
    /// What it is the mean of; one at least.
    pub components: Vec<RollupComponent>,
}

/// A number of one suite.
#[derive(Clone, Debug, PartialEq)]
pub struct RollupComponent {
    /// As the file writes it.
    pub text: String,
    /// The name of the suite.
    pub suite: String,
    /// Which of its numbers.
    pub source: RollupSource,
    /// How much it counts: not negative, and not zero for all of a metric.
    pub weight: f64,
}

/// Which number of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RollupSource {
    /// The mean score of a grader.
    Mean(String),
    /// Its share of passes.
    PassRate(String),
    /// A metric that the suite declares.
    Declared(String),
}
