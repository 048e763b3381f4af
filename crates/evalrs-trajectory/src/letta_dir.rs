//! The result files that Letta Evals writes, in every shape it has had.
//!
//! Reads text only: which files a directory holds, and how their rows are joined with a dataset, is the
//! caller's business. Up to 0.16 a sample's id is its row number; later it is whatever the dataset says.

use serde_json::{Map, Value};

use evalrs_base::json_syntax::plain_message;

/// One finished sample of a result file.
#[derive(Clone, Debug, PartialEq)]
pub struct LettaResult {
    /// Its line, from 1; in the oldest format, its place in the list.
    pub line: usize,
    /// The id of the sample as text. The oldest files have none; the place in the list, from 0, stands in.
    pub sample_id: String,
    /// The row of the dataset, from 0, where ids are row numbers.
    pub row_number: Option<u64>,
    /// What the target was given; null in files that keep samples elsewhere (0.17 and later).
    pub input: Value,
    /// The model that was run.
    pub model: Option<String>,
    /// The turns of Letta messages; an empty list if the target failed.
    pub trajectory: Value,
    /// The agent at its server.
    pub agent_id: Option<String>,
    /// The state the agent was left in, where it was kept (0.16 and later).
    pub agent_state: Option<Value>,
    /// Grader → what it graded.
    pub submissions: Map<String, Value>,
    /// Grader → the grade it gave.
    pub grades: Map<String, Value>,
}

/// Why a result file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct LettaProblem {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// One record of a result file, as it is there.
#[derive(Clone, Debug, PartialEq)]
pub struct LettaResultRecord {
    /// Its line, from 1; in the oldest format, its place in the list.
    pub line: usize,
    /// The value itself, without a wrapper.
    pub value: Value,
}

/// Reads the text of a result file: JSON Lines, or the single object of the oldest releases.
///
/// Headers, summaries and blank lines are skipped.
pub fn read_results(text: &str) -> Result<Vec<LettaResult>, LettaProblem> {
    let records = read_records(text)?;
    records.iter().enumerate().map(|(ordinal, record)| LettaResult::of(record, ordinal)).collect()
}

/// The records of such a text, as they stand there.
pub fn read_records(text: &str) -> Result<Vec<LettaResultRecord>, LettaProblem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(list) = whole_file(text) {
        let records = (1..).zip(list).map(|(line, value)| LettaResultRecord { line, value });
        return Ok(records.collect());
    }
    let mut records = Vec::new();
    for (line, text) in (1..).zip(text.split('\n')).filter(|(_, text)| !text.trim().is_empty()) {
        let mut record: Value = serde_json::from_str(text)
            .map_err(|error| LettaProblem { line, message: no_json(&error) })?;
        let value = match record.get("type").and_then(Value::as_str) {
            Some("header" | "summary") => continue,
            Some("result") => match record.get_mut("result") {
                Some(result) => result.take(),
                None => record,
            },
            _ => record,
        };
        records.push(LettaResultRecord { line, value });
    }
    Ok(records)
}

/// The parser counts lines from the start of this one, so its place is shown as a column alone.
fn no_json(error: &serde_json::Error) -> String {
    format!("invalid JSON: {} (column {})", plain_message(error), error.column())
}

/// The results of a file that is one object, over however many lines.
fn whole_file(text: &str) -> Option<Vec<Value>> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let file = match serde_json::from_str::<Value>(first) {
        Ok(line) => line,
        Err(_) => serde_json::from_str(text).ok()?,
    };
    let Value::Object(mut file) = file else { return None };
    match file.remove("results") {
        Some(Value::Array(results)) => Some(results),
        _ => None,
    }
}

impl LettaResult {
    /// What a record says; `ordinal` is its place among all, from 0.
    pub fn of(record: &LettaResultRecord, ordinal: usize) -> Result<Self, LettaProblem> {
        let line = record.line;
        let problem = |message: &str| LettaProblem { line, message: message.to_owned() };
        let record =
            record.value.as_object().ok_or_else(|| problem("expected a result (an object)"))?;
        if !["sample", "sample_id", "trajectory"].iter().any(|key| record.contains_key(*key)) {
            return Err(problem("expected a result with `sample` or `sample_id` and `trajectory`"));
        }
        let sample = record.get("sample").filter(|sample| sample.is_object());
        let id = sample.map_or_else(|| record.get("sample_id"), |sample| sample.get("id"));
        let (sample_id, number) = match id {
            Some(Value::String(id)) => (id.clone(), None),
            Some(Value::Number(id)) => (id.to_string(), id.as_u64()),
            None | Some(Value::Null) => (ordinal.to_string(), u64::try_from(ordinal).ok()),
            Some(_) => return Err(problem("a sample id is a number or a string")),
        };
        let trajectory = match record.get("trajectory") {
            Some(list @ Value::Array(_)) => list.clone(),
            None | Some(Value::Null) => Value::Array(Vec::new()),
            Some(_) => return Err(problem("expected a list of turns in `trajectory`")),
        };
        Ok(Self {
            line,
            sample_id,
            row_number: sample.and(number),
            input: sample.and_then(|sample| sample.get("input")).cloned().unwrap_or_default(),
            model: ["model_handle", "model_name"]
                .iter()
                .find_map(|key| record.get(*key)?.as_str().map(str::to_owned)),
            trajectory,
            agent_id: record.get("agent_id").and_then(Value::as_str).map(str::to_owned),
            agent_state: record.get("agent_state").filter(|state| !state.is_null()).cloned(),
            submissions: object(record, "submissions"),
            grades: object(record, "grades"),
        })
    }
}

fn object(record: &Map<String, Value>, key: &str) -> Map<String, Value> {
    record.get(key).and_then(Value::as_object).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{LettaResult, read_results};

    /// The parts of a result that tell shapes apart.
    fn row(found: &LettaResult) -> Value {
        json!([
            found.line,
            found.sample_id,
            found.row_number,
            found.input,
            found.model,
            found.trajectory,
            found.agent_state
        ])
    }

    #[track_caller]
    fn check(text: &str, expected: &Value) {
        let found = read_results(text).unwrap_or_else(|problem| panic!("{problem}: {text}"));
        assert_eq!(&found.iter().map(row).collect::<Value>(), expected, "{text}");
    }

    #[test]
    fn reads_every_shape_of_line() {
        // 0.3 to 0.16: wrapped, an id is a row number, the state came with 0.16.
        check(
            r#"{"type": "result", "result": {"sample": {"id": 3, "input": ["q", "r"], "ground_truth": "a"}, "submission": "A", "submissions": {"acc": "A"}, "trajectory": [[{"message_type": "x"}]], "agent_id": "agent-1", "grades": null, "model_name": "m", "agent_state": {"blocks": []}}}"#,
            &json!([[1, "3", 3, ["q", "r"], "m", [[{"message_type": "x"}]], {"blocks": []}]]),
        );
        // The same without its wrapper, as documented; of a failed sample.
        check(
            r#"{"sample": {"id": 0, "input": "q"}, "submission": "", "submissions": null, "trajectory": [], "agent_id": null, "model_name": null}"#,
            &json!([[1, "0", 0, "q", null, [], null]]),
        );
        // 0.17 and later: bare, without nulls, the sample elsewhere.
        check(
            "\u{feff}{\"sample_id\": \"easy/1\", \"model_handle\": \"p/m\", \"trajectory\": [[]]}\r\n\r\n{\"sample_id\": 7, \"error\": {}}",
            &json!([
                [1, "easy/1", null, null, "p/m", [[]], null],
                [3, "7", null, null, null, [], null]
            ]),
        );
        // 0.2: one file with a header and a summary around the results.
        check(
            "{\"type\": \"header\", \"suite\": \"s\", \"config\": {}}\n{\"type\": \"result\", \"result\": {\"sample\": {\"id\": 1, \"input\": \"q\"}, \"trajectory\": null}}\n{\"type\": \"summary\", \"metrics\": {}}\n",
            &json!([[2, "1", 1, "q", null, [], null]]),
        );
        // Before that: one object, samples without ids, over one line or many.
        let file = json!({"suite": "s", "results": [
            {"sample": {"input": "a", "metadata": {"tags": []}}, "trajectory": [[1]]},
            {"sample": {"input": "b"}, "trajectory": []},
        ]});
        let expected =
            &json!([[1, "0", 0, "a", null, [[1]], null], [2, "1", 1, "b", null, [], null]]);
        check(&file.to_string(), expected);
        check(&format!("{file:#}\n"), expected);
        check("", &json!([]));
    }

    #[test]
    fn keeps_submissions_and_grades() {
        let line = r#"{"sample_id": "a", "trajectory": [], "submissions": {"acc": "A"}, "grades": {"acc": {"score": 1.0}}}"#;
        let results = read_results(line).expect("readable");
        assert_eq!(Value::from(results[0].submissions.clone()), json!({"acc": "A"}));
        assert_eq!(Value::from(results[0].grades.clone()), json!({"acc": {"score": 1.0}}));
    }

    #[test]
    fn problems_name_the_line() {
        for (text, expected) in [
            ("\n{\"sample_id\": 1,}", "line 2: invalid JSON: trailing comma (column 17)"),
            (
                "{\"a\": 1}",
                "line 1: expected a result with `sample` or `sample_id` and `trajectory`",
            ),
            ("[]", "line 1: expected a result (an object)"),
            ("{\"sample_id\": []}", "line 1: a sample id is a number or a string"),
            (
                "{\"sample_id\": 1, \"trajectory\": {}}",
                "line 1: expected a list of turns in `trajectory`",
            ),
        ] {
            let problem = read_results(text).expect_err("a problem");
            assert_eq!(problem.to_string(), expected, "{text}");
        }
    }
}
