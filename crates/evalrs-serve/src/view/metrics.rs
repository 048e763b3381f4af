//! The aggregates of a run as pages and programs read them: those of graders, and declared metrics, each with its intervals.
//!
//! Read from `summary.json`, which another version may have written: what it does not say is null.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use evalrs_base::ordered_map::OrderedMap;

/// Where a true number lies, as far as the results tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub(crate) struct IntervalView {
    /// The lower bound.
    low: f64,
    /// The upper bound.
    high: f64,
    /// How often such intervals hold the true number, 0.0..=1.0.
    level: f64,
    /// How it was made, as in `summary.json`.
    method: String,
}

/// The aggregates of a grader.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
pub(crate) struct MetricView {
    /// Its name for people, where it has one.
    label: Option<String>,
    /// The mean score of what could be graded, 0.0..=1.0.
    mean: Option<f64>,
    /// Its standard error, clustered by sample.
    stderr: Option<f64>,
    /// Its 95 % interval.
    interval: Option<IntervalView>,
    /// The share of results that pass, 0.0..=1.0.
    pass_rate: Option<f64>,
    /// Its 95 % interval.
    pass_rate_interval: Option<IntervalView>,
    /// Results.
    n: u64,
    /// Those that could not be graded.
    errors: u64,
    /// Further results, which the grader has nothing to say of.
    not_applicable: u64,
    /// The share of labelled verdicts that agreed with people at the time of the run, 0.0..=1.0.
    pub agreement: Option<f64>,
}

/// A metric that the suite declares, or one of its groups.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
pub(crate) struct DeclaredView {
    /// Its kind in words; empty for a group.
    kind: String,
    /// The number.
    value: Option<f64>,
    /// Its 95 % interval.
    interval: Option<IntervalView>,
    /// What it is over.
    n: u64,
    /// Results that could not be graded, or lack what the metric reads.
    errors: u64,
    /// Why there is no number.
    problem: Option<String>,
    /// Why there is no interval, where there is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_problem: Option<String>,
}

fn interval(of: &Value) -> Option<IntervalView> {
    IntervalView::deserialize(of).ok()
}

pub(super) fn metrics(summary: &Value) -> OrderedMap<MetricView> {
    let view = |(name, metric): (&String, &Value)| {
        let number = |field: &str| metric[field].as_f64();
        let whole = |field: &str| metric[field].as_u64().unwrap_or(0);
        let view = MetricView {
            label: summary["labels"][name].as_str().map(str::to_owned),
            mean: number("avg_score_attempted"),
            stderr: number("stderr"),
            interval: interval(&metric["interval"]),
            pass_rate: number("accuracy"),
            pass_rate_interval: interval(&metric["accuracy_interval"]),
            n: whole("n"),
            errors: whole("errors"),
            not_applicable: whole("not_applicable"),
            agreement: summary["label_agreement"][name]["accuracy"].as_f64(),
        };
        (name.clone(), view)
    };
    OrderedMap(members(&summary["metrics"]).map(view).collect())
}

pub(super) fn declared(summary: &Value) -> OrderedMap<DeclaredView> {
    let view = |(name, metric): (&String, &Value)| {
        let whole = |field: &str| metric[field].as_u64().unwrap_or(0);
        let view = DeclaredView {
            kind: metric["kind"].as_str().unwrap_or_default().to_owned(),
            value: metric["value"].as_f64(),
            interval: interval(&metric["interval"]),
            n: whole("n"),
            errors: whole("errors"),
            problem: metric["problem"].as_str().map(str::to_owned),
            interval_problem: metric["interval_problem"].as_str().map(str::to_owned),
        };
        (name.clone(), view)
    };
    OrderedMap(members(&summary["declared"]).map(view).collect())
}

fn members(of: &Value) -> impl Iterator<Item = (&String, &Value)> {
    of.as_object().into_iter().flat_map(Map::iter)
}
