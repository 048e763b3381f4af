//! Samples of a log as rows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::log::{InspectLog, LogSample};
use crate::imported::ImportedSource;
use crate::reading::{GivenNames, as_text, first, text_at};
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
        names: GivenNames::default(),
        columns: Vec::new(),
        places: BTreeMap::new(),
    };
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    for sample in &log.samples {
        let LogSample { value, place } = sample;
        if !value.is_object() {
            imported.leave_out("samples", place.clone(), "a sample", "it is not an object");
            continue;
        }
        let id = value.get("id").map(as_text).unwrap_or_default();
        let epoch = epoch(value);
        if !seen.insert((id.clone(), epoch)) {
            let what = format!("sample `{id}`, epoch {epoch}");
            imported.leave_out(
                "samples",
                place.clone(),
                what,
                "the log has it twice, and the first counts",
            );
            continue;
        }
        rows.push(reader.row(value, imported));
        imported.count("samples");
    }
    for column in &mut reader.columns {
        let lacks = |row: &&Value| {
            row.get("error").is_none() && row.pointer(&format!("/scores/{}", column.key)).is_none()
        };
        column.is_partial = rows.iter().any(|row| lacks(&row));
    }
    LogRows { rows, scores: reader.columns }
}

pub(super) fn epoch(sample: &Value) -> u64 {
    sample.get("epoch").and_then(Value::as_u64).unwrap_or(1)
}

struct RowReader<'a> {
    log: &'a InspectLog,
    names: GivenNames,
    columns: Vec<ScoreColumn>,
    /// The places of columns by the names of scores.
    places: BTreeMap<String, usize>,
}

impl RowReader<'_> {
    fn row(&mut self, sample: &Value, imported: &mut ImportedSource) -> Value {
        let mut row = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                row.insert(name.to_owned(), value);
            }
        };
        put("id", sample.get("id").cloned());
        put("trial", Some(Value::from(epoch(sample).saturating_sub(1))));
        put("model", text_at(&self.log.header, &["/eval/model"]).map(Value::from));
        put("input", Some(Value::from(question(sample))));
        put("ground_truth", ground_truth(sample));
        put("choices", first(sample, &["/choices"]).cloned());
        let metadata = sample
            .get("metadata")
            .filter(|metadata| metadata.as_object().is_some_and(|all| !all.is_empty()));
        put("metadata", metadata.cloned());
        let messages = inspect_messages(sample);
        let count = messages.as_array().map_or(0, Vec::len);
        *imported.mapped.entry("messages").or_default() += count;
        let completion = completion(sample);
        let has_answer = completion.is_some() || count > 0;
        put("output", completion.map(Value::from).or((!has_answer).then_some(Value::Null)));
        put("messages", (count > 0).then_some(messages));
        let error =
            first(sample, &["/error/message", "/error"]).map(|error| Value::from(as_text(error)));
        put("error", error);
        put("limit", first(sample, &["/limit"]).cloned());
        for time in ["total_time", "working_time"] {
            put(time, first(sample, &[&format!("/{time}")]).cloned());
        }
        let usage = first(sample, &["/model_usage"]).filter(|usage| *usage != &json!({}));
        put("model_usage", usage.cloned());
        let scores = self.scores(sample, imported);
        put("scores", (!scores.is_empty()).then_some(Value::Object(scores)));
        Value::Object(row)
    }

    /// The scores of a sample under the names of graders; those of a value with several parts one by one too.
    fn scores(&mut self, sample: &Value, imported: &mut ImportedSource) -> Map<String, Value> {
        let mut scores = Map::new();
        // Old logs have one score, without a name.
        let single = sample.get("score").filter(|score| score.is_object());
        let single = single.map(|score| ("score".to_owned(), score));
        let named = sample.get("scores").and_then(Value::as_object).into_iter().flatten();
        for (name, score) in named.map(|(name, score)| (name.clone(), score)).chain(single) {
            let value = score.get("value").filter(|value| !value.is_null());
            let Some(value) = value else { continue };
            imported.count("scores");
            let key = self.column(&name, value);
            let mut kept = Map::new();
            for field in ["value", "answer", "explanation"] {
                if let Some(value) = score.get(field).filter(|value| !value.is_null()) {
                    kept.insert(field.to_owned(), value.clone());
                }
            }
            let metadata = score.get("metadata").and_then(Value::as_object).cloned();
            if let Some(mut metadata) = metadata {
                // What the judge was sent is as long as all messages.
                metadata.shift_remove("grading");
                if !metadata.is_empty() {
                    kept.insert("metadata".to_owned(), Value::Object(metadata));
                }
            }
            scores.insert(key, Value::Object(kept));
            for (part, value) in value.as_object().into_iter().flatten() {
                let value_is_there = !value.is_null();
                if value_is_there {
                    let key = self.column(&format!("{name}_{part}"), value);
                    scores.insert(key, json!({"value": value}));
                }
            }
        }
        scores
    }

    /// Notes a value, and gives the name of its score in rows.
    fn column(&mut self, name: &str, value: &Value) -> String {
        let at = match self.places.get(name) {
            Some(at) => *at,
            None => {
                let key = self.names.give(name);
                let at = self.columns.len();
                self.places.insert(name.to_owned(), at);
                self.columns.push(ScoreColumn {
                    name: name.to_owned(),
                    key,
                    values: Vec::new(),
                    is_partial: false,
                });
                at
            }
        };
        let Some(column) = self.columns.get_mut(at) else { return name.to_owned() };
        column.values.push(value.clone());
        column.key.clone()
    }
}

/// A text, from the attachments of its sample if it stands there.
pub(super) fn attached(text: &str, sample: &Value) -> String {
    let place = text.strip_prefix("attachment://").or_else(|| text.strip_prefix("tc://"));
    let found = place.and_then(|name| sample.get("attachments")?.get(name)?.as_str());
    found.unwrap_or(text).to_owned()
}

/// What was asked: a text, or of messages the last one of the user.
fn question(sample: &Value) -> String {
    match sample.get("input").unwrap_or(&Value::Null) {
        Value::Array(messages) => {
            let of_user =
                messages.iter().rev().find(|message| text_at(message, &["/role"]) == Some("user"));
            let content = of_user.or(messages.last()).and_then(|message| message.get("content"));
            attached(&content.map(text_of_content).unwrap_or_default(), sample)
        }
        other => attached(&as_text(other), sample),
    }
}

/// The texts of a content, as Inspect joins them: one a line.
pub(super) fn text_of_content(content: &Value) -> String {
    match content {
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text").unwrap_or(part).as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => as_text(other),
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
    if let Some(text) =
        output.get("completion").and_then(Value::as_str).filter(|text| !text.is_empty())
    {
        return Some(text.to_owned());
    }
    let content = output.pointer("/choices/0/message/content")?;
    Some(text_of_content(content))
}
