//! Logs as JSON and as archives, and what is wrong with them.

use std::io::Write;

use rawzip::{CompressionMethod, ZipArchiveWriter};
use serde_json::{Value, json};

use super::import;
use crate::imported::{ImportError, ImportedSource};
use crate::recognized;
use crate::source::ImportSource;
use evalrs_system::memory::MemorySystem;

#[expect(clippy::needless_pass_by_value, reason = "scores are written where they are passed")]
fn sample(id: &str, epoch: u64, scores: Value) -> Value {
    json!({"id": id, "epoch": epoch, "input": [{"role": "user", "content": "q"}], "target": ["yes"], "scores": scores,
        "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "attachment://1"}],
        "output": {"completion": "attachment://1"}, "attachments": {"1": "It is yes."}})
}

#[expect(clippy::needless_pass_by_value, reason = "scores are written where they are passed")]
fn log(samples: &[Value], scores: Value) -> Value {
    json!({"version": 2, "status": "success", "eval": {"task": "t", "task_id": "x", "model": "openai/gpt", "dataset": {}},
        "results": {"scores": scores}, "samples": samples})
}

fn imported(path: &str, bytes: impl AsRef<[u8]>) -> Result<ImportedSource, String> {
    let system = MemorySystem::with(&[]);
    system.set(path, bytes);
    import(&ImportSource::new(path, &system)).map_err(|error| match error {
        ImportError::Unreadable { message, .. } => message,
        ImportError::Diagnostics(all) => all[0].message.clone(),
    })
}

fn zip(members: &[(&str, String)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut bytes);
    for (path, text) in members {
        let file = archive.new_file(path).compression_method(CompressionMethod::STORE);
        let (mut entry, config) = file.start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(text.as_bytes()).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

#[test]
fn samples_are_rows_and_scorers_are_graders() {
    let scores = |value: Value| json!({"match": {"value": value, "answer": "yes"}, "own": {"value": {"a": 1, "b": null}}, "stars": {"value": 7}});
    let samples = [
        sample("a", 1, scores(json!("C"))),
        sample("a", 2, scores(json!("P"))),
        sample("b", 1, json!({})),
    ];
    let results = json!([{"name": "match", "scorer": "match", "params": {"location": "any"}, "metrics": {"accuracy": {"value": 0.5}}},
        {"name": "own", "scorer": "my/own"}, {"name": "stars", "scorer": "stars"}]);
    let text = log(&samples, results).to_string();
    let ImportedSource { suites, files, mapped, not_mapped, notes, referenced: _ } =
        imported("l.json", &text).unwrap();
    let [suite] = suites.as_slice() else { panic!("{suites:?}") };
    let row = json!({"id": "a", "trial": 1, "model": "openai/gpt", "input": "q", "ground_truth": "yes", "output": "attachment://1",
        "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "It is yes."}],
        "scores": {"match": {"value": "P", "answer": "yes"}, "own": {"value": {"a": 1, "b": null}}, "own_a": {"value": 1}, "stars": {"value": 7}}});
    assert_eq!(suite.rows[1]["messages"], row["messages"]);
    assert_eq!((suite.rows.len(), &suite.rows[1]["scores"]), (3, &row["scores"]));
    let graders: Vec<&String> = suite.suite["graders"].as_object().unwrap().keys().collect();
    assert_eq!(graders, ["match_recorded", "match", "own_a_recorded"]);
    assert_eq!(suite.suite["graders"]["match_recorded"]["only"], "has(row.scores.match.value)");
    assert!(files[0].text.ends_with(
        "return match_in(sample, submission, location=\"any\", ignore_case=True, numeric=False)\n"
    ));
    assert_eq!((mapped["samples"], mapped["messages"], mapped["scores"]), (3, 6, 6));
    let told: Vec<String> = not_mapped
        .iter()
        .map(|part| format!("{} {}: {}", part.place, part.what, part.reason))
        .collect();
    assert!(
        told[0].starts_with("l.json:1 the scorer `own` of `own`: evalrs has no such scorer"),
        "{told:?}"
    );
    assert!(told[1].contains("its numbers are between 7 and 7"), "{told:?}");
    assert_eq!(notes, ["The log `l.json` reports for `match`: accuracy 0.5."]);
}

#[test]
fn an_archive_holds_the_same_as_json() {
    let samples = [
        sample("a/b", 1, json!({"includes": {"value": "C"}})),
        sample("a", 1, json!({"includes": {"value": "I"}})),
    ];
    let mut header = log(&[], json!([]));
    header.as_object_mut().unwrap().remove("samples");
    header["eval"]["dataset"]["sample_ids"] = json!(["a/b", "a"]);
    header["eval"]["scorers"] =
        json!([{"name": "inspect_ai/includes", "options": {"ignore_case": false}}]);
    let member = |sample: &Value| {
        (format!("samples/{}_epoch_1.json", sample["id"].as_str().unwrap()), sample.to_string())
    };
    let mut members: Vec<(String, String)> = samples.iter().map(member).collect();
    for name in ["header.json", "_journal/start.json"] {
        members.truncate(2);
        members.push((name.to_owned(), header.to_string()));
        let members: Vec<(&str, String)> =
            members.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
        let suite = imported("l.eval", zip(&members)).unwrap().suites.remove(0);
        let ids: Vec<&Value> = suite.rows.iter().map(|row| &row["id"]).collect();
        assert_eq!(ids, ["a/b", "a"], "in the order of the dataset");
        assert_eq!(suite.suite["graders"]["includes"]["config"], json!({"case_sensitive": true}));
    }
    let cut = zip(&[("header.json", header.to_string())]);
    assert_eq!(imported("l.eval", &cut).unwrap_err(), "no sample in `l.eval`");
    for (bytes, why) in [
        (&cut[..cut.len() / 2], "it is not a zip archive"),
        (b"PK", "it is not a zip archive"),
        (b"", "it is not a zip archive"),
    ] {
        assert!(imported("l.eval", bytes).unwrap_err().contains(why));
    }
    let stranger = zip(&[("a.txt", "x".to_owned())]);
    assert!(imported("l.eval", stranger).unwrap_err().contains("it is not a log of Inspect"));
}

#[test]
fn broken_logs_are_errors_or_told() {
    assert!(
        imported("l.json", "{\"eval\": ").unwrap_err().contains("JSON")
            || imported("l.json", "{\"eval\": ").is_err()
    );
    assert_eq!(
        imported("l.json", log(&[], json!([])).to_string()).unwrap_err(),
        "no sample in `l.json`"
    );
    let mut none = log(&[], json!([]));
    none["samples"] = json!("x");
    assert_eq!(
        imported("l.json", none.to_string()).unwrap_err(),
        "the log `l.json` has no samples"
    );
    // `NaN`, wrong types, and a sample twice.
    let text = log(&[sample("a", 1, json!({"match": {"value": "NAN"}}))], json!([]))
        .to_string()
        .replace("\"NAN\"", "NaN");
    let read = imported("l.json", text).unwrap();
    assert_eq!(read.mapped.get("scores"), None);
    let twice = [sample("a", 1, json!({})), sample("a", 1, json!({})), json!(7)];
    let read = imported("l.json", log(&twice, json!({})).to_string()).unwrap();
    assert_eq!((read.suites[0].rows.len(), read.not_mapped.len()), (1, 2));
    for wrong in [json!(null), json!(7), json!("x"), json!([1]), json!({"a": [[]]})] {
        for key in [
            "id",
            "epoch",
            "input",
            "target",
            "messages",
            "output",
            "scores",
            "metadata",
            "events",
            "attachments",
            "error",
            "limit",
        ] {
            let mut broken = sample("a", 1, json!({"match": {"value": "C"}}));
            broken[key] = wrong.clone();
            let read = imported("l.json", log(&[broken], wrong.clone()).to_string());
            assert!(read.is_ok(), "{key}: {wrong}");
        }
    }
}

#[test]
fn logs_are_recognized() {
    let text = log(&[sample("a", 1, json!({}))], json!([])).to_string();
    let system =
        MemorySystem::with(&[("l.json", &text), ("logs/a.eval", ""), ("x.json", "{\"a\": 1}")]);
    for (path, expected) in [("l.json", true), ("logs", true), ("x.json", false)] {
        let source = ImportSource::new(path, &system);
        let kind = recognized(&source).map(|importer| importer.kind);
        assert_eq!(kind == Some("inspect"), expected, "{path}: {kind:?}");
    }
}
