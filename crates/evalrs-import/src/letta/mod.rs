//! Letta Evals: suites with the files that they name, and result directories.
//!
//! Suites are read by evalrs as they are, so that a suite is copied, with what it names, into a folder where it validates.
//! Results become rows with their trajectories and scores; graders that evalrs has grade the same answers anew beside them.

mod results;
mod suite;
#[cfg(test)]
mod tests;

use super::imported::{ImportError, ImportedSource};
use super::reading::{self, ends_in, has_keys};
use super::source::ImportSource;

/// Whether a source is a suite with a target of Letta, results, or a result directory.
pub(super) fn recognizes(source: &ImportSource<'_>) -> bool {
    if source.is_folder() {
        return results::files_of(source).is_some();
    }
    if is_yaml(&source.path) {
        return suite::is_suite(&reading::head(source));
    }
    let head = reading::head(source);
    let head = head.trim_start();
    let is_typed = |kind: &str| {
        head.starts_with(&format!("{{\"type\":\"{kind}\""))
            || head.starts_with(&format!("{{\"type\": \"{kind}\""))
    };
    let is_header = is_typed("header") && has_keys(head, &["suite", "config"]);
    let is_result = is_typed("result") && has_keys(head, &["result", "sample"]);
    let is_bare = head.starts_with('{')
        && has_keys(head, &["sample_id", "trajectory", "grades", "submissions"]);
    let is_one_object =
        head.starts_with('{') && has_keys(head, &["suite", "results", "sample", "trajectory"]);
    is_header || is_result || is_bare || is_one_object
}

fn is_yaml(path: &str) -> bool {
    ends_in(path, "yaml") || ends_in(path, "yml")
}

pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    if !source.is_folder() && is_yaml(&source.path) {
        return suite::import(source);
    }
    results::import(source)
}
