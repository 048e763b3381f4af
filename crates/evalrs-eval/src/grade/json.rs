//! Graders that read the submission as JSON.
//!
//! Targets wrap JSON in Markdown fences and in words, so where the submission as a whole is not JSON the last
//! fenced block in it counts.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Number, Value};

use super::given::{no_reference, reference};
use super::grader::{GradeResult, GraderInfo, GraderOptions, Subject};
use super::rationale::{explained, shorten, unusable_reference, verdict};
use super::verdict::Grade;
use evalrs_base::python::strip;

pub(super) const JSON_MATCH: GraderInfo = GraderInfo {
    id: "json_match",
    name: "JSON match",
    description: "Submission and ground truth are the same JSON value.",
    needs_ground_truth: true,
    takes_lists: true,
    ..GraderInfo::of::<JsonMatch>()
};

pub(super) fn json_of(written: &str) -> Result<Value, Grade> {
    serde_json::from_str(written)
        .map_err(|error| unusable_reference(format!("it is not JSON, {error}")))
}

/// Options of `json_match`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct JsonMatch {
    /// Keys to ignore, at any depth.
    pub(super) ignore_keys: Vec<String>,
    /// Whether objects of the submission may have further keys.
    pub(super) subset: bool,
    /// The greatest difference of two numbers.
    #[schemars(range(min = 0))]
    pub(super) numeric_tolerance: f64,
    /// Whether the whole submission must be JSON; else a fenced block in it is enough.
    pub whole: bool,
    /// Whether the ground truth is a list of accepted values. Texts in it are JSON.
    pub alternatives: bool,
}

impl GraderOptions for JsonMatch {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let written = reference(subject)?;
        let expected = json_of(written)?;
        let Some(found) = parse_as(subject.submission, self.whole) else {
            return Ok(explained("JSON match", Some(NO_JSON.to_owned())));
        };
        let wrong = match expected {
            Value::Array(accepted) if self.alternatives => self.none_of(accepted, &found)?,
            expected => self.difference(&expected, &found),
        };
        Ok(explained("JSON match", wrong))
    }
}

/// The values that differ; none where one is missing.
type Difference<'v> = (Option<&'v Value>, Option<&'v Value>);

impl JsonMatch {
    /// What is wrong where `found` is none of several values: of one, where they differ.
    fn none_of(&self, accepted: Vec<Value>, found: &Value) -> Result<Option<String>, Grade> {
        let count = accepted.len();
        let mut differences = Vec::new();
        for value in accepted {
            let value = match value {
                Value::String(text) => json_of(&text)?,
                value => value,
            };
            match self.difference(&value, found) {
                None => return Ok(None),
                Some(difference) => differences.push(difference),
            }
        }
        Ok(Some(match differences.pop() {
            None => return Err(no_reference()),
            Some(difference) if count == 1 => difference,
            Some(_) => format!("none of {count}"),
        }))
    }

    /// The first place where `found` differs from `expected`, and its value.
    pub(super) fn difference(&self, expected: &Value, found: &Value) -> Option<String> {
        let mut path = String::new();
        let (expected, found) = self.differ(expected, found, &mut path)?;
        let place = if path.is_empty() { "the whole".to_owned() } else { format!("`{path}`") };
        Some(match (expected, found) {
            (Some(expected), Some(found)) => {
                format!("{place}: {} expected, {} found", show(expected), show(found))
            }
            (Some(_), None) => format!("{place} is missing"),
            (None, _) => format!("{place} is not expected"),
        })
    }

    fn differ<'v>(
        &self,
        expected: &'v Value,
        found: &'v Value,
        path: &mut String,
    ) -> Option<Difference<'v>> {
        let is_same = match (expected, found) {
            (Value::Object(left), Value::Object(right)) => {
                let further = right.keys().filter(|key| !self.subset && !left.contains_key(*key));
                let keys = left.keys().chain(further);
                return keys
                    .filter(|key| !self.ignore_keys.contains(key))
                    .find_map(|key| self.members_differ(key, left.get(key), right.get(key), path));
            }
            (Value::Array(left), Value::Array(right)) => {
                return (0..left.len().max(right.len())).find_map(|at| {
                    self.members_differ(&at.to_string(), left.get(at), right.get(at), path)
                });
            }
            (Value::Number(left), Value::Number(right)) => {
                distance(left, right) <= self.numeric_tolerance
            }
            _ => expected == found,
        };
        (!is_same).then_some((Some(expected), Some(found)))
    }

    /// Where two members differ; then `path`, a JSON pointer, leads there.
    fn members_differ<'v>(
        &self,
        key: &str,
        left: Option<&'v Value>,
        right: Option<&'v Value>,
        path: &mut String,
    ) -> Option<Difference<'v>> {
        let length = path.len();
        path.push('/');
        path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        let difference = match (left, right) {
            (Some(left), Some(right)) => self.differ(left, right, path),
            one_is_missing => Some(one_is_missing),
        };
        if difference.is_none() {
            path.truncate(length);
        }
        difference
    }
}

pub(super) const IS_JSON: GraderInfo = GraderInfo {
    id: "is_json",
    name: "Is JSON",
    description: "The submission is JSON, alone or in a fenced block; `json_schema` checks its content.",
    ..GraderInfo::of::<IsJson>()
};

/// Options of `is_json`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct IsJson {
    /// Whether the whole submission must be JSON; else a fenced block in it is enough.
    whole: bool,
}

impl GraderOptions for IsJson {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        Ok(verdict("Is JSON", parse_as(subject.submission, self.whole).is_some()))
    }
}

pub(super) const NO_JSON: &str = "the submission is no JSON";

/// How far apart two numbers are: whole ones exactly.
fn distance(left: &Number, right: &Number) -> f64 {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left.abs_diff(right) as f64,
        _ => (left.as_f64().unwrap_or(f64::NAN) - right.as_f64().unwrap_or(f64::NAN)).abs(),
    }
}

/// The JSON that `text` is, as a `whole` or by its last fenced block.
pub(super) fn parse_as(text: &str, whole: bool) -> Option<Value> {
    let text = strip(text);
    let of_block = || serde_json::from_str(last_block(text).filter(|_| !whole)?).ok();
    serde_json::from_str(text).ok().or_else(of_block)
}

/// The text in the last pair of Markdown fences, without the line of the opening one.
fn last_block(text: &str) -> Option<&str> {
    let close = text.rfind("```")?;
    let before = text.get(..close)?;
    let open = before.rfind("```")?;
    let block = before.get(open + 3..)?;
    match block.split_once('\n') {
        Some((language, rest)) if language.trim().chars().all(char::is_alphanumeric) => Some(rest),
        _ => Some(block),
    }
}

fn show(value: &Value) -> String {
    shorten(&value.to_string())
}
