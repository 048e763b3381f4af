//! Logs of Inspect: `.eval` archives and JSON, one or a folder of them.
//!
//! Each log becomes a suite whose rows are its samples, an epoch being a trial, with their messages and scores. What scorers
//! said is taken over; those that evalrs can do itself are graders beside that, and those that ask a model stand in a suite of
//! their own, `judged`, so that the first one runs without a key.

mod log;
mod rows;
mod scorers;
mod template;
#[cfg(test)]
mod tests;

use serde_json::json;

use super::graders::answered;
use super::imported::{ImportError, ImportedFile, ImportedSource, ONLY_SUITE, SourcePlace};
use super::reading::{GivenNames, ends_in, has_keys, head};
use super::source::ImportSource;
use log::InspectLog;
use rows::LogRows;

/// Whether a source is a log of Inspect, or a folder that holds some.
pub(super) fn recognizes(source: &ImportSource<'_>) -> bool {
    match source.list(&source.path) {
        Some(names) => names.iter().any(|name| ends_in(name, "eval")),
        None => ends_in(&source.path, "eval") || is_log(&head(source)),
    }
}

/// Whether a text begins as a log does.
fn is_log(head: &str) -> bool {
    head.trim_start().starts_with('{')
        && has_keys(head, &["eval", "status", "task", "task_id", "model"])
}

pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let paths = match source.list(&source.path) {
        None => vec![source.path.clone()],
        Some(names) => logs_in(source, &names),
    };
    let mut imported = ImportedSource::default();
    let mut names = GivenNames::default();
    let is_only = paths.len() == 1;
    for path in &paths {
        let log = match InspectLog::read(source, path) {
            Ok(log) => log,
            Err(error) if is_only => return Err(error),
            Err(error) => {
                let place = SourcePlace::new(path, 0);
                imported.leave_out("logs", place, "a log", error.message());
                continue;
            }
        };
        let file = if is_only { ONLY_SUITE.to_owned() } else { names.give(&log.task()) };
        add(&log, &file, &mut imported);
    }
    if imported.suites.is_empty() {
        return Err(ImportError::unreadable(
            format!("no sample in `{}`", source.path),
            "name a log of Inspect, `.eval` or `.json`, with samples",
        ));
    }
    Ok(imported)
}

fn logs_in(source: &ImportSource<'_>, names: &[String]) -> Vec<String> {
    let paths = names.iter().map(|name| source.beside(name));
    let is_own = |path: &String| {
        ends_in(path, "eval") || ends_in(path, "json") && source.begins(path, is_log)
    };
    paths.filter(is_own).collect()
}

/// Adds the suites of one log.
fn add(log: &InspectLog, file: &str, imported: &mut ImportedSource) {
    let LogRows { rows, scores } = rows::read(log, imported);
    if rows.is_empty() {
        let place = SourcePlace::new(&log.path, 0);
        imported.leave_out("logs", place, "a log", "it has no sample");
        return;
    }
    let graders = scorers::graders(log, &rows, &scores, file, imported);
    let mut suite = json!({
        "name": log.task(),
        "target": {"kind": "recorded", "format": "inspect"},
        "graders": graders.plain,
    });
    if graders.plain.is_empty() {
        imported.note(format!("`{file}.yaml` has no grader, as the log has no score that maps: `validate` requires one."));
        suite["graders"] = json!({"answered": answered("final_output")});
    }
    imported.add_suite(file, suite, rows);
    imported.add_judged(file, &log.task(), &graders.judged);
    if let Some(program) = graders.program {
        imported.files.push(ImportedFile { path: scorers::program_path(file), text: program });
    }
    log.results().into_iter().for_each(|note| imported.note(note));
}
