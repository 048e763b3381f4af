//! Datasets in zip archives and of Zstandard, which not every machine has a command to write. `tests/spec/datasets.md` has the
//! others.

use std::io::Write;

use serde_json::{Value, json};

use crate::space::{Ran, Space};

/// A suite over `dataset`, with a grader that compares answers.
fn suite(dataset: &str) -> String {
    format!(
        "name: data\ndataset: {dataset}\ngraders:\n  right: {{kind: tool, function: exact_match}}\n"
    )
}

/// What came of a row: sample, model, trial, and whether it is right.
type Verdict = (String, Value, u64, bool);

fn verdicts(space: &Space) -> Vec<Verdict> {
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let id = line["sample_id"].as_str().unwrap().to_owned();
        let pass = line["grades"]["right"]["pass"].as_bool().unwrap();
        (id, line["model"].clone(), line["trial"].as_u64().unwrap(), pass)
    };
    space.record("results.jsonl").lines().map(line).collect()
}

/// Runs a suite over `dataset` and files.
fn run<T: AsRef<[u8]>>(dataset: &str, files: &[(&str, T)]) -> (Space, Ran) {
    let space = Space::new(&[("suite.yaml", &suite(dataset))]);
    for (name, bytes) in files {
        space.write(name, bytes);
    }
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    (space, ran)
}

/// Asserts what comes of a dataset: `a m 1 true` is the sample `a` of the model `m` in trial 1, which is right.
#[track_caller]
fn check<T: AsRef<[u8]>>(dataset: &str, files: &[(&str, T)], expected: &[&str]) -> Space {
    let (space, ran) = run(dataset, files);
    assert_eq!(ran.code(), 0, "{dataset}: {}", ran.shown());
    let shown = |(id, model, trial, pass): Verdict| {
        format!("{id} {} {trial} {pass}", model.as_str().unwrap_or("-"))
    };
    let found: Vec<String> = verdicts(&space).into_iter().map(shown).collect();
    assert_eq!(found, expected, "{dataset}");
    space
}

#[test]
fn rows_may_be_compressed_by_zstandard() {
    let rows = format!("{}\n{}\n", answer("a", true), answer("b", false));
    let packed = zstd::encode_all(rows.as_bytes(), 3).unwrap();
    check("d.jsonl.zst", &[("d.jsonl.zst", packed)], &["a - 0 true", "b - 0 false"]);
}

/// A grade of an answer that is right or wrong.
fn answer(id: &str, is_right: bool) -> String {
    json!({"id": id, "input": "q", "ground_truth": "x", "output": if is_right { "x" } else { "y" }})
        .to_string()
}

fn zip(members: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (path, text) in members {
        let (mut entry, config) = archive.new_file(path).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(text.as_bytes()).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

#[test]
fn archives_are_folders() {
    let sample = |epoch: u32, output: &str| {
        json!({"id": "s", "epoch": epoch, "input": "q", "target": "x",
            "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": output}],
            "output": {"model": "m", "choices": []}})
        .to_string()
    };
    let log = zip(&[
        ("header.json", "{\"eval\": {}}"),
        ("samples/s_epoch_1.json", &sample(1, "x")),
        ("samples/s_epoch_10.json", &sample(10, "z")),
        ("samples/s_epoch_2.json", &sample(2, "y")),
        ("summaries.json", "[]"),
    ]);
    let dataset = "{path: logs/*.eval, fields: {model: output.model, trial: epoch, output: messages.1.content}, trials: by_order}";
    let expected = ["s m 0 true", "s m 2 false", "s m 1 false"];
    check(dataset, &[("logs/a.eval", &log)], &expected);
    let runs = zip(&[
        ("a/r.json", &answer("1", true)),
        ("b/r.json", &answer("2", false)),
        ("README.md", "hi"),
    ]);
    check("runs.zip", &[("runs.zip", &runs)], &["1 - 0 true", "2 - 0 false"]);
    check(
        "{path: 'runs.zip/b/*.json', fields: {model: file.parents.1}}",
        &[("runs.zip", &runs)],
        &["2 runs.zip 0 false"],
    );
}
