//! `LangSmith`: runs of traces, and examples of datasets.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::messages::{plain_text, span_messages};
use super::records::{TraceRecords, all_records, begins, by_trace};
use super::suite::{Trace, TraceSuite};
use crate::imported::{ImportError, ImportedSource, SourcePlace};
use crate::reading::{PlacedValue, as_text, first, has_keys, items_in, put, text_at};
use crate::source::ImportSource;

/// Whether a source holds runs or examples.
pub(crate) fn recognizes(source: &ImportSource<'_>) -> bool {
    begins(source, |head| {
        has_keys(head, &["run_type", "inputs"])
            || (has_keys(head, &["inputs", "outputs"])
                && (has_keys(head, &["dataset_id"])
                    || has_keys(head, &["reference_example_id"])
                    || has_keys(head, &["source_run_id"])))
    })
}

pub(crate) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let mut suite = TraceSuite::default();
    let mut examples: BTreeMap<String, Value> = BTreeMap::new();
    let mut runs = Vec::new();
    let mut records = all_records(source, &mut suite.imported)?;
    // Some exports wrap their list.
    if let [PlacedValue { value, place }] = records.as_slice()
        && let Some(Value::Array(list)) = first(value, &["/runs", "/examples"])
    {
        let placed = |value: &Value| PlacedValue { value: value.clone(), place: place.clone() };
        records = list.iter().map(placed).collect();
    }
    for record in records {
        if record.value.get("run_type").is_some() {
            flatten(record, 0, &mut runs);
        } else if record.value.get("inputs").is_some() {
            let id = text_at(&record.value, &["/id"])
                .map_or_else(|| format!("example-{}", examples.len() + 1), str::to_owned);
            suite.imported.count("examples");
            examples.insert(id, record.value);
        } else {
            let why = "it is neither a run nor an example";
            suite.imported.leave_out("records", record.place, "a record", why);
        }
    }
    if runs.is_empty() {
        for (id, example) in examples {
            let mut trace = Trace { id, ..Trace::default() };
            trace.input = example.get("inputs").and_then(plain_text);
            trace.ground_truth = example.get("outputs").and_then(plain_text).map(Value::from);
            suite.add(trace, &SourcePlace::new(&source.path, 0));
        }
        suite.imported.note("Examples have inputs and expected answers, not recorded answers: run a target (docs/targets.md).");
    } else {
        traces(runs, &examples, &mut suite);
    }
    suite.finish("langsmith", &source.path)
}

/// A run and the runs that are written inside it.
fn flatten(record: PlacedValue, depth: usize, runs: &mut Vec<PlacedValue>) {
    let PlacedValue { mut value, place } = record;
    let children = value.as_object_mut().and_then(|run| run.shift_remove("child_runs"));
    if let Some(Value::Array(children)) = children.filter(|_| depth < 100) {
        for child in children {
            flatten(PlacedValue { value: child, place: place.clone() }, depth + 1, runs);
        }
    }
    runs.push(PlacedValue { value, place });
}

/// The runs of each trace as a row.
fn traces(runs: Vec<PlacedValue>, examples: &BTreeMap<String, Value>, suite: &mut TraceSuite) {
    suite.imported.count_all("runs", runs.len());
    let traces = by_trace(runs, |run| text_at(run, &["/trace_id", "/id"]).unwrap_or("trace"));
    for TraceRecords { id, records: runs } in traces {
        let root = runs.iter().find(|run| text_at(&run.value, &["/parent_run_id"]).is_none());
        let Some(root) = root.or(runs.first()) else { continue };
        let example = text_at(&root.value, &["/reference_example_id"]);
        let expected = example.and_then(|example| examples.get(example));
        let mut trace = Trace { id: example.unwrap_or(&id).to_owned(), ..Trace::default() };
        trace.input = root.value.get("inputs").and_then(plain_text);
        trace.output = root.value.get("outputs").and_then(plain_text);
        let reference = expected
            .and_then(|example| example.get("outputs"))
            .or_else(|| root.value.get("reference_outputs"));
        trace.ground_truth = reference.and_then(plain_text).map(Value::from);
        trace.scores = feedback(&root.value);
        if let Some(error) = first(&root.value, &["/error"]) {
            trace.more.insert("error".to_owned(), Value::from(as_text(error)));
        }
        let spans: Vec<Value> = runs.iter().map(|run| span(&run.value, &id)).collect();
        trace.trajectory = Some(json!({"spans": spans}));
        suite.add(trace, &root.place);
    }
}

/// Scores of a run: means of its feedback, or feedback one by one.
fn feedback(run: &Value) -> BTreeMap<String, Value> {
    let stats = run.get("feedback_stats").and_then(Value::as_object).into_iter().flatten();
    let means =
        stats.filter_map(|(name, stats)| Some((name.clone(), first(stats, &["/avg"])?.clone())));
    let single = items_in(run, "feedback").filter_map(|one| {
        let value = first(one, &["/score", "/value"])?;
        Some((text_at(one, &["/key"])?.to_owned(), value.clone()))
    });
    means.chain(single).collect()
}

/// A run as a span.
fn span(run: &Value, trace: &str) -> Value {
    let attributes = match text_at(run, &["/run_type"]).unwrap_or_default() {
        "llm" => {
            let mut attributes = json!({
                "openinference.span.kind": "LLM",
                "llm.input_messages": span_messages(&run["inputs"]),
                "llm.output_messages": span_messages(&run["outputs"]),
            });
            put(&mut attributes, "llm.cost.total", first(run, &["/total_cost"]).cloned());
            attributes
        }
        "tool" => tool_attributes(run),
        _ => {
            let mut attributes = json!({"openinference.span.kind": "CHAIN"});
            put(&mut attributes, "input.value", plain_text(&run["inputs"]));
            put(&mut attributes, "output.value", plain_text(&run["outputs"]));
            attributes
        }
    };
    let failed = first(run, &["/error"]).is_some();
    json!({
        "name": text_at(run, &["/name"]).unwrap_or("run"),
        "context": {"trace_id": trace, "span_id": text_at(run, &["/id"]).unwrap_or_default()},
        "parent_id": run.get("parent_run_id"),
        "start_time": zoned(run.get("start_time")),
        "end_time": zoned(run.get("end_time")),
        "status_code": if failed { "ERROR" } else { "OK" },
        "attributes": attributes,
    })
}

fn tool_attributes(run: &Value) -> Value {
    let input = first(run, &["/inputs/input", "/inputs"]);
    let outputs = [
        "/outputs/output/content",
        "/outputs/output/kwargs/content",
        "/outputs/output",
        "/outputs",
    ];
    let output = first(run, &outputs).or(run.get("error"));
    let ids = [
        "/outputs/output/tool_call_id",
        "/outputs/output/kwargs/tool_call_id",
        "/extra/tool_call_id",
    ];
    let mut attributes = json!({
        "openinference.span.kind": "TOOL",
        "tool.name": run["name"],
        "input.value": input.map(as_text).unwrap_or_default(),
        "output.value": output.map(as_text).unwrap_or_default(),
    });
    put(&mut attributes, "tool_call.id", text_at(run, &ids));
    attributes
}

/// A date, which is in UTC where it does not say.
fn zoned(date: Option<&Value>) -> Value {
    let Some(text) = date.and_then(Value::as_str) else { return Value::Null };
    let tail = text.get(10..).unwrap_or_default();
    let has_zone = tail.ends_with('Z') || tail.contains('+') || tail.contains('-');
    Value::from(if has_zone { text.to_owned() } else { format!("{text}Z") })
}
