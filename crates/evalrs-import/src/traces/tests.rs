//! Traces of each kind as rows, and what is wrong with them.

use serde_json::{Value, json};

use crate::imported::{ImportError, ImportedSource};
use crate::recognized;
use crate::source::ImportSource;
use evalrs_system::memory::MemorySystem;
use evalrs_trajectory as trajectory;

fn imported(kind: &str, files: &[(&str, &str)], path: &str) -> Result<ImportedSource, String> {
    let system = MemorySystem::with(files);
    let source = ImportSource::new(path, &system);
    let importer = recognized(&source).unwrap_or_else(|| panic!("{path} is not recognized"));
    assert_eq!(importer.kind, kind);
    (importer.import)(&source).map_err(|error| match error {
        ImportError::Unreadable { message, hint } => format!("{message} ({hint})"),
        ImportError::Diagnostics(all) => all[0].message.clone(),
    })
}

fn of_row(row: &Value) -> (String, String, usize) {
    let read = trajectory::read(&row["trajectory"], None).unwrap();
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    (text("input"), text("output"), read.tool_calls(true).count())
}

#[test]
fn jobs_of_harbor_are_rows_with_their_rewards() {
    let trajectory = json!({"schema_version": "ATIF-v1.6", "session_id": "s", "agent": {"name": "a", "version": "1", "model_name": "m"}, "steps": [
        {"source": "user", "message": "do it"}, {"source": "agent", "message": "done", "tool_calls": [{"tool_call_id": "1", "function_name": "f", "arguments": {}}]}]}).to_string();
    let result =
        json!({"task_name": "t1", "verifier_result": {"rewards": {"reward": 1.0}}}).to_string();
    let files = [
        ("job/t1__x/agent/trajectory.json", trajectory.as_str()),
        ("job/t1__x/result.json", &result),
        ("job/t2__y/agent/trajectory.json", &trajectory),
    ];
    let read = imported("atif", &files, "job").unwrap();
    let rows = &read.suites[0].rows;
    assert_eq!(
        (&rows[0]["id"], &rows[0]["scores"], &rows[0]["model"]),
        (&json!("t1"), &json!({"reward": 1.0}), &json!("m"))
    );
    assert_eq!(rows[1]["id"], "s");
    assert_eq!(of_row(&rows[0]), ("do it".to_owned(), "done".to_owned(), 1));
    assert_eq!(
        read.suites[0].suite["graders"]["reward_recorded"]["only"],
        "has(row.scores.reward)"
    );
    let broken = json!({"schema_version": "ATIF-v1.6", "steps": [5]}).to_string();
    let why = imported("atif", &[("b.json", &broken)], "b.json").unwrap_err();
    assert!(why.contains("expected a step (an object) at `/steps/0`"), "{why}");
}

#[test]
fn spans_are_a_row_a_trace() {
    let span = |trace: &str, text: &str| {
        json!({"traceId": trace, "spanId": "1", "name": "chat", "attributes": [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.output.messages", "value": {"stringValue": json!([{"role": "assistant", "parts": [{"type": "text", "content": text}]}]).to_string()}}],
        "events": [{"name": "gen_ai.evaluation.result", "attributes": [{"key": "gen_ai.evaluation.name", "value": {"stringValue": "good"}}, {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.5}}]}]})
    };
    let line = |spans: &[Value]| {
        json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
    };
    let lines = [line(&[span("b", "two"), span("a", "one")]), line(&[])].join("\n");
    let read = imported("otlp", &[("t.jsonl", &lines)], "t.jsonl").unwrap();
    let rows = &read.suites[0].rows;
    assert_eq!((&rows[0]["id"], &rows[1]["id"]), (&json!("b"), &json!("a")));
    assert_eq!((of_row(&rows[0]).1, &rows[0]["scores"]), ("two".to_owned(), &json!({"good": 0.5})));
    assert_eq!(read.not_mapped.len(), 1, "an export without spans");
}

#[test]
fn runs_of_langsmith_are_traces() {
    let message = |kind: &str, kwargs: Value| json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs});
    let runs = json!([
        {"id": "r2", "trace_id": "r1", "parent_run_id": "r1", "name": "ChatOpenAI", "run_type": "llm", "start_time": "2026-01-01T00:00:01",
            "inputs": {"messages": [[message("HumanMessage", json!({"content": "2+2?"}))]]},
            "outputs": {"generations": [[{"text": "", "message": message("AIMessage", json!({"content": "", "tool_calls": [{"name": "add", "args": {"x": 2}, "id": "c"}]}))}]]}},
        {"id": "r1", "trace_id": "r1", "name": "agent", "run_type": "chain", "start_time": "2026-01-01T00:00:00", "inputs": {"question": "2+2?"}, "outputs": {"answer": "4"},
            "feedback_stats": {"correct": {"n": 1, "avg": 1.0}}, "reference_example_id": "e"},
        {"id": "r3", "trace_id": "r1", "parent_run_id": "r1", "name": "add", "run_type": "tool", "start_time": "2026-01-01T00:00:02", "inputs": {"input": "2"}, "outputs": {"output": {"content": "4", "tool_call_id": "c"}}},
    ]).to_string();
    let example = json!({"id": "e", "dataset_id": "d", "inputs": {"question": "2+2?"}, "outputs": {"answer": "four"}}).to_string();
    let read = imported("langsmith", &[("f/runs.json", &runs), ("f/examples.json", &example)], "f")
        .unwrap();
    let row = &read.suites[0].rows[0];
    assert_eq!(
        (&row["id"], &row["ground_truth"], &row["scores"]),
        (&json!("e"), &json!("four"), &json!({"correct": 1.0}))
    );
    assert_eq!(of_row(row), ("2+2?".to_owned(), "4".to_owned(), 1));
    let examples = imported("langsmith", &[("e.json", &example)], "e.json").unwrap();
    assert_eq!(examples.suites[0].rows[0]["ground_truth"], "four");
}

#[test]
fn traces_of_langfuse_may_stand_in_one_file_or_several() {
    let observation = json!({"id": "o", "traceId": "t", "type": "GENERATION", "name": "g", "startTime": "2026-01-01T00:00:00Z",
        "input": [{"role": "user", "content": "hi"}], "output": "{\"role\": \"assistant\", \"content\": \"hello\"}"});
    let score =
        json!({"id": "s", "traceId": "t", "name": "helpful", "value": 0.5, "dataType": "NUMERIC"});
    let odd = json!({"id": "s2", "traceId": "t", "name": "tone", "stringValue": "warm", "dataType": "CATEGORICAL"});
    let whole = json!([{"id": "t", "input": "hi", "output": null, "observations": [observation], "scores": [score, odd]}]).to_string();
    let apart = [
        ("f/observations.jsonl", observation.to_string()),
        ("f/scores.json", json!([score, odd]).to_string()),
    ];
    let apart: Vec<(&str, &str)> =
        apart.iter().map(|(path, text)| (*path, text.as_str())).collect();
    for (files, path) in [(vec![("w.json", whole.as_str())], "w.json"), (apart, "f")] {
        let read = imported("langfuse", &files, path).unwrap();
        let row = &read.suites[0].rows[0];
        assert_eq!(of_row(row), ("hi".to_owned(), "hello".to_owned(), 0));
        assert_eq!(row["scores"], json!({"helpful": 0.5, "tone": "warm"}));
        assert_eq!(read.not_mapped.len(), 1, "a score that is not a number");
    }
    let items = json!({"data": [{"id": "i", "datasetId": "d", "input": {"q": "a?"}, "expectedOutput": "b"}]}).to_string();
    let read = imported("langfuse", &[("i.json", &items)], "i.json").unwrap();
    assert_eq!(
        read.suites[0].rows,
        [json!({"id": "i", "input": "a?", "ground_truth": "b", "output": null})]
    );
}

#[test]
fn whatever_stands_in_an_export_is_read_or_told() {
    for wrong in [json!(null), json!(7), json!("x"), json!([1]), json!({"a": [[]]})] {
        let run = |key: &str| {
            let mut run =
                json!({"id": "r", "run_type": "llm", "inputs": {}, "outputs": {}, "trace_id": "t"});
            run[key] = wrong.clone();
            run.to_string()
        };
        for key in [
            "id",
            "inputs",
            "outputs",
            "trace_id",
            "start_time",
            "error",
            "feedback_stats",
            "name",
            "child_runs",
        ] {
            assert!(
                imported("langsmith", &[("r.json", &run(key))], "r.json").is_ok(),
                "{key}: {wrong}"
            );
        }
        for key in ["id", "input", "output", "startTime", "parentObservationId", "level", "name"] {
            let mut observation =
                json!({"id": "o", "traceId": "t", "type": "GENERATION", "startTime": "x"});
            observation[key] = wrong.clone();
            assert!(
                imported("langfuse", &[("o.json", &observation.to_string())], "o.json").is_ok(),
                "{key}: {wrong}"
            );
        }
    }
}
