//! Graders of each kind, items, entries of the registry and logs, and what is wrong with them.

use serde_json::{Value, json};

use crate::base::system::memory::MemorySystem;
use crate::pipeline::import::imported::{ImportError, Imported};
use crate::pipeline::import::recognized;
use crate::pipeline::import::source::ImportSource;

fn imported(files: &[(&str, &str)], path: &str) -> Result<Imported, String> {
    let system = MemorySystem::with(files);
    let source = ImportSource::new(path, &system);
    assert_eq!(recognized(&source).map(|importer| importer.kind), Some("openai-evals"), "{path}");
    super::import(&source).map_err(|error| match error {
        ImportError::Unreadable { message, hint } => format!("{message} ({hint})"),
        ImportError::Diagnostics(all) => all[0].message.clone(),
    })
}

/// The grader that one of OpenAI's becomes, or why it does not.
fn grader(grader: &Value) -> Result<Value, String> {
    let imported = imported(&[("g.json", &grader.to_string())], "g.json")?;
    let graders = imported.suites[0].suite["graders"].as_object().unwrap().clone();
    Ok(graders.into_iter().next_back().unwrap().1)
}

#[test]
fn each_kind_of_grader_becomes_one() {
    let check = |operation: &str, reference: &str| json!({"type": "string_check", "name": "n", "input": "{{ sample.output_text }}", "operation": operation, "reference": reference});
    let tool =
        |function: &str| json!({"kind": "tool", "function": function, "extractor": "final_output"});
    let with = |mut value: Value, members: Value| {
        value.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        value
    };
    let exact = json!({"case_sensitive": true, "normalize_whitespace": false});
    for (given, expected) in [
        (
            check("eq", "{{item.a}}"),
            with(tool("string_match"), json!({"config": exact, "ground_truth": "row.item.a"})),
        ),
        (
            check("ne", "{{item.a}}"),
            with(
                tool("string_match"),
                json!({"config": exact, "not": true, "ground_truth": "row.item.a"}),
            ),
        ),
        (
            check("like", "x"),
            with(
                tool("contains_any"),
                json!({"config": {"case_sensitive": true, "values": ["x"]}}),
            ),
        ),
        (check("ilike", "x"), with(tool("contains"), json!({"config": {"value": "x"}}))),
        (
            json!({"type": "text_similarity", "name": "n", "input": "{{sample.output_text}}", "reference": "{{item.a}}", "evaluation_metric": "rouge_2", "pass_threshold": 0.5}),
            with(
                tool("rouge_n"),
                json!({"config": {"n": 2}, "pass_threshold": 0.5, "ground_truth": "row.item.a"}),
            ),
        ),
        (
            json!({"type": "text_similarity", "name": "n", "input": "{{sample.output_text}}", "reference": "x", "evaluation_metric": "cosine"}),
            json!({"kind": "similarity", "model": "text-embedding-3-large", "value": "x", "extractor": "final_output"}),
        ),
        (
            json!({"type": "score_model", "name": "n", "model": "gpt-4o", "range": [1, 5], "pass_threshold": 4, "sampling_params": {"temperature": 0.5, "top_p": 1, "reasoning_effort": "low"},
                "input": [{"role": "system", "content": "Rate."}, {"role": "user", "content": "{{sample.output_text}} for {{item.a}}"}]}),
            json!({"kind": "rubric", "prompt": "Rate.\n\n{submission} for {row.item.a}", "model": "gpt-4o", "extractor": "final_output", "temperature": 0.5, "top_p": 1,
                "extra_body": {"reasoning_effort": "low"}, "scale": {"min": 1.0, "max": 5.0}, "pass_threshold": 0.75}),
        ),
        (
            json!({"type": "multi", "name": "n", "graders": {"a": check("eq", "x"), "b": {"type": "score_model", "name": "b", "range": [0, 5], "input": "Rate {{sample.output_text}}"}}, "calculate_output": "min(a, b / 5)"}),
            json!({"kind": "combine", "combine": "min(n_a, (0 + 5 * n_b) / 5)"}),
        ),
        (
            json!({"type": "python", "name": "n", "source": "def grade(sample, item):\n    return 1.0"}),
            with(tool("graders/n.py:graded_by_evalrs"), json!({"sees": ["row"]})),
        ),
    ] {
        assert_eq!(grader(&given), Ok(expected), "{given}");
    }
    let labels = grader(&json!({"type": "label_model", "name": "n", "labels": ["good", "bad"], "passing_labels": ["good"], "input": [{"role": "user", "content": {"type": "input_text", "text": "Judge {{sample.output_text}}"}}]})).unwrap();
    assert!(
        labels["prompt"].as_str().unwrap().contains("The score of `good` is 1, of `bad` it is 0")
    );
}

#[test]
fn what_does_not_map_says_why() {
    let similar = |metric: &str| json!({"type": "text_similarity", "name": "n", "input": "{{sample.output_text}}", "reference": "x", "evaluation_metric": metric});
    for (given, why) in [
        (similar("fuzzy_match"), "rapidfuzz"),
        (similar("meteor"), "does not compute `meteor`"),
        (
            json!({"type": "string_check", "name": "n", "input": "{{item.a}}", "operation": "like", "reference": "{{sample.output_text}}"}),
            "does not compare",
        ),
        (
            json!({"type": "string_check", "name": "n", "input": "{{sample.output_text}}", "operation": "near", "reference": "x"}),
            "no operation `near`",
        ),
        (
            json!({"type": "score_model", "name": "n", "model": "m", "input": "{{sample.output_json.x}}"}),
            "`{{ sample.output_json.x }}`",
        ),
        (
            json!({"type": "score_model", "name": "n", "model": "m", "input": "x", "range": [1, 1]}),
            "`range` is empty",
        ),
        (
            json!({"type": "label_model", "name": "n", "model": "m", "input": "x", "labels": ["a"], "passing_labels": ["a"]}),
            "which labels pass",
        ),
        (
            json!({"type": "python", "name": "n", "source": "def grader(): pass"}),
            "no function `grade`",
        ),
        (
            json!({"type": "multi", "name": "n", "graders": {"a": similar("bleu")}, "calculate_output": "sqrt(a)"}),
            "its formula has `sqrt`",
        ),
        (
            json!({"type": "multi", "name": "n", "graders": {"a": similar("gleu")}, "calculate_output": "a"}),
            "its grader `a` does not map",
        ),
        (
            json!({"type": "multi", "name": "n", "graders": {}, "calculate_output": "a ^ 2"}),
            "powers",
        ),
    ] {
        let told = grader(&given).unwrap_err();
        assert!(told.contains(why), "{given}: {told}");
    }
}

#[test]
fn items_of_runs_are_rows_and_what_was_said_of_them_is_taken_over() {
    let item = |id: u64, score: Value| {
        json!({"object": "eval.run.output_item", "id": format!("o{id}"), "datasource_item_id": id, "datasource_item": {"q": "a?"},
            "results": [{"name": "tone-6f9619ff-8b86-d011-b42d-00cf4fc964ff", "passed": true, "score": score}, {"passed": false}],
            "sample": {"model": "m", "input": [{"role": "user", "content": "a?"}], "output": [{"role": "assistant", "content": "yes"}]}})
    };
    let page = json!({"object": "list", "data": [item(1, json!(0.5)), item(1, json!(6)), item(2, json!(1))]}).to_string();
    let imported = imported(&[("f/items.json", &page), ("f/note.txt", "x")], "f").unwrap();
    let suite = &imported.suites[0];
    assert_eq!(
        suite.rows[1],
        json!({"id": "1", "trial": 1, "model": "m", "input": "a?", "output": "yes", "item": {"q": "a?"}, "results": {"tone": {"passed": true, "score": 6}}})
    );
    assert_eq!(
        suite.suite["graders"]["tone_recorded"]["config"]["path"], "results.tone.passed",
        "6 is on a scale that nobody says"
    );
    assert_eq!(imported.not_mapped.len(), 1, "results without a name, told once a line");
}

#[test]
fn the_registry_and_its_logs_are_read() {
    let yaml = "one:\n  id: one.dev.v0\none.dev.v0:\n  class: evals.elsuite.basic.includes:Includes\n  args: {samples_jsonl: one/s.jsonl}\ntwo.dev.v0:\n  class: evals.elsuite.basic.fuzzy_match:FuzzyMatch\n  args: {samples_jsonl: one/s.jsonl}\n";
    let samples = "{\"input\": [{\"role\": \"system\", \"content\": \"s\"}, {\"role\": \"user\", \"content\": \"q\"}], \"ideal\": [\"a\"]}\n[1]\n";
    let read = imported(
        &[("registry/evals/e.yaml", yaml), ("registry/data/one/s.jsonl", samples)],
        "registry/evals/e.yaml",
    )
    .unwrap();
    assert_eq!(read.suites[0].rows[0]["ground_truth"], "a");
    assert_eq!(read.suites[0].suite["graders"]["one"]["config"], json!({"case_sensitive": true}));
    let told: Vec<String> =
        read.not_mapped.iter().map(|part| format!("{} {}", part.place, part.what)).collect();
    assert_eq!(
        told,
        [
            "registry/data/one/s.jsonl:2 a sample",
            "registry/evals/e.yaml:6 `two.dev.v0` (evals.elsuite.basic.fuzzy_match:FuzzyMatch)"
        ]
    );
    let missing = imported(&[("e.yaml", yaml)], "e.yaml").unwrap_err();
    assert!(missing.contains("git lfs pull"), "{missing}");
    let log = [
        json!({"spec": {"eval_name": "one.dev.v0", "run_id": "r"}}),
        json!({"run_id": "r", "event_id": 0, "sample_id": "one.0", "type": "sampling", "data": {"prompt": "q", "sampled": ["a"]}}),
        json!({"run_id": "r", "event_id": 1, "sample_id": "one.0", "type": "match", "data": {"correct": true, "expected": "a", "picked": "a"}}),
        json!({"run_id": "r", "event_id": 2, "sample_id": "one.0", "type": "odd", "data": 5}),
        json!({"final_report": {"accuracy": 1.0}}),
    ];
    let log = log.map(|event| event.to_string()).join("\n");
    let read = imported(&[("l.jsonl", &log)], "l.jsonl").unwrap();
    assert_eq!(
        read.suites[0].rows,
        [
            json!({"id": "one.0", "input": "q", "output": "a", "correct": true, "picked": "a", "ground_truth": "a"})
        ]
    );
    assert_eq!((read.not_mapped.len(), read.mapped["events"]), (1, 2));
}
