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

/// A grade of an answer that is right or wrong.
fn answer(id: &str, is_right: bool) -> String {
    json!({"id": id, "input": "q", "ground_truth": "x", "output": if is_right { "x" } else { "y" }})
        .to_string()
}

#[test]
fn records_stand_inside_a_file() {
    let file = json!({
        "eval": {"model": "m1"},
        "data": {"samples": [
            {"id": "a", "target": "x", "output": "x"},
            {"id": "b", "target": "x", "output": "y"},
        ]},
        "by_task": {"t1": {"target": "x", "output": "x"}, "t2": {"target": "x", "output": "y"}},
        "predictions": {"q1": "x", "q2": "y"},
    });
    let yaml = "eval: {model: m1}\ndata:\n  samples:\n  - {id: a, target: x, output: x}\n  - {id: b, target: x, output: y}\n";
    for (dataset, expected) in [
        ("{path: d.json, records: data.samples}", ["a - 0 true", "b - 0 false"]),
        (
            "{path: d.yaml, records: data.samples, fields: {model: root.eval.model}}",
            ["a m1 0 true", "b m1 0 false"],
        ),
        (
            "{path: d.json, records: by_task, fields: {model: root.eval.model}}",
            ["t1 m1 0 true", "t2 m1 0 false"],
        ),
        (
            "{path: d.json, records: predictions, fields: {output: value, ground_truth: value}}",
            ["q1 - 0 true", "q2 - 0 true"],
        ),
    ] {
        check(dataset, &[("d.json", file.to_string()), ("d.yaml", yaml.to_owned())], &expected);
    }
    let (_, ran) = run("{path: d.json, records: data.sample}", &[("d.json", file.to_string())]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: there is nothing at `data.sample` in the file
     --> d.json
      = help: `records` is a path to a list or mapping; the file has `eval`, `data`, `by_task`, `predictions`
    ");
    let (_, ran) = run("{path: d.jsonl, records: a}", &[("d.jsonl", "{}")]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: `records` is a path inside a JSON or YAML file
     --> suite.yaml:2:26
      |
    2 | dataset: {path: d.jsonl, records: a}
      |                          ^^^^^^^
      |
      = help: every line of this file is a record: `fields` has paths into those
    ");
    let (_, ran) = run("d.json", &[("d.json", file.to_string())]);
    insta::assert_snapshot!(ran.shown(), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the dataset is not a JSON array
     --> d.json:1:1
      |
    1 | {"eval":{"model":"m1"},"data":{"samples":[{"id":"a","target":"x","output":"x"},{"id":"b","target":"x","output":"y"}]},"b…
      | ^ expected `[`
      |
      = help: a .json dataset is one array of objects; `records: PATH` names a list or mapping inside an object, and one object a line is `dataset: {path: …, format: jsonl}`
    "#);
}

#[test]
fn files_of_a_pattern_are_read_in_the_order_of_their_paths() {
    let files = [
        ("runs/m2/b.json", answer("1", true)),
        ("runs/m1/a.json", answer("1", false)),
        ("runs/m1/b.json", format!("[{}, {}]", answer("2", true), answer("3", false))),
        ("runs/m1/c.jsonl.gz.txt", "no record".to_owned()),
        ("runs/deep/er/d.jsonl", format!("{}\n{}\n", answer("4", true), answer("5", true))),
        ("runs/.hidden/e.json", answer("6", true)),
        ("other/f.json", answer("7", true)),
    ];
    let model = "fields: {model: file.parent}";
    for (dataset, expected) in [
        (format!("{{path: 'runs/m*/*.json', {model}}}"), &["1 m1 0 false", "2 m1 0 true", "3 m1 0 false", "1 m2 0 true"][..]),
        (format!("{{path: 'runs/{{m2,deep/er}}/*', {model}}}"), &["4 er 0 true", "5 er 0 true", "1 m2 0 true"]),
        (
            format!("{{path: runs, {model}}}"),
            &["6 .hidden 0 true", "4 er 0 true", "5 er 0 true", "1 m1 0 false", "2 m1 0 true", "3 m1 0 false", "1 m2 0 true"],
        ),
        (
            "{path: './runs/**/*.jsonl', fields: {id: file.stem, trial: n, tags: file.parents}, trials: by_order}".to_owned(),
            &["d - 0 true", "d - 1 true"],
        ),
    ] {
        check(&dataset, &files, expected);
    }
}

#[test]
fn a_file_without_an_id_is_called_by_its_path() {
    let row = r#"{"input": "q", "ground_truth": "x", "output": "x"}"#;
    check(
        "runs/*/*.json",
        &[("runs/m/a.b.json", row), ("runs/n/a.json", row)],
        &["m/a.b - 0 true", "n/a - 0 true"],
    );
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
    let (_, ran) = run("runs.zip", &[("runs.zip", "no archive")]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: cannot read the dataset `runs.zip`: it is no zip archive, or damaged: Missing end of central directory
     --> suite.yaml:2:10
      |
    2 | dataset: runs.zip
      |          ^^^^^^^^
      |
      = help: paths are relative to the suite's folder
    ");
}

#[test]
fn a_file_or_a_folder_may_be_a_sample() {
    let session = concat!(
        "{\"type\": \"user\", \"message\": {\"role\": \"user\", \"content\": \"q\"}}\n",
        "{\"type\": \"assistant\", \"message\": {\"role\": \"assistant\", \"content\": [{\"type\": \"text\", \"text\": \"x\"}]}}\n",
    );
    let space = check(
        "{path: sessions, sample: file, fields: {ground_truth: file.parent}}",
        &[("sessions/x/s1.jsonl", session), ("sessions/y/s2.txt", "x")],
        &["x/s1 - 0 true", "y/s2 - 0 false"],
    );
    drop(space);
    let files = [
        ("runs/m/t1/input.txt", "q"),
        ("runs/m/t1/result.json", "{\"answer\": \"x\", \"expected\": \"x\"}"),
        ("runs/m/t1/agent/log.jsonl", session),
        ("runs/m/t2/input.txt", "q"),
        ("runs/m/t2/result.json", "{\"answer\": \"y\", \"expected\": \"x\"}"),
        ("runs/m/notes.md", "not in a sample"),
    ];
    let fields = "fields: {input: input.txt, output: result.json.answer, ground_truth: result.json.expected, model: file.parent}";
    check(
        &format!(
            "{{path: 'runs/*/*/{{input.txt,result.json,agent/*.jsonl}}', sample: folder, {fields}}}"
        ),
        &files,
        &["m/t1 m 0 true", "m/t2 m 0 false"],
    );
    check(
        &format!("{{path: runs/m, sample: folder, {fields}}}"),
        &files,
        &["t1 m 0 true", "t2 m 0 false"],
    );
    check(
        "{path: 'runs/*/*/{result.json,agent/log.jsonl}', sample: folder, fields: {messages: agent/log.jsonl, ground_truth: result.json.expected}, missing: empty}",
        &files,
        &["m/t1 - 0 true", "m/t2 - 0 false"],
    );
}

#[test]
fn structured_output_is_graded_as_its_json() {
    let suite = "name: s\ndataset: d.jsonl\ngraders:\n  right: {kind: tool, function: json_match}\n  city:\n    kind: tool\n    function: exact_match\n    config: {value: Paris}\n    extractor: json_path\n    extractor_config: {path: $.city, source: output}\n";
    let rows = [
        json!({"id": "a", "ground_truth": {"city": "Paris"}, "output": {"city": "Paris"}}),
        json!({"id": "b", "ground_truth": ["x", 1], "output": ["x", 1]}),
    ];
    let space = Space::new(&[("suite.yaml", suite), ("d.jsonl", &crate::space::jsonl(rows))]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let passes: Vec<(bool, bool)> = space
        .record("results.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| ["right", "city"].map(|grader| line["grades"][grader]["pass"] == true))
        .map(|[right, city]| (right, city))
        .collect();
    assert_eq!(passes, [(true, true), (true, false)]);
}

/// A suite whose answers stand in another file.
fn joined(target: &str, answers: &str) -> (Space, Ran) {
    let rows = "{\"id\": 1, \"qid\": \"p\", \"input\": \"q\", \"ground_truth\": \"x\"}\n{\"id\": 2, \"qid\": \"q\", \"input\": \"q\", \"ground_truth\": \"y\"}\n";
    let suite =
        format!("{}target: {{kind: recorded, path: a.jsonl, {target}}}\n", suite("d.jsonl"));
    let space = Space::new(&[("suite.yaml", &suite), ("d.jsonl", rows), ("a.jsonl", answers)]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    (space, ran)
}

#[test]
fn answers_of_another_file_join_by_id_by_line_and_by_field() {
    let expected = [("1", Value::Null, true), ("2", Value::from("m"), false)];
    let answers = |names: [&str; 2]| {
        crate::space::jsonl([
            json!({"key": names[1], "prediction": {"text": "z"}, "llm": "m"}),
            json!({"key": names[0], "prediction": {"text": "x"}}),
        ])
    };
    let fields = "fields: {output: prediction.text, model: llm";
    let turned = |text: String| text.lines().rev().collect::<Vec<_>>().join("\n");
    for (target, answers) in [
        (format!("{fields}, id: key}}"), answers(["1", "2"])),
        (format!("{fields}}}, by: line"), turned(answers(["?", "?"]))),
        (
            "by: qid, fields: {output: prediction.text, model: llm}".to_owned(),
            answers(["p", "q"]).replace("\"key\"", "\"qid\""),
        ),
    ] {
        let (space, ran) = joined(&target, &answers);
        assert_eq!(ran.code(), 0, "{target}: {}", ran.shown());
        let found: Vec<_> =
            verdicts(&space).into_iter().map(|(id, model, _, pass)| (id, model, pass)).collect();
        let expected = expected.clone().map(|(id, model, pass)| (id.to_owned(), model, pass));
        assert_eq!(found, expected, "{target}");
    }
    let (_, ran) = joined("by: line", "{\"output\": \"x\"}\n");
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: `a.jsonl` has 1 record, and `d.jsonl` has 2 rows
     --> a.jsonl
      = help: `by: line` joins the first with the first, to the last; `by: id` joins by ids
    ");
    let (_, ran) = joined(
        "fields: {output: text}",
        "{\"id\": 1, \"text\": \"x\"}\n\n{\"id\": 3, \"text\": \"x\"}\n",
    );
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 3
    --- stdout
    --- stderr
    warning: 1 sample has no trajectory in `a.jsonl` and cannot be graded: `2`
     --> d.jsonl

    warning: 1 trajectory belongs to no sample of `d.jsonl`
     --> a.jsonl
      = help: the first is of `3`, on line 3
    ");
    let (_, ran) = joined("by: qid, fields: {output: text}", "{\"id\": 1, \"text\": \"x\"}\n");
    insta::assert_snapshot!(ran.shown(), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the record has no `qid`, only `id`, `text`
     --> a.jsonl:1:1
      |
    1 | {"id": 1, "text": "x"}
      | ^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: every record of a trajectory file names its sample: {"id": …, "trajectory": […]}
    "#);
}
