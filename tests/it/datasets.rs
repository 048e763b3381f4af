//! Datasets as other people leave them: formats, compressed files, many files, records inside others.

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

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_format_reads_the_same_compressed_or_not() {
    let rows = [
        json!({"id": "a", "input": "q", "ground_truth": "x", "output": "x"}),
        json!({"id": "b", "input": "q", "ground_truth": "x", "output": "y"}),
    ];
    let lines = format!("{}\n{}\n", rows[0], rows[1]);
    let cells = |comma: &str| {
        let rows =
            [["id", "input", "ground_truth", "output"], ["a", "q", "x", "x"], ["b", "q", "x", "y"]];
        rows.map(|row| row.join(comma)).join("\n")
    };
    let yaml = "- {id: a, input: q, ground_truth: x, output: x}\n- id: b\n  input: q\n  ground_truth: x\n  output: y\n";
    for (name, text) in [
        ("d.jsonl", lines.clone()),
        ("d.json", json!(rows).to_string()),
        ("d.csv", cells(",")),
        ("d.tsv", cells("\t")),
        ("d.yaml", yaml.to_owned()),
        ("d.yml", yaml.to_owned()),
    ] {
        let expected = ["a - 0 true", "b - 0 false"];
        check(name, &[(name, text.as_bytes())], &expected);
        let packed = format!("{name}.gz");
        check(&packed, &[(&packed, gzip(&text))], &expected);
        let packed = format!("{name}.zst");
        check(&packed, &[(&packed, zstd::encode_all(text.as_bytes(), 3).unwrap())], &expected);
    }
}

#[test]
fn a_file_that_is_not_what_its_name_says_is_an_error_of_the_dataset() {
    let (_, ran) = run("d.jsonl.gz", &[("d.jsonl.gz", "{\"id\": 1}")]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: cannot read the dataset `d.jsonl.gz`: it is not what its name says, or damaged: unexpected end of file
     --> suite.yaml:2:10
      |
    2 | dataset: d.jsonl.gz
      |          ^^^^^^^^^^
      |
      = help: paths are relative to the suite's folder
    ");
    let (_, ran) = run("d.yaml", &[("d.yaml", "rows:\n- {id: a, output: x}\n")]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: the dataset is not a YAML list
     --> d.yaml:1:1
      |
    1 | rows:
      | ^ expected `- `
      |
      = help: a .yaml dataset is one list of mappings: `- {input: …, output: …}`; `records: PATH` names a list inside a mapping
    ");
}
