//! Numbers over several suites: of the summary of each to means, their intervals and the gate on them.
//!
//! A function of the summaries alone, so that it asks nothing and grades nothing: a changed roll-up is computed from what there
//! is. Suites share no samples, so their numbers are taken to be independent; those that rest on the same dataset are not.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::gate::{GateInputs, GateReport, decide_with};
use super::metric::Metric;
use super::metric::declared::{GroupValue, MetricValue};
use super::results::Summary;
use evalrs_base::exact::{WeightedValue, mean_of, weighted_mean};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_model::record_format::FORMAT;
use evalrs_model::spec::{RollupComponent, RollupMetric, RollupSource, RollupSpec};
use evalrs_statistics::interval::ConfidenceInterval;
use evalrs_statistics::linear_combination::{CombinedTerm, combination_interval};

/// The result of a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedSuite {
    /// Its name.
    pub name: String,
    /// Its file, as the command line named it.
    pub path: String,
    /// The id of its run.
    pub run: String,
    /// Identifies its samples: suites with an equal value share them.
    pub samples: String,
    /// What was found.
    pub summary: Summary,
}

/// The result of a roll-up: the file that is recorded of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RollupReport {
    /// [`FORMAT`].
    pub format: u32,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The version of evalrs that made it.
    pub evalrs: String,
    /// The suites that were evaluated, in the order of the command line.
    pub suites: Vec<RolledSuite>,
    /// Name → number; its groups are what it is the mean of.
    pub metrics: OrderedMap<MetricValue>,
    /// The status of the gate; its status is null without one.
    pub gate: GateReport,
}

/// A suite of a roll-up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RolledSuite {
    /// Its name.
    pub suite: String,
    /// Its file, as the command line named it.
    pub path: String,
    /// The id of its run.
    pub run: String,
}

/// What the roll-up comes to over `suites`.
pub fn roll_up(spec: &RollupSpec, suites: &[EvaluatedSuite]) -> RollupReport {
    let metric = |metric: &RollupMetric| (metric.name.clone(), value_of(metric, suites));
    let metrics = OrderedMap(spec.metrics.iter().map(metric).collect::<Vec<_>>());
    let inputs =
        GateInputs { grades: &|_| None, metrics: &|name| metrics.get(name), labels: &|_| None };
    let gate = spec.gate.as_ref().map(|gate| decide_with(gate, inputs)).unwrap_or_default();
    let rolled = suites.iter().map(|suite| RolledSuite {
        suite: suite.name.clone(),
        path: suite.path.clone(),
        run: suite.run.clone(),
    });
    RollupReport {
        format: FORMAT,
        name: spec.name.clone(),
        description: spec.description.clone(),
        evalrs: env!("CARGO_PKG_VERSION").to_owned(),
        suites: rolled.collect(),
        metrics,
        gate,
    }
}

/// A number of a suite.
struct ComponentValue<'a> {
    component: &'a RollupComponent,
    found: MetricValue,
    /// The place of the first suite with the same samples.
    group: usize,
}

fn value_of(metric: &RollupMetric, suites: &[EvaluatedSuite]) -> MetricValue {
    let all: Vec<ComponentValue<'_>> =
        metric.components.iter().map(|component| ComponentValue::of(component, suites)).collect();
    // What counts nothing may be missing.
    let counted: Vec<&ComponentValue<'_>> =
        all.iter().filter(|of| of.component.weight > 0.0).collect();
    let mean = |number: fn(&MetricValue) -> Option<f64>| {
        let items = counted.iter().map(|of| {
            Some(WeightedValue { weight: of.component.weight, value: number(&of.found)? })
        });
        weighted_mean(&items.collect::<Option<Vec<WeightedValue>>>()?)
    };
    let value = mean(|of| of.value);
    let problem = counted.iter().find(|of| of.found.value.is_none()).map(|of| {
        let why = of.found.problem.as_deref().unwrap_or("no values to compute it from");
        format!("`{}` has no value: {why}", of.component.text)
    });
    let interval = value.and_then(|_| interval(&counted));
    let interval_problem = match counted.iter().find(|of| of.found.interval.is_none()) {
        _ if value.is_none() || interval.is_some() => None,
        Some(of) => Some(format!("no interval, as `{}` has none", of.component.text)),
        None => Some("no interval: the numbers are too large".to_owned()),
    };
    let groups = all.iter().map(|ComponentValue { component, found, .. }| {
        let group = GroupValue {
            value: found.value,
            n: found.n,
            interval: found.interval,
            weight: metric.is_weighted.then_some(component.weight),
            ..GroupValue::default()
        };
        (component.text.clone(), group)
    });
    MetricValue {
        kind: if metric.is_weighted { "weighted mean" } else { "macro mean" }.to_owned(),
        value,
        n: all.iter().map(|of| of.found.n).sum(),
        errors: all.iter().map(|of| of.found.errors).sum(),
        interval,
        problem,
        interval_problem,
        groups: OrderedMap(groups.collect()),
        lowest: value.and_then(|_| mean(|of| of.lowest)),
        highest: value.and_then(|_| mean(|of| of.highest)),
        definition: definition(metric),
        ..MetricValue::default()
    }
}

fn interval(counted: &[&ComponentValue<'_>]) -> Option<ConfidenceInterval> {
    let all: f64 = counted.iter().map(|of| of.component.weight).sum();
    let terms = counted.iter().map(|of| {
        Some(CombinedTerm {
            weight: of.component.weight / all,
            value: of.found.value?,
            interval: of.found.interval?,
            group: of.group,
        })
    });
    combination_interval(&terms.collect::<Option<Vec<CombinedTerm>>>()?)
}

impl<'a> ComponentValue<'a> {
    fn of(component: &'a RollupComponent, suites: &[EvaluatedSuite]) -> Self {
        let Some(suite) = suites.iter().find(|suite| suite.name == component.suite) else {
            return Self { component, found: MetricValue::default(), group: 0 };
        };
        let metrics = &suite.summary.metrics;
        let found = match &component.source {
            RollupSource::Mean(grader) => metrics.get(grader).map(mean_of_grader),
            RollupSource::PassRate(grader) => metrics.get(grader).map(pass_rate_of_grader),
            RollupSource::Declared(name) => suite.summary.declared.get(name).cloned(),
        };
        let group = suites.iter().position(|other| other.samples == suite.samples);
        Self { component, found: found.unwrap_or_default(), group: group.unwrap_or_default() }
    }
}

fn mean_of_grader(metric: &Metric) -> MetricValue {
    let sum = metric.avg_score_total.unwrap_or(0.0) * metric.n as f64;
    of_grader(metric, metric.avg_score_attempted, metric.interval, sum)
}

fn pass_rate_of_grader(metric: &Metric) -> MetricValue {
    let passes = metric.accuracy.map_or(0.0, |rate| (rate * metric.attempted as f64).round());
    of_grader(metric, metric.accuracy, metric.accuracy_interval, passes)
}

/// A number of a grader that is `sum` over its grades: its ends are those with missing grades as 0 and as 1.
fn of_grader(
    metric: &Metric,
    value: Option<f64>,
    interval: Option<ConfidenceInterval>,
    sum: f64,
) -> MetricValue {
    let end = |missing: usize| match metric.errors {
        // Exact where nothing is missing, so that a gate on the value itself is decided.
        0 => value,
        _ => mean_of(&[sum, missing as f64], metric.n),
    };
    let problem = match metric.n {
        0 => "nothing was graded".to_owned(),
        n => format!("none of {n} grades could be made"),
    };
    MetricValue {
        value,
        interval,
        n: metric.n,
        errors: metric.errors,
        lowest: end(0),
        highest: end(metric.errors),
        problem: Some(problem),
        ..MetricValue::default()
    }
}

/// The digest of what the file says of a metric but its name: numbers of different digests are not of the same thing.
fn definition(metric: &RollupMetric) -> String {
    let components: Vec<_> = metric
        .components
        .iter()
        .map(|component| json!([component.text, component.weight]))
        .collect();
    let written = json!([metric.is_weighted, components]).to_string();
    blake3::hash(written.as_bytes()).to_hex().chars().take(16).collect()
}

#[cfg(test)]
mod tests;
