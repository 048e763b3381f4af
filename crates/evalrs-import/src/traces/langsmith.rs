//! `LangSmith`: runs of traces, and examples of datasets.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::messages::{plain_text, span_messages};
use super::records::{PlacedRecord, all_records, begins};
use super::suite::{Trace, TraceSuite};
use crate::imported::{ImportError, ImportedSource, SourcePlace};
use crate::reading::{as_text, first, has_keys, text_at};
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

/// Reads them.
pub(crate) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let mut imported = ImportedSource::default();
    let mut suite = TraceSuite::new("langsmith");
    let mut examples: BTreeMap<String, Value> = BTreeMap::new();
    let mut runs = Vec::new();
    let mut records = all_records(source, &mut imported)?;
    // Some exports wrap their list.
    if let [PlacedRecord { value, place }] = records.as_slice()
        && let Some(Value::Array(list)) = first(value, &["/runs", "/examples"])
    {
        let wrapped =
            list.iter().map(|value| PlacedRecord { value: value.clone(), place: place.clone() });
        records = wrapped.collect();
    }
    for record in records {
        if record.value.get("run_type").is_some() {
            flatten(record, 0, &mut runs);
        } else if record.value.get("inputs").is_some() {
            let id = text_at(&record.value, &["/id"])
                .map_or_else(|| format!("example-{}", examples.len() + 1), str::to_owned);
            imported.count("examples");
            examples.insert(id, record.value);
        } else {
            imported.leave_out(
                "records",
                record.place,
                "a record",
                "it is neither a run nor an example",
            );
        }
    }
    if runs.is_empty() {
        for (id, example) in examples {
            let mut trace = Trace { id, ..Trace::default() };
            trace.input = example.get("inputs").and_then(plain_text);
            trace.ground_truth = example.get("outputs").and_then(plain_text).map(Value::from);
            suite.add(trace, &SourcePlace::new(&source.path, 0), &mut imported);
        }
        imported.note("Examples say what is asked and expected, not what was answered: run a target (docs/targets.md).");
    } else {
        traces(runs, &examples, &mut suite, &mut imported);
    }
    suite.finish(&source.path, &mut imported)?;
    Ok(imported)
}

/// A run and the runs that are written inside it.
fn flatten(record: PlacedRecord, depth: usize, runs: &mut Vec<PlacedRecord>) {
    let PlacedRecord { mut value, place } = record;
    let children = value.as_object_mut().and_then(|run| run.shift_remove("child_runs"));
    if let Some(Value::Array(children)) = children.filter(|_| depth < 100) {
        for child in children {
            flatten(PlacedRecord { value: child, place: place.clone() }, depth + 1, runs);
        }
    }
    runs.push(PlacedRecord { value, place });
}

/// The runs of each trace as a row.
fn traces(
    runs: Vec<PlacedRecord>,
    examples: &BTreeMap<String, Value>,
    suite: &mut TraceSuite,
    imported: &mut ImportedSource,
) {
    let mut by_trace: BTreeMap<String, Vec<PlacedRecord>> = BTreeMap::new();
    let mut order = Vec::new();
    for run in runs {
        let id = text_at(&run.value, &["/trace_id", "/id"]).unwrap_or("trace").to_owned();
        if !by_trace.contains_key(&id) {
            order.push(id.clone());
        }
        imported.count("runs");
        by_trace.entry(id).or_default().push(run);
    }
    for id in order {
        let Some(runs) = by_trace.remove(&id) else { continue };
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
        let place = root.place.clone();
        trace.trajectory = Some(
            json!({"spans": runs.iter().map(|run| span(&run.value, &id)).collect::<Vec<_>>()}),
        );
        suite.add(trace, &place, imported);
    }
}

/// Scores of a run: means of its feedback, or feedback one by one.
fn feedback(run: &Value) -> BTreeMap<String, Value> {
    let stats = run.get("feedback_stats").and_then(Value::as_object).into_iter().flatten();
    let means =
        stats.filter_map(|(name, stats)| Some((name.clone(), first(stats, &["/avg"])?.clone())));
    let list = run.get("feedback").and_then(Value::as_array).into_iter().flatten();
    let single = list.filter_map(|one| {
        let value = first(one, &["/score", "/value"])?;
        Some((text_at(one, &["/key"])?.to_owned(), value.clone()))
    });
    means.chain(single).collect()
}

/// A run as a span.
fn span(run: &Value, trace: &str) -> Value {
    let mut attributes = Map::new();
    let mut put = |name: &str, value: Value| _ = attributes.insert(name.to_owned(), value);
    match text_at(run, &["/run_type"]).unwrap_or_default() {
        "llm" => {
            put("openinference.span.kind", Value::from("LLM"));
            put(
                "llm.input_messages",
                Value::Array(span_messages(run.get("inputs").unwrap_or(&Value::Null))),
            );
            put(
                "llm.output_messages",
                Value::Array(span_messages(run.get("outputs").unwrap_or(&Value::Null))),
            );
            if let Some(cost) = first(run, &["/total_cost"]) {
                put("llm.cost.total", cost.clone());
            }
        }
        "tool" => {
            put("openinference.span.kind", Value::from("TOOL"));
            put("tool.name", run.get("name").cloned().unwrap_or_default());
            let input = first(run, &["/inputs/input", "/inputs"]).map(as_text).unwrap_or_default();
            put("input.value", Value::from(input));
            let output = first(
                run,
                &[
                    "/outputs/output/content",
                    "/outputs/output/kwargs/content",
                    "/outputs/output",
                    "/outputs",
                ],
            );
            put(
                "output.value",
                Value::from(output.or(run.get("error")).map(as_text).unwrap_or_default()),
            );
            if let Some(id) = text_at(
                run,
                &[
                    "/outputs/output/tool_call_id",
                    "/outputs/output/kwargs/tool_call_id",
                    "/extra/tool_call_id",
                ],
            ) {
                put("tool_call.id", Value::from(id));
            }
        }
        _ => {
            put("openinference.span.kind", Value::from("CHAIN"));
            for (name, field) in [("input.value", "inputs"), ("output.value", "outputs")] {
                if let Some(text) = run.get(field).and_then(plain_text) {
                    put(name, Value::from(text));
                }
            }
        }
    }
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

/// A date, which is in UTC where it does not say.
fn zoned(date: Option<&Value>) -> Value {
    let Some(text) = date.and_then(Value::as_str) else { return Value::Null };
    let tail = text.get(10..).unwrap_or_default();
    let has_zone = tail.ends_with('Z') || tail.contains('+') || tail.contains('-');
    Value::from(if has_zone { text.to_owned() } else { format!("{text}Z") })
}
