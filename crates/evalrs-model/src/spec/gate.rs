//! What a suite says of its gate: the rule that decides whether a run passed.

use serde::{Deserialize, Serialize};
use strum::{EnumString, VariantNames};

use evalrs_base::ordered_map::as_map;
use evalrs_base::threshold;

/// The rule that decides whether a run passed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Gate {
    /// A weighted mean of one aggregate over several graders.
    WeightedAverage {
        /// The aggregate taken of each grader.
        #[serde(rename = "metric")]
        aggregation: Aggregation,
        /// Grader → weight, in the order of the file; not negative, not all zero.
        #[serde(serialize_with = "as_map")]
        weights: Vec<(String, f64)>,
        op: Op,
        /// What the weighted mean is compared with.
        value: f64,
    },
    /// Several gates joined by `and` or `or`.
    Logical {
        operator: Logic,
        /// At least one: simple conditions or further logical gates.
        conditions: Vec<Gate>,
    },
    /// One aggregate of one grader against a value. A suite need not say its kind.
    #[serde(untagged)]
    Simple(Condition),
}

/// One aggregate of one grader against a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    pub metric_key: String,
    /// The aggregate of its scores.
    #[serde(rename = "metric", skip_serializing_if = "Aggregation::is_declared")]
    pub aggregation: Aggregation,
    pub op: Op,
    /// What it is compared with. Of accuracy, a fraction.
    pub value: f64,
    /// The least score that counts as a pass in accuracy, if not the grader's own.
    #[serde(flatten)]
    pub pass: Option<PassRule>,
}

/// The pass threshold that a gate sets itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PassRule {
    /// The comparison of a score.
    #[serde(rename = "pass_op")]
    pub op: Op,
    /// What the score is compared with.
    #[serde(rename = "pass_value")]
    pub value: f64,
}

/// An aggregate of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    AvgScore,
    /// The share of passes, 0..=1.
    Accuracy,
    /// The least score.
    Min,
    /// The greatest score.
    Max,
    /// The 50th percentile.
    Median,
    /// The 95th percentile, linear between closest ranks.
    P95,
    /// The 99th percentile, linear between closest ranks.
    P99,
    /// The share of labelled verdicts that say what people say, 0..=1.
    Agreement,
    /// Cohen's kappa of verdicts and labels, -1..=1.
    Kappa,
    /// None: what is compared is a metric that the suite declares.
    Declared,
}

impl Aggregation {
    /// Whether verdicts are compared with human labels.
    pub fn needs_labels(self) -> bool {
        matches!(self, Self::Agreement | Self::Kappa)
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_declared(&self) -> bool {
        *self == Self::Declared
    }
}

/// A comparison of two numbers.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Op {
    Gte,
    Gt,
    Lte,
    Lt,
    Eq,
}

impl Op {
    /// Whether this relation holds between `left` and `right`, as scores are compared with
    /// thresholds.
    pub fn holds(self, left: f64, right: f64) -> bool {
        let order = threshold::compare(left, right);
        match self {
            Self::Gt => order.is_gt(),
            Self::Gte => order.is_ge(),
            Self::Lt => order.is_lt(),
            Self::Lte => order.is_le(),
            Self::Eq => order.is_eq(),
        }
    }
}

/// How gates are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Logic {
    And,
    Or,
}
