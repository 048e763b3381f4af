//! The files of an import: suites as YAML, rows as JSON Lines, programs, and `IMPORT.md`.
//!
//! Live keys are looked for in the values that are written, and once more in the files: every text that leaves this module went
//! through `SecretFindings::take_out`.

use serde_json::{Map, Value};

use super::imported::{ImportedFile, ImportedSource, ImportedSuite, ONLY_SUITE, SourcePlace};
use super::report::{REPORT, SourceReport};
use super::secrets::SecretFindings;
use evalrs_eval::judge::template::open_names;
use evalrs_suite::canonical::to_yaml;

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

/// All files, those of suites first, the report last, which lists the removed keys.
pub fn files(
    mut imported: ImportedSource,
    secrets: &mut SecretFindings,
    report: &mut SourceReport,
) -> Vec<ImportedFile> {
    search(&imported, secrets);
    let mut files = Vec::new();
    for mut suite in std::mem::take(&mut imported.suites) {
        secrets.take_out_of(&mut suite.suite);
        suite.rows.iter_mut().for_each(|row| secrets.take_out_of(row));
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
    files.push(ImportedFile { path: REPORT.to_owned(), text: report.markdown() });
    let clean = |file: ImportedFile| ImportedFile { text: secrets.take_out(file.text), ..file };
    files.into_iter().map(clean).collect()
}

/// Looks for keys in the values of suites and their data, in what their escapes and folds stand for.
fn search(imported: &ImportedSource, secrets: &mut SecretFindings) {
    for suite in &imported.suites {
        secrets.search_value(&SourcePlace::new(format!("{}.yaml", suite.file), 0), &suite.suite);
        for (row, line) in suite.rows.iter().zip(1..) {
            secrets.search_value(&SourcePlace::new(data_file(&suite.file), line), row);
        }
    }
}

/// Whether a path stays in the folder it starts from.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.contains(['\\', ':', '\0'])
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// The name of the file of a suite's rows.
pub(crate) fn data_file(suite: &str) -> String {
    match suite {
        ONLY_SUITE => "dataset.jsonl".to_owned(),
        _ => format!("{suite}.dataset.jsonl"),
    }
}

fn of_suite(imported: ImportedSuite) -> Vec<ImportedFile> {
    let ImportedSuite { file, mut suite, rows } = imported;
    allow_braces(&mut suite);
    let rows = (!rows.is_empty()).then(|| {
        name_rows(&mut suite, &data_file(&file));
        ImportedFile { path: data_file(&file), text: json_lines(&rows) }
    });
    let yaml = to_yaml(&ordered(suite));
    [ImportedFile { path: format!("{file}.yaml"), text: yaml }].into_iter().chain(rows).collect()
}

/// Lets rubrics send braces that other tools send: those that they render become a field of the row, `{row.x}`, or are
/// named by `rubric_vars`. Suites of Letta Evals render as evalrs does, and keep what they say.
fn allow_braces(suite: &mut Value) {
    let graders = suite.get_mut("graders").and_then(Value::as_object_mut);
    for grader in graders.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        let is_rubric = grader.get("kind").and_then(Value::as_str) == Some("rubric");
        let prompt = grader.get("prompt").filter(|_| is_rubric);
        let criteria = grader.get("criteria").and_then(Value::as_object);
        let questions = criteria.into_iter().flat_map(Map::values).map(|one| &one["question"]);
        let texts = prompt.into_iter().chain(questions).filter_map(Value::as_str);
        let compares = grader.contains_key("compare_to");
        let mut names = texts.flat_map(|text| open_names(text, compares));
        if names.any(|name| !name.starts_with("row.")) {
            grader.insert("allow_unknown".to_owned(), Value::from(true));
        }
    }
}

/// Names the file of its rows in a suite, unless one is named already.
fn name_rows(suite: &mut Value, path: &str) {
    match suite.get_mut("dataset") {
        Some(Value::Object(mapping)) => _ = mapping.entry("path").or_insert(Value::from(path)),
        Some(_) => {}
        None => suite["dataset"] = Value::from(path),
    }
}

fn ordered(suite: Value) -> Value {
    let Value::Object(mut fields) = suite else { return suite };
    let known = ORDER.iter().filter_map(|name| fields.shift_remove_entry(*name));
    let mut ordered: Map<String, Value> = known.collect();
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
        };
        let bad = ImportedFile { path: "../bad".to_owned(), text: String::new() };
        let imported =
            ImportedSource { suites: vec![suite], files: vec![bad], ..ImportedSource::default() };
        let mut report = SourceReport::new("promptfoo", "c.yaml", "out", &imported);
        let written = files(imported, &mut secrets, &mut report);
        let names: Vec<&str> = written.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names, ["suite.yaml", "dataset.jsonl", "IMPORT.md"]);
        assert_eq!(
            written[0].text,
            "name: bot\ndataset: dataset.jsonl\ngraders:\n  a:\n    kind: tool\n    function: contains\n    config:\n      value: $${X}\n"
        );
        assert_eq!(written[1].text, "{\"id\":\"1\",\"input\":\"\"}\n");
    }
}
