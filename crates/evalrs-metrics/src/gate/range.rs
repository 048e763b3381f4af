//! An aggregate of grades as a gate sees it: its value, and how far the grades that could not be made might have moved it.

use serde::{Deserialize, Serialize};

use crate::metric::declared::MetricValue;
use crate::metric::{Observation, percentile};
use evalrs_base::exact::mean;
use evalrs_model::spec::{Aggregation, PassRule};

/// The requirement of agreement with labels that is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateLack {
    /// The grader has no label.
    Labels,
    /// Kappa is not defined where people say the same of everything.
    DifferentLabels,
    /// Kappa is not defined where the grader says the same of everything.
    DifferentVerdicts,
}

/// An aggregate and how far the errored grades could have moved it.
#[derive(Clone, Copy)]
pub(super) struct Range {
    /// With errored grades as 0.0.
    pub value: f64,
    /// Infinite where it is not known.
    pub lowest: f64,
    /// The same.
    pub highest: f64,
}

impl Range {
    /// None if there are no grades at all.
    pub(super) fn of(
        grades: &[Observation],
        aggregation: Aggregation,
        pass: Option<PassRule>,
    ) -> Option<Self> {
        if grades.is_empty() {
            return None;
        }
        if aggregation == Aggregation::Accuracy {
            return Some(Self::of_accuracy(grades, pass));
        }
        // Each of these aggregates grows with every score, so the ends of the scores are its ends.
        let lowest = aggregate(grades, aggregation, 0.0)?;
        Some(Self { value: lowest, lowest, highest: aggregate(grades, aggregation, 1.0)? })
    }

    /// Where errors may have moved the metric no one knows how far, its ends are not known.
    pub(super) fn of_metric(metric: &MetricValue) -> Option<Self> {
        Some(Self {
            value: metric.value?,
            lowest: metric.lowest.unwrap_or(f64::NEG_INFINITY),
            highest: metric.highest.unwrap_or(f64::INFINITY),
        })
    }

    fn of_accuracy(grades: &[Observation], pass: Option<PassRule>) -> Self {
        let passed = |grade: &Observation| match pass {
            Some(rule) => rule.op.holds(grade.score, rule.value),
            None => grade.pass,
        };
        let errored = grades.iter().filter(|grade| grade.errored).count();
        let passes = grades.iter().filter(|grade| !grade.errored && passed(grade)).count();
        let could = |answer: bool| pass.is_none_or(|rule| can_answer(rule, answer));
        let zero_passes = pass.is_some_and(|rule| rule.op.holds(0.0, rule.value));
        let share = |count: usize| count as f64 / grades.len() as f64;
        Self {
            value: share(if zero_passes { passes + errored } else { passes }),
            lowest: share(if could(false) { passes } else { passes + errored }),
            highest: share(if could(true) { passes + errored } else { passes }),
        }
    }
}

/// Whether some score in 0..=1 gives this answer. The ends show it of an order, the value itself of equality.
fn can_answer(rule: PassRule, answer: bool) -> bool {
    [0.0, 1.0, rule.value.clamp(0.0, 1.0)]
        .into_iter()
        .any(|score| rule.op.holds(score, rule.value) == answer)
}

/// An aggregate other than accuracy, with every errored grade at `errored`.
fn aggregate(grades: &[Observation], aggregation: Aggregation, errored: f64) -> Option<f64> {
    let mut scores: Vec<f64> =
        grades.iter().map(|grade| if grade.errored { errored } else { grade.score }).collect();
    if aggregation == Aggregation::AvgScore {
        return mean(&scores);
    }
    let percent = match aggregation {
        Aggregation::Min => 0,
        Aggregation::Max => 100,
        Aggregation::Median => 50,
        Aggregation::P95 => 95,
        Aggregation::P99 => 99,
        _ => return None,
    };
    scores.sort_by(f64::total_cmp);
    percentile(&scores, percent)
}
