//! What a record must have before anything is done with it. Members that nobody reads may be anything.

use serde_json::Value;

use super::lines::{BadLine, InlineLine, JsonRecord, object};
use super::recorded::graded_records;
use evalrs_base::json_syntax::kind_of;

struct Member {
    name: &'static str,
    is_required: bool,
    expected: &'static str,
    holds: fn(&Value) -> bool,
}

const fn required(name: &'static str, expected: &'static str, holds: fn(&Value) -> bool) -> Member {
    Member { name, is_required: true, expected, holds }
}

const fn optional(name: &'static str, expected: &'static str, holds: fn(&Value) -> bool) -> Member {
    Member { name, is_required: false, expected, holds }
}

const TEXT: &str = "text";
const INPUT: &str = "text or a list of texts";
const OBJECT: &str = "an object";
const NUMBER: &str = "a number";

const PROMPT: &[Member] = &[
    required("id", TEXT, Value::is_string),
    required("input", INPUT, is_input),
    optional("hint", TEXT, Value::is_string),
    optional("reference", TEXT, Value::is_string),
    optional("metadata", OBJECT, Value::is_object),
    optional("timeout", NUMBER, Value::is_number),
];

const RESULT: &[Member] = &[
    required("id", TEXT, Value::is_string),
    required("input", INPUT, is_input),
    required("output", TEXT, Value::is_string),
    optional("hint", TEXT, Value::is_string),
    optional("trajectory", "a list", Value::is_array),
    optional("metadata", OBJECT, Value::is_object),
    optional("score", OBJECT, Value::is_object),
];

const CAPTURED: &[Member] = &[
    required("trajectory", "a list", Value::is_array),
    required("timing", OBJECT, Value::is_object),
    required("toolErrors", "true or false", Value::is_boolean),
    optional("errors", "a list of texts", is_texts),
    optional("outcome", OBJECT, Value::is_object),
];

const TIMING: &[Member] = &[
    required("start", NUMBER, Value::is_number),
    required("end", NUMBER, Value::is_number),
    required("total", NUMBER, Value::is_number),
    optional("firstResponse", NUMBER, Value::is_number),
    optional("sessionCreation", NUMBER, Value::is_number),
];

const TRIED: &[Member] = &[
    required("id", TEXT, Value::is_string),
    required("input", INPUT, is_input),
    optional("hint", TEXT, Value::is_string),
    required("k", NUMBER, Value::is_number),
    optional("passRate", NUMBER, Value::is_number),
    optional("passAtK", NUMBER, Value::is_number),
    optional("passExpK", NUMBER, Value::is_number),
    required("trials", "a list", Value::is_array),
    optional("metadata", OBJECT, Value::is_object),
];

const TRIAL: &[Member] = &[
    required("trialNum", NUMBER, Value::is_number),
    required("output", TEXT, Value::is_string),
    required("trajectory", "a list", Value::is_array),
    required("duration", NUMBER, Value::is_number),
    optional("pass", "true or false", Value::is_boolean),
    optional("score", NUMBER, Value::is_number),
    optional("reasoning", TEXT, Value::is_string),
    optional("outcome", OBJECT, Value::is_object),
];

const SCORE: &[Member] = &[
    required("pass", "true or false", Value::is_boolean),
    required("score", "a number between 0.0 and 1.0", is_score),
    optional("reasoning", TEXT, Value::is_string),
    optional("outcome", OBJECT, Value::is_object),
];

const WORDS: &[Member] = &[
    required("content", TEXT, Value::is_string),
    required("timestamp", NUMBER, Value::is_number),
    optional("stepId", TEXT, Value::is_string),
];

const CALL: &[Member] = &[
    required("name", TEXT, Value::is_string),
    required("status", TEXT, Value::is_string),
    optional("duration", NUMBER, Value::is_number),
    required("timestamp", NUMBER, Value::is_number),
    optional("stepId", TEXT, Value::is_string),
];

const PLAN: &[Member] = &[
    required("entries", "a list", Value::is_array),
    required("timestamp", NUMBER, Value::is_number),
    optional("stepId", TEXT, Value::is_string),
];

fn is_input(value: &Value) -> bool {
    match value {
        value @ Value::Array(_) => is_texts(value),
        value => value.is_string(),
    }
}

fn is_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|all| all.iter().all(Value::is_string))
}

fn is_score(value: &Value) -> bool {
    value.as_f64().is_some_and(|score| (0.0..=1.0).contains(&score))
}

/// The record on a line that is graded: it needs an input and an output, whatever they are.
pub(crate) fn graded(line: InlineLine<'_>) -> Result<JsonRecord, BadLine> {
    let record = object(line)?;
    match ["input", "output"].into_iter().find(|name| !record.contains_key(*name)) {
        None => Ok(record),
        Some(name) => Err(line.bad(format!("a record to grade needs `{name}`"))),
    }
}

/// The case on a line of a file of prompts.
pub(crate) fn prompt(line: InlineLine<'_>) -> Result<JsonRecord, BadLine> {
    let record = object(line)?;
    members("", &record, PROMPT).map_err(|reason| line.bad(reason))?;
    Ok(record)
}

/// The results on a line that is calibrated: one, or of a line of `evalrs run` one a grade. What calibration does not
/// look at need not be there: what was graded from other tools' records is calibrated too.
pub(crate) fn results(line: InlineLine<'_>) -> Result<Vec<JsonRecord>, BadLine> {
    let record = object(line)?;
    if let Some(records) = graded_records(&record) {
        return Ok(records);
    }
    result_members(&record).map_err(|reason| line.bad(reason))?;
    Ok(vec![record])
}

/// The result on a line that is summarized.
pub(crate) fn result(line: InlineLine<'_>) -> Result<JsonRecord, BadLine> {
    let record = object(line)?;
    result_members(&record).map_err(|reason| line.bad(reason))?;
    Ok(record)
}

/// Says what is wrong with a result that is compared with others of its prompt. What graded records do not have although
/// those of agent-eval-harness do need not be there.
pub(crate) fn captured(record: &JsonRecord) -> Result<(), String> {
    result_members(record)?;
    members("", record, CAPTURED)?;
    let timing = record.get("timing").and_then(Value::as_object);
    timing.map_or(Ok(()), |timing| members("timing.", timing, TIMING))
}

/// Says what is wrong with the result of a prompt that was tried several times.
pub(crate) fn tried(record: &JsonRecord) -> Result<(), String> {
    members("", record, TRIED)?;
    let trials = record.get("trials").and_then(Value::as_array).into_iter().flatten();
    trials.enumerate().try_for_each(|(at, value)| {
        let name = format!("trials[{at}]");
        let trial = object_of(&name, value)?;
        members(&format!("{name}."), trial, TRIAL)?;
        steps(&format!("{name}."), trial)
    })
}

fn object_of<'v>(name: &str, value: &'v Value) -> Result<&'v JsonRecord, String> {
    let object = value.as_object();
    object.ok_or_else(|| format!("`{name}` must be an object, not {}", kind_of(value)))
}

fn result_members(record: &JsonRecord) -> Result<(), String> {
    members("", record, RESULT)?;
    if let Some(Value::Object(score)) = record.get("score") {
        members("score.", score, SCORE)?;
    }
    steps("", record)
}

/// The steps of a record, whose members are named with `prefix`.
fn steps(prefix: &str, record: &JsonRecord) -> Result<(), String> {
    let steps = record.get("trajectory").and_then(Value::as_array).into_iter().flatten();
    steps.enumerate().try_for_each(|(at, value)| step(&format!("{prefix}trajectory[{at}]"), value))
}

fn step(name: &str, value: &Value) -> Result<(), String> {
    let step = object_of(name, value)?;
    let expected = match step.get("type").and_then(Value::as_str) {
        Some("thought" | "message") => WORDS,
        Some("tool_call") => CALL,
        Some("plan") => PLAN,
        _ => return Err(format!("`{name}.type` must be thought, message, tool_call or plan")),
    };
    members(&format!("{name}."), step, expected)
}

fn members(prefix: &str, record: &JsonRecord, expected: &[Member]) -> Result<(), String> {
    for Member { name, is_required, expected, holds } in expected {
        match record.get(*name) {
            Some(value) if holds(value) => {}
            Some(value) => {
                return Err(format!("`{prefix}{name}` must be {expected}, not {}", kind_of(value)));
            }
            None if *is_required => return Err(format!("`{prefix}{name}` is missing")),
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{graded, prompt, results};
    use crate::lines::{BadLine, InlineLine, JsonRecord};

    fn told(read: fn(InlineLine<'_>) -> Result<JsonRecord, BadLine>, record: &Value) -> String {
        let text = record.to_string();
        match read(InlineLine { number: 7, text: &text }) {
            Ok(read) => {
                assert_eq!(Value::Object(read), *record, "a record is taken as it is");
                String::new()
            }
            Err(bad) => bad.to_string(),
        }
    }

    /// The only result of a line.
    fn one(line: InlineLine<'_>) -> Result<JsonRecord, BadLine> {
        results(line).map(|mut results| results.remove(0))
    }

    #[test]
    fn anything_with_input_and_output_is_graded() {
        for (record, expected) in [
            (json!({"input": ["a", 1], "output": null, "hint": 5}), ""),
            (json!({"input": "a"}), "at line 7: a record to grade needs `output`"),
            (json!({"output": "a"}), "at line 7: a record to grade needs `input`"),
        ] {
            assert_eq!(told(graded, &record), expected);
        }
    }

    #[test]
    fn prompts_have_an_id_and_an_input() {
        let case = json!({"id": "a", "input": [], "hint": "", "reference": "", "metadata": {}, "timeout": 1, "expected": 3});
        assert_eq!(told(prompt, &case), "");
        for (name, value, expected) in [
            ("id", json!(1), "`id` must be text, not a number"),
            ("input", json!(["a", 1]), "`input` must be text or a list of texts, not a list"),
            ("hint", json!(null), "`hint` must be text, not null"),
            ("metadata", json!([]), "`metadata` must be an object, not a list"),
            ("timeout", json!("1"), "`timeout` must be a number, not a string"),
        ] {
            let mut case = case.clone();
            case[name] = value;
            assert_eq!(told(prompt, &case), format!("at line 7: {expected}"));
        }
        assert_eq!(told(prompt, &json!({"id": "a"})), "at line 7: `input` is missing");
    }

    #[test]
    fn what_is_compared_says_how_long_it_took_and_what_failed() {
        let timing = json!({"start": 1, "end": 2, "total": 1, "sessionCreation": 0});
        let result = json!({"id": "a", "input": "q", "output": "o", "trajectory": [], "timing": timing, "toolErrors": false});
        let trial = json!({"trialNum": 1, "output": "", "trajectory": [], "duration": 3, "pass": true, "score": 7});
        let tried = json!({"id": "a", "input": "q", "k": 1, "trials": [trial], "passAtK": 1});
        let check = |is_tried: bool, record: &Value| {
            let record = record.as_object().unwrap();
            let checked = if is_tried { super::tried(record) } else { super::captured(record) };
            checked.err().unwrap_or_default()
        };
        assert_eq!((check(false, &result), check(true, &tried)), (String::new(), String::new()));
        for (is_tried, name, value, expected) in [
            (false, "/timing", json!({"start": 1}), "`timing.end` is missing"),
            (false, "/toolErrors", json!("no"), "`toolErrors` must be true or false, not a string"),
            (false, "/trajectory", json!([1]), "`trajectory[0]` must be an object, not a number"),
            (false, "/id", json!(1), "`id` must be text, not a number"),
            (true, "/k", json!("5"), "`k` must be a number, not a string"),
            (true, "/trials/0", json!(1), "`trials[0]` must be an object, not a number"),
            (
                true,
                "/trials/0/pass",
                json!(1),
                "`trials[0].pass` must be true or false, not a number",
            ),
            (
                true,
                "/trials/0/trajectory",
                json!([{"type": "plan", "timestamp": 1}]),
                "`trials[0].trajectory[0].entries` is missing",
            ),
        ] {
            let mut record = if is_tried { tried.clone() } else { result.clone() };
            *record.pointer_mut(name).unwrap() = value;
            assert_eq!(check(is_tried, &record), expected);
        }
    }

    #[test]
    fn results_may_lack_what_calibration_does_not_look_at() {
        let plain = json!({"id": "a", "input": "q", "output": "o"});
        assert_eq!(told(one, &plain), "");
        let score = "`score.score` must be a number between 0.0 and 1.0, not a number";
        let kind = "`trajectory[0].type` must be thought, message, tool_call or plan";
        for (name, value, expected) in [
            ("output", json!(null), "`output` must be text, not null"),
            ("score", json!(1), "`score` must be an object, not a number"),
            ("score", json!({"score": 1}), "`score.pass` is missing"),
            ("score", json!({"pass": true, "score": 2}), score),
            ("trajectory", json!({}), "`trajectory` must be a list, not an object"),
            ("trajectory", json!([1]), "`trajectory[0]` must be an object, not a number"),
            ("trajectory", json!([{"type": "song"}]), kind),
            (
                "trajectory",
                json!([{"type": "plan", "entries": [], "timestamp": 0}, {"type": "tool_call", "name": "x"}]),
                "`trajectory[1].status` is missing",
            ),
        ] {
            let mut record = plain.clone();
            record[name] = value;
            assert_eq!(told(one, &record), format!("at line 7: {expected}"));
        }
    }
}
