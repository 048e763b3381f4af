//! Graders of what an answer took: time and money.
//!
//! A number without a unit is not guessed at: what is read stands under a name that says the unit, or the suite says it. A
//! row that says nothing is an error and no pass.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::grader::{ConversationCost, GradeResult, GraderInfo, GraderOptions, Subject};
use super::rationale::verdict;
use super::verdict::Grade;
use crate::options::problem;
use evalrs_base::path::{Row, lookup};
use evalrs_base::python::strip;
use evalrs_model::spec::OptionProblem;
use evalrs_trajectory::Trajectory;

/// Where rows say how long an answer took, and in which unit: live targets, promptfoo, harness records, Inspect.
const LATENCY_PATHS: [(&str, TimeUnit); 9] = [
    ("latency_ms", TimeUnit::Ms),
    ("latencyMs", TimeUnit::Ms),
    ("duration_ms", TimeUnit::Ms),
    ("durationMs", TimeUnit::Ms),
    ("timing.total", TimeUnit::Ms),
    ("latency_seconds", TimeUnit::Seconds),
    ("duration_seconds", TimeUnit::Seconds),
    ("total_time", TimeUnit::Seconds),
    ("metadata.duration_ms", TimeUnit::Ms),
];
/// Names under which times stand in no known unit.
const UNITLESS: [&str; 3] = ["latency", "duration", "elapsed"];
/// Where rows say what an answer cost, in US dollars.
const COST_PATHS: [&str; 6] =
    ["cost", "cost_usd", "costUsd", "total_cost_usd", "usage.cost", "metadata.total_cost_usd"];

/// The kind of the error of a row without the number that a grader needs.
pub(super) const NO_NUMBER: &str = "no_number";

pub(super) const MAX_LATENCY: GraderInfo = GraderInfo {
    id: "max_latency",
    name: "Most time",
    description: "The answer took no longer than allowed; the time comes from the row or the trajectory.",
    reads_row: true,
    reads_totals: true,
    ..GraderInfo::of::<MaxLatency>()
};

/// A unit of time.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum TimeUnit {
    /// Milliseconds.
    Ms,
    /// Seconds.
    Seconds,
}

/// Options of `max_latency`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MaxLatency {
    /// The longest time, in milliseconds.
    #[schemars(range(min = 0))]
    max_ms: f64,
    /// The dotted path of the time in the row; `duration_ms`, `latency_ms` and the like if absent.
    #[serde(default)]
    #[schemars(length(min = 1))]
    path: Option<String>,
    /// The unit of that time; not needed where the name ends with `_ms`, `Ms` or `_seconds`.
    #[serde(default)]
    unit: Option<TimeUnit>,
}

impl TimeUnit {
    fn of_name(path: &str) -> Option<Self> {
        if path.ends_with("_ms") || path.ends_with("Ms") {
            return Some(Self::Ms);
        }
        path.ends_with("_seconds").then_some(Self::Seconds)
    }

    fn in_ms(self, number: f64) -> f64 {
        match self {
            Self::Ms => number,
            Self::Seconds => number * 1000.0,
        }
    }
}

impl GraderOptions for MaxLatency {
    fn problems(&self) -> Vec<OptionProblem> {
        let named = self.path.as_deref().and_then(TimeUnit::of_name);
        let wrong = match (&self.path, self.unit) {
            (None, Some(_)) => "`unit` is the unit of the number at `path`: set both",
            (Some(_), None) if named.is_none() => {
                "`path` does not end with `_ms`, `Ms` or `_seconds`: `unit` must be `ms` or `seconds`"
            }
            _ => return Vec::new(),
        };
        vec![problem(&["unit"], wrong)]
    }

    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let took = match &self.path {
            Some(path) => {
                let unit = self.unit.or_else(|| TimeUnit::of_name(path)).unwrap_or(TimeUnit::Ms);
                unit.in_ms(number_at(subject.row, path)?)
            }
            None => latency(subject)?,
        };
        let what = format!("Latency: {took} ms of at most {} ms", self.max_ms);
        Ok(verdict(&what, took <= self.max_ms))
    }
}

fn latency(subject: &Subject<'_>) -> Result<f64, Grade> {
    if let Some((path, unit)) = LATENCY_PATHS.iter().find(|(path, _)| has(subject, path)) {
        return Ok(unit.in_ms(number_at(subject.row, path)?));
    }
    if let Some(took) = subject.trajectory.totals.duration_ms {
        return Ok(took);
    }
    let why = match UNITLESS.into_iter().find(|path| subject.row.get(path).is_some()) {
        Some(path) => format!("`{path}` does not say its unit: name it by `path` and `unit`"),
        None => "neither the row nor the trajectory says how long the answer took: name its place by `path`".to_owned(),
    };
    Err(Grade::failed(NO_NUMBER, why))
}

/// How many milliseconds the answer of a row took, where the row or its trajectory says that with a unit.
pub fn recorded_ms(row: &Value, trajectory: Option<&Trajectory>) -> Option<f64> {
    let told = LATENCY_PATHS.iter().find_map(|(path, unit)| {
        let found = lookup(row, path).filter(|value| !value.is_null())?;
        Some(found.as_f64().map(|number| unit.in_ms(number)))
    });
    told.unwrap_or_else(|| trajectory?.totals.duration_ms)
}

/// Whether the row has a value at `path`.
fn has(subject: &Subject<'_>, path: &str) -> bool {
    subject.row.get(path).is_some_and(|value| !value.is_null())
}

pub(super) const MAX_COST: GraderInfo = GraderInfo {
    id: "max_cost",
    name: "Most money",
    description: "The answer cost no more US dollars than allowed; the cost comes from the row, the trajectory or the conversation.",
    reads_row: true,
    reads_totals: true,
    ..GraderInfo::of::<MaxCost>()
};

/// Options of `max_cost`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MaxCost {
    /// The highest cost, in US dollars.
    #[schemars(range(min = 0))]
    max_usd: f64,
    /// The dotted path of the cost in the row, in US dollars; `cost`, `total_cost_usd` and the like if absent.
    #[serde(default)]
    #[schemars(length(min = 1))]
    path: Option<String>,
}

impl GraderOptions for MaxCost {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let cost = match &self.path {
            Some(path) => number_at(subject.row, path)?,
            None => cost(subject)?,
        };
        let what = format!("Cost: {cost} USD of at most {} USD", self.max_usd);
        Ok(verdict(&what, cost <= self.max_usd))
    }
}

fn cost(subject: &Subject<'_>) -> Result<f64, Grade> {
    if let Some(path) = COST_PATHS.iter().find(|path| has(subject, path)) {
        return number_at(subject.row, path);
    }
    if let Some(told) = subject.trajectory.totals.cost_usd {
        return Ok(told);
    }
    let why = match subject.cost {
        Some(ConversationCost::Known(cost)) => return Ok(cost.dollars()),
        Some(ConversationCost::Unknown(why)) => why.as_str(),
        None => {
            "neither the row nor the trajectory says what the answer cost: name its place by `path`"
        }
    };
    Err(Grade::failed(NO_NUMBER, why))
}

/// The number at `path` of the row, also as the text of a cell, or the grade without one.
pub(super) fn number_at(row: Row<'_>, path: &str) -> Result<f64, Grade> {
    let number = match row.get(path) {
        None | Some(Value::Null) => {
            return Err(Grade::failed(NO_NUMBER, format!("the row has no `{path}`")));
        }
        Some(Value::Number(number)) => number.as_f64(),
        // Cells of a table are text.
        Some(Value::String(text)) => strip(&text).parse().ok(),
        Some(_) => None,
    };
    let number = number.filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| Grade::failed(NO_NUMBER, format!("`{path}` is no number")))
}
