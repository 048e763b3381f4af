//! Numbers the trials of rows that do not: those of one sample and model, in the order of what they call their trial, or
//! of the file.

use std::collections::HashMap;

use serde_json::Value;

use super::condition::is_left_out;
use super::content_id::content_id;
use super::fields::{NUMBERED, RowFields, RowSpec};
use super::join::JoinedRow;
use super::members::{AddedMembers, with_members};
use super::raw_record::RawRecord;
use super::row_record::RowRecord;
use evalrs_model::expression::RowCondition;
use evalrs_model::spec::FieldMap;

/// A sample and a model.
type RunKey = (String, Option<String>);

/// Gives every row the number of its trial, from 0. `spec` reads what rows say themselves. Rows that the condition leaves
/// out are not counted, unless it names that number.
pub fn number(rows: &mut [JoinedRow<'_>], spec: &RowSpec, condition: Option<&RowCondition>) {
    let condition =
        condition.filter(|condition| !condition.names().iter().any(|name| name == "trial"));
    let mut groups: HashMap<RunKey, Vec<(f64, usize)>> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        let record = RowRecord { row: &row.row, recorded: &row.recorded, case: 0 };
        if is_left_out(record, spec, condition) {
            continue;
        }
        let (key, said) = identity(row, spec);
        groups.entry(key).or_default().push((said, at));
    }
    let mut trials = vec![0; rows.len()];
    for mut group in groups.into_values() {
        group.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (trial, (_, at)) in group.into_iter().enumerate() {
            trials[at] = trial;
        }
    }
    for (row, trial) in rows.iter_mut().zip(trials) {
        let mut members = AddedMembers::default();
        members.add(NUMBERED, &Value::from(trial));
        let record = RawRecord { text: std::mem::take(&mut row.row), start: row.start };
        row.row = with_members(record, &members, &FieldMap::default()).text;
    }
}

/// Whose trial a row is, and what it calls it itself.
fn identity(row: &JoinedRow<'_>, spec: &RowSpec) -> (RunKey, f64) {
    let record = RowRecord { row: &row.row, recorded: &row.recorded, case: 0 };
    let Ok(fields) = RowFields::new(&row.row, spec) else { return Default::default() };
    let text = |name: &str| {
        let value = fields.value(name).ok().flatten()?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let id = text("id").unwrap_or_else(|| content_id(record, spec).into());
    let said = text("trial").and_then(|trial| trial.trim().parse().ok());
    ((id, text("model")), said.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::Value;

    use super::number;
    use crate::dataset::fields::RowSpec;
    use crate::dataset::join::JoinedRow;
    use crate::dataset::split::RecordStart;
    use evalrs_model::expression::RowCondition;
    use evalrs_model::spec::{DatasetFormat, DatasetSpec};

    #[test]
    fn rows_of_a_sample_and_model_are_numbered_in_order() {
        let rows = [
            (r#"{"id": "a"}"#, 0),
            (r#"{"id": "b"}"#, 0),
            (r#"{"id": "a"}"#, 1),
            (r#"{"id": "a", "model": "m"}"#, 0),
            (r#"{"id": "e", "trial": 10}"#, 2),
            (r#"{"id": "e", "trial": 2}"#, 1),
            (r#"{"id": "e", "trial": "1"}"#, 0),
            (r#"{"input": "q", "output": "x"}"#, 0),
            (r#"{"input": "q", "output": "y"}"#, 1),
            (r#"{"id": 1}"#, 0),
            (r#"{"id": "1"}"#, 1),
        ];
        let joined = |(row, _): &(&'static str, u64)| JoinedRow {
            row: Cow::Borrowed(*row),
            recorded: Cow::Borrowed(""),
            start: RecordStart::default(),
        };
        let mut joined: Vec<JoinedRow<'_>> = rows.iter().map(joined).collect();
        let spec = RowSpec::new(&DatasetSpec::file("d.jsonl", DatasetFormat::Jsonl), None);
        number(&mut joined, &spec, None);
        for (joined, (row, trial)) in joined.iter().zip(rows) {
            let value: Value = serde_json::from_str(&joined.row).unwrap();
            assert_eq!(value["trial.by_order"], trial, "{row}");
        }
    }

    #[test]
    fn rows_that_do_not_count_are_not_numbered() {
        let rows = [r#"{"id": "a", "n": 1}"#, r#"{"id": "a", "n": 2}"#, r#"{"id": "a", "n": 3}"#];
        let spec = RowSpec::new(&DatasetSpec::file("d.jsonl", DatasetFormat::Jsonl), None);
        for (condition, expected) in [("n > 1", [0, 0, 1]), ("n > 1 and trial < 9", [0, 1, 2])] {
            let joined = |row: &&'static str| JoinedRow {
                row: Cow::Borrowed(*row),
                recorded: Cow::Borrowed(""),
                start: RecordStart::default(),
            };
            let mut joined: Vec<JoinedRow<'_>> = rows.iter().map(joined).collect();
            let condition = RowCondition::parse(condition).unwrap();
            number(&mut joined, &spec, Some(&condition));
            let trial = |row: &JoinedRow<'_>| {
                let value: Value = serde_json::from_str(&row.row).unwrap();
                value["trial.by_order"].as_u64().unwrap()
            };
            let trials: Vec<u64> = joined.iter().map(trial).collect();
            assert_eq!(trials, expected, "{}", condition.text());
        }
    }
}
