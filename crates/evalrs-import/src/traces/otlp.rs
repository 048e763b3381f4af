//! Spans: OTLP JSON, lines of it, or lists of spans with the attributes of `OpenInference`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::records::{PlacedRecord, all_records, begins};
use super::suite::{Trace, TraceSuite};
use crate::imported::{ImportError, ImportedSource, SourcePlace};
use crate::reading::{as_text, has_keys, text_at};
use crate::source::ImportSource;
use evalrs_trajectory::spans_in;

/// Whether a source holds spans.
pub(crate) fn recognizes(source: &ImportSource<'_>) -> bool {
    begins(source, |head| {
        has_keys(head, &["resourceSpans"])
            || has_keys(head, &["resource_spans"])
            || (has_keys(head, &["attributes", "name"])
                && (has_keys(head, &["span_id", "trace_id"])
                    || has_keys(head, &["spanId", "traceId"])))
    })
}

/// Reads them: each trace is a row.
pub(crate) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let mut imported = ImportedSource::default();
    let mut suite = TraceSuite::new("traces");
    let mut traces: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    let mut places: BTreeMap<String, SourcePlace> = BTreeMap::new();
    for PlacedRecord { value, place } in all_records(source, &mut imported)? {
        let spans = spans_in(&value);
        if spans.is_empty() {
            imported.leave_out("records", place.clone(), "a record", "it holds no span");
        }
        for span in spans {
            let id =
                text_at(span, &["/traceId", "/trace_id", "/context/trace_id", "/context/traceId"])
                    .unwrap_or("trace");
            if !traces.contains_key(id) {
                order.push(id.to_owned());
                places.insert(id.to_owned(), place.clone());
            }
            traces.entry(id.to_owned()).or_default().push(span.clone());
            imported.count("spans");
        }
    }
    for id in order {
        let Some(spans) = traces.remove(&id) else { continue };
        let place = places.remove(&id).unwrap_or_default();
        let mut trace = Trace { id, ..Trace::default() };
        for event in spans.iter().flat_map(events) {
            score(event, &mut trace);
        }
        trace.trajectory = Some(json!({"spans": spans}));
        suite.add(trace, &place, &mut imported);
    }
    suite.finish(&source.path, &mut imported)?;
    Ok(imported)
}

fn events(span: &Value) -> impl Iterator<Item = &Value> {
    span.get("events").and_then(Value::as_array).into_iter().flatten()
}

/// Takes over an evaluation that stands beside the trace.
fn score(event: &Value, trace: &mut Trace) {
    if text_at(event, &["/name"]) != Some("gen_ai.evaluation.result") {
        return;
    }
    let attribute = |name: &str| -> Option<Value> {
        match event.get("attributes")? {
            Value::Array(list) => {
                let found = list.iter().find(|entry| text_at(entry, &["/key"]) == Some(name))?;
                found.get("value")?.as_object()?.values().next().cloned()
            }
            members => members.get(name).cloned(),
        }
    };
    let name = attribute("gen_ai.evaluation.name");
    let value = attribute("gen_ai.evaluation.score.value")
        .or_else(|| attribute("gen_ai.evaluation.score.label"));
    if let Some((name, value)) = name.zip(value) {
        let number = value.as_str().and_then(|text| text.parse::<f64>().ok());
        trace.scores.insert(as_text(&name), number.map_or(value, Value::from));
    }
}
