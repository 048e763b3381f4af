//! `evalrs import` of evals of OpenAI and logs of Inspect, and runs of what was imported.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};

/// A grader of each kind, and two that do not map.
fn criteria() -> Value {
    let same = json!({"type": "string_check", "name": "same", "input": "{{ sample.output_text }}", "operation": "eq", "reference": "{{ item.label }}"});
    let tone = json!({"type": "score_model", "name": "tone", "model": "judge-1", "range": [1, 7], "pass_threshold": 5.5,
        "input": [{"role": "system", "content": "Rate from 1 to 7."}, {"role": "user", "content": "Reply: {{sample.output_text}} to {{item.ticket}}"}]});
    let inner = json!({"type": "score_model", "name": "b", "model": "judge-1", "range": [0, 10], "input": "Rate {{sample.output_text}} up to 10"});
    json!({"object": "eval", "name": "support", "testing_criteria": [
        same,
        {"type": "text_similarity", "name": "near", "input": "{{sample.output_text}}", "reference": "{{item.label}}", "evaluation_metric": "rouge_l", "pass_threshold": 0.8},
        {"type": "text_similarity", "name": "fuzzy", "input": "{{sample.output_text}}", "reference": "{{item.label}}", "evaluation_metric": "fuzzy_match"},
        tone,
        {"type": "label_model", "name": "kind", "model": "judge-1", "labels": ["good", "bad"], "passing_labels": ["good"], "input": [{"role": "user", "content": "Is {{sample.output_text}} good?"}]},
        {"type": "python", "name": "py", "source": "def grade(sample, item):\n    return 1.0 if sample['output_text'] == item['label'] else 0.25\n"},
        {"type": "multi", "name": "both", "graders": {"a": same, "b": inner}, "calculate_output": "0.5 * a + 0.05 * b"},
        {"type": "multi", "name": "power", "graders": {"a": same}, "calculate_output": "a ** 2"},
    ]})
}

fn item(id: u64, label: &str, answer: &str) -> Value {
    json!({"object": "eval.run.output_item", "id": format!("o{id}"), "datasource_item_id": id, "datasource_item": {"ticket": "My printer", "label": label},
        "results": [{"name": "same", "passed": label == answer, "score": f64::from(u8::from(label == answer))}],
        "sample": {"input": [{"role": "user", "content": "My printer"}], "output": [{"role": "assistant", "content": answer}], "model": "bot"}})
}

#[cfg(unix)]
#[test]
fn graders_of_openai_run_against_a_judge() {
    let items = jsonl([item(1, "Hardware", "Hardware"), item(2, "Billing", "the billing")]);
    let space = Space::new(&[
        ("openai/eval.json", &criteria().to_string()),
        ("openai/items.jsonl", &items),
    ]);
    let imported = space.run(&["import", "openai", "-o", "evals"]);
    assert_eq!(imported.code(), 0, "{}", imported.shown());
    let said = "imported openai (openai-evals) into evals\n  suite.yaml: 2 rows, 9 graders\n  graders: 6 mapped, 2 not mapped\n";
    assert!(imported.stdout().starts_with(said), "{}", imported.shown());
    let report = space.read("evals/IMPORT.md");
    for told in [
        "| `fuzzy` (text_similarity) | OpenAI computes it with rapidfuzz",
        "| `power` (multi) | its formula has powers",
    ] {
        assert!(report.contains(told), "{report}");
    }
    assert_eq!(space.run(&["validate", "evals/suite.yaml"]).code(), 0);
    let judge = Judge::new(|_, asked| {
        let question = asked.question();
        Answer::score(match () {
            () if question.contains("from 1 to 7") => 5.5,
            () if question.contains("up to 10") => 8.0,
            () => 1.0,
        })
    });
    let ran = space.run_with(&judge, &["run", "evals/suite.yaml", "--format", "json"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let report: Value = serde_json::from_str(&ran.stdout()).unwrap();
    let scores = |sample: usize| {
        let grades = report["results"][sample]["grades"].as_object().unwrap();
        let score = |name: &str| (name.to_owned(), grades[name]["score"].clone());
        ["same", "near", "tone", "kind", "py", "both", "same_recorded"].map(score)
    };
    let expected = |scores: [f64; 7]| scores.map(Value::from);
    assert_eq!(scores(0).map(|(_, score)| score), expected([1.0, 1.0, 0.75, 1.0, 1.0, 0.9, 1.0]));
    assert_eq!(
        scores(1).map(|(_, score)| score),
        expected([0.0, 2.0 / 3.0, 0.75, 1.0, 0.25, 0.4, 0.0])
    );
}

#[test]
fn logs_of_inspect_run_at_once() {
    let sample = |id: &str, epoch: u64, value: Value| {
        json!({"id": id, "epoch": epoch, "input": "Is it?", "target": "yes", "output": {"completion": "It is: yes."}, "scores": {"match": {"value": value}},
            "messages": [{"role": "user", "content": "Is it?"}, {"role": "assistant", "content": "It is: yes.", "tool_calls": [{"id": "1", "function": "look", "arguments": {}, "type": "function"}]},
                {"role": "tool", "tool_call_id": "1", "function": "look", "content": "", "error": {"type": "timeout", "message": "late"}}]})
    };
    let log = json!({"version": 2, "status": "success", "eval": {"task": "asks", "task_id": "x", "model": "m", "model_args": {"api_key": "sk-proj-4fJ29aQ0x8LmZt73vbN1"}},
        "results": {"scores": [{"name": "match", "scorer": "match", "params": {"location": "end"}, "metrics": {"accuracy": {"value": 0.75}}}]},
        "samples": [sample("a", 1, json!("C")), sample("a", 2, json!("P"))]});
    let space = Space::new(&[("log.json", &log.to_string())]);
    let imported = space.run(&["import", "log.json", "-o", "out"]);
    assert_eq!(imported.code(), 0, "{}", imported.shown());
    assert!(
        imported
            .stdout()
            .contains("suite.yaml: 2 rows, 2 graders\n  messages: 6 mapped, 0 not mapped\n"),
        "{}",
        imported.shown()
    );
    assert!(
        imported.stdout().contains("left out, a secret: log.json:1: a key that begins with sk-"),
        "{}",
        imported.shown()
    );
    let ran =
        space.run(&["run", "out/suite.yaml", "--format", "json", "--grader", "match_recorded"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let report: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(report["summary"]["metrics"]["match_recorded"]["avg_score_attempted"], 0.75);
    assert!(!space.read("out/dataset.jsonl").contains("sk-proj"));
    let broken = space.run(&["import", "log.json", "-o", "out"]);
    assert!(broken.shown().contains("the folder `out` holds files already"), "{}", broken.shown());
    space.write("cut.eval", b"PK\x03\x04 and nothing more");
    let cut = space.run(&["import", "cut.eval", "-o", "cut"]);
    assert_eq!(cut.code(), 2);
    assert!(
        cut.stderr().contains("cannot read `cut.eval`: it is no zip archive, or damaged"),
        "{}",
        cut.shown()
    );
}
