//! The result of a declared metric, as records and reports have it.

use serde::{Deserialize, Serialize};

use super::reading::MetricTable;
use super::replicates::{self, Replicates};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_statistics::classes::{ClassScores, ConfusionMatrix};
use evalrs_statistics::interval::{ConfidenceInterval, read_interval};
use evalrs_statistics::percentile_bootstrap::percentile_interval;

/// A metric that a suite declares, over all results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MetricValue {
    /// Its kind in words for people, such as `macro mean` or `Cohen's kappa`.
    pub kind: String,
    /// The number; null where there is none.
    pub value: Option<f64>,
    /// The same on the grader's own scale, where it has one and the number is a score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<f64>,
    /// What it is over: results, or pairs, groups of trials or comparisons.
    pub n: usize,
    /// Results that could not be graded, or lack what the metric reads.
    pub errors: usize,
    /// Where the true value lies; null where no interval is known.
    #[serde(deserialize_with = "read_interval")]
    pub interval: Option<ConfidenceInterval>,
    /// Why there is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Why there is no interval, where there is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_problem: Option<String>,
    /// Group → its own number.
    #[serde(skip_serializing_if = "OrderedMap::is_empty")]
    pub groups: OrderedMap<GroupValue>,
    /// Results that no group holds, which are part of nothing here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ungrouped: Option<UngroupedResults>,
    /// How often which class was taken for which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confusion: Option<ConfusionMatrix>,
    /// Precision, recall and F1 of each class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassScores>,
    /// The least that the number can be, whatever grades with errors would have been; null where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest: Option<f64>,
    /// The most it can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest: Option<f64>,
    /// Groups in which a metric within groups is not defined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undefined: Vec<String>,
    /// Digest of what the suite says of it: numbers of different digests are not of the same thing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub definition: String,
    /// The number over resampled samples; the record has a separate file for them.
    #[serde(skip)]
    pub replicates: Option<Replicates>,
}

impl MetricValue {
    /// No number, and why.
    pub fn without(problem: impl Into<String>) -> Self {
        Self { problem: Some(problem.into()), ..Self::default() }
    }

    /// The `estimate` of items, its interval and its resamples; `samples` are those of the items.
    pub(super) fn estimated<T: Copy>(
        table: &MetricTable,
        samples: &[u32],
        items: &[T],
        estimate: impl Fn(&[T]) -> Option<f64>,
    ) -> Self {
        Self {
            value: estimate(items),
            n: items.len(),
            interval: percentile_interval(samples, items, &estimate),
            replicates: replicates::of(table, samples, items, estimate),
            ..Self::default()
        }
    }

    /// The same for coefficients, which may be defined for no such items. Then nothing is drawn: that would take a thousand
    /// times as long as to find it out.
    pub(super) fn estimated_if_defined<T: Copy>(
        table: &MetricTable,
        samples: &[u32],
        items: &[T],
        estimate: impl Fn(&[T]) -> Option<f64>,
    ) -> Self {
        if estimate(items).is_none() {
            return Self { n: items.len(), ..Self::default() };
        }
        Self::estimated(table, samples, items, estimate)
    }
}

/// The number of one group of results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupValue {
    /// The number.
    pub value: Option<f64>,
    /// The same on the grader's own scale, as of the metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<f64>,
    /// What it is over.
    pub n: usize,
    /// Where the true value lies.
    #[serde(deserialize_with = "read_interval")]
    pub interval: Option<ConfidenceInterval>,
    /// How much it counts; absent where groups have no weights of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

/// Results that are in none of the groups of a macro mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UngroupedResults {
    /// How many there are.
    pub n: usize,
    /// Their values where groups differ, in order: the first of them. Empty where they have nothing there.
    pub values: Vec<String>,
}
