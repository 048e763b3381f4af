//! Graders of each kind, items, entries of the registry and logs, and what is wrong with them.

use serde_json::{Value, json};

use crate::imported::{ImportError, ImportedSource};
use crate::recognized;
use crate::source::ImportSource;
use evalrs_system::FileBytes;
use evalrs_system::memory::MemorySystem;

fn imported(files: &[(&str, &str)], path: &str) -> Result<ImportedSource, String> {
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
            "unknown operation `near`",
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
fn recorded_scores_go_by_the_range_of_their_grader() {
    let recorded = |scores: &[f64], range: Value| {
        let grader = json!({"type": "score_model", "name": "tone", "model": "m", "input": "Rate {{sample.output_text}}", "range": range});
        let items = scores.iter().map(|score| json!({"datasource_item": {}, "sample": {}, "results": [{"name": "tone", "passed": true, "score": score}]}));
        let file = json!({"data": items.chain([json!({"testing_criteria": [grader]})]).collect::<Vec<_>>()});
        let imported = imported(&[("o.json", &file.to_string())], "o.json").unwrap();
        let note = imported.notes.iter().find(|note| note.contains("_recorded")).cloned();
        (imported.suites[0].suite["graders"]["tone_recorded"]["config"].clone(), note)
    };
    let passed = json!({"path": "results.tone.passed"});
    let scaled = json!({"path": "results.tone.score", "scale": {"min": 1.0, "max": 7.0}, "pass": "results.tone.passed"});
    assert_eq!(recorded(&[6.0, 1.0], json!([1, 7])), (scaled, None));
    assert_eq!(recorded(&[0.5, 1.0], json!(null)).0, json!({"path": "results.tone.score"}));
    for range in [json!([1, 5]), json!([7, 1]), json!(null)] {
        let (config, note) = recorded(&[6.0, 1.0], range);
        assert_eq!(config, passed);
        let note = note.unwrap();
        assert!(
            note.contains("between 1 and 6") && note.contains("`results.tone.score`"),
            "{note}"
        );
    }
}

#[test]
fn several_ideal_answers_are_alternatives() {
    let imported = |class: &str, ideals: Value| {
        let yaml = format!(
            "one.dev.v0:\n  class: evals.elsuite.basic.{class}\n  args: {{samples_jsonl: one/s.jsonl}}\n"
        );
        let sample = json!({"input": "q", "ideal": ideals}).to_string();
        let files =
            [("registry/evals/e.yaml", yaml.as_str()), ("registry/data/one/s.jsonl", &sample)];
        let imported = imported(&files, "registry/evals/e.yaml").unwrap();
        let suite = &imported.suites[0];
        (suite.rows[0]["ground_truth"].clone(), suite.suite["graders"]["one"].clone())
    };
    let tool = |function: &str, config: Value| json!({"kind": "tool", "function": function, "config": config});
    let starts = tool("starts_with", json!({"case_sensitive": true}));
    let json_match = tool("json_match", json!({"whole": true, "alternatives": true}));
    for (class, ideals, truth, grader) in [
        ("match:Match", json!(["4", "four"]), json!(["4", "four"]), &starts),
        ("match:Match", json!(["4"]), json!("4"), &starts),
        ("match:Match", json!("4"), json!("4"), &starts),
        ("json_match:JsonMatch", json!(["[1]", "{}"]), json!(["[1]", "{}"]), &json_match),
        ("json_match:JsonMatch", json!("[1]"), json!(["[1]"]), &json_match),
        ("match:Match", json!(null), json!(null), &starts),
    ] {
        assert_eq!(imported(class, ideals), (truth, grader.clone()), "{class}");
    }
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
    // Samples that are there and may not be read are something else.
    let system = MemorySystem::with(&[("e.yaml", yaml)]);
    for path in ["one/s.jsonl", "../data/one/s.jsonl", "data/one/s.jsonl"] {
        system.set_fault(path, FileBytes::Unreadable("it is outside of `/r`".to_owned()));
    }
    let unread = super::import(&ImportSource::new("e.yaml", &system)).unwrap_err();
    let unread = format!("{unread:?}");
    assert!(unread.contains("are not read: it is outside of `/r`"), "{unread}");
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
