//! Runs and datasets of `DeepEval`, and what is wrong with them.

use serde_json::{Value, json};

use super::import;
use crate::imported::{ImportError, ImportedSource};
use crate::recognized;
use crate::source::ImportSource;
use evalrs_system::memory::MemorySystem;

fn case(name: &str, metrics: &Value) -> Value {
    json!({"name": name, "input": "q", "actualOutput": "a", "expectedOutput": "e", "flaky": false, "success": true,
        "metricsData": metrics, "runDuration": 0.1, "order": 0})
}

fn run(cases: &[Value]) -> Value {
    json!({"testCases": cases, "conversationalTestCases": [], "metricsScores": [], "testPassed": 1, "testFailed": 0})
}

fn measured(name: &str, score: &Value, threshold: &Value, success: &Value) -> Value {
    json!({"name": name, "score": score, "threshold": threshold, "success": success, "reason": "r", "strictMode": false})
}

fn imported(path: &str, text: &str) -> Result<ImportedSource, String> {
    let system = MemorySystem::with(&[(path, text)]);
    import(&ImportSource::new(path, &system)).map_err(|error| match error {
        ImportError::Unreadable { message, .. } => message,
        ImportError::Diagnostics(all) => all[0].message.clone(),
    })
}

/// The graders of a run with one metric.
fn graders(metrics: &[Value]) -> Value {
    let cases: Vec<Value> = metrics
        .iter()
        .enumerate()
        .map(|(at, metric)| case(&format!("t{at}"), &json!([metric])))
        .collect();
    imported("r.json", &run(&cases).to_string()).unwrap().suites[0].suite["graders"].clone()
}

#[test]
fn thresholds_are_those_of_the_verdicts() {
    let m = |score: f64, threshold: f64, success: bool| {
        measured("M", &json!(score), &json!(threshold), &json!(success))
    };
    let no = Value::Null;
    for (metrics, expected) in [
        (vec![m(0.5, 0.5, true), m(0.4, 0.5, false)], json!(0.5)),
        // Lower is better, or the thresholds differ: the verdict alone decides.
        (vec![m(0.1, 0.5, true), m(0.9, 0.5, false)], no.clone()),
        (vec![m(0.5, 0.5, true), m(0.5, 0.4, true)], no.clone()),
        (vec![m(0.5, 7.0, false)], no.clone()),
        (vec![measured("M", &json!(0.5), &no, &no)], json!(0)),
        // A metric that failed to measure has no score.
        (vec![json!({"name": "M", "threshold": 0.5, "success": false, "error": "e"})], json!(0.5)),
    ] {
        let grader = &graders(&metrics)["m_recorded"];
        assert_eq!(grader["pass_threshold"], expected, "{metrics:?}");
        let path = |field: &str| format!("deepeval.metrics.m.{field}");
        let config =
            json!({"path": path("score"), "pass": path("success"), "rationale": path("reason")});
        assert_eq!(grader["config"], config);
    }
    let odd = &graders(&[measured("M", &json!(7), &json!(1), &json!(true))])["m_recorded"];
    assert_eq!(odd["config"]["path"], "deepeval.metrics.m.success");
}

#[test]
fn a_metric_that_failed_has_no_verdict() {
    let failed = json!({"name": "M", "threshold": 0.5, "success": false, "error": "e"});
    let both = json!({"name": "N", "score": 0.7, "threshold": 0.5, "success": true, "error": "e"});
    let read = imported("r.json", &run(&[case("t", &json!([failed, both]))]).to_string()).unwrap();
    let metrics = &read.suites[0].rows[0]["deepeval"]["metrics"];
    assert_eq!((metrics["m"].get("success"), &metrics["m"]["error"]), (None, &json!("e")));
    assert_eq!(metrics["n"]["success"], true);
}

#[test]
fn test_cases_are_rows() {
    let tool =
        json!({"name": "t", "type": "FUNCTION", "inputParameters": {"a": 1}, "output": {"b": 2}});
    let mut called =
        case("one", &json!([measured("Exact Match", &json!(0.0), &json!(1.0), &json!(false))]));
    called["toolsCalled"] = json!([tool]);
    called["expectedTools"] = json!([{"name": "t"}]);
    called["retrievalContext"] = json!(["r"]);
    called["additionalMetadata"] = json!({"k": 1});
    called["trace"] = json!({"uuid": "u"});
    let twice = case("one", &json!([]));
    let mut other = case("one", &json!([]));
    other["input"] = json!("another question");
    let talk = json!({"name": "c", "success": false, "metricsData": [], "expectedOutcome": "o", "scenario": "s",
        "turns": [{"role": "user", "content": "hi", "order": 0}, {"role": "assistant", "content": "yo", "order": 1}]});
    let mut all = run(&[called, twice, other, json!(7)]);
    all["conversationalTestCases"] =
        json!([talk, {"name": "d", "turns": [{"role": "tool", "content": "x"}]}]);
    let read = imported("r.json", &all.to_string()).unwrap();
    let [suite] = read.suites.as_slice() else { panic!("{:?}", read.suites) };
    let ids: Vec<String> =
        suite.rows.iter().map(|row| format!("{} {}", row["id"], row["trial"])).collect();
    assert_eq!(ids, ["\"one\" null", "\"one\" 1", "\"one-2\" null", "\"c\" null"]);
    let first = &suite.rows[0];
    assert_eq!(
        first["messages"],
        json!([{"role": "user", "content": "q"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "call-1", "type": "function", "function": {"name": "t", "arguments": "{\"a\":1}"}}]},
            {"role": "tool", "tool_call_id": "call-1", "content": "{\"b\":2}"}, {"role": "assistant", "content": "a"}])
    );
    assert_eq!(
        (&first["retrieval_context"], &first["metadata"], &first["expected_tools"]),
        (&json!(["r"]), &json!({"k": 1}), &json!([{"name": "t"}]))
    );
    assert_eq!(
        (&suite.rows[3]["input"], &suite.rows[3]["ground_truth"]),
        (&json!("hi"), &json!("o"))
    );
    let graders = &suite.suite["graders"];
    assert_eq!(graders["exact_match"]["function"], "exact_match");
    assert_eq!(graders["exact_match_recorded"]["only"], "has(row.deepeval.metrics.exact_match)");
    let told: Vec<String> =
        read.not_mapped.iter().map(|part| format!("{}: {}", part.what, part.reason)).collect();
    assert_eq!(
        told,
        [
            "the trace of `one`: spans of DeepEval, and metrics of spans, are not read",
            "a test case: it is not an object",
            "the conversation `d`: a turn is from neither the user nor the assistant",
        ]
    );
}

#[test]
fn criteria_are_rubrics_in_a_suite_of_their_own() {
    let geval = |logs: &str, strict: bool| {
        let mut metric = measured("C [GEval]", &json!(0.7), &json!(0.6), &json!(true));
        metric["verboseLogs"] = json!(logs);
        metric["strictMode"] = json!(strict);
        metric["evaluationModel"] = json!("claude-x (Anthropic)");
        metric
    };
    let logs = "Criteria:\nIs it right? \n \nEvaluation Steps:\n[\n    \"Look \"close\".\",\n    \"Decide.\"\n] \n \nRubric:\n0-4: bad \n \nScore: 0.7";
    let text = run(&[case("a", &json!([geval(logs, false)]))]).to_string();
    let read = imported("r.json", &text).unwrap();
    assert_eq!(read.suites[1].file, "judged");
    let rubric = &read.suites[1].suite["graders"]["c_geval"];
    assert_eq!(
        rubric["prompt"],
        "Rate the answer.\n\nCriteria:\nIs it right?\n\nSteps:\n1. Look \"close\".\n2. Decide.\n\nWhat scores mean:\n0-4: bad\n\nQuestion:\n{input}\n\nExpected answer:\n{ground_truth}\n\nAnswer:\n{submission}\n"
    );
    assert_eq!(
        (&rubric["scale"], &rubric["pass_threshold"], &rubric["model"], &rubric["provider"]),
        (&json!({"min": 0, "max": 10}), &json!(0.6), &json!("claude-x"), &json!("anthropic"))
    );
    let other = logs.replace("Decide.", "Think.");
    let steps_differ =
        run(&[case("a", &json!([geval(logs, true)])), case("b", &json!([geval(&other, true)]))]);
    let read = imported("r.json", &steps_differ.to_string()).unwrap();
    let prompt = read.suites[1].suite["graders"]["c_geval"]["prompt"].as_str().unwrap();
    assert!(
        !prompt.contains("Steps:") && prompt.contains("Score 1 if it meets all of this, else 0."),
        "{prompt}"
    );
    for logs in [
        logs.replace("Is it right?", "Is {submission} right?"),
        logs.replace("Criteria:", "Verdicts:"),
        "Criteria:\nNone \n \nEvaluation Steps:\n[] \n \nRubric:\nNone".to_owned(),
        "Criteria:\n".to_owned(),
    ] {
        let read =
            imported("r.json", &run(&[case("a", &json!([geval(&logs, false)]))]).to_string())
                .unwrap();
        assert_eq!((read.suites.len(), read.not_mapped.len()), (1, 1), "{logs}");
    }
}

#[test]
fn datasets_are_rows_without_scores() {
    let golden = json!({"input": "q|r", "actual_output": null, "expected_output": "e", "retrieval_context": null, "context": ["c1", "c2"],
        "name": "n", "expected_tools": [{"name": "t", "inputParameters": {}}], "additional_metadata": {"k": 1}});
    let mut line = golden.clone();
    line["context"] = json!("c1|c2");
    let table = "input,actual_output,expected_output,retrieval_context,context,name,expected_tools,additional_metadata\n\
        q|r,,e,,c1|c2,n,\"[{\"\"name\"\": \"\"t\"\", \"\"inputParameters\"\": {}}]\",\"{\"\"k\"\": 1}\"\n";
    let row = json!({"id": "n", "input": "q|r", "ground_truth": "e", "output": null, "context": ["c1", "c2"], "metadata": {"k": 1},
        "expected_tools": [{"name": "t", "arguments": {}}]});
    let list = json!([golden]).to_string();
    for (path, text) in
        [("d.json", list.as_str()), ("d.jsonl", &line.to_string()), ("d.csv", table)]
    {
        let read = imported(path, text).unwrap();
        assert_eq!(read.suites[0].rows, std::slice::from_ref(&row), "{path}");
    }
    let talk =
        json!([{"scenario": "s", "turns": null, "expected_outcome": "e", "user_description": "u"}]);
    let read = imported("d.json", &talk.to_string()).unwrap();
    let row = json!({"id": "golden-1", "ground_truth": "e", "output": null, "user_description": "u", "scenario": "s"});
    assert_eq!(read.suites[0].rows, [row]);
}

#[test]
fn broken_runs_are_errors_or_told() {
    let good = run(&[case("a", &json!([measured("M", &json!(1), &json!(0.5), &json!(true))]))]);
    let link = json!({"testRunLink": "https://example.com"}).to_string();
    let deep = format!("{{\"testCases\": {}{}}}", "[".repeat(5000), "]".repeat(5000));
    for (text, why) in [
        (link.as_str(), "`r.json` has the link of an uploaded run, not the run"),
        ("{\"testCases\": [], \"metricsScores\": []}", "`r.json` has no test case and no golden"),
        ("{\"testCases\": [{\"metricsData\"", "bad JSON"),
        ("{\"testCases\": \"\u{0}\"", "bad JSON"),
        (&deep, "bad JSON"),
        ("", ""),
    ] {
        let found = imported("r.json", text).unwrap_err();
        assert!(found.contains(why) || why == "bad JSON", "{found}");
    }
    let latest = json!({"testRunData": good}).to_string();
    assert_eq!(imported("r.json", &latest).unwrap().suites[0].rows.len(), 1);
}

#[test]
fn values_of_the_wrong_type_are_no_panic() {
    let good = run(&[case("a", &json!([measured("M", &json!(1), &json!(0.5), &json!(true))]))]);
    let text = "x".repeat(1_000_000) + "\u{0}";
    for wrong in [
        json!(null),
        json!(7),
        json!("x"),
        json!([1, [[]]]),
        json!({"a": {"b": null}}),
        json!(text),
    ] {
        for key in [
            "name",
            "input",
            "actualOutput",
            "expectedOutput",
            "context",
            "retrievalContext",
            "toolsCalled",
            "expectedTools",
            "tags",
            "metadata",
            "success",
            "metricsData",
        ] {
            let mut broken = good.clone();
            broken["testCases"][0][key] = wrong.clone();
            let read = imported("r.json", &broken.to_string());
            assert!(read.is_ok() || key == "input", "{key}: {read:?}");
        }
        for key in [
            "name",
            "score",
            "threshold",
            "success",
            "reason",
            "error",
            "strictMode",
            "evaluationModel",
            "verboseLogs",
        ] {
            let mut broken = good.clone();
            broken["testCases"][0]["metricsData"][0][key] = wrong.clone();
            assert!(imported("r.json", &broken.to_string()).is_ok(), "{key}");
        }
        for key in
            ["conversationalTestCases", "hyperparameters", "prompts", "identifier", "testPassed"]
        {
            let mut broken = good.clone();
            broken[key] = wrong.clone();
            assert!(imported("r.json", &broken.to_string()).is_ok(), "{key}");
        }
        let goldens = json!([{"input": wrong, "actual_output": wrong, "expected_output": wrong, "expected_tools": wrong}]);
        assert_eq!(imported("d.json", &goldens.to_string()).is_ok(), wrong.is_string());
    }
}

#[test]
fn runs_and_datasets_are_recognized() {
    let good = run(&[case("a", &json!([]))]).to_string();
    let table = "input,actual_output,expected_output\nq,,e\n";
    let system = MemorySystem::with(&[
        ("r.json", &good),
        ("20261124_154944", &good),
        ("d/.latest_run_full.json", &good),
        ("d/.latest_test_run.json", &good),
        ("d.csv", table),
        ("x.json", "{\"testCases\": 1}"),
        ("y.csv", "input,output\nq,a\n"),
    ]);
    for (path, expected) in [
        ("r.json", true),
        ("20261124_154944", true),
        ("d", true),
        ("d.csv", true),
        ("x.json", false),
        ("y.csv", false),
    ] {
        let source = ImportSource::new(path, &system);
        let kind = recognized(&source).map(|importer| importer.kind);
        assert_eq!(kind == Some("deepeval"), expected, "{path}: {kind:?}");
    }
    // The latest run stands in two files of the folder, and counts once.
    assert_eq!(import(&ImportSource::new("d", &system)).unwrap().suites.len(), 1);
}
