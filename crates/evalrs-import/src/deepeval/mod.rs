//! `DeepEval`: test runs that `evaluate()` and `deepeval test run` write, and datasets of goldens.
//!
//! A run becomes a suite whose rows are its test cases; each metric is a grader that repeats score, verdict and reason, and
//! `deepeval` repeats which test cases passed. Metrics whose criteria a run holds are rubrics in a suite of their own,
//! `judged`, so that the first one runs without a key.

mod goldens;
mod metrics;
mod rows;
mod shared;
#[cfg(test)]
mod tests;
mod test_run;
mod turns;

use serde_json::{Value, json};

use super::graders::{answered, recorded_score};
use super::imported::{ImportError, ImportedSource, ONLY_SUITE, SourcePlace};
use super::reading::{self, GivenNames, has_keys};
use super::source::{HEAD, ImportSource};
use goldens::Goldens;
use metrics::MetricGraders;
use rows::CaseRows;
use shared::{no_cases, stem};
use test_run::TestRun;

/// The whole of a run as `DeepEval` keeps it of the latest one; the other file may hold a link alone.
const LATEST: &str = ".latest_run_full.json";
const LATEST_OR_LINK: &str = ".latest_test_run.json";

/// Whether a source is a run or a dataset, or a folder that holds some.
pub(super) fn recognizes(source: &ImportSource<'_>) -> bool {
    match source.list(&source.path) {
        Some(names) => !own_files(source, &names).is_empty(),
        None => is_own(&reading::head(source)),
    }
}

fn is_own(head: &str) -> bool {
    is_run(head) || goldens::is_dataset(head)
}

/// Whether a text begins as a run does.
fn is_run(head: &str) -> bool {
    let head = head.trim_start();
    let of_cases = ["metricsData", "metricsScores", "conversationalTestCases", "actualOutput"];
    let is_latest = head.starts_with("{\"testRunData\"") || head.starts_with("{\"testRunLink\"");
    let has_cases =
        has_keys(head, &["testCases"]) && of_cases.iter().any(|key| has_keys(head, &[key]));
    head.starts_with('{') && (is_latest || has_cases)
}

/// The files of a folder that are runs or datasets.
fn own_files(source: &ImportSource<'_>, names: &[String]) -> Vec<String> {
    let holds_latest = names.iter().any(|name| name == LATEST);
    // Beside the whole of the latest run, the other file says the same.
    let names = names.iter().filter(|name| !holds_latest || *name != LATEST_OR_LINK);
    names.map(|name| source.beside(name)).filter(|path| source.begins(path, is_own)).collect()
}

pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let paths = match source.list(&source.path) {
        None => vec![source.path.clone()],
        Some(names) => own_files(source, &names),
    };
    let mut imported = ImportedSource::default();
    let mut names = GivenNames::default();
    let is_only = paths.len() == 1;
    for path in &paths {
        let added = DeepEvalFile::read(source, path).and_then(|file| {
            let name = if is_only { ONLY_SUITE.to_owned() } else { names.give(stem(path)) };
            match file {
                DeepEvalFile::Run(run) => run.add(&name, &mut imported),
                DeepEvalFile::Goldens(goldens) => goldens.add(&name, &mut imported),
            }
        });
        match added {
            Err(error) if is_only => return Err(error),
            Err(error) => {
                let place = SourcePlace::new(path, 0);
                imported.leave_out("files", place, "a file", error.message());
            }
            Ok(()) => {}
        }
    }
    if imported.suites.is_empty() {
        return Err(no_cases(&source.path));
    }
    Ok(imported)
}

/// A file that is a run or a dataset.
enum DeepEvalFile {
    Run(Box<TestRun>),
    Goldens(Goldens),
}

impl DeepEvalFile {
    fn read(source: &ImportSource<'_>, path: &str) -> Result<Self, ImportError> {
        let text = reading::text(source, path)?;
        let head: String = text.chars().take(HEAD).collect();
        if !is_run(&head) && goldens::is_dataset(&text) {
            return Ok(Self::Goldens(goldens::read(path, &text)?));
        }
        let mut value = reading::json(path, &text)?;
        if value.get("testRunLink").is_some() && value.get("testRunData").is_none() {
            return Err(ImportError::unreadable(
                format!("`{path}` has the link of an uploaded run, not the run"),
                format!(
                    "name `{LATEST}` beside it, or set `DEEPEVAL_RESULTS_FOLDER` and run the tests again"
                ),
            ));
        }
        if let Some(run) = value.get_mut("testRunData").map(Value::take) {
            value = run;
        }
        Ok(Self::Run(Box::new(TestRun { path: path.to_owned(), text, value })))
    }
}

impl TestRun {
    /// Adds the suites of the run.
    fn add(&self, file: &str, imported: &mut ImportedSource) -> Result<(), ImportError> {
        let CaseRows { rows, columns, verdicts } = rows::read(self, imported);
        if rows.is_empty() {
            return Err(no_cases(&self.path));
        }
        let MetricGraders { mut plain, judged } = metrics::graders(self, &rows, &columns, imported);
        if verdicts > 0 {
            let mut verdict = recorded_score(&json!({"path": "deepeval.success"}));
            if verdicts < rows.len() {
                verdict["only"] = json!("has(row.deepeval.success)");
            }
            plain.insert("deepeval".to_owned(), verdict);
        }
        if plain.is_empty() {
            imported.note("The run has no scores, so the suite only checks that there is an answer: add graders (docs/suite/graders.md).");
            plain.insert("answered".to_owned(), answered("final_output"));
        }
        self.notes(imported);
        imported.add_suite(file, json!({"name": self.name(), "graders": plain}), rows);
        imported.add_judged(file, &self.name(), &judged);
        Ok(())
    }
}
