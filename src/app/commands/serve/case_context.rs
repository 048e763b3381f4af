//! What the suite of a run knows of a case beyond its record: the conversation, the row, and where its grades come from.
//!
//! The suite is read as it is now. Where the row is not what it was in the run, that is said.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::answer::ApiError;
use super::served::{Served, ServedSuite};
use crate::app::commands::context::SuiteContext;
use crate::app::commands::context::check_entry;
use crate::app::commands::open::new_session;
use crate::app::view::case::CaseContext;
use crate::app::view::message::messages;
use crate::app::view::rows::{IndexedRow, RunRows};
use crate::base::diagnostic::Diagnostic;
use crate::base::system::System;
use crate::base::system::os::OsSystem;
use crate::effects::record::history::History;
use crate::effects::record::read::PastRun;
use crate::effects::store::{Committed, Layered, SegmentStore};
use crate::engine::inspect::explain::Explaining;
use crate::engine::inspect::preview::preview;
use crate::engine::inspect::reasons::AskReasons;
use crate::engine::resolve::settings::Settings;
use crate::engine::session::Session;
use crate::graph::inputs::{Chunk, Overrides};
use crate::graph::{queries, results};

/// What is known of a case.
pub(super) fn case_context(
    served: &Served,
    run: &PastRun,
    rows: &RunRows,
    row: &IndexedRow,
    line: &Map<String, Value>,
) -> CaseContext {
    let unknown =
        |note: &str| CaseContext { note: Some(note.to_owned()), ..CaseContext::default() };
    let Some(suite) = served.suite(&run.header.suite) else {
        return unknown("The conversation is shown where the suite is served: evalrs serve SUITE");
    };
    let Ok(surroundings) = served.context(suite) else {
        return unknown("The suite cannot be read");
    };
    let over = Overrides { samples: vec![row.sample_id.to_string()], ..Overrides::default() };
    let mut session = new_session(&suite.path, &surroundings, over);
    if session.load(&OsSystem).iter().any(Diagnostic::is_error) {
        return unknown("The suite has errors: see its page");
    }
    let store = store(&surroundings);
    let found = preview(&mut session, &store, &OsSystem, &Settings::default());
    let names: Vec<&str> = found.tallies.iter().map(|(name, _)| name.as_str()).collect();
    let history = History::read(&OsSystem, &surroundings.records(), &suite.name, &names);
    let reasons = AskReasons::new(&session, &history);
    let Some((chunk, case)) = place(&session, row, rows.model_of(row)) else {
        return unknown("The dataset no longer has this sample");
    };
    let mut layers = surroundings.layers(&OsSystem);
    let explained = Explaining::new(&session, &mut layers, &reasons, &[]).case(chunk, case);
    let recorded = |field: &str| line.get(field).cloned().unwrap_or_default();
    let is_same = explained.as_ref().is_some_and(|explained| {
        let same_text = |(name, grade): &(String, _)| {
            let grade: &crate::pipeline::report::explain::ExplainedGrade = grade;
            recorded("submissions")[name.as_str()]
                .as_str()
                .is_none_or(|text| text == grade.submission)
        };
        explained.input == recorded("input") && explained.graders.0.iter().all(same_text)
    });
    let Some(record) = results::case_record(&session.db, chunk, case) else {
        return unknown("The row of this sample cannot be read");
    };
    let conversation = record.trajectory.as_ref().map(messages).filter(|all| !all.is_empty());
    let note = match (is_same, &conversation) {
        (_, None) => Some("The row holds no conversation".to_owned()),
        (false, Some(_)) => Some(
            "The sample has changed since this run: this is the conversation of now".to_owned(),
        ),
        (true, Some(_)) => None,
    };
    CaseContext { explained, conversation, note, metadata: record.metadata, tags: record.tags }
}

/// The store of a suite; committed files that cannot be read are left out.
fn store(surroundings: &SuiteContext) -> Layered {
    let mut committed = Committed::checked(&check_entry);
    for path in surroundings.committed_files(&OsSystem) {
        if let Ok(bytes) = OsSystem.read(&path).into_bytes() {
            committed.add(&path, &bytes);
        }
    }
    Layered::new(Box::new(SegmentStore::open(&surroundings.cache_dir)), committed)
}

/// Where a result is planned.
fn place(session: &Session, row: &IndexedRow, model: Option<&str>) -> Option<(Chunk, usize)> {
    let db = &session.db;
    for chunk in session.root.chunks(db) {
        for case in 0..queries::places(db, *chunk).len() {
            let Some(head) = results::head(db, *chunk, case) else { continue };
            if head.trial == row.trial
                && head.model.as_deref() == model
                && head.sample_id == *row.sample_id
            {
                return Some((*chunk, case));
            }
        }
    }
    None
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
