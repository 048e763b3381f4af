//! Spans: OTLP JSON, lines of it, or lists of spans with the attributes of `OpenInference`.

use serde_json::{Value, json};

use super::records::{TraceRecords, all_records, begins, by_trace};
use super::suite::{Trace, TraceSuite};
use crate::imported::{ImportError, ImportedSource};
use crate::reading::{PlacedValue, as_text, has_keys, items_in, text_at};
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
    let mut suite = TraceSuite::default();
    let mut all = Vec::new();
    for PlacedValue { value, place } in all_records(source, &mut suite.imported)? {
        let spans = spans_in(&value);
        if spans.is_empty() {
            suite.imported.leave_out("records", place.clone(), "a record", "it has no span");
        }
        for span in spans {
            all.push(PlacedValue { value: span.clone(), place: place.clone() });
            suite.imported.count("spans");
        }
    }
    let ids = ["/traceId", "/trace_id", "/context/trace_id", "/context/traceId"];
    for TraceRecords { id, records } in by_trace(all, |span| text_at(span, &ids).unwrap_or("trace"))
    {
        let Some(place) = records.first().map(|span| span.place.clone()) else { continue };
        let spans: Vec<Value> = records.into_iter().map(|span| span.value).collect();
        let mut trace = Trace { id, ..Trace::default() };
        for event in spans.iter().flat_map(|span| items_in(span, "events")) {
            score(event, &mut trace);
        }
        trace.trajectory = Some(json!({"spans": spans}));
        suite.add(trace, &place);
    }
    suite.finish("traces", &source.path)
}

/// Imports an evaluation that is beside the trace.
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
