//! The database in which promptfoo keeps its evaluations: a suite for each, the newest first.
//!
//! A row of the table of results holds what `promptfoo export` writes of one; an older evaluation holds all its results in itself.

use serde_json::{Map, Value, json};

use super::files::ConfigFiles;
use super::results::{self, PromptfooEvaluation};
use super::suite::name_of;
use crate::imported::{ImportError, ImportedSource, ONLY_SUITE, SourcePlace};
use crate::reading::{GivenNames, PlacedValue};
use crate::source::ImportSource;
use evalrs_base::file_path::folder_of;

/// Its name in promptfoo's own folder.
pub(super) const FILE: &str = "promptfoo.db";

const TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table'";
const EVALUATIONS: &str = "SELECT id, description FROM evals ORDER BY created_at DESC, id";
/// Of its configuration nothing is imported; but what is a key is known by the names that it has there.
const EVALUATION: &str = "SELECT results, config FROM evals WHERE id = ?";
const RESULTS: &str = "SELECT id, eval_id, test_idx, prompt_idx, prompt_id, latency_ms, cost, \
    error, score, success, test_case, prompt, provider, response, grading_result \
    FROM eval_results WHERE eval_id = ? ORDER BY test_idx, prompt_idx, rowid";

/// The columns of a result that hold JSON, and what is exported under which name.
const JSON_COLUMNS: [(&str, &str); 5] = [
    ("test_case", "testCase"),
    ("prompt", "prompt"),
    ("provider", "provider"),
    ("response", "response"),
    ("grading_result", "gradingResult"),
];

/// Whether bytes are the first ones of a database of SQLite.
pub(super) fn recognizes(head: &[u8]) -> bool {
    head.starts_with(b"SQLite format 3\0")
}

/// Reads all evaluations.
pub(super) fn import(path: &str, source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let unreadable = |why: String| {
        ImportError::unread(
            path,
            why,
            "have promptfoo write an evaluation as JSON: `promptfoo export eval ID -o results.json`",
        )
    };
    // A view could say of itself what takes forever to look at.
    let tables = source.rows(path, TABLES, &[]).map_err(unreadable)?;
    let has = |name: &str| tables.iter().any(|table| table.get("name") == Some(&json!(name)));
    if !has("evals") {
        let message = format!("`{path}` is not a database of promptfoo: it has no table `evals`");
        return Err(ImportError::unreadable(message, "name its kind with `--from KIND`"));
    }
    let evaluations = source.rows(path, EVALUATIONS, &[]).map_err(unreadable)?;
    if evaluations.is_empty() {
        return Err(unreadable("it has no evaluation of promptfoo".to_owned()));
    }
    let mut importer = DatabaseImporter {
        source,
        place: SourcePlace::new(path, 0),
        has_results: has("eval_results"),
        is_only: evaluations.len() == 1,
        imported: ImportedSource::default(),
        names: GivenNames::default(),
    };
    for evaluation in &evaluations {
        importer.add(evaluation).map_err(unreadable)?;
    }
    Ok(importer.imported)
}

struct DatabaseImporter<'a> {
    source: &'a ImportSource<'a>,
    place: SourcePlace,
    /// Whether results have a table of their own.
    has_results: bool,
    /// Whether there is one evaluation.
    is_only: bool,
    imported: ImportedSource,
    names: GivenNames,
}

impl DatabaseImporter<'_> {
    /// Adds the suite of an evaluation.
    fn add(&mut self, row: &Map<String, Value>) -> Result<(), String> {
        let id = text(row, "id");
        let description = Some(text(row, "description")).filter(|text| !text.is_empty());
        let found = self.results(id)?;
        if found.is_empty() {
            let what = format!("evaluation `{id}`");
            self.imported.leave_out("evaluations", self.place.clone(), what, "it has no results");
            return Ok(());
        }
        let place = &self.place;
        let results = found.into_iter().map(|value| PlacedValue { value, place: place.clone() });
        let evaluation = PromptfooEvaluation {
            results: results.collect(),
            description: description.map(str::to_owned),
        };
        // Evaluations of one configuration share its description, and suites of one name their history.
        let given = (!self.is_only).then(|| self.names.give(id));
        let name = given.clone().unwrap_or_else(|| name_of(&place.file, description));
        let file = given.as_deref().unwrap_or(ONLY_SUITE);
        let files = ConfigFiles::new(self.source, folder_of(&place.file));
        let imported = std::mem::take(&mut self.imported);
        self.imported = results::suite_of(&evaluation, file, &name, &files, imported);
        self.imported.count("evaluations");
        Ok(())
    }

    fn results(&mut self, id: &str) -> Result<Vec<Value>, String> {
        let path = &self.place.file;
        let whole = self.source.rows(path, EVALUATION, &[id])?;
        let rows =
            if self.has_results { self.source.rows(path, RESULTS, &[id])? } else { Vec::new() };
        if rows.is_empty() {
            return Ok(whole.first().map(results_inside).unwrap_or_default());
        }
        Ok(rows.iter().filter_map(|row| self.result(row)).collect())
    }

    /// A row of the table of results as `promptfoo export` writes it.
    fn result(&mut self, row: &Map<String, Value>) -> Option<Value> {
        let mut result = json!({
            "testIdx": row.get("test_idx"),
            "promptIdx": row.get("prompt_idx"),
            "promptId": row.get("prompt_id"),
            "latencyMs": row.get("latency_ms"),
            "cost": row.get("cost"),
            "error": row.get("error"),
            "score": row.get("score"),
            "success": row.get("success").map(|success| json!(*success != json!(0))),
        });
        for (column, name) in JSON_COLUMNS {
            let Some(json) = row.get(column).and_then(Value::as_str) else { continue };
            match serde_json::from_str::<Value>(json) {
                Ok(value) => result[name] = value,
                Err(error) => {
                    self.leave_out(row, &format!("its column `{column}` is not JSON: {error}"));
                    return None;
                }
            }
        }
        Some(result)
    }

    fn leave_out(&mut self, row: &Map<String, Value>, why: &str) {
        let what = format!("result `{}` of `{}`", text(row, "id"), text(row, "eval_id"));
        self.imported.leave_out("results", self.place.clone(), what, why);
    }
}

fn text<'r>(row: &'r Map<String, Value>, column: &str) -> &'r str {
    row.get(column).and_then(Value::as_str).unwrap_or_default()
}

/// The results that an older evaluation has in itself.
fn results_inside(evaluation: &Map<String, Value>) -> Vec<Value> {
    let mut whole: Value = serde_json::from_str(text(evaluation, "results")).unwrap_or_default();
    match whole.get_mut("results").map(Value::take) {
        Some(Value::Array(results)) => results,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::import;
    use crate::imported::{ImportError, ImportedSource};
    use crate::source::ImportSource;
    use evalrs_system::memory::MemorySystem;

    /// Imports tables, which stand in memory as JSON.
    fn imported(tables: &Value) -> Result<ImportedSource, ImportError> {
        let text = tables.to_string();
        let system = MemorySystem::with(&[("home/promptfoo.db", text.as_str())]);
        import("home/promptfoo.db", &ImportSource::new("home", &system))
    }

    fn evaluation(id: &str, description: Option<&str>, results: &Value) -> Value {
        json!({"id": id, "description": description, "results": results.to_string()})
    }

    fn result(evaluation: &str, success: u8, test_case: &str) -> Value {
        json!({
            "id": "r", "eval_id": evaluation, "test_idx": 0, "prompt_idx": 1, "prompt_id": "p", "latency_ms": 12, "cost": 0.5,
            "error": null, "success": success, "score": 0.25, "test_case": test_case, "prompt": "{\"raw\": \"Say hi\"}",
            "provider": "{\"id\": \"echo\"}", "response": "{\"output\": \"hi\"}", "named_scores": "{}", "metadata": null,
            "grading_result": "{\"reason\": \"why\", \"componentResults\": [{\"pass\": false, \"score\": 0}]}",
        })
    }

    const CASE: &str =
        r#"{"vars": {"word": "hi"}, "assert": [{"type": "contains", "value": "ho"}]}"#;

    #[test]
    fn an_evaluation_is_what_its_export_is() {
        let tables = json!({
            "sqlite_master": [{"name": "evals"}, {"name": "eval_results"}],
            "evals": [evaluation("eval-1", Some("Greets"), &json!({}))],
            "eval_results": [result("eval-0", 1, CASE), result("eval-1", 0, CASE), result("eval-2", 1, CASE)],
        });
        let imported = imported(&tables).unwrap();
        let [suite] = imported.suites.as_slice() else { panic!("{:?}", imported.suites) };
        assert_eq!(suite.file, "suite");
        assert_eq!(suite.suite["name"], "Greets");
        let row = json!({
            "id": "test-1", "input": "Say hi", "model": "echo", "vars": {"word": "hi"}, "assert": {"contains": ["ho"]},
            "graders": ["contains", "promptfoo"], "output": "hi", "latency_ms": 12, "cost": 0.5,
            "promptfoo": {"pass": false, "score": 0.25, "contains": {"pass": false, "score": 0, "reason": null}},
        });
        assert_eq!(suite.rows, [row]);
    }

    #[test]
    fn several_evaluations_are_suites_of_their_own_and_older_ones_hold_their_results() {
        let old = json!({"version": 2, "results": [{"vars": {"word": "hi"}, "success": true, "score": 1,
            "provider": {"id": "echo"}, "prompt": {"raw": "Say hi"}, "response": {"output": "hi"}}]});
        let tables = json!({
            "sqlite_master": [{"name": "evals"}, {"name": "eval_results"}],
            "evals": [
                evaluation("eval-9:00", Some("Greets"), &json!({})),
                evaluation("eval-8:00", Some("Greets"), &json!({})),
                evaluation("eval-7:00", None, &old),
                evaluation("eval-6:00", None, &json!({"results": 5})),
            ],
            "eval_results": [result("eval-8:00", 1, CASE), result("eval-9:00", 1, CASE), result("eval-9:00", 1, "{")],
        });
        let imported = imported(&tables).unwrap();
        let files: Vec<&str> = imported.suites.iter().map(|suite| suite.file.as_str()).collect();
        assert_eq!(files, ["eval-9_00", "eval-8_00", "eval-7_00"]);
        let rows = imported.suites.iter().map(|suite| suite.rows.len()).collect::<Vec<_>>();
        assert_eq!(rows, [1, 1, 1]);
        assert_eq!(imported.suites[1].suite["name"], "eval-8_00");
        assert_eq!(imported.suites[1].suite["description"], "Greets");
        assert_eq!(imported.suites[2].rows[0]["promptfoo"], json!({"pass": true, "score": 1}));
        assert_eq!((imported.mapped["evaluations"], imported.mapped["assertions"]), (3, 2));
        let not_mapped: Vec<String> = imported
            .not_mapped
            .iter()
            .map(|part| format!("{} {}: {}", part.place, part.what, part.reason))
            .collect();
        assert_eq!(
            not_mapped,
            [
                "home/promptfoo.db result `r` of `eval-9:00`: its column `test_case` is not JSON: EOF while parsing an object at line 1 column 1",
                "home/promptfoo.db evaluation `eval-6:00`: it has no results",
            ]
        );
    }

    #[test]
    fn keys_are_known_by_the_configuration_and_told_without_a_line() {
        let mut evaluation = evaluation("eval-1", None, &json!({}));
        evaluation["config"] = json!("{\n\"env\": {\"X_API_KEY\": \"0f1e2d3c4b5a6978\"}}");
        let tables = json!({
            "sqlite_master": [{"name": "evals"}, {"name": "eval_results"}],
            "evals": [evaluation],
            "eval_results": [result("eval-1", 1, CASE)],
        });
        let text = tables.to_string();
        let system = MemorySystem::with(&[("home/promptfoo.db", text.as_str())]);
        let source = ImportSource::new("home", &system);
        import("home/promptfoo.db", &source).unwrap();
        let secrets = source.into_secrets();
        assert_eq!(secrets.take_out("a 0f1e2d3c4b5a6978 b".to_owned()), "a  b");
        let places: Vec<String> =
            secrets.found().iter().map(|found| found.place.to_string()).collect();
        assert_eq!(places, ["home/promptfoo.db"]);
    }

    #[test]
    fn databases_of_somebody_else_are_refused() {
        let others = json!({"sqlite_master": [{"name": "users"}], "evals": []});
        let empty = json!({"sqlite_master": [{"name": "evals"}], "evals": []});
        for (tables, expected) in [
            (others, "`home/promptfoo.db` is not a database of promptfoo: it has no table `evals`"),
            (empty, "cannot read `home/promptfoo.db`: it has no evaluation of promptfoo"),
            (json!([]), "cannot read `home/promptfoo.db`: file is not a database"),
        ] {
            let Err(ImportError::Unreadable { message, .. }) = imported(&tables) else {
                panic!("{tables} is read");
            };
            assert_eq!(message, expected);
        }
    }
}
