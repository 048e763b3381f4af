//! Graders that read the submission as JSON.
//!
//! Targets wrap JSON in Markdown fences and in words, so where the submission as a whole is not JSON the last
//! fenced block in it counts.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Number, Value};

use super::given::reference;
use super::grader::{GradeResult, GraderInfo, with_options};
use super::rationale::{explained, shorten, unusable_reference, verdict};
use super::subject::Subject;
use super::verdict::Grade;
use crate::options::schema;
use evalrs_base::python::strip;

/// `json_match`.
pub(super) const JSON_MATCH: GraderInfo = GraderInfo {
    id: "json_match",
    aliases: &["json-match"],
    name: "JSON match",
    description: "Submission and ground truth are the same JSON value.",
    needs_ground_truth: true,
    takes_lists: true,
    options: schema::<JsonMatch>,
    compile: |config| with_options(config, JsonMatch::grade),
    ..GraderInfo::PLAIN
};

fn json_of(written: &str) -> Result<Value, Grade> {
    serde_json::from_str(written).map_err(|why| unusable_reference(lower_first(&why)))
}

/// Options of `json_match`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct JsonMatch {
    /// Keys that are not compared, wherever they stand.
    pub(super) ignore_keys: Vec<String>,
    /// Whether objects of the submission may have further keys.
    pub(super) subset: bool,
    /// How far apart two numbers may be.
    #[schemars(range(min = 0))]
    pub(super) numeric_tolerance: f64,
    /// Whether all of the submission must be JSON, so that a fenced block in it does not count.
    pub whole: bool,
    /// Whether the ground truth is a list of values, each of which is accepted. Texts in it are JSON.
    pub alternatives: bool,
}

impl JsonMatch {
    pub(super) fn grade(&self, subject: &Subject<'_>) -> GradeResult {
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
            None => return Err(Grade::without_ground_truth("No ground_truth answer provided")),
            Some(difference) if count == 1 => difference,
            Some(_) => format!("none of {count}"),
        }))
    }

    /// The first place where `found` is not `expected`, and what stands there.
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
    ) -> Option<(Option<&'v Value>, Option<&'v Value>)> {
        match (expected, found) {
            (Value::Object(left), Value::Object(right)) => self.objects_differ(left, right, path),
            (Value::Array(left), Value::Array(right)) => {
                for index in 0..left.len().max(right.len()) {
                    let left = left.get(index);
                    let right = right.get(index);
                    let length = extend(path, &index.to_string());
                    if let Some(difference) = self.members_differ(left, right, path) {
                        return Some(difference);
                    }
                    path.truncate(length);
                }
                None
            }
            (Value::Number(left), Value::Number(right)) => {
                (!same_number(left, right, self.numeric_tolerance))
                    .then_some((Some(expected), Some(found)))
            }
            _ => (expected != found).then_some((Some(expected), Some(found))),
        }
    }

    fn objects_differ<'v>(
        &self,
        left: &'v Map<String, Value>,
        right: &'v Map<String, Value>,
        path: &mut String,
    ) -> Option<(Option<&'v Value>, Option<&'v Value>)> {
        let further = right.keys().filter(|key| !self.subset && !left.contains_key(*key));
        for key in left.keys().chain(further).filter(|key| !self.ignore_keys.contains(key)) {
            let length = extend(path, key);
            if let Some(difference) = self.members_differ(left.get(key), right.get(key), path) {
                return Some(difference);
            }
            path.truncate(length);
        }
        None
    }

    fn members_differ<'v>(
        &self,
        left: Option<&'v Value>,
        right: Option<&'v Value>,
        path: &mut String,
    ) -> Option<(Option<&'v Value>, Option<&'v Value>)> {
        match (left, right) {
            (Some(left), Some(right)) => self.differ(left, right, path),
            one_is_missing => Some(one_is_missing),
        }
    }
}

/// `is_json`.
pub(super) const IS_JSON: GraderInfo = GraderInfo {
    id: "is_json",
    aliases: &["is-json"],
    name: "Is JSON",
    description: "The submission is JSON; `json_schema` says what it is to hold.",
    options: schema::<IsJson>,
    compile: |config| with_options(config, |options: &IsJson, subject| Ok(options.grade(subject))),
    ..GraderInfo::PLAIN
};

/// Options of `is_json`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct IsJson {
    /// Whether all of the submission must be JSON, so that a fenced block in it does not count.
    whole: bool,
}

impl IsJson {
    fn grade(&self, subject: &Subject<'_>) -> Grade {
        verdict("Is JSON", parse_as(subject.submission, self.whole).is_some())
    }
}

pub(super) const NO_JSON: &str = "the submission is no JSON";

/// Lengthens a JSON pointer and gives back its length before.
fn extend(path: &mut String, key: &str) -> usize {
    let length = path.len();
    path.push('/');
    path.push_str(&key.replace('~', "~0").replace('/', "~1"));
    length
}

fn same_number(left: &Number, right: &Number, tolerance: f64) -> bool {
    if left == right {
        return true;
    }
    let whole = |number: &Number| {
        number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
    };
    let apart = match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.abs_diff(right) as f64,
        _ => match (left.as_f64(), right.as_f64()) {
            (Some(left), Some(right)) => (left - right).abs(),
            _ => return false,
        },
    };
    apart <= tolerance
}

/// The JSON that `text` is, or that its last fenced block is.
pub(super) fn parse(text: &str) -> Option<Value> {
    let text = strip(text);
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(last_block(text)?).ok())
}

/// The JSON that `text` is, as a `whole` or by its last fenced block.
pub(super) fn parse_as(text: &str, whole: bool) -> Option<Value> {
    if whole { serde_json::from_str(strip(text)).ok() } else { parse(text) }
}

/// What stands in the last pair of Markdown fences, without the line of the opening one.
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

pub(super) fn lower_first(error: &serde_json::Error) -> String {
    format!("it is not JSON, {error}")
}
