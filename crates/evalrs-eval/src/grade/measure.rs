//! Graders that measure: how long a submission is, how many turns there were, and any number of the row.

use std::cmp::Ordering;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Number, Value};

use super::grader::{GradeResult, GraderInfo, GraderOptions, Subject};
use super::rationale::{explained, verdict};
use super::spent::number_at;
use super::verdict::Grade;
use crate::options::problem;
use evalrs_base::exact::{is_beyond_floats, whole};
use evalrs_base::python::strip;
use evalrs_model::spec::OptionProblem;

pub(super) const LENGTH: GraderInfo = GraderInfo {
    id: "length",
    name: "Length",
    description: "The submission is as long as allowed, in characters, words or lines.",
    ..GraderInfo::of::<Length>()
};

/// Options of `length`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Length {
    /// The least length.
    #[serde(default)]
    min: Option<u64>,
    /// The greatest length.
    #[serde(default)]
    max: Option<u64>,
    /// The unit of length.
    #[serde(default)]
    unit: LengthUnit,
}

/// The unit of length.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum LengthUnit {
    /// Code points.
    #[default]
    Characters,
    /// Parts between white space.
    Words,
    /// Lines that are not blank.
    Lines,
}

impl GraderOptions for Length {
    fn problems(&self) -> Vec<OptionProblem> {
        match (self.min, self.max) {
            (None, None) => vec![problem(&[], "`length` needs `min` or `max`")],
            (Some(min), Some(max)) if min > max => {
                vec![problem(&[], "`max` must not be less than `min`")]
            }
            _ => Vec::new(),
        }
    }

    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let text = subject.submission;
        let (count, unit) = match self.unit {
            LengthUnit::Characters => (text.chars().count(), "characters"),
            LengthUnit::Words => (text.split_whitespace().count(), "words"),
            LengthUnit::Lines => {
                (text.lines().filter(|line| !strip(line).is_empty()).count(), "lines")
            }
        };
        let count = count as u64;
        let wrong = match (self.min, self.max) {
            (Some(min), _) if count < min => Some(format!("at least {min} expected")),
            (_, Some(max)) if count > max => Some(format!("at most {max} expected")),
            _ => None,
        };
        Ok(explained(&format!("Length {count} {unit}"), wrong))
    }
}

pub(super) const MAX_TURNS: GraderInfo = GraderInfo {
    id: "max_turns",
    name: "Most turns",
    description: "The conversation took no more turns than allowed; a turn is a message of the user with all that follows it.",
    reads_trajectory: true,
    ..GraderInfo::of::<MaxTurns>()
};

/// Options of `max_turns`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MaxTurns {
    /// The greatest number of turns.
    max: usize,
}

impl GraderOptions for MaxTurns {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let count = subject.trajectory.turns.len();
        Ok(verdict(&format!("Turns: {count} of at most {}", self.max), count <= self.max))
    }
}

pub(super) const COMPARE: GraderInfo = GraderInfo {
    id: "compare",
    name: "Compare a number",
    description: "A number of the row, such as its latency or its cost, compares with another as `op` says.",
    reads_row: true,
    ..GraderInfo::of::<Compare>()
};

/// Options of `compare`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Compare {
    /// The dotted path of the number in the row.
    #[schemars(length(min = 1))]
    path: String,
    /// The comparison.
    op: CompareOp,
    /// The other number.
    #[schemars(with = "f64")]
    value: Number,
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum CompareOp {
    /// Less.
    Lt,
    /// Less or the same.
    Lte,
    /// Greater.
    Gt,
    /// Greater or the same.
    Gte,
    /// The same.
    Eq,
    /// Not the same.
    Ne,
}

impl CompareOp {
    /// Its sign, and the orders in which it holds.
    fn sign(self) -> (&'static str, fn(Ordering) -> bool) {
        match self {
            Self::Lt => ("<", Ordering::is_lt),
            Self::Lte => ("<=", Ordering::is_le),
            Self::Gt => (">", Ordering::is_gt),
            Self::Gte => (">=", Ordering::is_ge),
            Self::Eq => ("==", Ordering::is_eq),
            Self::Ne => ("!=", Ordering::is_ne),
        }
    }
}

/// A number to the last digit where it is a whole one, which floats may leave out.
struct ComparedNumber {
    whole: Option<i128>,
    value: f64,
}

impl ComparedNumber {
    fn of(number: &Number) -> Self {
        let value = number.as_f64().unwrap_or(f64::NAN);
        Self { whole: number.as_i128().or_else(|| whole(value)), value }
    }

    /// The number at `path` of the row, also as the text of a cell, or the grade without one.
    fn at(subject: &Subject<'_>, path: &str) -> Result<Self, Grade> {
        let value = number_at(subject.row, path)?;
        let written = match subject.row.get(path) {
            Some(Value::Number(number)) => number.as_i128(),
            Some(Value::String(text)) => strip(&text).parse().ok(),
            _ => None,
        };
        Ok(Self { whole: written.or_else(|| whole(value)), value })
    }

    fn order(&self, other: &Self) -> Ordering {
        match (self.whole, other.whole) {
            (Some(one), Some(other)) => one.cmp(&other),
            // Adding zero turns -0.0 into 0.0.
            _ => (self.value + 0.0).total_cmp(&(other.value + 0.0)),
        }
    }
}

impl fmt::Display for ComparedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.whole.filter(|whole| is_beyond_floats(*whole)) {
            Some(whole) => whole.fmt(f),
            None => self.value.fmt(f),
        }
    }
}

impl GraderOptions for Compare {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let path = &self.path;
        let found = ComparedNumber::at(subject, path)?;
        let value = ComparedNumber::of(&self.value);
        let (sign, holds) = self.op.sign();
        Ok(verdict(&format!("{path} {found} {sign} {value}"), holds(found.order(&value))))
    }
}
