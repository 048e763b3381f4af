//! An aggregate of grades as a gate sees it: its value, and how far the grades that could not be made might have moved it.

use serde::{Deserialize, Serialize};

use super::grades::GatedGrades;
use crate::metric::declared::MetricValue;
use crate::metric::percentile;
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
    /// With errored grades at the least that they may be.
    pub value: f64,
    /// Infinite where it is not known.
    pub lowest: f64,
    /// The same.
    pub highest: f64,
}

/// What one grade may be: one score, or of an errored one several.
#[derive(Clone, Copy)]
struct PossibleGrade {
    least: f64,
    greatest: f64,
    /// Whether it passes by the grader's own rule, if that is known.
    passes: Option<bool>,
}

impl PossibleGrade {
    /// Each of `grades`, in their order.
    fn all(graded: GatedGrades<'_>) -> impl Iterator<Item = Self> {
        let mut bounds = graded.bounds.iter().peekable();
        graded.grades.iter().map(move |grade| {
            if !grade.errored {
                return Self {
                    least: grade.score,
                    greatest: grade.score,
                    passes: Some(grade.pass),
                };
            }
            while bounds.next_if(|known| known.result < grade.result).is_some() {}
            match bounds.peek() {
                Some(known) if known.result == grade.result => {
                    Self { least: known.least, greatest: known.greatest, passes: known.passes }
                }
                _ => Self { least: 0.0, greatest: 1.0, passes: None },
            }
        })
    }

    /// Whether it may be a pass, or no pass.
    fn can_answer(self, pass: Option<PassRule>, answer: bool) -> bool {
        let Some(rule) = pass else { return self.passes.is_none_or(|passes| passes == answer) };
        // The ends show it of an order, the value itself of equality.
        [self.least, self.greatest, rule.value.clamp(self.least, self.greatest)]
            .into_iter()
            .any(|score| rule.op.holds(score, rule.value) == answer)
    }
}

impl Range {
    /// None if there are no grades at all.
    pub(super) fn of(
        graded: GatedGrades<'_>,
        aggregation: Aggregation,
        pass: Option<PassRule>,
    ) -> Option<Self> {
        if graded.grades.is_empty() {
            return None;
        }
        if aggregation == Aggregation::Accuracy {
            return Some(Self::of_accuracy(graded, pass));
        }
        // Each of these aggregates grows with every score, so the ends of the scores are its ends.
        let scores = |end: fn(PossibleGrade) -> f64| PossibleGrade::all(graded).map(end).collect();
        let lowest = aggregate(scores(|grade| grade.least), aggregation)?;
        let highest = aggregate(scores(|grade| grade.greatest), aggregation)?;
        Some(Self { value: lowest, lowest, highest })
    }

    /// Where errors may have moved the metric no one knows how far, its ends are not known.
    pub(super) fn of_metric(metric: &MetricValue) -> Option<Self> {
        Some(Self {
            value: metric.value?,
            lowest: metric.lowest.unwrap_or(f64::NEG_INFINITY),
            highest: metric.highest.unwrap_or(f64::INFINITY),
        })
    }

    fn of_accuracy(graded: GatedGrades<'_>, pass: Option<PassRule>) -> Self {
        let share = |counts: &dyn Fn(PossibleGrade) -> bool| {
            let passes = PossibleGrade::all(graded).filter(|grade| counts(*grade)).count();
            passes as f64 / graded.grades.len() as f64
        };
        let passes_at_least = |grade: PossibleGrade| match pass {
            Some(rule) => rule.op.holds(grade.least, rule.value),
            None => grade.passes == Some(true),
        };
        Self {
            value: share(&passes_at_least),
            lowest: share(&|grade| !grade.can_answer(pass, false)),
            highest: share(&|grade| grade.can_answer(pass, true)),
        }
    }
}

/// An aggregate other than accuracy.
fn aggregate(mut scores: Vec<f64>, aggregation: Aggregation) -> Option<f64> {
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
