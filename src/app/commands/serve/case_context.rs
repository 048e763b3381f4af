//! What the served suite of a run knows of a case beyond its record.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::answer::ApiError;
use super::served::{Served, ServedSuite};
use crate::app::commands::case_contexts::{CurrentSuite, only_note};
use crate::app::commands::open::new_session;
use crate::app::view::case::CaseContext;
use crate::app::view::rows::{IndexedRow, RunRows};
use crate::base::system::os::OsSystem;
use crate::effects::record::read::PastRun;
use crate::graph::inputs::Overrides;
use crate::graph::results;

/// What is known of a case.
pub(super) fn case_context(
    served: &Served,
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
    let Ok(surroundings) = served.context(suite) else {
        return only_note("The suite cannot be read");
    };
    let samples = vec![row.sample_id.to_string()];
    match CurrentSuite::read(&suite.path, &surroundings, samples, &OsSystem) {
        None => only_note("The suite has errors: see its page"),
        Some(mut suite) => suite.with_cases(|cases| cases.context(rows, row, line)),
    }
}

/// The ids of the samples of a run's suite that have a tag.
pub(super) fn tagged(
    served: &Served,
    run: &PastRun,
    tag: &str,
) -> Result<BTreeSet<String>, ApiError> {
    let suite: Option<&ServedSuite> = served.suite(&run.header.suite);
    let suite = suite.ok_or_else(|| {
        ApiError::not_found("tags are known where the suite is served: evalrs serve SUITE")
    })?;
    let surroundings = served.context(suite)?;
    let mut session = new_session(&suite.path, &surroundings, Overrides::default());
    session.load(&OsSystem);
    let all = results::cases(&session.db, session.root);
    let own = all.filter(|(_, who, _, _)| who.tags.iter().any(|own| own == tag));
    Ok(own.map(|(id, _, _, _)| id).collect())
}
