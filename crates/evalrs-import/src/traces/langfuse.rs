//! `Langfuse`: traces with observations and scores, in one file or one each, and items of datasets.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::messages::{plain_text, span_messages};
use super::records::{PlacedRecord, all_records, begins};
use super::suite::{Trace, TraceSuite};
use crate::imported::{ImportError, ImportedSource, SourcePlace};
use crate::reading::{as_text, first, has_keys, text_at};
use crate::source::ImportSource;

/// Whether a source holds traces, observations or items of a dataset.
pub(crate) fn recognizes(source: &ImportSource<'_>) -> bool {
    begins(source, |head| {
        has_keys(head, &["traceId", "startTime", "type"])
            || has_keys(head, &["trace_id", "parent_observation_id"])
            || has_keys(head, &["observations", "input"])
            || has_keys(head, &["expectedOutput", "datasetId"])
            || has_keys(head, &["expectedOutput", "input", "datasetName"])
    })
}

/// Reads them.
pub(crate) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let mut imported = ImportedSource::default();
    let mut export = Export::default();
    for PlacedRecord { value, place } in all_records(source, &mut imported)? {
        match value.get("data").and_then(Value::as_array) {
            Some(list) => list.iter().for_each(|value| export.add(value, &place, &mut imported)),
            None => export.add(&value, &place, &mut imported),
        }
    }
    let mut suite = TraceSuite::new("langfuse");
    export.finish(&mut suite, &mut imported);
    suite.finish(&source.path, &mut imported)?;
    Ok(imported)
}

/// What the files of an export hold, by the id of the trace.
#[derive(Default)]
struct Export {
    order: Vec<String>,
    traces: BTreeMap<String, PlacedRecord>,
    observations: BTreeMap<String, Vec<Value>>,
    scores: BTreeMap<String, BTreeMap<String, Value>>,
    items: Vec<PlacedRecord>,
}

impl Export {
    fn add(&mut self, value: &Value, place: &SourcePlace, imported: &mut ImportedSource) {
        let trace = text_at(value, &["/traceId", "/trace_id"]);
        let has = |key: &str| value.get(key).is_some();
        if has("expectedOutput") || has("expected_output") {
            self.items.push(PlacedRecord { value: value.clone(), place: place.clone() });
        } else if let Some(trace) = trace.filter(|_| {
            has("dataType")
                || has("data_type")
                || (has("value") && has("name") && !has("startTime"))
        }) {
            self.meet(trace);
            self.score(trace.to_owned(), value, imported);
        } else if let Some(trace) = trace {
            self.meet(trace);
            imported.count("observations");
            self.observations.entry(trace.to_owned()).or_default().push(value.clone());
        } else if let Some(id) = text_at(value, &["/id"]) {
            self.meet(id);
            let list = |key: &str| value.get(key).and_then(Value::as_array).into_iter().flatten();
            for observation in list("observations").filter(|observation| observation.is_object()) {
                imported.count("observations");
                self.observations.entry(id.to_owned()).or_default().push(observation.clone());
            }
            for score in list("scores").filter(|score| score.is_object()) {
                self.score(id.to_owned(), score, imported);
            }
            self.traces
                .insert(id.to_owned(), PlacedRecord { value: value.clone(), place: place.clone() });
        } else {
            imported.leave_out(
                "records",
                place.clone(),
                "a record",
                "it is no trace, observation, score or item of a dataset",
            );
        }
    }

    fn meet(&mut self, trace: &str) {
        let is_known = self.traces.contains_key(trace)
            || self.observations.contains_key(trace)
            || self.scores.contains_key(trace);
        if !is_known {
            self.order.push(trace.to_owned());
        }
    }

    fn score(&mut self, trace: String, score: &Value, imported: &mut ImportedSource) {
        let value = first(score, &["/value", "/stringValue", "/string_value"]);
        let Some((name, value)) = text_at(score, &["/name"]).zip(value) else {
            imported.leave_out(
                "scores",
                SourcePlace::default(),
                "a score",
                "it has no name or no value",
            );
            return;
        };
        self.scores.entry(trace).or_default().insert(name.to_owned(), value.clone());
    }

    fn finish(mut self, suite: &mut TraceSuite, imported: &mut ImportedSource) {
        let only_items = self.order.is_empty();
        for PlacedRecord { value, place } in std::mem::take(&mut self.items) {
            if !only_items {
                imported.leave_out(
                    "items",
                    place,
                    "an item of a dataset",
                    "traces are read here: import items by themselves",
                );
                continue;
            }
            let number = suite.rows.len() + 1;
            let id =
                text_at(&value, &["/id"]).map_or_else(|| format!("item-{number}"), str::to_owned);
            let mut trace = Trace { id, ..Trace::default() };
            trace.input = value.get("input").and_then(plain_text);
            trace.ground_truth = first(&value, &["/expectedOutput", "/expected_output"])
                .and_then(plain_text)
                .map(Value::from);
            trace.more.extend(
                first(&value, &["/metadata"])
                    .map(|metadata| ("metadata".to_owned(), metadata.clone())),
            );
            suite.add(trace, &place, imported);
        }
        for id in std::mem::take(&mut self.order) {
            self.trace(&id, suite, imported);
        }
    }

    fn trace(&mut self, id: &str, suite: &mut TraceSuite, imported: &mut ImportedSource) {
        let observations = self.observations.remove(id).unwrap_or_default();
        let scores = self.scores.remove(id).unwrap_or_default();
        let PlacedRecord { value, place } = self
            .traces
            .remove(id)
            .unwrap_or(PlacedRecord { value: json!({}), place: SourcePlace::default() });
        let mut spans: Vec<Value> = observations.iter().map(|one| span(one, id)).collect();
        let mut trace = Trace { id: id.to_owned(), scores, ..Trace::default() };
        trace.input = value.get("input").and_then(plain_text);
        trace.output = value.get("output").and_then(plain_text);
        let tags =
            value.get("tags").filter(|tags| tags.as_array().is_some_and(|tags| !tags.is_empty()));
        trace.more.extend(tags.map(|tags| ("tags".to_owned(), tags.clone())));
        if spans.is_empty() {
            spans.push(root(id, &trace));
        }
        trace.trajectory = Some(json!({"spans": spans}));
        suite.add(trace, &place, imported);
    }
}

/// A trace of which nothing but question and answer is known.
fn root(id: &str, trace: &Trace) -> Value {
    json!({
        "name": "trace",
        "context": {"trace_id": id, "span_id": id},
        "attributes": {"openinference.span.kind": "CHAIN", "input.value": trace.input, "output.value": trace.output},
    })
}

/// An observation as a span.
fn span(observation: &Value, trace: &str) -> Value {
    let mut attributes = Map::new();
    let mut put = |name: &str, value: Value| _ = attributes.insert(name.to_owned(), value);
    let input = parsed(observation.get("input"));
    let output = parsed(observation.get("output"));
    let kind = text_at(observation, &["/type"]).unwrap_or_default().to_ascii_uppercase();
    let texts = [("input.value", &input), ("output.value", &output)];
    match kind.as_str() {
        "GENERATION" => {
            put("openinference.span.kind", Value::from("LLM"));
            for (name, value, role) in [
                ("llm.input_messages", &input, "user"),
                ("llm.output_messages", &output, "assistant"),
            ] {
                let mut messages = span_messages(value);
                if let Some(text) = value.as_str().filter(|_| messages.is_empty()) {
                    messages.push(json!({"message": {"role": role, "content": text}}));
                }
                put(name, Value::Array(messages));
            }
            if let Some(cost) = first(
                observation,
                &["/calculatedTotalCost", "/totalCost", "/total_cost", "/costDetails/total"],
            ) {
                put("llm.cost.total", cost.clone());
            }
        }
        "TOOL" => {
            put("openinference.span.kind", Value::from("TOOL"));
            put("tool.name", observation.get("name").cloned().unwrap_or_default());
            for (name, value) in texts {
                put(name, Value::from(as_text(value)));
            }
        }
        _ => {
            put(
                "openinference.span.kind",
                Value::from(if kind == "AGENT" { "AGENT" } else { "CHAIN" }),
            );
            for (name, value) in texts {
                if let Some(text) = plain_text(value) {
                    put(name, Value::from(text));
                }
            }
        }
    }
    let failed = text_at(observation, &["/level"]) == Some("ERROR");
    json!({
        "name": text_at(observation, &["/name"]).unwrap_or("observation"),
        "context": {"trace_id": trace, "span_id": text_at(observation, &["/id"]).unwrap_or_default()},
        "parent_id": first(observation, &["/parentObservationId", "/parent_observation_id"]),
        "start_time": first(observation, &["/startTime", "/start_time"]),
        "end_time": first(observation, &["/endTime", "/end_time"]),
        "status_code": if failed { "ERROR" } else { "OK" },
        "attributes": attributes,
    })
}

/// A value that some exports write as JSON text.
fn parsed(value: Option<&Value>) -> Value {
    match value {
        Some(Value::String(text)) if text.trim_start().starts_with(['{', '[']) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str()))
        }
        Some(value) => value.clone(),
        None => Value::Null,
    }
}
