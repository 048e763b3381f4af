//! Result lines of `evalrs run` as graded records: one a grade, so that people can check the graders of a suite too.

use serde_json::{Value, json};

use super::lines::JsonRecord;
use evalrs_metrics::results::recorded_submission;

/// The grades of a result line as graded records; none if the record is not such a line. A grade that could not be made
/// is no verdict that anybody could check, and is left out.
pub(crate) fn graded_records(line: &JsonRecord) -> Option<Vec<JsonRecord>> {
    let id = line.get("sample_id")?.as_str()?;
    let grades = line.get("grades")?.as_object()?;
    let made = grades.iter().filter(|(_, grade)| grade.get("error").is_none_or(Value::is_null));
    Some(made.filter_map(|(grader, grade)| record(line, id, grader, grade)).collect())
}

fn record(line: &JsonRecord, id: &str, grader: &str, grade: &Value) -> Option<JsonRecord> {
    let trial = line.get("trial").and_then(Value::as_u64).filter(|trial| *trial > 0);
    let trial = trial.map_or_else(String::new, |trial| format!(" [trial {trial}]"));
    let model = line.get("model").and_then(Value::as_str);
    let model = model.map_or_else(String::new, |model| format!(" [{model}]"));
    let mut record = JsonRecord::new();
    let mut put = |name: &str, value: Value| drop(record.insert(name.to_owned(), value));
    put("id", json!(format!("{id}{model}{trial}, {grader}")));
    put("input", input(line.get("input")));
    put("output", json!(recorded_submission(line, grader).unwrap_or_default()));
    if let Some(truth) = line.get("ground_truth").filter(|truth| !truth.is_null()) {
        put("hint", json!(truth.as_str().map_or_else(|| truth.to_string(), str::to_owned)));
    }
    let score = json!({
        "pass": grade.get("pass")?.as_bool()?,
        "score": grade.get("score")?.as_f64()?,
        "reasoning": grade.get("rationale").and_then(Value::as_str).unwrap_or_default(),
    });
    put("score", score);
    Some(record)
}

/// Text and lists of texts as they are, messages as their JSON text.
fn input(value: Option<&Value>) -> Value {
    match value {
        None | Some(Value::Null) => json!(""),
        Some(Value::String(text)) => json!(text),
        Some(Value::Array(turns)) if turns.iter().all(Value::is_string) => json!(turns),
        Some(other) => json!(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::graded_records;

    #[test]
    fn every_grade_that_was_made_is_a_record() {
        let line = serde_json::json!({
            "format": 1, "sample_id": "s", "input": [{"role": "user"}], "ground_truth": "x", "model": null, "trial": 1,
            "submissions": {"a": "out", "b": "out"},
            "grades": {
                "a": {"score": 0.5, "pass": false, "rationale": "why", "error": null},
                "b": {"score": 0.0, "pass": false, "rationale": "", "error": {"kind": "timeout", "message": ""}},
            },
        });
        let records = graded_records(line.as_object().unwrap()).unwrap();
        let expected = serde_json::json!([{
            "id": "s [trial 1], a", "input": "[{\"role\":\"user\"}]", "output": "out", "hint": "x",
            "score": {"pass": false, "score": 0.5, "reasoning": "why"},
        }]);
        assert_eq!(serde_json::to_value(&records).unwrap(), expected);
        let own = serde_json::json!({"id": "s", "input": "q", "output": "o"});
        assert_eq!(graded_records(own.as_object().unwrap()), None);
    }
}
