//! Suites of every dialect, from the file to the verdict, against a scripted judge and without any agent.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::Space;

fn results(space: &Space) -> Vec<Value> {
    space.record("results.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The scores of a grader in dataset order.
fn scores(space: &Space, grader: &str) -> Vec<f64> {
    results(space).iter().map(|line| line["grades"][grader]["score"].as_f64().unwrap()).collect()
}

fn gate(space: &Space) -> Value {
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    summary["gate"].clone()
}

/// A judge that likes what contains `good`, and answers with an error where it reads `broken`.
fn opinionated() -> Judge {
    Judge::new(|_, asked| match asked.prompt() {
        prompt if prompt.contains("broken") => Answer::error(400, "cannot judge that"),
        prompt => Answer::score(if prompt.contains("good") { 0.85 } else { 0.25 }),
    })
}

/// Rows that carry chat messages: what the user asked, what was searched and what was said last.
fn rows(samples: &[(&str, Value, &str)]) -> String {
    let row = |(at, (said, truth, searched)): (usize, &(&str, Value, &str))| {
        let arguments = json!({"query": searched}).to_string();
        let mut row = json!({"id": format!("s{at}"), "input": format!("question {at}"), "messages": [
            {"role": "user", "content": format!("question {at}")},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "search", "arguments": arguments}}]},
            {"role": "tool", "tool_call_id": "c", "content": "found"},
            {"role": "assistant", "content": said},
        ]});
        if !truth.is_null() {
            row["ground_truth"] = truth.clone();
        }
        format!("{row}\n")
    };
    samples.iter().enumerate().map(row).collect()
}

/// Every grader of the page in one suite.
const MISSION: &str = "\
name: mission
dataset: dataset.jsonl
graders:
  accuracy:  # Tool grader for factual correctness
    kind: tool  # Deterministic grading
    function: exact_match  # Case-sensitive, whitespace-trimmed
    extractor: last_assistant  # Extract final response
  contains_answer: {kind: tool, function: contains, extractor: last_assistant}
  pattern:
    kind: tool
    function: regex_match
    extractor: last_assistant
  ascii_check:
    kind: tool
    function: ascii_printable_only
    extractor: last_assistant
  tool_usage:  # Tool grader for tool call validation
    kind: tool
    function: contains
    extractor: tool_arguments
    extractor_config:
      tool_name: search  # Which tool to check
  quality:
    kind: rubric  # LLM-as-judge
    prompt_path: quality_rubric.txt  # Custom evaluation criteria
    model: gpt-4o-mini  # Judge model
    temperature: 0.0  # Deterministic (0.0-2.0)
    provider: openai  # LLM provider (default: openai)
    max_retries: 0  # API retry attempts
    timeout: 120.0  # Request timeout in seconds
    extractor: last_assistant
  creativity:
    kind: rubric
    prompt: |  # Inline prompt instead of file
      Evaluate the creativity and originality of the response.
      Score 1.0 for highly creative, 0.0 for generic or unoriginal.
    model: o3-mini
    max_retries: 0
    extractor: last_assistant
gate: {metric_key: accuracy, metric: avg_score, op: gte, value: 0.25}
";

const RUBRIC: &str = "\
Evaluate the response for:
1. Accuracy: Does it correctly answer the question?

Input: {input}
Expected: {ground_truth}
Response: {submission}

Score from 0.0 to 1.0 where {\"score\": 1.0} is perfect.
";

#[test]
fn the_mission_page_runs_as_it_is_written() {
    let samples = [
        (" Paris \n", json!("Paris"), "capital of france: paris"),
        (
            "a good id: 0b0e9d5c-8a52-4f3a-8c11-7f6ad0c4b7a1",
            json!("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
            "uuid",
        ),
        ("broken é", json!("É"), "é"),
        ("", json!("x"), "x"),
        ("no reference", Value::Null, ""),
    ];
    let space = Space::new(&[
        ("suite.yaml", MISSION),
        ("quality_rubric.txt", RUBRIC),
        ("dataset.jsonl", &rows(&samples)),
    ]);
    let judge = opinionated();
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!(ran.code(), 3, "the row without a reference answer decides: {}", ran.shown());
    assert_eq!(scores(&space, "accuracy"), [1.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(scores(&space, "contains_answer"), [1.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(scores(&space, "pattern"), [1.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(scores(&space, "ascii_check"), [1.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(scores(&space, "tool_usage"), [1.0, 0.0, 1.0, 1.0, 0.0]);
    assert_eq!(scores(&space, "quality"), [0.25, 0.85, 0.0, 0.0, 0.25]);
    let found = results(&space);
    let rationale = |at: usize, grader: &str| found[at]["grades"][grader]["rationale"].clone();
    assert_eq!(rationale(2, "ascii_check"), "Found non-printable ASCII characters: 'é'");
    assert_eq!(rationale(3, "quality"), "Empty submission - extractor found no content");
    assert_eq!(rationale(4, "accuracy"), "No ground_truth answer provided");
    let failed = &found[2]["grades"]["quality"];
    assert_eq!((&failed["score"], &failed["error"]["kind"]), (&json!(0.0), &json!("bad_request")));
    let said = failed["metadata"]["error"].as_str().unwrap();
    assert!(said.contains("cannot judge that"), "{failed}");
    assert_eq!(failed["rationale"], format!("Error during grading: {said}"));
    check_prompts(&judge);
}

/// The rubric file arranges everything itself; before the inline prompt stand question, reference and submission.
fn check_prompts(judge: &Judge) {
    let asked = judge.asked();
    let of = |model: &str| -> Vec<_> {
        asked.iter().filter(|asked| asked.body["model"] == model).collect()
    };
    let (quality, creativity) = (of("gpt-4o-mini"), of("o3-mini"));
    assert_eq!((quality.len(), creativity.len()), (4, 4), "the empty submission is not judged");
    let first = "Input: question 0\nExpected: Paris\nResponse:  Paris \n\n\nScore from 0.0 to 1.0 where {\"score\": 1.0}";
    assert!(quality.iter().any(|asked| asked.prompt().contains(first)), "{:?}", quality[0]);
    assert!(quality.iter().all(|asked| asked.body["temperature"] == 0.0));
    assert!(creativity.iter().all(|asked| asked.body["temperature"] == 1.0));
    for asked in &creativity {
        let at = |text: &str| asked.prompt().find(text).unwrap_or(usize::MAX);
        let [rubric, question] = ["Evaluate the creativity", "question"].map(at);
        assert!(question < rubric && rubric < asked.prompt().len(), "{}", asked.prompt());
        assert_eq!(asked.body["response_format"]["type"], "json_schema");
    }
}

#[test]
fn an_agent_as_judge_needs_its_file() {
    let suite = "\
name: mission
dataset: dataset.jsonl
graders:
  agent_judge:
    kind: rubric  # Still \"rubric\" kind
    agent_file: judge.af  # Judge agent with submit_grade tool
    prompt_path: rubric.txt
    extractor: last_assistant
";
    let space = Space::new(&[("suite.yaml", suite), ("rubric.txt", "x"), ("dataset.jsonl", "{}")]);
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stderr().contains("the file `judge.af` does not exist"), "{}", ran.stderr());
    assert!(ran.stderr().contains("suite.yaml:6:17"), "{}", ran.stderr());
}

/// A directory of Letta results for two rows and two models.
fn letta(suite: &str) -> Space {
    let dataset = "\
input,ground_truth,rubric_vars
\"Read the page, then say it\",Paris,\"{\"\"reference\"\": \"\"good\"\"}\"
\"[\"\"I like kiwi\"\", \"\"Now I like plum\"\"]\",plum,\"{\"\"reference\"\": \"\"bad\"\"}\"
";
    let mut lines = String::new();
    for model in ["openai/gpt-4.1", "openai/o3"] {
        let two = ["I like kiwi", "Now I like plum"];
        lines += &result(1, &two, &json!(two), [model, "You like plum"]);
        let one = ["Read the page, then say it"];
        lines += &result(0, &one, &json!(one[0]), [model, "It is Paris. é"]);
    }
    Space::new(&[
        ("suite.yaml", suite),
        ("data.csv", dataset),
        ("cached/results.jsonl", &lines),
        ("cached/header.json", "{\"type\": \"header\", \"suite\": \"s\", \"config\": {}}"),
        ("cached/summary.json", "{\"type\": \"summary\", \"metrics\": {}, \"gates_passed\": true}"),
    ])
}

fn result(id: usize, turns: &[&str], input: &Value, [model, said]: [&str; 2]) -> String {
    let call =
        json!({"name": "fetch_webpage", "arguments": "{\"url\": \"u\"}", "tool_call_id": "call-1"});
    let turns: Vec<Value> = turns
        .iter()
        .map(|turn| {
            json!([
                {"message_type": "user_message", "content": turn},
                {"message_type": "tool_call_message", "tool_call": call, "tool_calls": [call]},
                {"message_type": "tool_return_message", "tool_call_id": "call-1", "status": "success", "tool_return": format!("page: {said}")},
                {"message_type": "assistant_message", "content": said},
            ])
        })
        .collect();
    let state = json!({"blocks": [{"label": "fruit_preferences", "value": "plum"}]});
    let result = json!({"sample": {"id": id, "input": input, "ground_truth": "old"}, "submission": "", "submissions": {},
        "trajectory": turns, "agent_id": "agent-1", "grades": null, "model_name": model, "agent_state": state});
    format!("{}\n", json!({"type": "result", "result": result}))
}

/// Runs a suite over the directory of [`letta`]: its exit code, the value of its gate and each grader's scores.
#[track_caller]
fn check(suite: &str, code: i32, value: &Value, expected: &[(&str, [f64; 4])]) {
    let space = letta(suite);
    let judge = opinionated();
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--cached", "cached"]);
    assert_eq!(ran.code(), code, "{}", ran.shown());
    for (grader, expected) in expected {
        assert_eq!(scores(&space, grader), expected, "{grader}: {}", ran.shown());
    }
    assert_eq!(gate(&space)["value"], *value, "{}", ran.shown());
}

#[test]
fn d0_and_d1_flat_gates_over_an_agent_target() {
    let suite = "\
name: d0
dataset: data.csv
target: {kind: agent, agent_script: 'make.py:make', base_url: 'http://localhost:8283'}
graders:
  accuracy: {kind: tool, function: contains, extractor: last_assistant}
  quality: {kind: rubric, prompt: 'Is {submission} like {reference}?', model: gpt-4o-mini, temperature: 0.0, rubric_vars: [reference]}
gate: {metric_key: quality, metric: avg_score, op: gte, value: 0.5, pass_op: gte, pass_value: 0.8}
";
    let expected = [("accuracy", [1.0; 4]), ("quality", [0.85, 0.85, 0.25, 0.25])];
    check(suite, 0, &json!(0.55), &expected);
    let single = "\
name: core-memory-read
dataset: data.csv
target: {kind: agent, agent_script: 'f.py:g', model_configs: [openai-gpt-4.1]}
grader: {kind: tool, function: contains}
gate: {op: gt, value: 1}
max_samples: 100
";
    check(single, 1, &json!(1.0), &[("default", [1.0; 4])]);
}

#[test]
fn d2_percentages_and_model_judges() {
    let suite = "\
name: d2
dataset: data.csv
target: {kind: agent, agent_file: a.af, model_handles: [openai/gpt-4.1, openai/o3]}
graders:
  quality: {kind: model_judge, prompt: 'Like {reference}? {submission}', model: gpt-5-mini, max_retries: 3, rubric_vars: [reference]}
  ascii: {kind: tool, function: ascii_printable_only}
gate: {metric_key: ascii, metric: accuracy, op: gte, value: 50}
";
    let expected = [("quality", [0.85, 0.85, 0.25, 0.25]), ("ascii", [0.0, 0.0, 1.0, 1.0])];
    check(suite, 0, &json!(0.5), &expected);
}

#[test]
fn d3_tool_outputs_and_memory_blocks() {
    let suite = "\
name: d3
dataset: data.csv
target: {kind: letta_agent, agent_file: a.af, base_url: 'http://localhost:8283'}
graders:
  fetched: {kind: tool, function: contains, extractor: tool_output, extractor_config: {tool_name: fetch_webpage}}
  remembers: {kind: tool, function: contains, extractor: memory_block, extractor_config: {block_label: fruit_preferences}}
gate: {metric_key: remembers, metric: avg_score, op: gte, value: 0.33}
num_runs: 2
";
    let expected = [("fetched", [1.0; 4]), ("remembers", [0.0, 0.0, 1.0, 1.0])];
    check(suite, 0, &json!(0.5), &expected);
}

#[test]
fn d4_weighted_and_logical_gates() {
    let graders = "\
name: d4
dataset: data.csv
target: {kind: letta_code, model_handles: [x/y], working_dir: sandbox}
graders:
  quality: {kind: model_judge, prompt: 'Is {input} good? {submission}', model: gpt-5-mini}
  ascii: {kind: tool, function: ascii_printable_only}
";
    let expected = [("quality", [0.85; 4]), ("ascii", [0.0, 0.0, 1.0, 1.0])];
    let weighted = "gate: {kind: weighted_average, aggregation: avg_score, weights: {quality: 0.7, ascii: 0.3}, op: gte, value: 0.75}\n";
    let value = 0.7 * 0.85 + 0.3 * 0.5;
    check(&format!("{graders}{weighted}"), 1, &json!(value), &expected);
    let logical = "\
gate:
  kind: logical
  operator: and
  conditions:
    - {metric_key: quality, aggregation: avg_score, op: gte, value: 0.6}
    - kind: logical
      operator: or
      conditions:
        - {metric_key: ascii, aggregation: accuracy, op: gte, value: 60}
        - {kind: simple, metric_key: ascii, aggregation: max, op: eq, value: 1}
";
    check(&format!("{graders}{logical}"), 0, &Value::Null, &expected);
    check(
        &format!("{graders}{}", logical.replace("operator: or", "operator: and")),
        1,
        &Value::Null,
        &expected,
    );
}

#[test]
fn d7_rewards_report_without_deciding() {
    let suite = "\
name: d7
dataset: data.csv
target: {kind: letta_code, model_handles: [a/b], permission_mode: plan, sandbox: {timeout: 3}}
graders:
  accuracy: {kind: tool, function: contains, display_name: Accuracy}
reward: {kind: metric, metric_key: accuracy}
";
    check(suite, 0, &Value::Null, &[("accuracy", [1.0; 4])]);
}

#[test]
fn recorded_results_need_no_script_and_no_model_of_the_target() {
    for (target, rest) in [
        ("agent_file: a.af", "setup_script: 's.py:f'\n"),
        ("agent_script: 'make.py:make'", "setup_script: 's.py:f'\n"),
        ("agent_id: agent-1, model_configs: [openai-gpt-4.1]", ""),
    ] {
        let suite = format!(
            "name: s\ndataset: data.csv\ntarget: {{kind: letta_agent, {target}}}\n\
             graders:\n  a: {{kind: tool, function: contains}}\n{rest}"
        );
        let ran = letta(&suite).run(&["run", "suite.yaml", "--cached", "cached"]);
        assert_eq!(ran.code(), 0, "{suite}{}", ran.shown());
    }
}

#[test]
fn a_model_that_only_the_package_describes_says_what_to_write_instead() {
    let suite = "name: s\ndataset: data.csv\ntarget: {kind: letta_agent, agent_id: agent-1, model_configs: [openai-gpt-4.1]}\ngraders:\n  a: {kind: tool, function: contains}\n";
    let ran = letta(suite).run(&["run", "suite.yaml"]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    insta::assert_snapshot!(ran.stderr(), @r"
    error: this target of kind `letta_agent` cannot be run: `model_configs` names `openai-gpt-4.1`, a file of the package letta-evals: copy it to `llm_model_configs/openai-gpt-4.1.json` beside the suite, or name the model as the server does, for example `model_handles: [openai/gpt-4.1]`
     --> suite.yaml:3:16
      |
    3 | target: {kind: letta_agent, agent_id: agent-1, model_configs: [openai-gpt-4.1]}
      |                ^^^^^^^^^^^
      |
      = help: grade recorded results instead: `--cached DIR` with a result directory, or `target: {kind: recorded, path: trajectories.jsonl}`
    ");
}
