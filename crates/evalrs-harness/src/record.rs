//! The input of a grader from a record, and the record with the result of the grader.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::json::to_json;
use super::lines::JsonRecord;
use evalrs_eval::grade::Grade;
use evalrs_eval::program::reply;
use evalrs_model::spec::ProgramSpec;

/// The score from which a function that says nothing of passing has passed: that of suites without a `pass_threshold`.
const PASS_THRESHOLD: f64 = 1.0;

/// What a grader says of one output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct GraderResult {
    pub pass: bool,
    /// From 0.0 to 1.0.
    pub score: f64,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// What was found in the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Map<String, Value>>,
}

impl GraderResult {
    /// The result in what a program gave back; members that no result has are dropped.
    pub(crate) fn read(spec: &ProgramSpec, text: &str) -> Result<Self, String> {
        let grade = reply::grade(spec, text)?;
        if !grade.applies {
            let message = "Invalid grader result: `score` is null; only suites have grades that are not applicable";
            return Err(message.to_owned());
        }
        let pass = grade.passes(PASS_THRESHOLD);
        let Grade { score, rationale, metadata, .. } = grade;
        let outcome = metadata.and_then(|mut metadata| match metadata.shift_remove("outcome") {
            Some(Value::Object(outcome)) => Some(outcome),
            _ => None,
        });
        let has_reasoning = !rationale.is_empty() || gives_reasoning(text);
        let reasoning = has_reasoning.then(|| rationale.into_owned());
        Ok(Self { pass, score, reasoning, outcome })
    }
}

/// Whether an empty reasoning was given and not just left out.
fn gives_reasoning(text: &str) -> bool {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    value.get("reasoning").is_some_and(Value::is_string)
}

/// The input of a grader, compact: of the members that `of` gives, those that graders know, in their order. One that is
/// null is left out unless it must be there.
pub(crate) fn grader_input<'v>(of: impl Fn(&str) -> Option<&'v Value>) -> String {
    let mut text = "{".to_owned();
    for name in ["input", "output", "hint", "trajectory", "metadata", "cwd"] {
        let is_required = matches!(name, "input" | "output");
        let Some(value) = of(name).filter(|value| is_required || !value.is_null()) else {
            continue;
        };
        if text.len() > 1 {
            text.push(',');
        }
        text.push('"');
        text.push_str(name);
        text.push_str("\":");
        text.push_str(&to_json(value));
    }
    text.push('}');
    text
}

/// The input of a Python function for a record, made from the input of a program.
pub(crate) fn function_input(grader_input: &str) -> String {
    let mut given: Map<String, Value> = serde_json::from_str(grader_input).unwrap_or_default();
    let mut take = |name: &str| given.shift_remove(name).unwrap_or_default();
    let input = take("input");
    let submission = take("output");
    let hint = take("hint");
    let metadata = match take("metadata") {
        Value::Null => Value::Object(Map::new()),
        metadata => metadata,
    };
    let sample = json!({
        "input": input, "ground_truth": hint, "agent_args": null, "rubric_vars": null,
        "extra_vars": null, "metadata": metadata, "tags": [],
    });
    json!({"sample": sample, "submission": submission}).to_string()
}

/// The record with its new score, compact. A score or outcome keeps its place; an outcome of an earlier grading goes.
pub(crate) fn with_score(mut record: JsonRecord, result: &GraderResult) -> String {
    record.insert("score".to_owned(), json!(result));
    match result.outcome.clone() {
        Some(outcome) => record.insert("outcome".to_owned(), Value::Object(outcome)),
        None => record.shift_remove("outcome"),
    };
    to_json(&record)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{GraderResult, grader_input, with_score};
    use evalrs_model::spec::{Language, ProgramSpec, Role};

    fn record(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_grader_is_handed_what_it_knows_in_one_order() {
        for (of, expected) in [
            (
                json!({"cwd": "/w", "id": "a", "metadata": {"z": 1.0, "a": 2}, "trajectory": [], "hint": "", "output": "o", "input": ["q", "r"], "score": {}}),
                r#"{"input":["q","r"],"output":"o","hint":"","trajectory":[],"metadata":{"z":1,"a":2},"cwd":"/w"}"#,
            ),
            (json!({"output": null, "input": 1, "hint": null}), r#"{"input":1,"output":null}"#),
        ] {
            let of = record(&of);
            assert_eq!(grader_input(|name| of.get(name)), expected);
        }
    }

    #[test]
    fn a_result_is_read_as_the_program_gave_it() {
        for (language, text, expected) in [
            (
                Language::Executable,
                r#"{"score":1,"pass":true,"x":1}"#,
                r#"{"pass":true,"score":1}"#,
            ),
            (
                Language::JavaScript,
                r#"{"pass":false,"score":0.5,"reasoning":"","outcome":{"b":1,"a":2}}"#,
                r#"{"pass":false,"score":0.5,"reasoning":"","outcome":{"b":1,"a":2}}"#,
            ),
            // A function need not say whether that is a pass.
            (Language::Python, "0.5", r#"{"pass":false,"score":0.5}"#),
            (Language::Python, "1", r#"{"pass":true,"score":1}"#),
            (
                Language::Python,
                r#"{"score":1,"rationale":"r","metadata":{"a":1},"outcome":3}"#,
                r#"{"pass":true,"score":1,"reasoning":"r"}"#,
            ),
        ] {
            let spec = ProgramSpec::new("g".to_owned(), language, "", Role::Grade);
            let result = GraderResult::read(&spec, text).unwrap();
            assert_eq!(super::to_json(&result), expected, "{text}");
        }
        let spec = ProgramSpec::of_file("g.sh".to_owned());
        assert!(GraderResult::read(&spec, r#"{"pass":1,"score":1}"#).is_err());
    }

    #[test]
    fn a_record_is_unchanged_but_for_score_and_outcome() {
        let plain = GraderResult { pass: true, score: 1.0, reasoning: None, outcome: None };
        let outcome = Some(Map::from_iter([("a".to_owned(), json!(1))]));
        let found = GraderResult { outcome, ..plain.clone() };
        for (of, result, expected) in [
            (
                json!({"z": 1.50, "output": "o", "a": [null]}),
                &plain,
                r#"{"z":1.5,"output":"o","a":[null],"score":{"pass":true,"score":1}}"#,
            ),
            (
                json!({"outcome": {"old": 1}, "score": 3, "z": 1}),
                &plain,
                r#"{"score":{"pass":true,"score":1},"z":1}"#,
            ),
            (
                json!({"outcome": {"old": 1}, "z": 1}),
                &found,
                r#"{"outcome":{"a":1},"z":1,"score":{"pass":true,"score":1,"outcome":{"a":1}}}"#,
            ),
        ] {
            assert_eq!(with_score(record(&of), result), expected);
        }
    }
}
