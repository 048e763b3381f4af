//! Replaces the id of rows that have none: a digest of the sample.

use serde_json::{Map, Value};

use super::fields::RowSpec;
use super::row::OpenedRow;
use super::row_record::{NOT_RECORDED, RowRecord};
use evalrs_trajectory::{MessageBody, Trajectory};

/// The fields that say what a sample is. What was recorded for it, how it is graded and what people say of it is edited
/// while it stays the same.
const SAMPLE: [&str; 6] =
    ["input", "ground_truth", "rubric_vars", "extra_vars", "agent_args", "metadata"];

/// Replaces the id of a row without one: a digest of the sample. Of a row without an `input` that is what was
/// said before the target's first answer.
pub fn content_id(record: RowRecord<'_>, spec: &RowSpec) -> Box<str> {
    let mut sample = Map::new();
    if let Ok(opened) = OpenedRow::new(RowRecord { case: 0, ..record }, spec) {
        let value = |name: &str| Some((name.to_owned(), opened.field(name)?));
        sample.extend(SAMPLE.into_iter().filter_map(value));
        if !sample.contains_key("input") && record.recorded != NOT_RECORDED {
            let trajectory = opened.recorded().map(|recorded| recorded.trajectory);
            let said = trajectory.map(|trajectory| opening(&trajectory)).unwrap_or_default();
            sample.insert("messages".to_owned(), Value::from(said));
        }
    }
    let mut sample = Value::Object(sample);
    sample.sort_all_objects();
    blake3::hash(sample.to_string().as_bytes()).to_hex()[..12].into()
}

/// The conversation before the first message or call of the target.
fn opening(trajectory: &Trajectory) -> Vec<String> {
    let said = trajectory.messages(false).map_while(|message| match &message.body {
        MessageBody::System(text) => Some(format!("system: {text}")),
        MessageBody::User(text) => Some(format!("user: {text}")),
        _ => None,
    });
    said.collect()
}
