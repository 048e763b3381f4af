//! The files of an import: suites as YAML, rows, outputs and labels as JSON Lines, programs, and `IMPORT.md`.
//!
//! Live keys are looked for in the values that are written, and once more in the files: every text that leaves this module went
//! through `SecretFindings::take_out`.

use serde_json::{Map, Value, json};

use super::imported::{ImportedFile, ImportedSource, ImportedSuite, SourcePlace};
use super::report::{REPORT, SourceReport};
use super::secrets::SecretFindings;
use evalrs_eval::judge::template::open_names;
use evalrs_suite::canonical::to_yaml;

/// The file of a source's only suite, without `.yaml`.
pub(crate) const ONLY_SUITE: &str = "suite";

/// The order in which suites say what they say; other fields come behind.
const ORDER: [&str; 10] = [
    "extends",
    "name",
    "description",
    "dataset",
    "target",
    "models",
    "graders",
    "reward",
    "labels",
    "gate",
];

/// All files, those of suites first, the report last, which is told of the keys that were left out.
pub fn files(
    mut imported: ImportedSource,
    secrets: &mut SecretFindings,
    report: &mut SourceReport,
) -> Vec<ImportedFile> {
    search(&imported, secrets);
    let mut files = Vec::new();
    for mut suite in std::mem::take(&mut imported.suites) {
        for value in suite.values_mut() {
            secrets.take_out_of(value);
        }
        files.extend(of_suite(suite));
    }
    files.extend(imported.files);
    files.retain(|file| is_inside(&file.path));
    for file in &files {
        secrets.search_copy(&file.path, &file.text);
    }
    // What a sentence puts together may be a key too.
    secrets.search_copy(REPORT, &report.markdown());
    report.leave_out_keys(secrets);
    let markdown = report.markdown();
    files.push(ImportedFile { path: REPORT.to_owned(), text: markdown });
    let clean = |file: ImportedFile| ImportedFile { text: secrets.take_out(file.text), ..file };
    files.into_iter().map(clean).collect()
}

/// Looks for keys in the values of suites and their data, in what their escapes and folds stand for.
fn search(imported: &ImportedSource, secrets: &mut SecretFindings) {
    for suite in &imported.suites {
        secrets.search_value(&SourcePlace::new(format!("{}.yaml", suite.file), 0), &suite.suite);
        for (kind, lines) in suite.data() {
            for (at, line) in lines.iter().enumerate() {
                secrets.search_value(&SourcePlace::new(data_file(&suite.file, kind), at + 1), line);
            }
        }
    }
}

/// Whether a path stays in the folder it starts from.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.contains(['\\', ':', '\0'])
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// The name of a suite's data file.
pub(crate) fn data_file(suite: &str, kind: &str) -> String {
    match (suite, kind) {
        (ONLY_SUITE, "dataset" | "outputs") => format!("{kind}.jsonl"),
        _ => format!("{suite}.{kind}.jsonl"),
    }
}

fn of_suite(mut imported: ImportedSuite) -> Vec<ImportedFile> {
    let mut suite = std::mem::take(&mut imported.suite);
    let file = &imported.file;
    allow_braces(&mut suite);
    if !imported.rows.is_empty() {
        complete(&mut suite, "dataset", data_file(file, "dataset"));
    }
    if !imported.outputs.is_empty() {
        complete(&mut suite, "target", data_file(file, "outputs"));
    }
    let yaml = to_yaml(&ordered(suite));
    let mut files = vec![ImportedFile { path: format!("{file}.yaml"), text: yaml }];
    for (kind, lines) in imported.data() {
        if !lines.is_empty() {
            files.push(ImportedFile { path: data_file(file, kind), text: json_lines(lines) });
        }
    }
    files
}

/// Lets rubrics send braces that other tools send: what those render stands for a field of the row, `{row.x}`, or is named
/// by `rubric_vars`. Suites of Letta Evals render as evalrs does, and keep what they say.
fn allow_braces(suite: &mut Value) {
    let graders = suite.get_mut("graders").and_then(Value::as_object_mut);
    for grader in graders.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        let is_rubric = grader.get("kind").and_then(Value::as_str) == Some("rubric");
        let prompt = grader.get("prompt").and_then(Value::as_str).filter(|_| is_rubric);
        let names = prompt.map(|prompt| open_names(prompt, grader.contains_key("compare_to")));
        if names.unwrap_or_default().iter().any(|name| !name.starts_with("row.")) {
            grader.insert("allow_unknown".to_owned(), Value::from(true));
        }
    }
}

/// Names a file of data in a suite, unless that is named already.
fn complete(suite: &mut Value, field: &str, path: String) {
    let Some(fields) = suite.as_object_mut() else { return };
    match fields.get_mut(field).and_then(Value::as_object_mut) {
        Some(mapping) => {
            mapping.entry("path").or_insert(Value::from(path));
        }
        None if field == "target" => {
            fields.insert(field.to_owned(), json!({"kind": "recorded", "path": path}));
        }
        None => {
            fields.entry(field).or_insert(Value::from(path));
        }
    }
}

fn ordered(suite: Value) -> Value {
    let Value::Object(mut fields) = suite else { return suite };
    let mut ordered = Map::new();
    for name in ORDER {
        if let Some(value) = fields.shift_remove(name) {
            ordered.insert(name.to_owned(), value);
        }
    }
    ordered.extend(fields);
    Value::Object(ordered)
}

fn json_lines(lines: &[Value]) -> String {
    let mut text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{allow_braces, files, is_inside};
    use crate::imported::{ImportedFile, ImportedSource, ImportedSuite};
    use crate::report::SourceReport;
    use crate::secrets::SecretFindings;

    #[test]
    fn nothing_is_written_outside_of_the_folder() {
        for (path, expected) in [
            ("a.py", true),
            ("files/a b.js", true),
            ("../a", false),
            ("/etc/passwd", false),
            ("a/../../b", false),
            ("a//b", false),
            ("", false),
            ("C:\\x", false),
            ("./a", false),
        ] {
            assert_eq!(is_inside(path), expected, "{path}");
        }
    }

    #[test]
    fn braces_that_another_tool_sends_are_sent() {
        for (kind, prompt, is_allowed) in [
            ("rubric", "Say {score}: {submission}", true),
            ("rubric", "{submission} for {row.item}, {\"score\": 1}", false),
            ("model_judge", "Is {submission} {tone}?", false),
        ] {
            let mut suite = json!({"graders": {"a": {"kind": kind, "prompt": prompt}}});
            allow_braces(&mut suite);
            assert_eq!(suite["graders"]["a"]["allow_unknown"] == true, is_allowed, "{prompt}");
        }
    }

    #[test]
    fn a_suite_names_its_data_and_holds_no_key() {
        let mut secrets = SecretFindings::default();
        secrets.search("c.yaml", "apiKey: sk-proj-4fJ29aQ0x8LmZt73vbN1");
        let suite = ImportedSuite {
            file: "suite".to_owned(),
            suite: json!({"graders": {"a": {"kind": "tool", "function": "contains", "config": {"value": "${X}"}}}, "name": "bot"}),
            rows: vec![json!({"id": "1", "input": "sk-proj-4fJ29aQ0x8LmZt73vbN1"})],
            outputs: vec![json!({"id": "1", "output": "o"})],
            labels: Vec::new(),
        };
        let bad = ImportedFile { path: "../bad".to_owned(), text: String::new() };
        let imported =
            ImportedSource { suites: vec![suite], files: vec![bad], ..ImportedSource::default() };
        let mut report = SourceReport::new("promptfoo", "c.yaml", "out", &imported);
        let written = files(imported, &mut secrets, &mut report);
        let names: Vec<&str> = written.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names, ["suite.yaml", "dataset.jsonl", "outputs.jsonl", "IMPORT.md"]);
        assert_eq!(
            written[0].text,
            "name: bot\ndataset: dataset.jsonl\ntarget:\n  kind: recorded\n  path: outputs.jsonl\ngraders:\n  a:\n    kind: tool\n    function: contains\n    config:\n      value: $${X}\n"
        );
        assert_eq!(written[1].text, "{\"id\":\"1\",\"input\":\"\"}\n");
    }
}
