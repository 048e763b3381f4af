//! Raw output of an agent into results: what `evalrs extract` makes of a record.

use serde_json::{Value, json};

use super::lines::{JsonRecord, members_of};
use evalrs_base::json_syntax::kind_of;
use evalrs_eval::adapter::{Adapter, TurnReader, steps_paired_by_id};

/// The record with output and trajectory instead of its raw lines. An error says what is wrong with it.
pub(crate) fn extracted(raw: &JsonRecord, adapter: &Adapter) -> Result<JsonRecord, String> {
    let lines = match raw.get("rawLines") {
        Some(Value::Array(lines)) => lines,
        Some(other) => return Err(format!("`rawLines` must be a list, not {}", kind_of(other))),
        None => {
            return Err("`rawLines` is missing: expected what `evalrs run --raw` writes".to_owned());
        }
    };
    // Only what evalrs wrote says when a line came.
    let times =
        raw.get("rawTimes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut reader = TurnReader::new(adapter);
    for (at, line) in lines.iter().enumerate() {
        let time = times.get(at).and_then(Value::as_u64).unwrap_or(0);
        // Several turns end several times: the last answer counts.
        reader.line(line.as_str().unwrap_or_default(), time);
    }
    let turn = reader.finish();
    let mut trajectory = steps_paired_by_id(&turn.updates);
    if times.is_empty() {
        // Nobody knows how long a call took.
        for step in trajectory.iter_mut().filter_map(Value::as_object_mut) {
            step.shift_remove("duration");
        }
    }
    let has_failed = |step: &Value| step["type"] == "tool_call" && step["status"] == "failed";
    let tool_errors = trajectory.iter().any(has_failed) || raw.contains_key("error");
    let mut record = members_of(raw, &["id", "input", "hint"]);
    record.insert("output".to_owned(), json!(turn.answer));
    record.insert("trajectory".to_owned(), Value::Array(trajectory));
    record.insert("toolErrors".to_owned(), json!(tool_errors));
    record.extend(members_of(raw, &["metadata", "timing", "error"]));
    Ok(record)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::extracted;
    use evalrs_eval::adapter::{Adapter, BUILT_IN};

    fn told(raw: &Value) -> Result<Value, String> {
        let adapter = Adapter::read(BUILT_IN[0].1).unwrap();
        extracted(raw.as_object().unwrap(), &adapter).map(Value::Object)
    }

    #[test]
    fn lines_become_output_and_trajectory() {
        let call = json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]}});
        let failed = json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "t", "is_error": true, "content": "no"}]}});
        let raw = json!({
            "id": "a", "input": ["one", "two"], "hint": "h", "metadata": {"k": 1}, "error": "",
            "rawLines": [
                json!({"type": "result", "result": "first"}).to_string(), "a line for people", call.to_string(),
                failed.to_string(), json!({"type": "result", "result": "second"}).to_string(),
            ],
            "rawTimes": [1, 2, 30, 45, 60],
            "timing": {"start": 5, "end": 9, "total": 4},
        });
        let expected = json!({
            "id": "a", "input": ["one", "two"], "hint": "h", "output": "second",
            "trajectory": [{
                "type": "tool_call", "name": "Bash", "status": "failed", "input": {"command": "ls"}, "timestamp": 30,
                "output": "no", "duration": 15,
            }],
            "toolErrors": true, "metadata": {"k": 1}, "timing": {"start": 5, "end": 9, "total": 4}, "error": "",
        });
        let record = told(&raw).unwrap();
        assert_eq!(record, expected);
        let order: Vec<_> = record.as_object().unwrap().keys().cloned().collect();
        let names = [
            "id",
            "input",
            "hint",
            "output",
            "trajectory",
            "toolErrors",
            "metadata",
            "timing",
            "error",
        ];
        assert_eq!(order, names);
    }

    #[test]
    fn records_without_raw_lines_are_refused() {
        assert!(told(&json!({"id": "a"})).unwrap_err().contains("`rawLines` is missing"));
        assert_eq!(
            told(&json!({"rawLines": "x"})).unwrap_err(),
            "`rawLines` must be a list, not a string"
        );
        let nothing = told(&json!({"id": "a", "input": "q", "rawLines": []})).unwrap();
        assert_eq!(
            nothing,
            json!({"id": "a", "input": "q", "output": "", "trajectory": [], "toolErrors": false})
        );
    }
}
