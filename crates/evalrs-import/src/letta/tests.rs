//! Suites and results of Letta Evals, and what is wrong with them.

use serde_json::{Value, json};

use super::import;
use crate::imported::{ImportError, ImportedSource};
use crate::recognized;
use crate::source::ImportSource;
use evalrs_system::memory::MemorySystem;

const SUITE: &str = "\
name: s
dataset: ../data/rows.jsonl
setup_script: setup.py:prepare
target: {kind: letta_agent, agent_file: agents/a.af, model_configs: [m, n], api_key: a1b2c3d4e5f60718}
graders:
  own: {kind: tool, function: own/check.py:grade, extractor: last_assistant}
  tone: {kind: model_judge, prompt_path: tone.txt}
  agent: {kind: letta_judge, prompt: p}
gate: {metric_key: own, op: gte, value: 1}
";

fn read(path: &str, files: &[(&str, &str)]) -> Result<ImportedSource, String> {
    let system = MemorySystem::with(files);
    import(&ImportSource::new(path, &system)).map_err(|error| match error {
        ImportError::Unreadable { message, .. } => message,
        ImportError::Diagnostics(all) => all[0].message.clone(),
    })
}

fn told(imported: &ImportedSource) -> Vec<String> {
    imported
        .not_mapped
        .iter()
        .map(|part| format!("{} {}: {}", part.place, part.what, part.reason))
        .collect()
}

#[test]
fn a_suite_is_copied_with_what_it_names() {
    let files = [
        ("s/suite.yaml", SUITE),
        ("s/../data/rows.jsonl", "{\"input\": \"q\", \"rubric_path\": \"r.txt\"}\n"),
        ("s/r.txt", "rubric"),
        ("s/setup.py", "import os\nfrom helper import x\n"),
        ("s/helper.py", "import more\n"),
        ("s/more.py", "import helper\n"),
        ("s/agents/a.af", "{}"),
        ("s/llm_model_configs/m.json", "{}"),
        (
            "s/own/check.py",
            "from . import (rules, words as w)\nimport rules, sizes.small  # both\nimport sizes.small\n",
        ),
        (
            "s/own/rules.py",
            "from lists import (  # the long one\n    long,\n)\nfrom signs \\\n    import(one)\n",
        ),
        ("s/own/words.py", ""),
        ("s/own/sizes/__init__.py", ""),
        ("s/own/sizes/small.py", ""),
        ("s/own/lists/__init__.py", ""),
        ("s/own/lists/long.py", ""),
        ("s/own/lists/short.py", ""),
        ("s/own/signs/one.py", ""),
        ("s/other.py", ""),
    ];
    let imported = read("s/suite.yaml", &files).unwrap();
    let suite = &imported.suites[0].suite;
    assert_eq!(
        (&suite["dataset"], &suite["setup_script"]),
        (&json!("files/rows.jsonl"), &json!("setup.py:prepare"))
    );
    assert_eq!(suite["graders"]["own"]["function"], "own/check.py:grade");
    assert_eq!(suite["target"].get("api_key"), None);
    let mut paths: Vec<&str> = imported.files.iter().map(|file| file.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "agents/a.af",
            "files/rows.jsonl",
            "helper.py",
            "llm_model_configs/m.json",
            "more.py",
            "own/check.py",
            "own/lists/__init__.py",
            "own/lists/long.py",
            "own/rules.py",
            "own/signs/one.py",
            "own/sizes/__init__.py",
            "own/sizes/small.py",
            "own/words.py",
            "r.txt",
            "setup.py"
        ]
    );
    assert_eq!(
        told(&imported),
        [
            "s/suite.yaml:4 the model `n`: it is a file of the package letta-evals: copy it to `llm_model_configs/n.json`, or name the model as the server does, under `model_handles`",
            "s/suite.yaml:7 the file `tone.txt`: no such file",
            "s/suite.yaml:8 the judge of `agent`: the agent that judges is a file of the package letta-evals: copy it, and name it as `agent_file`",
        ]
    );
}

#[test]
fn an_agent_that_writes_code_is_given_a_folder() {
    for (target, workspace, parts) in [
        ("{kind: letta_code}", json!(true), 0),
        ("{kind: letta_code, working_dir: w}", Value::Null, 1),
        ("{kind: letta_code, agent_script: 'a.py:make'}", Value::Null, 2),
        ("{kind: letta_code, sandbox: {kind: modal}}", json!(true), 1),
    ] {
        let suite = format!(
            "name: s\ndataset: d.jsonl\ntarget: {target}\ngraders: {{a: {{kind: tool, function: contains}}}}\n"
        );
        let imported =
            read("suite.yaml", &[("suite.yaml", &suite), ("d.jsonl", "{\"input\": \"q\"}\n")])
                .unwrap();
        assert_eq!(imported.suites[0].suite["target"]["workspace"], workspace, "{target}");
        assert_eq!(imported.not_mapped.len(), parts, "{target}: {:?}", imported.not_mapped);
    }
}

fn header() -> Value {
    json!({"type": "header", "suite": "s", "config": {"graders": {
        "acc": {"kind": "tool", "function": "contains", "extractor": "last_assistant", "extractor_config": null},
        "tone": {"kind": "model_judge", "prompt": "Rate {submission}", "prompt_path": "/x", "model": "m", "provider": "openai"},
        "own": {"kind": "tool", "function": "f.py:g", "extractor": "last_assistant"}}, "gate": {"metric_key": "acc", "op": "gte", "value": 1, "kind": null}}})
}

fn result(id: u64, grades: &Value) -> Value {
    json!({"type": "result", "result": {"sample": {"id": id, "input": "q", "ground_truth": "a"}, "submission": "A", "submissions": {"acc": "A"},
        "trajectory": [[{"message_type": "assistant_message", "content": "A"}]], "agent_id": "agent-1", "grade": {"score": 0.0, "rationale": "Error: lost"},
        "grades": grades, "model_name": "m"}})
}

#[test]
fn results_are_rows_with_their_scores() {
    let graded = json!({"acc": {"score": 1.0, "rationale": "r", "metadata": {}}, "tone": {"score": 0.0, "rationale": "x", "metadata": {"error": "late"}}, "own": {"score": 0.5}});
    let mut failed = result(1, &Value::Null);
    failed["result"]["trajectory"] = json!([]);
    let lines = [result(0, &json!({"acc": {"score": 0.0}})), result(0, &graded), failed]
        .map(|line| line.to_string())
        .join("\n");
    let summary = json!({"type": "summary", "metrics": {"by_metric": {"acc": {"avg_score_attempted": 0.5}}}, "gates_passed": false});
    let files = [
        ("d/header.json", header().to_string()),
        ("d/results.jsonl", lines),
        ("d/summary.json", summary.to_string()),
    ];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    let imported = read("d", &files).unwrap();
    let suite = &imported.suites[0];
    assert_eq!(
        suite.rows,
        [
            json!({"id": "0", "model": "m", "input": "q", "ground_truth": "a", "trajectory": [[{"message_type": "assistant_message", "content": "A"}]],
                "scores": {"acc": {"score": 1.0, "rationale": "r"}, "tone": {"error": "late", "rationale": "x"}, "own": {"score": 0.5}}}),
            json!({"id": "1", "model": "m", "input": "q", "ground_truth": "a", "output": null, "error": "Error: lost"}),
        ]
    );
    let names: Vec<&String> = suite.suite["graders"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["acc_recorded", "acc", "tone_recorded", "own_recorded"]);
    assert_eq!(
        imported.suites[1].suite["graders"]["tone"],
        json!({"kind": "model_judge", "prompt": "Rate {submission}", "model": "m", "provider": "openai"})
    );
    assert_eq!(
        told(&imported),
        [
            "d/results.jsonl:2 an earlier result of the sample `0`: the file has it twice; the last is used",
            "d the grader `own`: its program is not among the results: name it in a suite, with `--cached` and this directory; its scores are imported",
            "d the gate: write it over repeated (`NAME_recorded`) or new grades: it was `{\"metric_key\":\"acc\",\"op\":\"gte\",\"value\":1}`",
        ]
    );
    assert_eq!(imported.notes.len(), 4, "{:?}", imported.notes);
}

#[test]
fn a_word_in_place_of_a_key_is_taken_out_of_no_text() {
    for (key, secrets, parts) in [
        ("placeholder", 0, 1),
        ("${LETTA_API_KEY}", 0, 0),
        ("a1b2c3d4e5f60718", 1, 0),
        ("correct-horse-battery", 1, 0),
    ] {
        let suite = format!(
            "name: placeholder\ndataset: d.jsonl\ntarget: {{kind: letta_agent, agent_id: a, api_key: '{key}'}}\ngraders: {{a: {{kind: tool, function: contains}}}}\n"
        );
        let system = MemorySystem::with(&[
            ("suite.yaml", &suite),
            ("d.jsonl", "{\"input\": \"a placeholder\"}\n"),
        ]);
        let source = ImportSource::new("suite.yaml", &system);
        let Ok(imported) = import(&source) else { panic!("{suite}") };
        assert_eq!(imported.not_mapped.len(), parts, "{key}: {:?}", told(&imported));
        assert_eq!(source.into_secrets().found().len(), secrets, "{key}");
        assert_eq!(
            imported.suites[0].suite["target"].get("api_key").is_some(),
            key.starts_with('$'),
            "{key}"
        );
    }
}

#[test]
fn files_of_one_name_outside_of_the_folder_stand_apart() {
    let suite = "name: s\ndataset: ../a/rows.jsonl\ntarget: {kind: letta_agent, agent_id: a}\ngraders:\n  a: {kind: model_judge, prompt_path: ../b/rows.jsonl}\n";
    let files = [
        ("s/suite.yaml", suite),
        ("s/../a/rows.jsonl", "{\"input\": \"q\", \"rubric_path\": \"../c/rows.jsonl\"}\n"),
        ("s/../b/rows.jsonl", "rubric"),
        ("s/../c/rows.jsonl", "other"),
    ];
    let imported = read("s/suite.yaml", &files).unwrap();
    let text_of = |path: &str| {
        imported.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    };
    let suite = &imported.suites[0].suite;
    let rubric = suite["graders"]["a"]["prompt_path"].as_str().unwrap();
    assert_eq!(suite["dataset"], "files/rows.jsonl");
    assert_eq!(text_of(rubric), Some("rubric"), "{rubric}");
    let row: Value = serde_json::from_str(text_of("files/rows.jsonl").unwrap()).unwrap();
    assert_eq!(text_of(row["rubric_path"].as_str().unwrap()), Some("other"), "{row}");
}

#[test]
fn graders_whose_names_meet_stand_apart() {
    let grades = json!({"acc": {"score": 1.0}, "acc_recorded": {"score": 0.0}});
    let imported = read("r.jsonl", &[("r.jsonl", &result(0, &grades).to_string())]).unwrap();
    let graders = imported.suites[0].suite["graders"].as_object().unwrap();
    let paths: Vec<&Value> = graders.values().map(|grader| &grader["config"]["path"]).collect();
    assert_eq!(paths, ["scores.acc.score", "scores.acc_recorded.score"], "{graders:?}");
}

#[test]
fn results_of_every_release_are_read() {
    let bare = json!({"sample_id": "x/1", "model_handle": "m", "trajectory": [[{"message_type": "assistant_message", "content": "A"}]],
        "submissions": {"acc": "A"}, "grades": {"acc": {"score": 1.0}}, "reward": {"score": 0.75}});
    let suite = json!({"suite": "s", "config": {}, "samples": [{"id": "x/1", "input": "q", "ground_truth": "a"}]}).to_string();
    let mut oldest = result(0, &Value::Null)["result"].take();
    oldest.as_object_mut().unwrap().shift_remove("grades");
    let oldest = json!({"suite": "s", "config": {"grader": {"kind": "tool", "function": "contains"}}, "results": [oldest]});
    let oldest = format!("{oldest:#}\n");
    let (bare, graded) = (bare.to_string(), result(0, &json!({"acc": {"score": 1.0}})).to_string());
    let mut old = result(0, &Value::Null);
    old["result"].as_object_mut().unwrap().shift_remove("grades");
    let old = format!(
        "{}\n{old}\n",
        json!({"type": "header", "suite": "s", "config": {"grader": {"kind": "tool", "function": "contains", "model": "m"}}})
    );
    for (path, files, id, trial, graders) in [
        (
            "d",
            vec![("d/suite.json", suite.as_str()), ("d/m.jsonl", &bare)],
            "x/1",
            Value::Null,
            vec!["acc_recorded", "reward_recorded"],
        ),
        (
            "d",
            vec![("d/suite.json", &suite), ("d/m/run_2.jsonl", &bare)],
            "x/1",
            json!(1),
            vec!["acc_recorded", "reward_recorded"],
        ),
        ("d", vec![("d/run_1/results.jsonl", &graded)], "0", json!(0), vec!["acc_recorded"]),
        ("r.jsonl", vec![("r.jsonl", &graded)], "0", Value::Null, vec!["acc_recorded"]),
        ("r.jsonl", vec![("r.jsonl", &old)], "0", Value::Null, vec!["default_recorded", "default"]),
        (
            "r.json",
            vec![("r.json", &oldest)],
            "0",
            Value::Null,
            vec!["default_recorded", "default"],
        ),
    ] {
        let system = MemorySystem::with(&files);
        let source = ImportSource::new(path, &system);
        assert_eq!(
            recognized(&source).map(|importer| importer.kind),
            Some("letta-evals"),
            "{files:?}"
        );
        let imported = read(path, &files).unwrap();
        let row = &imported.suites[0].rows[0];
        assert_eq!(
            (&row["id"], &row["trial"], &row["input"]),
            (&json!(id), &trial, &json!("q")),
            "{files:?}"
        );
        let names: Vec<&String> =
            imported.suites[0].suite["graders"].as_object().unwrap().keys().collect();
        assert_eq!(names, graders, "{files:?}");
    }
}

#[test]
fn broken_sources_are_errors_or_told() {
    let text = "x".repeat(1_000_000) + "\u{0}";
    for wrong in [json!(null), json!(7), json!(text), json!([1, [[]]]), json!({"a": {}})] {
        for key in [
            "sample",
            "submissions",
            "trajectory",
            "agent_id",
            "grade",
            "grades",
            "model_name",
            "agent_state",
            "error",
            "total_time",
            "cost",
            "reward",
        ] {
            let mut broken = result(0, &json!({"acc": {"score": 1.0}}));
            broken["result"][key] = wrong.clone();
            _ = read("r.jsonl", &[("r.jsonl", &broken.to_string())]);
        }
        let config = json!({"type": "header", "suite": wrong, "config": {"graders": {"acc": wrong}, "gate": wrong}}).to_string();
        let line =
            result(0, &json!({"acc": wrong, "b": {"score": wrong, "metadata": wrong}})).to_string();
        assert!(
            read(
                "d",
                &[
                    ("d/header.json", &config),
                    ("d/results.jsonl", &line),
                    ("d/summary.json", &config)
                ]
            )
            .is_ok()
        );
        if !wrong.is_string() {
            let suite = json!({"dataset": wrong, "target": wrong, "graders": {"a": wrong}, "grader": wrong, "setup_script": wrong, "reward": wrong}).to_string();
            assert!(read("s.yaml", &[("s.yaml", &suite)]).is_ok());
        }
    }
    let deep = "[".repeat(5000);
    for text in [
        "",
        "{\"type\": \"result\", \"res",
        "\u{0}",
        deep.as_str(),
        "{\"type\": \"result\", \"result\": 7}",
    ] {
        assert!(read("r.jsonl", &[("r.jsonl", text)]).is_err());
        assert!(
            read("s.yaml", &[("s.yaml", text)]).is_err()
                || text.starts_with("{\"type\": \"result\", \"result\"")
        );
    }
}

#[test]
fn suites_of_evalrs_are_not_taken_for_others() {
    let own = "name: s\ndataset: d.jsonl\ntarget: {kind: recorded, path: o.jsonl}\ngraders:\n  a:\n    kind: tool\n";
    let theirs = own.replace("{kind: recorded, path: o.jsonl}", "\n  kind: letta_code");
    let system = MemorySystem::with(&[
        ("own.yaml", own),
        ("theirs.yaml", &theirs),
        ("flow.yaml", SUITE),
        ("d/results.jsonl", ""),
        ("promptfooconfig.yaml", "prompts: [a]\nproviders: [echo]\ntests: []\n"),
    ]);
    for (path, expected) in [
        ("own.yaml", false),
        ("theirs.yaml", true),
        ("flow.yaml", true),
        ("d", false),
        ("promptfooconfig.yaml", false),
    ] {
        let kind = recognized(&ImportSource::new(path, &system)).map(|importer| importer.kind);
        assert_eq!(kind == Some("letta-evals"), expected, "{path}: {kind:?}");
    }
}
