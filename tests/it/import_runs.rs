//! `evalrs import` of runs of `DeepEval`, records of agent-eval-harness, and suites and results of Letta Evals, through the binary.

use serde_json::{Value, json};

use crate::space::{Space, jsonl};

const KEY: &str = "sk-proj-4fJ29aQ0x8LmZt73vbN1";

/// The score that each grader gave on average, its passes and its errors.
fn totals(space: &Space, suite: &str) -> Value {
    let ran = space.run(&["run", suite, "--format", "json"]);
    // What another tool could not measure is an error here too.
    assert!([0, 3].contains(&ran.code()), "{}", ran.shown());
    let report: Value = serde_json::from_str(&ran.stdout()).unwrap();
    let of_grader = |name: &String| {
        let results = report["results"].as_array().unwrap();
        let passes = results.iter().filter(|result| result["grades"][name]["pass"] == true).count();
        let metric = &report["summary"]["metrics"][name];
        (name.clone(), json!([metric["avg_score_attempted"], passes, metric["errors"]]))
    };
    report["summary"]["metrics"].as_object().unwrap().keys().map(of_grader).collect()
}

/// A run of three test cases, of which two passed.
fn run_of_deepeval() -> Value {
    let metric = |name: &str, score: Value, threshold: f64, success: bool| json!({"name": name, "threshold": threshold, "success": success, "score": score, "reason": "because", "strictMode": false, "flaky": false, "evaluationModel": "gpt-4.1"});
    let failed = json!({"name": "Correctness [GEval]", "threshold": 0.5, "success": false, "error": "no reply", "strictMode": false});
    let logs = "Criteria:\nIs it right? \n \nEvaluation Steps:\n[\n    \"Compare.\"\n] \n \nRubric:\nNone \n \nScore: 0.5";
    let mut judged = metric("Correctness [GEval]", json!(0.5), 0.5, true);
    judged["verboseLogs"] = json!(logs);
    let case = |name: &str, output: &str, success: bool, metrics: Value| json!({"name": name, "input": "q", "actualOutput": output, "success": success, "metricsData": metrics});
    json!({"testCases": [
        case("a", "one", true, json!([judged, metric("Toxicity", json!(0.25), 0.5, true)])),
        case("b", &format!("the key is {KEY}"), true, json!([metric("Correctness [GEval]", json!(1.0), 0.5, true), metric("Toxicity", json!(0.0), 0.5, true)])),
        case("c", "two", false, json!([failed, metric("Toxicity", json!(1.0), 0.5, false)]))],
        "conversationalTestCases": [], "metricsScores": [], "testPassed": 2, "testFailed": 1, "hyperparameters": {"model": "m"}})
}

#[test]
fn a_run_of_deepeval_is_imported_and_runs_at_once() {
    let space = Space::new(&[("results/20261124_154944", &run_of_deepeval().to_string())]);
    insta::assert_snapshot!(space.run(&["import", "results", "-o", "out"]).shown(), @r#"
    exit: 0
    --- stdout
    imported results (deepeval) into out
      suite.yaml: 3 rows, 3 graders
      judged.yaml: 0 rows, 1 grader
      metrics: 1 mapped, 1 not mapped
      scores: 6 mapped, 0 not mapped
      test cases: 3 mapped, 0 not mapped
      left out, a secret: results/20261124_154944:1: a key that begins with sk-
    what did not map, and why: out/IMPORT.md

    next:
      cd out
      evalrs validate suite.yaml
      evalrs plan suite.yaml
      evalrs run suite.yaml
      evalrs validate judged.yaml
      evalrs plan judged.yaml
      evalrs run judged.yaml
    --- stderr
    "#);
    assert_eq!(
        totals(&space, "out/suite.yaml"),
        json!({"correctness_geval_recorded": [0.75, 2, 1], "toxicity_recorded": [1.25 / 3.0, 2, 0], "deepeval": [2.0 / 3.0, 2, 0]})
    );
    let valid = space.run(&["validate", "out/judged.yaml"]);
    assert_eq!(valid.code(), 0, "{}", valid.shown());
    let names = ["suite.yaml", "judged.yaml", "dataset.jsonl", "IMPORT.md"];
    assert!(names.iter().all(|name| !space.read(&format!("out/{name}")).contains(KEY)));
    let cut = run_of_deepeval().to_string();
    space.write("cut.json", &cut[..cut.len() / 2]);
    let cut = space.run(&["import", "cut.json", "-o", "cut"]);
    assert_eq!((cut.code(), space.names("cut")), (2, Vec::new()), "{}", cut.shown());
}

#[test]
fn records_of_agent_eval_harness_are_imported_and_run_at_once() {
    let captured = |id: &str, score: Value| {
        json!({"id": id, "input": "q", "output": "o", "hint": "o", "trajectory": [{"type": "message", "content": "o", "timestamp": 1}],
        "metadata": {"key": KEY}, "timing": {"start": 1, "end": 2, "sessionCreation": 0, "total": 1}, "toolErrors": id == "b", "score": score})
    };
    let trial = |number: u64, pass: bool| json!({"trialNum": number, "output": "o", "trajectory": [], "duration": 5, "pass": pass, "score": 0.5, "reasoning": "r"});
    let captures = jsonl([
        captured("a", json!({"pass": true, "score": 0.5})),
        captured("b", json!({"pass": false, "score": 1, "reasoning": "late"})),
    ]);
    let trials = json!({"id": "p", "input": ["q", "r"], "k": 3, "trials": [trial(1, true), trial(2, false), trial(3, true)], "passRate": 0.67, "passAtK": 0.96, "passExpK": 0.3});
    let space = Space::new(&[("graded.jsonl", &captures), ("trials.jsonl", &trials.to_string())]);
    insta::assert_snapshot!(space.run(&["import", "graded.jsonl", "-o", "out"]).shown(), @r#"
    exit: 0
    --- stdout
    imported graded.jsonl (agent-eval-harness) into out
      suite.yaml: 2 rows, 2 graders
      records: 2 mapped, 0 not mapped
      left out, a secret: graded.jsonl:1: a key that begins with sk-
      left out, a secret: graded.jsonl:2: a key that begins with sk-
    all of it mapped: out/IMPORT.md

    next:
      cd out
      evalrs validate suite.yaml
      evalrs plan suite.yaml
      evalrs run suite.yaml
    --- stderr
    "#);
    assert_eq!(
        totals(&space, "out/suite.yaml"),
        json!({"recorded": [0.75, 1, 0], "no_tool_errors_recorded": [0.5, 1, 0]})
    );
    assert!(!space.read("out/dataset.jsonl").contains(KEY));
    let imported = space.run(&["import", "trials.jsonl", "-o", "trials"]);
    assert_eq!(imported.code(), 0, "{}", imported.shown());
    assert_eq!(totals(&space, "trials/suite.yaml"), json!({"recorded": [0.5, 2, 0]}));
}

#[test]
fn suites_and_results_of_letta_evals_are_imported() {
    let suite = "name: s\ndataset: rows.jsonl\ntarget: {kind: letta_code, api_key: a1b2c3d4e5f60718}\ngraders:\n  tone: {kind: model_judge, prompt_path: ../tone.txt}\n";
    let grades = |score: f64| json!({"says": {"score": score, "rationale": "r", "metadata": {}}});
    let result = |id: u64, answer: &str, score: f64| {
        json!({"type": "result", "result": {"sample": {"id": id, "input": "q", "ground_truth": "yes"}, "submissions": {"says": answer},
        "trajectory": [[{"message_type": "assistant_message", "content": answer}]], "grades": grades(score), "model_name": "m"}})
    };
    let header = json!({"type": "header", "suite": "s", "config": {"graders": {"says": {"kind": "tool", "function": "contains", "extractor": "last_assistant"}}}});
    let space = Space::new(&[
        ("in/s/suite.yaml", suite),
        ("in/s/rows.jsonl", "{\"input\": \"q\"}\n"),
        ("in/tone.txt", "Rate {submission}."),
        ("res/header.json", &header.to_string()),
        ("res/results.jsonl", &jsonl([result(0, "yes", 1.0), result(1, "no", 0.0)])),
    ]);
    insta::assert_snapshot!(space.run(&["import", "in/s/suite.yaml", "-o", "out", "--root", "in"]).shown(), @r#"
    exit: 0
    --- stdout
    imported in/s/suite.yaml (letta-evals) into out
      suite.yaml: 1 row, 1 grader
      files: 2 mapped, 0 not mapped
      graders: 1 mapped, 0 not mapped
      suites: 1 mapped, 0 not mapped
      left out, a secret: in/s/suite.yaml:3: `api_key`
    all of it mapped: out/IMPORT.md

    next:
      cd out
      evalrs validate suite.yaml
      evalrs plan suite.yaml
      evalrs run suite.yaml
    --- stderr
    "#);
    insta::assert_snapshot!(space.read("out/suite.yaml"), @r#"
    name: s
    dataset: rows.jsonl
    target:
      kind: letta_code
      workspace: true
    graders:
      tone:
        kind: model_judge
        prompt_path: files/tone.txt
    "#);
    assert_eq!(space.read("out/files/tone.txt"), "Rate {submission}.");
    let imported = space.run(&["import", "res", "-o", "again"]);
    assert_eq!(imported.code(), 0, "{}", imported.shown());
    assert_eq!(
        totals(&space, "again/suite.yaml"),
        json!({"says_recorded": [0.5, 1, 0], "says": [0.5, 1, 0]})
    );
    // A file above the folder of a suite is not read, unless `--root` allows it.
    let refused = space.run(&["import", "in/s/suite.yaml", "-o", "narrow"]);
    assert!(!space.names("narrow").contains(&"files".to_owned()), "{}", refused.shown());
}
