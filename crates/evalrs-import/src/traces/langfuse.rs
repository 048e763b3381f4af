//! `Langfuse`: traces with observations and scores, in one file or one each, and items of datasets.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::messages::{plain_text, span_messages};
use super::records::{all_records, begins};
use super::suite::{Trace, TraceSuite};
use crate::imported::{ImportError, ImportedSource, SourcePlace};
use crate::reading::{PlacedValue, as_text, first, has_keys, items_in, put, text_at};
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

pub(crate) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let mut export = Export::default();
    for PlacedValue { value, place } in all_records(source, &mut export.suite.imported)? {
        match value.get("data").and_then(Value::as_array) {
            Some(list) => list.iter().for_each(|value| export.add(value, &place)),
            None => export.add(&value, &place),
        }
    }
    export.into_suite().finish("langfuse", &source.path)
}

/// What the files of an export hold, by the id of the trace.
#[derive(Default)]
struct Export {
    suite: TraceSuite,
    order: Vec<String>,
    traces: BTreeMap<String, PlacedValue>,
    observations: BTreeMap<String, Vec<Value>>,
    scores: BTreeMap<String, BTreeMap<String, Value>>,
    items: Vec<PlacedValue>,
}

impl Export {
    fn add(&mut self, value: &Value, place: &SourcePlace) {
        let trace = text_at(value, &["/traceId", "/trace_id"]);
        let has = |key: &str| value.get(key).is_some();
        let is_score =
            has("dataType") || has("data_type") || has("value") && has("name") && !has("startTime");
        let placed = || PlacedValue { value: value.clone(), place: place.clone() };
        if has("expectedOutput") || has("expected_output") {
            self.items.push(placed());
        } else if let Some(trace) = trace {
            self.meet(trace);
            if is_score {
                self.score(trace, value);
            } else {
                self.observe(trace, value);
            }
        } else if let Some(id) = text_at(value, &["/id"]) {
            self.meet(id);
            for observation in items_in(value, "observations").filter(|one| one.is_object()) {
                self.observe(id, observation);
            }
            for score in items_in(value, "scores").filter(|score| score.is_object()) {
                self.score(id, score);
            }
            self.traces.insert(id.to_owned(), placed());
        } else {
            let why = "it is not a trace, observation, score or dataset item";
            self.suite.imported.leave_out("records", place.clone(), "a record", why);
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

    fn observe(&mut self, trace: &str, observation: &Value) {
        self.suite.imported.count("observations");
        self.observations.entry(trace.to_owned()).or_default().push(observation.clone());
    }

    fn score(&mut self, trace: &str, score: &Value) {
        let value = first(score, &["/value", "/stringValue", "/string_value"]);
        let Some((name, value)) = text_at(score, &["/name"]).zip(value) else {
            let place = SourcePlace::default();
            self.suite.imported.leave_out("scores", place, "a score", "it has no name or no value");
            return;
        };
        let scores = self.scores.entry(trace.to_owned()).or_default();
        scores.insert(name.to_owned(), value.clone());
    }

    fn into_suite(mut self) -> TraceSuite {
        for PlacedValue { value, place } in std::mem::take(&mut self.items) {
            if !self.order.is_empty() {
                let why = "this import reads traces: import items separately";
                self.suite.imported.leave_out("items", place, "an item of a dataset", why);
                continue;
            }
            let number = self.suite.rows.len() + 1;
            let id =
                text_at(&value, &["/id"]).map_or_else(|| format!("item-{number}"), str::to_owned);
            let mut trace = Trace { id, ..Trace::default() };
            trace.input = plain_text(&value["input"]);
            let expected = first(&value, &["/expectedOutput", "/expected_output"]);
            trace.ground_truth = expected.and_then(plain_text).map(Value::from);
            let metadata = first(&value, &["/metadata"]);
            trace.more.extend(metadata.map(|all| ("metadata".to_owned(), all.clone())));
            self.suite.add(trace, &place);
        }
        for id in std::mem::take(&mut self.order) {
            self.trace(&id);
        }
        self.suite
    }

    fn trace(&mut self, id: &str) {
        let observations = self.observations.remove(id).unwrap_or_default();
        let scores = self.scores.remove(id).unwrap_or_default();
        let placed = self.traces.remove(id);
        let PlacedValue { value, place } = placed.unwrap_or_default();
        let mut spans: Vec<Value> = observations.iter().map(|one| span(one, id)).collect();
        let mut trace = Trace { id: id.to_owned(), scores, ..Trace::default() };
        trace.input = plain_text(&value["input"]);
        trace.output = plain_text(&value["output"]);
        let tags =
            value.get("tags").filter(|tags| tags.as_array().is_some_and(|tags| !tags.is_empty()));
        trace.more.extend(tags.map(|tags| ("tags".to_owned(), tags.clone())));
        if spans.is_empty() {
            spans.push(root(id, &trace));
        }
        trace.trajectory = Some(json!({"spans": spans}));
        self.suite.add(trace, &place);
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
    let input = parsed(observation.get("input"));
    let output = parsed(observation.get("output"));
    let kind = text_at(observation, &["/type"]).unwrap_or_default().to_ascii_uppercase();
    let attributes = match kind.as_str() {
        "GENERATION" => {
            let mut attributes = json!({
                "openinference.span.kind": "LLM",
                "llm.input_messages": messages_or_text(&input, "user"),
                "llm.output_messages": messages_or_text(&output, "assistant"),
            });
            let costs = ["/calculatedTotalCost", "/totalCost", "/total_cost", "/costDetails/total"];
            put(&mut attributes, "llm.cost.total", first(observation, &costs).cloned());
            attributes
        }
        "TOOL" => json!({
            "openinference.span.kind": "TOOL",
            "tool.name": observation["name"],
            "input.value": as_text(&input),
            "output.value": as_text(&output),
        }),
        _ => {
            let kind = if kind == "AGENT" { "AGENT" } else { "CHAIN" };
            let mut attributes = json!({"openinference.span.kind": kind});
            put(&mut attributes, "input.value", plain_text(&input));
            put(&mut attributes, "output.value", plain_text(&output));
            attributes
        }
    };
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

/// The messages that a value holds; of a text it alone.
fn messages_or_text(value: &Value, role: &str) -> Vec<Value> {
    let messages = span_messages(value);
    match value.as_str() {
        Some(text) if messages.is_empty() => {
            vec![json!({"message": {"role": role, "content": text}})]
        }
        _ => messages,
    }
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
