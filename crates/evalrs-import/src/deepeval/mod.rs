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

use super::folder::ONLY_SUITE;
use super::imported::{ImportError, ImportedSource, ImportedSuite, SourcePlace};
use super::reading::{self, GivenNames, has_keys};
use super::source::{HEAD, ImportSource};
use metrics::MetricGraders;
use rows::CaseRows;
use shared::{answered, no_cases, stem};
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
    let begins = |path: &str| {
        source.bytes(path).is_ok_and(|bytes| {
            let head = bytes.get(..HEAD).unwrap_or(&bytes);
            is_own(&String::from_utf8_lossy(head))
        })
    };
    // Beside the whole of the latest run, the other file says the same.
    let names = names.iter().filter(|name| !holds_latest || *name != LATEST_OR_LINK);
    names.map(|name| source.beside(name)).filter(|path| begins(path)).collect()
}

/// Reads it.
pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let paths = match source.list(&source.path) {
        None => vec![source.path.clone()],
        Some(names) => own_files(source, &names),
    };
    let mut imported = ImportedSource::default();
    let mut names = GivenNames::default();
    let is_only = paths.len() == 1;
    for path in &paths {
        let read = DeepEvalFile::read(source, path);
        match read {
            Ok(file) if is_only => file.add(ONLY_SUITE, &mut imported)?,
            Ok(file) => {
                let stem = stem(path);
                let name = names.give(&stem);
                if let Err(error) = file.add(&name, &mut imported) {
                    leave_out_file(path, &error, &mut imported);
                }
            }
            Err(error) if is_only => return Err(error),
            Err(error) => leave_out_file(path, &error, &mut imported),
        }
    }
    if imported.suites.is_empty() {
        return Err(no_cases(&source.path));
    }
    Ok(imported)
}

fn leave_out_file(path: &str, error: &ImportError, imported: &mut ImportedSource) {
    let why = match error {
        ImportError::Unreadable { message, .. } => message.clone(),
        ImportError::Diagnostics(all) => {
            all.first().map(|first| first.message.clone()).unwrap_or_default()
        }
    };
    imported.leave_out("files", SourcePlace::new(path, 0), "a file", why);
}

/// A file that is a run or a dataset.
enum DeepEvalFile {
    Run(Box<TestRun>),
    Goldens(goldens::Goldens),
}

impl DeepEvalFile {
    fn read(source: &ImportSource<'_>, path: &str) -> Result<Self, ImportError> {
        let text = reading::text(source, path)?;
        let head: String = text.chars().take(HEAD).collect();
        if !is_run(&head) && goldens::is_dataset(&text) {
            return Ok(Self::Goldens(goldens::read(path, &text)?));
        }
        let value = reading::json(path, &text)?;
        if value.get("testRunLink").is_some() && value.get("testRunData").is_none() {
            return Err(ImportError::unreadable(
                format!("`{path}` holds the link of a run that was uploaded, and not the run"),
                format!(
                    "name `{LATEST}` beside it, or set `DEEPEVAL_RESULTS_FOLDER` and run the tests again"
                ),
            ));
        }
        let value = match value {
            Value::Object(mut latest) if latest.contains_key("testRunData") => {
                latest.remove("testRunData").unwrap_or_default()
            }
            value => value,
        };
        Ok(Self::Run(Box::new(TestRun { path: path.to_owned(), text, value })))
    }

    fn add(self, file: &str, imported: &mut ImportedSource) -> Result<(), ImportError> {
        match self {
            Self::Run(run) => run.add(file, imported),
            Self::Goldens(goldens) => goldens.add(file, imported),
        }
    }
}

impl TestRun {
    /// Adds the suites of the run.
    fn add(&self, file: &str, imported: &mut ImportedSource) -> Result<(), ImportError> {
        let CaseRows { rows, columns, verdicts } = rows::read(self, imported);
        if rows.is_empty() {
            return Err(no_cases(&self.path));
        }
        let MetricGraders { plain, judged } = metrics::graders(self, &rows, &columns, imported);
        let mut graders = plain;
        if verdicts > 0 {
            let mut verdict = json!({"kind": "tool", "function": "recorded_score", "config": {"path": "deepeval.success"}});
            if verdicts < rows.len() {
                verdict["only"] = Value::from("has(row.deepeval.success)");
            }
            graders.insert("deepeval".to_owned(), verdict);
        }
        if graders.is_empty() {
            imported.note("The run says no score, so the suite only asks whether there is an answer: add graders (docs/suite.md#graders).");
            graders.insert("answered".to_owned(), answered());
        }
        self.notes(imported);
        let suite = json!({"name": self.name(), "graders": graders});
        imported.suites.push(ImportedSuite {
            file: file.to_owned(),
            suite,
            rows,
            ..ImportedSuite::default()
        });
        if !judged.is_empty() {
            let name =
                if file == ONLY_SUITE { "judged".to_owned() } else { format!("{file}.judged") };
            let suite = json!({"extends": format!("{file}.yaml"), "name": format!("{}, judged anew", self.name()), "graders": judged});
            imported.suites.push(ImportedSuite { file: name, suite, ..ImportedSuite::default() });
        }
        Ok(())
    }
}
