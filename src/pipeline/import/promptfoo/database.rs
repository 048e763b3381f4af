//! The database in which promptfoo keeps its evaluations: a suite for each, the newest first.
//!
//! A row of the table of results holds what `promptfoo export` writes of one; an older evaluation holds all its results in itself.

use serde_json::{Map, Value, json};

use super::files::ConfigFiles;
use super::results::{self, PlacedResult, PromptfooEvaluation};
use crate::base::system::folder_of;
use crate::pipeline::import::folder::ONLY_SUITE;
use crate::pipeline::import::imported::{ImportError, Imported, SourcePlace};
use crate::pipeline::import::reading::GivenNames;
use crate::pipeline::import::source::ImportSource;

/// Its name in promptfoo's own folder.
pub(super) const FILE: &str = "promptfoo.db";

const TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table'";
const EVALUATIONS: &str = "SELECT id, description, results FROM evals ORDER BY created_at DESC, id";
const RESULTS: &str = "SELECT * FROM eval_results ORDER BY eval_id, test_idx, prompt_idx, rowid";

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
pub(super) fn import(path: &str, source: &ImportSource<'_>) -> Result<Imported, ImportError> {
    let unreadable = |why: String| {
        ImportError::unreadable(
            format!("cannot read `{path}`: {why}"),
            "have promptfoo write an evaluation as JSON: `promptfoo export eval ID -o results.json`",
        )
    };
    let mut importer = DatabaseImporter {
        place: SourcePlace::new(path, 0),
        imported: Imported::default(),
        names: GivenNames::default(),
    };
    let evaluations = importer.read(source).map_err(unreadable)?;
    if evaluations.is_empty() {
        return Err(unreadable("it holds no evaluation of promptfoo".to_owned()));
    }
    let files = ConfigFiles::new(source, folder_of(path));
    let is_only = evaluations.len() == 1;
    for StoredEvaluation { id, evaluation } in evaluations {
        importer.add(&id, &evaluation, is_only, &files);
    }
    Ok(importer.imported)
}

/// An evaluation under promptfoo's name for it.
struct StoredEvaluation {
    id: String,
    evaluation: PromptfooEvaluation,
}

struct DatabaseImporter {
    place: SourcePlace,
    imported: Imported,
    names: GivenNames,
}

impl DatabaseImporter {
    fn read(&mut self, source: &ImportSource<'_>) -> Result<Vec<StoredEvaluation>, String> {
        let path = self.place.file.clone();
        // A view could say of itself what takes forever to look at.
        let tables = source.rows(&path, TABLES)?;
        let has = |name: &str| tables.iter().any(|table| table.get("name") == Some(&json!(name)));
        if !has("evals") {
            return Err("it has no table `evals`".to_owned());
        }
        let evaluations = source.rows(&path, EVALUATIONS)?;
        let results = if has("eval_results") { source.rows(&path, RESULTS)? } else { Vec::new() };
        let read = evaluations.iter().map(|evaluation| {
            let id = text(evaluation, "id").to_owned();
            let from = results.partition_point(|result| text(result, "eval_id") < id.as_str());
            let own = results[from..].iter().take_while(|result| text(result, "eval_id") == id);
            let mut found: Vec<Value> = own.filter_map(|result| self.result(result)).collect();
            if found.is_empty() {
                found = results_inside(evaluation);
            }
            let place = &self.place;
            let results =
                found.into_iter().map(|value| PlacedResult { value, place: place.clone() });
            let description = Some(text(evaluation, "description")).filter(|text| !text.is_empty());
            let description = description.map(str::to_owned);
            let evaluation = PromptfooEvaluation { results: results.collect(), description };
            StoredEvaluation { id, evaluation }
        });
        Ok(read.collect())
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

    fn add(
        &mut self,
        id: &str,
        evaluation: &PromptfooEvaluation,
        is_only: bool,
        files: &ConfigFiles<'_>,
    ) {
        if evaluation.results.is_empty() {
            let what = format!("evaluation `{id}`");
            self.imported.leave_out("evaluations", self.place.clone(), what, "it has no results");
            return;
        }
        let description = evaluation.description.as_deref();
        let imported = std::mem::take(&mut self.imported);
        self.imported = if is_only {
            let name = super::name_of(&self.place.file, description);
            results::suite_of(evaluation, ONLY_SUITE, &name, files, imported)
        } else {
            // Evaluations of one configuration share its description, and suites of one name their history.
            let name = self.names.give(id);
            results::suite_of(evaluation, &name, &name, files, imported)
        };
        self.imported.count("evaluations");
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
    use crate::base::system::memory::MemorySystem;
    use crate::pipeline::import::imported::{ImportError, Imported};
    use crate::pipeline::import::source::ImportSource;

    /// Imports tables, which stand in memory as JSON.
    fn imported(tables: &Value) -> Result<Imported, ImportError> {
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
            "id": "test-1.prompt-2", "input": "Say hi", "model": "echo", "vars": {"word": "hi"}, "assert": {"contains": ["ho"]},
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
    fn databases_of_somebody_else_are_refused() {
        let others = json!({"sqlite_master": [{"name": "users"}], "evals": []});
        let empty = json!({"sqlite_master": [{"name": "evals"}], "evals": []});
        for (tables, expected) in [
            (others, "it has no table `evals`"),
            (empty, "it holds no evaluation of promptfoo"),
            (json!([]), "file is not a database"),
        ] {
            let Err(ImportError::Unreadable { message, .. }) = imported(&tables) else {
                panic!("{tables} is read");
            };
            assert_eq!(message, format!("cannot read `home/promptfoo.db`: {expected}"));
        }
    }
}
