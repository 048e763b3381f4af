//! Agreement on held-out labels: a query of a whole evaluation, counted in a log beside the judgments.

use super::committed_names::file_name;
use super::context::SuiteContext;
use evalrs_base::file_path::join;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_engine::session::Session;
use evalrs_graph::folds::held_out_questions;
use evalrs_graph::results;
use evalrs_metrics::metric::holdout::HeldOutAgreement;
use evalrs_metrics::results::Summary;
use evalrs_store::record::holdout_log::{self, LogOwner};
use evalrs_system::System;

/// The summary of an evaluation, with the results of its held-out labels; a missing one has a warning with
/// the reason.
pub(super) fn summary(
    session: &Session,
    surroundings: &SuiteContext,
    system: &dyn System,
    warnings: &mut Vec<String>,
) -> Summary {
    let mut summary = results::summary(&session.db, session.root);
    match held_out(session, surroundings, system) {
        Ok(held_out) => summary.held_out = OrderedMap(held_out),
        Err(why) => warnings.push(why),
    }
    summary
}

/// The reported results for the held-out labels of each grader. Of some of the rows nothing is: that would say which labels
/// they have.
pub fn held_out(
    session: &Session,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> Result<Vec<(String, HeldOutAgreement)>, String> {
    let questions = held_out_questions(&session.db, session.root);
    let Some(suite) = session.suite().filter(|_| !questions.is_empty()) else {
        return Ok(Vec::new());
    };
    let log =
        join(&surroundings.committed_dir, &format!("{}.holdout.jsonl", file_name(&suite.name)));
    let path = session.root.suite(&session.db).path(&session.db);
    let path = surroundings.in_workspace(path, system);
    let is_other = |of: &str| surroundings.is_of_another(of, &path, system);
    let owner = LogOwner { suite: &path, is_other: &is_other };
    holdout_log::ask(system, &surroundings.records(), &log, &owner, &questions)
}
