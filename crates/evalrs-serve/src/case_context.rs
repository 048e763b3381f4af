//! What the served suite of a run knows of a case beyond its record.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::answer::ApiError;
use super::held_suites::SuiteNow;
use super::served::{ServedSuite, ServedWorkspace};
use crate::case_contexts::{only_note, with_stored_cases};
use crate::view::case::CaseContext;
use crate::view::rows::{IndexedRow, RunRows};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_graph::results;
use evalrs_store::record::read::PastRun;
use evalrs_system::os::OsSystem;

/// What is known of a case.
pub(super) fn case_context(
    served: &ServedWorkspace,
    run: &PastRun,
    rows: &RunRows,
    row: &IndexedRow,
    line: &Map<String, Value>,
) -> CaseContext {
    let Some(suite) = served.suite(&run.header.suite) else {
        return only_note(
            "The conversation is shown where the suite is served: evalrs serve SUITE",
        );
    };
    let samples = [row.sample_id.to_string()];
    let known = served.with_suite(suite, &samples, |now| {
        let SuiteNow { session, problems, surroundings } = now;
        if problems.iter().any(Diagnostic::is_error) {
            return only_note("The suite has errors: see its page");
        }
        with_stored_cases(session, surroundings, &OsSystem, |cases| cases.context(rows, row, line))
    });
    known.unwrap_or_else(|_| only_note("The suite cannot be read"))
}

/// The ids of the samples of a run's suite that have a tag.
pub(super) fn tagged(
    served: &ServedWorkspace,
    run: &PastRun,
    tag: &str,
) -> Result<BTreeSet<String>, ApiError> {
    let suite: Option<&ServedSuite> = served.suite(&run.header.suite);
    let suite = suite.ok_or_else(|| {
        ApiError::not_found("tags are known where the suite is served: evalrs serve SUITE")
    })?;
    served.with_suite(suite, &[], |now| {
        let all = results::cases(&now.session.db, now.session.root);
        let own = all.filter(|(_, who, _, _)| who.tags.iter().any(|own| own == tag));
        own.map(|(id, _, _, _)| id).collect()
    })
}
