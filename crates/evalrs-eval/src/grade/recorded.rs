//! The grader that takes over a score recorded in the row.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::grader::{GradeResult, GraderInfo, GraderOptions, Subject};
use super::verdict::Grade;
use crate::options::{problem, read};
use crate::votes::score_map::{as_text, meaning_of};
use evalrs_base::diagnostic::clipped;
use evalrs_base::python::strip;
use evalrs_model::spec::{OptionProblem, Scale, ToolSpec};

pub(super) const RECORDED_SCORE: GraderInfo = GraderInfo {
    id: "recorded_score",
    name: "Recorded score",
    description: "Takes the score that the row already has.",
    reads_row: true,
    scoring: "the recorded score, or its value in `map`, mapped to 0.0 to 1.0 if it has a scale; `true` and `false` are 1.0 and 0.0, also as text",
    ..GraderInfo::of::<RecordedScore>()
};

/// The most values of a map that a message names.
const SHOWN_VALUES: usize = 12;

/// Options of `recorded_score`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RecordedScore {
    /// The dotted path of the score in the row. A row with several outputs may have one for each: a mapping by model, or a
    /// list in their order.
    #[schemars(length(min = 1))]
    path: String,
    /// The range of the recorded score; 0 to 1 if absent.
    #[serde(default)]
    scale: Option<RecordedScale>,
    /// Recorded value → score, on the scale if there is one, such as `{C: 1, I: 0, P: 0.5}`; any other value is an error.
    #[serde(default)]
    map: Option<BTreeMap<String, f64>>,
    /// The dotted path of the verdict in the row, which decides instead of the threshold. Without a verdict there, the
    /// threshold decides.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pass: Option<String>,
    /// The dotted path of the rationale in the row, a text.
    #[serde(default)]
    #[schemars(length(min = 1))]
    rationale: Option<String>,
}

/// A range of scores.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct RecordedScale {
    /// What becomes 0.
    min: f64,
    /// What becomes 1.
    max: f64,
}

impl From<RecordedScale> for Scale {
    fn from(RecordedScale { min, max }: RecordedScale) -> Self {
        Self { min, max }
    }
}

/// What is wrong with the range of scores, if anything.
pub(super) fn scale_problem(scale: Scale) -> Option<OptionProblem> {
    let wrong = match scale {
        Scale { min, max } if min >= max => "`max` must be greater than `min`",
        Scale { min, max } if !(max - min).is_finite() => "the scale is too wide",
        _ => return None,
    };
    Some(problem(&["scale", "max"], wrong))
}

/// That a map gives a value a score that is not on the scale.
pub(super) fn outside(value: &str, scale: Scale) -> OptionProblem {
    let Scale { min, max } = scale;
    problem(&["map", value], format!("the score is not within {min} to {max}"))
}

impl GraderOptions for RecordedScore {
    fn problems(&self) -> Vec<OptionProblem> {
        let scale = self.scale();
        let is_empty = self.map.as_ref().is_some_and(BTreeMap::is_empty);
        let mut mapped = self.map.iter().flatten();
        let first = scale_problem(scale)
            .or_else(|| is_empty.then(|| problem(&["map"], "`map` must have at least 1 value")))
            .or_else(|| {
                let (value, _) = mapped.find(|(_, score)| !scale.contains(**score))?;
                Some(outside(value, scale))
            });
        first.into_iter().collect()
    }

    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let mut grade = self.score(subject)?;
        if let Some(path) = &self.pass
            && let Some(said) = recorded(subject, path)
        {
            let passed =
                truth(&said).ok_or_else(|| fail(format!("`{path}` is not true or false")))?;
            grade.pass = Some(passed);
        }
        let why = self.rationale.as_ref().and_then(|path| recorded(subject, path));
        if let Some(Value::String(why)) = why.filter(|why| why.as_str() != Some("")) {
            grade.rationale = why.into();
        }
        Ok(grade)
    }
}

impl RecordedScore {
    fn scale(&self) -> Scale {
        self.scale.map_or(Scale::UNIT, Scale::from)
    }

    fn score(&self, subject: &Subject<'_>) -> GradeResult {
        let path = &self.path;
        let Some(value) = recorded(subject, path) else {
            return Err(fail(format!("the row has no `{path}`")));
        };
        if let Some(map) = &self.map {
            let entries = map.iter().map(|(name, score)| (name.as_str(), *score));
            let score = meaning_of(&entries, Some(&value))
                .ok_or_else(|| fail(unmapped(path, map, &value)))?;
            let why = format!("Recorded score: {score} for `{}`", clipped(&as_text(&value)));
            return Ok(Grade::new(self.unit(score), why));
        }
        if let Some(passed) = truth(&value) {
            let score = f64::from(u8::from(passed));
            return Ok(Grade::new(score, format!("Recorded score: {score}")));
        }
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => strip(text).parse().ok(),
            _ => None,
        };
        let number = number
            .filter(|number| number.is_finite())
            .ok_or_else(|| fail(format!("`{path}` is not a number")))?;
        let scale = self.scale();
        if !scale.contains(number) {
            let Scale { min, max } = scale;
            return Err(fail(format!("`{path}` is {number}, not within {min} to {max}")));
        }
        Ok(Grade::new(self.unit(number), format!("Recorded score: {number}")))
    }

    fn unit(&self, score: f64) -> f64 {
        self.scale().unit(score).clamp(0.0, 1.0)
    }
}

fn fail(message: String) -> Grade {
    Grade::failed("invalid_score", message)
}

/// What the row carries at a path, or of it the part that is of this output; nothing for null.
fn recorded(subject: &Subject<'_>, path: &str) -> Option<Value> {
    let value = subject.row.get(path);
    let value = match subject.output {
        Some(output) => value.and_then(|value| output.own(value)),
        None => value,
    };
    value.filter(|value| !value.is_null())
}

fn unmapped(path: &str, map: &BTreeMap<String, f64>, value: &Value) -> String {
    let known: Vec<String> =
        map.keys().take(SHOWN_VALUES).map(|name| format!("`{}`", clipped(name))).collect();
    let more = if map.len() > known.len() { ", …" } else { "" };
    let written = as_text(value);
    let written = clipped(&written);
    let known = known.join(", ");
    format!("`{path}` is `{written}`, which `map` does not have: it has {known}{more}")
}

/// A boolean, or the cell of a CSV file that one was written into: `true`, or `True` as Python writes it.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) => strip(text).to_ascii_lowercase().parse().ok(),
        _ => None,
    }
}

/// The scale of the scores that a grader takes over, if it does and they have one.
pub(super) fn score_scale(spec: &ToolSpec) -> Option<Scale> {
    if !RECORDED_SCORE.is_called(&spec.function) {
        return None;
    }
    let options: RecordedScore = read(&spec.config).ok()?;
    options.scale.filter(|_| options.problems().is_empty()).map(Scale::from)
}
