//! Same inputs, same report, byte for byte: however many requests are under way, and however they finish.

use serde_json::{Value, json};

use crate::judge::{Answer, Asked, Judge, Order};
use crate::space::{Space, lines};

/// Tools and judges, votes, tags, a gate over several graders.
const SUITE: &str = "\
name: deterministic
description: everything that could depend on order
dataset: data.jsonl
graders:
  says: {kind: tool, function: contains}
  kind: {kind: rubric, prompt: 'Is <{submission}> a kind answer to {input}?', model: j, endpoint: test, max_retries: 0, max_tokens: null, votes: 3}
  right: {kind: rubric, prompt: 'Does <{submission}> say {ground_truth}?', model: j, endpoint: test, max_retries: 0, max_tokens: null, scale: {min: 1, max: 5}}
gate:
  kind: logical
  operator: and
  conditions:
    - {metric_key: right, aggregation: avg_score, op: gte, value: 0.1}
    - {metric_key: kind, aggregation: avg_score, op: gte, value: 0.1}
";

/// Twelve samples of two models and three trials; some trials say the same. Then conversations, graded by turn.
fn rows() -> String {
    let mut rows = Vec::new();
    for sample in 0..12 {
        for model in ["small", "large"] {
            for trial in 0..3 {
                rows.push(json!({
                    "id": format!("s{sample}"), "input": format!("question {sample}"), "ground_truth": "yes",
                    "output": format!("{model} {} to {sample}.", if trial == 2 { "yes" } else { "no" }),
                    "model": model, "trial": trial, "tags": [if sample % 2 == 0 { "even" } else { "odd" }],
                }));
            }
        }
    }
    for sample in 0..8 {
        let said = |turn: usize| format!("turn {turn} of {sample}.");
        rows.push(json!({
            "id": format!("talk{sample}"), "input": ["hello", "and then?"], "ground_truth": ["turn 0", "turn 9"],
            "messages": [
                {"role": "user", "content": "hello"}, {"role": "assistant", "content": said(0)},
                {"role": "user", "content": "and then?"}, {"role": "assistant", "content": said(1)},
            ],
        }));
    }
    lines(rows)
}

fn space() -> Space {
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows())])
}

/// Verdicts, tokens and failures of every sort, each a function of the prompt alone.
fn answer(_: usize, asked: &Asked) -> Answer {
    let prompt = asked.prompt();
    let about = |sample: &str| prompt.contains(&format!(" {sample}.>"));
    let sum = prompt.bytes().map(usize::from).sum::<usize>();
    if about("to 3") {
        return Answer::error(400, "no such sample");
    }
    if about("to 5") {
        // Not 503, which lets fewer be under way at once: this judge waits for as many as were configured.
        return Answer::error(500, "come back later");
    }
    let is_five = prompt.contains("from 1 to 5");
    let score = if is_five { 1.0 + (sum % 5) as f64 } else { (sum % 11) as f64 / 10.0 };
    let verdict = json!({"score": score, "rationale": format!("the bytes make {sum}")}).to_string();
    let finish = if about("to 7") { "length" } else { "stop" };
    let body = json!({
        "model": format!("judge-{}", sum % 2),
        "choices": [{"message": {"role": "assistant", "content": verdict}, "finish_reason": finish}],
        "usage": {"prompt_tokens": sum, "completion_tokens": sum % 7},
    });
    Answer::Http(200, Vec::new(), body.to_string())
}

/// What must not depend on order.
#[derive(PartialEq)]
struct Report {
    code: i32,
    stdout: String,
    files: [String; 3],
}

struct EvaluatedPart {
    report: Report,
    requests: usize,
    /// The keys in the store, in the order in which they landed.
    landed: Vec<String>,
}

fn evaluate(format: &str, at_once: usize, order: Order) -> EvaluatedPart {
    let (space, judge) = (space(), Judge::new(answer).in_order(order));
    let at_once = at_once.to_string();
    let args = ["run", "suite.yaml", "--format", format, "--max-concurrent", &at_once];
    let ran = space.run_with(&judge, &args);
    let key = |line: String| line[6..70].to_owned();
    EvaluatedPart {
        report: Report {
            code: ran.code(),
            stdout: ran.stdout(),
            files: ["header.json", "results.jsonl", "summary.json"].map(|name| space.record(name)),
        },
        requests: judge.count(),
        landed: space.stored_lines().into_iter().map(key).collect(),
    }
}

fn assert_same(found: &Report, expected: &Report, what: &str) {
    assert_eq!(found.code, expected.code, "{what}: exit code");
    for (found, expected) in found.files.iter().zip(&expected.files) {
        assert_eq!(found, expected, "{what}");
    }
    assert_eq!(found.stdout, expected.stdout, "{what}: stdout");
}

#[test]
fn the_report_does_not_depend_on_concurrency_or_order() {
    for format in ["json", "jsonl", "junit", "markdown"] {
        let one = evaluate(format, 1, Order::AtOnce);
        assert!(one.report.stdout.len() > 500, "{format}: {}", one.report.stdout);
        assert_eq!(one.report.code, 0, "{}", one.report.stdout);
        for (at_once, seed) in [(64, 1), (5, 2)] {
            let random = fastrand::Rng::with_seed(seed);
            let order = Order::Shuffled { at_once, total: one.requests, random };
            let many = evaluate(format, at_once, order);
            assert_same(&many.report, &one.report, &format!("{format}, {at_once} at once"));
            assert_eq!(many.requests, one.requests);
            // The test would show nothing if they had landed in the same order after all.
            assert_ne!(many.landed, one.landed);
            let sorted = |mut keys: Vec<String>| {
                keys.sort();
                keys
            };
            assert_eq!(sorted(many.landed), sorted(one.landed.clone()));
        }
    }
}

#[test]
fn the_suite_of_this_test_has_what_could_depend_on_order() {
    let EvaluatedPart { report, requests, .. } = evaluate("json", 15, Order::AtOnce);
    let shown: Value = serde_json::from_str(&report.stdout).unwrap();
    let results = shown["results"].as_array().unwrap();
    assert_eq!(results.len(), 12 * 2 * 3 + 8);
    // Of three trials two say the same, four questions are asked of each text: three votes and one verdict.
    assert_eq!(requests, 12 * 2 * 2 * 4 + 8 * 2 * 4);
    let kinds = ["bad_request", "server", "truncated"];
    for kind in kinds {
        let is_kind = |line: &&Value| line["grades"]["right"]["error"]["kind"] == kind;
        assert_eq!(results.iter().filter(is_kind).count(), 6, "{kind}");
    }
    assert_eq!(results[72]["grades"]["right"]["per_turn"].as_array().unwrap().len(), 2);
    for part in ["by_model", "by_tag", "usage"] {
        assert!(shown["summary"][part].is_object(), "{part}");
    }
}

#[test]
fn the_report_does_not_say_what_was_cached_nor_where_it_was_made() {
    let (space, judge) = (space(), Judge::new(answer));
    let absolute = space.path("suite.yaml").to_str().unwrap().to_owned();
    for format in ["json", "jsonl", "junit", "markdown"] {
        let mut reports = Vec::new();
        for suite in ["suite.yaml", "./suite.yaml", &absolute] {
            let ran = space.run_with(&judge, &["run", suite, "--format", format]);
            let stdout = ran.stdout();
            assert!(!stdout.contains(space.path("").to_str().unwrap()), "{stdout}");
            let files =
                ["header.json", "results.jsonl", "summary.json"].map(|name| space.record(name));
            reports.push(Report { code: ran.code(), stdout, files });
        }
        for report in &reports[1..] {
            assert_same(report, &reports[0], format);
        }
    }
    let first = 12 * 2 * 2 * 4 + 8 * 2 * 4;
    // What failed for a while is asked again by each of the other eleven runs: two models, two texts, four questions.
    assert_eq!(judge.count(), first + 11 * 2 * 2 * 4);
}
