//! Samples of a log as rows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::log::InspectLog;
use crate::imported::ImportedSource;
use crate::reading::{
    GivenNames, PlacedValue, as_text, content_text, first, last_of_user, put, text_at, text_in,
};
use evalrs_trajectory::inspect_messages;

/// The rows of a log, and which scores they hold.
pub(super) struct LogRows {
    pub rows: Vec<Value>,
    /// In the order in which they were met.
    pub scores: Vec<ScoreColumn>,
}

/// The scores of one name.
pub(super) struct ScoreColumn {
    /// As the log calls it, and as rows do.
    pub name: String,
    pub key: String,
    /// The values of all samples that have one.
    pub values: Vec<Value>,
    /// Whether some sample that did not fail has none.
    pub(super) is_partial: bool,
}

/// Reads the samples of a log.
pub(super) fn read(log: &InspectLog, imported: &mut ImportedSource) -> LogRows {
    let mut reader = RowReader {
        log,
        imported,
        names: GivenNames::default(),
        columns: Vec::new(),
        places: BTreeMap::new(),
    };
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    for sample in &log.samples {
        let PlacedValue { value, place } = sample;
        if !value.is_object() {
            reader.imported.leave_out("samples", place.clone(), "a sample", "it is not an object");
            continue;
        }
        let id = value.get("id").map(as_text).unwrap_or_default();
        let epoch = epoch(value);
        if !seen.insert((id.clone(), epoch)) {
            let what = format!("sample `{id}`, epoch {epoch}");
            let why = "the log has it twice; the first is used";
            reader.imported.leave_out("samples", place.clone(), what, why);
            continue;
        }
        rows.push(reader.row(value));
        reader.imported.count("samples");
    }
    for column in &mut reader.columns {
        column.is_partial = rows.iter().any(|row| {
            row.get("error").is_none() && row.pointer(&format!("/scores/{}", column.key)).is_none()
        });
    }
    LogRows { rows, scores: reader.columns }
}

pub(super) fn epoch(sample: &Value) -> u64 {
    sample.get("epoch").and_then(Value::as_u64).unwrap_or(1)
}

struct RowReader<'a> {
    log: &'a InspectLog,
    imported: &'a mut ImportedSource,
    names: GivenNames,
    columns: Vec<ScoreColumn>,
    /// The places of columns by the names of scores.
    places: BTreeMap<String, usize>,
}

impl RowReader<'_> {
    fn row(&mut self, sample: &Value) -> Value {
        let mut row = json!({});
        put(&mut row, "id", sample.get("id").cloned());
        row["trial"] = json!(epoch(sample).saturating_sub(1));
        put(&mut row, "model", text_at(&self.log.header, &["/eval/model"]));
        row["input"] = json!(question(sample));
        put(&mut row, "ground_truth", ground_truth(sample));
        put(&mut row, "choices", first(sample, &["/choices"]).cloned());
        let is_said = |all: &&Value| all.as_object().is_some_and(|all| !all.is_empty());
        put(&mut row, "metadata", sample.get("metadata").filter(is_said).cloned());
        let messages = inspect_messages(sample);
        let count = messages.as_array().map_or(0, Vec::len);
        self.imported.count_all("messages", count);
        let completion = completion(sample);
        if completion.is_some() || count == 0 {
            row["output"] = json!(completion);
        }
        put(&mut row, "messages", (count > 0).then_some(messages));
        put(&mut row, "error", first(sample, &["/error/message", "/error"]).map(as_text));
        put(&mut row, "limit", first(sample, &["/limit"]).cloned());
        for time in ["total_time", "working_time"] {
            put(&mut row, time, first(sample, &[&format!("/{time}")]).cloned());
        }
        let usage = first(sample, &["/model_usage"]).filter(|usage| **usage != json!({}));
        put(&mut row, "model_usage", usage.cloned());
        let scores = self.scores(sample);
        put(&mut row, "scores", (!scores.is_empty()).then_some(scores));
        row
    }

    /// The scores of a sample under the names of graders; those of a value with several parts one by one too.
    fn scores(&mut self, sample: &Value) -> Map<String, Value> {
        let mut scores = Map::new();
        // Old logs have one score, without a name.
        let single = sample.get("score").filter(|score| score.is_object());
        let single = single.map(|score| ("score", score));
        let named = sample.get("scores").and_then(Value::as_object).into_iter().flatten();
        for (name, score) in named.map(|(name, score)| (name.as_str(), score)).chain(single) {
            let Some(value) = first(score, &["/value"]) else { continue };
            self.imported.count("scores");
            let key = self.column(name, value);
            let mut kept = json!({});
            for field in ["value", "answer", "explanation"] {
                put(&mut kept, field, score.get(field).filter(|value| !value.is_null()).cloned());
            }
            if let Some(mut metadata) = score.get("metadata").and_then(Value::as_object).cloned() {
                // What the judge was sent is as long as all messages.
                metadata.shift_remove("grading");
                put(&mut kept, "metadata", (!metadata.is_empty()).then_some(metadata));
            }
            scores.insert(key, kept);
            let parts = value.as_object().into_iter().flatten();
            for (part, value) in parts.filter(|(_, value)| !value.is_null()) {
                let key = self.column(&format!("{name}_{part}"), value);
                scores.insert(key, json!({"value": value}));
            }
        }
        scores
    }

    /// Notes a value, and gives the name of its score in rows.
    fn column(&mut self, name: &str, value: &Value) -> String {
        let at = *self.places.entry(name.to_owned()).or_insert_with(|| {
            let key = self.names.give(name);
            let values = Vec::new();
            self.columns.push(ScoreColumn {
                name: name.to_owned(),
                key,
                values,
                is_partial: false,
            });
            self.columns.len() - 1
        });
        self.columns[at].values.push(value.clone());
        self.columns[at].key.clone()
    }
}

/// A text, from the attachments of its sample if it is there.
pub(super) fn attached(text: &str, sample: &Value) -> String {
    let place = text.strip_prefix("attachment://").or_else(|| text.strip_prefix("tc://"));
    let found = place.and_then(|name| sample.get("attachments")?.get(name)?.as_str());
    found.unwrap_or(text).to_owned()
}

/// The input: a text, or of messages the last one of the user.
fn question(sample: &Value) -> String {
    match &sample["input"] {
        Value::Array(messages) => {
            let asked = last_of_user(messages).or(messages.last());
            let content = asked.map(|message| content_text(&message["content"], "\n"));
            attached(&content.unwrap_or_default(), sample)
        }
        other => attached(&as_text(other), sample),
    }
}

/// The reference answer: a text, or several of which any will do.
fn ground_truth(sample: &Value) -> Option<Value> {
    match sample.get("target")? {
        Value::Array(targets) if targets.len() == 1 => targets.first().cloned(),
        Value::Array(targets) if targets.is_empty() => None,
        Value::String(text) if text.is_empty() => None,
        Value::Null => None,
        target => Some(target.clone()),
    }
}

/// What scorers were given: the completion, which old logs do not say beside the choices.
fn completion(sample: &Value) -> Option<String> {
    let output = sample.get("output")?;
    if let Some(text) = text_in(output, "completion").filter(|text| !text.is_empty()) {
        return Some(text.to_owned());
    }
    Some(content_text(output.pointer("/choices/0/message/content")?, "\n"))
}
