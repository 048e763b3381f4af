//! Assertions as other tools have them, in one suite without further files, and what their edits ask for.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, has, jsonl};

const SUITE: &str = "
name: assertions
dataset: data.jsonl
graders:
  equals: {kind: tool, function: exact_match, ground_truth: row.vars.answer}
  icontains: {kind: tool, function: contains, config: {value: paris}}
  contains: {kind: tool, function: contains, ground_truth: vars.word}
  not_regex: {kind: tool, function: regex_match, config: {pattern: '(?i)sorry|as an AI'}, not: true}
  any: {kind: tool, function: contains_any, config: {values: [capital, city]}}
  all: {kind: tool, function: contains_all, ground_truth: row.vars.words}
  begins: {kind: tool, function: starts_with, config: {value: It is}}
  schema: {kind: tool, function: is_json, not: true}
  latency: {kind: tool, function: max_latency, config: {max_ms: 2000}}
  cost: {kind: tool, function: max_cost, config: {max_usd: 0.01}}
  short: {kind: tool, function: length, config: {max: 8, unit: words}}
  javascript: {kind: program, javascript: 'submission.length < 40 && row.cost < 0.01'}
";

fn row(id: &str, output: &str, latency: u64) -> Value {
    let vars = json!({"answer": "It is Paris.", "word": "Paris", "words": ["it", "paris"]});
    json!({"id": id, "input": "Which city is the capital?", "output": output, "vars": vars,
        "latency_ms": latency, "cost": 0.002})
}

/// The graders that a sample does not pass.
fn failed(space: &Space) -> Vec<String> {
    let lines = space.record("results.jsonl");
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let failed = lines.map(|line| {
        let grades = line["grades"].as_object().unwrap().iter();
        let failed = grades.filter(|(_, grade)| grade["pass"] == false).map(|(name, _)| &**name);
        let failed: Vec<&str> = failed.collect();
        format!("{}: {}", line["sample_id"].as_str().unwrap(), failed.join(" "))
    });
    failed.collect()
}

#[test]
fn twelve_assertions_need_no_file() {
    if !has("node") {
        return;
    }
    let rows = [
        row("right", "It is Paris.", 1500),
        row("city", "It is the city of Paris.", 1500),
        row("sorry", "Sorry, as an AI I cannot tell what the capital of France is.", 2500),
        row("empty", "", 100),
    ];
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &jsonl(rows))]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""), "{}", ran.shown());
    // Where nothing was said, nothing is to be seen in it, and no opposite of that either.
    insta::assert_snapshot!(failed(&space).join("\n"), @r"
    right: any
    city: equals
    sorry: equals icontains contains not_regex all begins latency short javascript
    empty: equals icontains contains not_regex any all begins schema short javascript
    ");
}

#[test]
fn the_opposite_of_a_verdict_asks_nothing() {
    let suite = |more: &str| {
        format!(
            "name: s\ndataset: data.jsonl\ngraders:\n  rude: {{kind: rubric, prompt: 'Is it rude? {{submission}} {{ground_truth}}', model: judge-1, endpoint: test{more}}}\n"
        )
    };
    let rows = [row("a", "Go away.", 1), row("b", "", 1)];
    let space = Space::new(&[("suite.yaml", &suite("")), ("data.jsonl", &jsonl(rows))]);
    let judge = Judge::new(|_, _| Answer::text(r#"{"score": 0.75, "rationale": "quite"}"#));
    let grade = |at: usize| {
        let text = space.record("results.jsonl");
        let line: Value = serde_json::from_str(text.lines().nth(at).unwrap()).unwrap();
        line["grades"]["rude"].clone()
    };
    let run = || space.run_with(&judge, &["run", "suite.yaml", "--quiet"]);
    run();
    assert_eq!((&grade(0)["score"], judge.count()), (&json!(0.75), 1));
    space.write("suite.yaml", suite(", not: true"));
    run();
    assert_eq!((&grade(0)["score"], &grade(0)["rationale"]), (&json!(0.25), &json!("Not: quite")));
    assert_eq!((&grade(1)["score"], judge.count()), (&json!(0.0), 1));
    // Another reference answer is another question.
    space.write("suite.yaml", suite(", ground_truth: row.vars.answer"));
    run();
    assert_eq!(judge.count(), 2);
    assert!(judge.asked()[1].question().contains("It is Paris."));
    let explained = space.run(&["explain", "suite.yaml", "a"]);
    assert_eq!(explained.code(), 0, "{}", explained.shown());
}
