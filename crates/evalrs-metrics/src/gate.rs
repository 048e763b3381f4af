//! Gates: aggregates → passed, failed or undecided.
//!
//! Owns the arithmetic of a gate over grades; knows neither how they were made nor how a report looks.
//! A grade that could not be made is no verdict, so a gate is computed with those grades at both ends of
//! what they may be (0..=1, where nothing more is known) and answers only where the answer is the same: a run is never silently passed or failed. Averages
//! are rounded once, and [`evalrs_base::threshold`] says what equals a threshold.

mod agreement;
mod grades;
pub mod range;

use serde::{Deserialize, Serialize};

pub use grades::{ErrorBounds, GatedGrades};

use super::metric::Observation;
use super::metric::declared::MetricValue;
use super::metric::labels::LabelAgreement;
use evalrs_base::exact::{WeightedValue, weighted_mean};
use evalrs_model::spec::{Aggregation, Condition, Gate, Logic, Op, PassRule};
pub use range::GateLack;
use range::Range;

/// What a gate says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GateReport {
    /// `passed`, `failed`, `undecided`; null without a gate.
    pub status: Option<GateStatus>,
    /// The aggregate, with errored grades as 0.0; of agreement with labels, over the verdicts that there are. Null for
    /// logical gates, and where there is none.
    pub value: Option<f64>,
    /// The comparison.
    pub op: Option<evalrs_model::spec::Op>,
    /// What the value is compared with.
    pub threshold: Option<f64>,
    /// The least the value can be, whatever the errored grades would have been; null where that is not known.
    pub lowest: Option<f64>,
    /// The most it can be.
    pub highest: Option<f64>,
    /// The rule in words.
    pub rule: Option<String>,
    /// Why there is no value to compare, if more labels are needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<GateLack>,
    /// The conditions of a logical gate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<GateReport>,
}

/// The three answers of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateStatus {
    /// It passed whatever the errored grades would have been.
    Passed,
    /// It failed whatever they would have been.
    Failed,
    /// They decide it, or there was nothing to decide on.
    Undecided,
}

impl GateStatus {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Undecided => "undecided",
        }
    }
}

impl GateReport {
    /// What the gate, or the first of its conditions that lacks something, cannot be decided without.
    pub fn first_lack(&self) -> Option<GateLack> {
        if self.status != Some(GateStatus::Undecided) {
            return None;
        }
        self.lacks.or_else(|| self.conditions.iter().find_map(Self::first_lack))
    }
}

/// Where a gate finds the grades of a grader, by the grader's name.
pub(crate) type Grades<'a> = dyn Fn(&str) -> Option<GatedGrades<'a>> + 'a;

/// Where a gate finds a metric that the suite declares.
pub(crate) type DeclaredValues<'a> = dyn Fn(&str) -> Option<&'a MetricValue> + 'a;

/// Where a gate finds how far a grader agrees with labels.
pub(crate) type LabelAgreements<'a> = dyn Fn(&str) -> Option<LabelAgreement> + 'a;

/// What a gate is decided on.
#[derive(Clone, Copy)]
pub struct GateInputs<'a, 'd> {
    pub grades: &'a Grades<'d>,
    pub metrics: &'a DeclaredValues<'d>,
    pub labels: &'a LabelAgreements<'d>,
}

impl GateInputs<'_, '_> {
    /// An aggregate of a grader; none where there is nothing to make it of.
    fn range(
        self,
        grader: &str,
        aggregation: Aggregation,
        pass: Option<PassRule>,
    ) -> Result<Range, Option<GateLack>> {
        match aggregation {
            Aggregation::Declared => (self.metrics)(grader).and_then(Range::of_metric).ok_or(None),
            Aggregation::Agreement | Aggregation::Kappa => {
                let compared = (self.labels)(grader).ok_or(Some(GateLack::Labels))?;
                agreement::range(&compared, aggregation)
            }
            _ => (self.grades)(grader)
                .and_then(|grades| Range::of(grades, aggregation, pass))
                .ok_or(None),
        }
    }
}

/// The result of `gate` from the grades alone, if it names no declared metric and there are no
/// labels.
pub(crate) fn decide<'a>(
    gate: &Gate,
    grades: &dyn Fn(&str) -> Option<&'a [Observation]>,
) -> GateReport {
    let grades = |name: &str| Some(GatedGrades { grades: grades(name)?, bounds: &[] });
    decide_with(gate, GateInputs { grades: &grades, metrics: &|_| None, labels: &|_| None })
}

/// What `gate` says. A grader without grades decides nothing, and neither does a metric without a value.
pub fn decide_with(gate: &Gate, inputs: GateInputs<'_, '_>) -> GateReport {
    match gate {
        Gate::Simple(Condition { metric_key, aggregation, op, value, pass }) => {
            compared(inputs.range(metric_key, *aggregation, *pass), *op, *value, rule(gate))
        }
        Gate::WeightedAverage { aggregation, weights, op, value } => {
            compared(weighted(weights, *aggregation, inputs), *op, *value, rule(gate))
        }
        Gate::Logical { operator, conditions } => {
            let conditions: Vec<GateReport> =
                conditions.iter().map(|condition| decide_with(condition, inputs)).collect();
            GateReport {
                status: Some(joined(*operator, &conditions)),
                rule: Some(rule(gate)),
                conditions,
                ..GateReport::default()
            }
        }
    }
}

/// The graders that `gate` needs, each as often as it is named.
pub fn graders(gate: &Gate) -> Vec<&str> {
    match gate {
        Gate::Simple(condition) => vec![&condition.metric_key],
        Gate::WeightedAverage { weights, .. } => {
            weights.iter().map(|(grader, _)| grader.as_str()).collect()
        }
        Gate::Logical { conditions, .. } => conditions.iter().flat_map(graders).collect(),
    }
}

/// The sign of a comparison.
pub fn sign(op: Op) -> &'static str {
    match op {
        Op::Gt => ">",
        Op::Gte => ">=",
        Op::Lt => "<",
        Op::Lte => "<=",
        Op::Eq => "==",
    }
}

/// The mean of the graders' aggregates by their weights. It grows with each of them even after rounding, so the
/// ends stay ends.
fn weighted(
    weights: &[(String, f64)],
    aggregation: Aggregation,
    inputs: GateInputs<'_, '_>,
) -> Result<Range, Option<GateLack>> {
    let mut ranges = Vec::with_capacity(weights.len());
    for (grader, weight) in weights.iter().filter(|(_, weight)| *weight > 0.0) {
        ranges.push((*weight, inputs.range(grader, aggregation, None)?));
    }
    let mean_of = |end: fn(&Range) -> f64| {
        let ends = ranges
            .iter()
            .map(|(weight, range)| WeightedValue { weight: *weight, value: end(range) });
        let ends: Vec<WeightedValue> = ends.collect();
        let unknown = ends.iter().map(|end| end.value).find(|end| end.is_infinite());
        unknown.or_else(|| weighted_mean(&ends)).ok_or(None)
    };
    Ok(Range {
        value: mean_of(|range| range.value)?,
        lowest: mean_of(|range| range.lowest)?,
        highest: mean_of(|range| range.highest)?,
    })
}

fn compared(
    range: Result<Range, Option<GateLack>>,
    op: Op,
    threshold: f64,
    rule: String,
) -> GateReport {
    let lacks = range.err().flatten();
    let range = range.ok();
    let known = |end: fn(Range) -> f64| range.map(end).filter(|end| end.is_finite());
    GateReport {
        status: Some(range.map_or(GateStatus::Undecided, |range| answer(range, op, threshold))),
        value: range.map(|range| range.value),
        op: Some(op),
        threshold: Some(threshold),
        lowest: known(|range| range.lowest),
        highest: known(|range| range.highest),
        rule: Some(rule),
        lacks,
        conditions: Vec::new(),
    }
}

/// The answer that holds over the whole range. Equality with a point inside the range is undecided, unless the whole
/// range equals it.
fn answer(range: Range, op: Op, threshold: f64) -> GateStatus {
    let inside = Op::Lte.holds(range.lowest, threshold) && Op::Gte.holds(range.highest, threshold);
    match (op.holds(range.lowest, threshold), op.holds(range.highest, threshold)) {
        (true, true) => GateStatus::Passed,
        (false, false) if op == Op::Eq && inside => GateStatus::Undecided,
        (false, false) => GateStatus::Failed,
        _ => GateStatus::Undecided,
    }
}

/// Kleene's three-valued `and` and `or`. Conditions are taken as independent: two that exclude each other
/// over the same errored grade may leave undecided what logic alone could settle.
fn joined(operator: Logic, conditions: &[GateReport]) -> GateStatus {
    let (decisive, otherwise) = match operator {
        Logic::And => (GateStatus::Failed, GateStatus::Passed),
        Logic::Or => (GateStatus::Passed, GateStatus::Failed),
    };
    let any = |status| conditions.iter().any(|condition| condition.status == Some(status));
    if any(decisive) {
        decisive
    } else if conditions.is_empty() || any(GateStatus::Undecided) {
        GateStatus::Undecided
    } else {
        otherwise
    }
}

/// The rule in words.
pub fn rule(gate: &Gate) -> String {
    match gate {
        Gate::Simple(Condition { metric_key, aggregation, op, value, pass }) => {
            let words = match aggregation {
                Aggregation::Declared => format!("{metric_key} {} {value}", sign(*op)),
                _ => format!("{metric_key} {} {} {value}", name(*aggregation), sign(*op)),
            };
            match pass.filter(|_| *aggregation == Aggregation::Accuracy) {
                Some(pass) => format!("{words} (a pass is {} {})", sign(pass.op), pass.value),
                None => words,
            }
        }
        Gate::WeightedAverage { aggregation, weights, op, value } => {
            let weights: Vec<String> =
                weights.iter().map(|(grader, weight)| format!("{grader} {weight}")).collect();
            let aggregation = name(*aggregation);
            format!("weighted {aggregation} ({}) {} {value}", weights.join(", "), sign(*op))
        }
        Gate::Logical { operator, conditions } => {
            let word = match operator {
                Logic::And => " and ",
                Logic::Or => " or ",
            };
            let conditions: Vec<String> = conditions.iter().map(nested_rule).collect();
            conditions.join(word)
        }
    }
}

fn nested_rule(gate: &Gate) -> String {
    match gate {
        Gate::Logical { .. } => format!("({})", rule(gate)),
        Gate::Simple(_) | Gate::WeightedAverage { .. } => rule(gate),
    }
}

fn name(aggregation: Aggregation) -> &'static str {
    match aggregation {
        Aggregation::AvgScore => "avg_score",
        Aggregation::Accuracy => "accuracy",
        Aggregation::Min => "min",
        Aggregation::Max => "max",
        Aggregation::Median => "median",
        Aggregation::P95 => "p95",
        Aggregation::P99 => "p99",
        Aggregation::Agreement => "agreement",
        Aggregation::Kappa => "kappa",
        Aggregation::Declared => "metric",
    }
}

#[cfg(test)]
mod tests;
