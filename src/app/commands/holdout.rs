//! Agreement on held-out labels: asked of a whole evaluation, and counted in a log beside the judgments.

use super::cache::names::own_files;
use super::context::{OwnFiles, SuiteContext};
use crate::base::ordered_map::Ordered;
use crate::base::system::{System, join};
use crate::effects::record::holdout_log;
use crate::effects::record::holdout_log::LogFiles;
use crate::engine::session::Session;
use crate::graph::held_out::questions;
use crate::graph::results;
use crate::pipeline::metric::holdout::HeldOutAgreement;
use crate::pipeline::results::Summary;

/// The summary of an evaluation, with what is told of its held-out labels; why nothing is told is a warning.
pub(super) fn summary(
    session: &Session,
    surroundings: &SuiteContext,
    system: &dyn System,
    warnings: &mut Vec<String>,
) -> Summary {
    let mut summary = results::summary(&session.db, session.root);
    match held_out(session, surroundings, system) {
        Ok(held_out) => summary.held_out = Ordered(held_out),
        Err(why) => warnings.push(why),
    }
    summary
}

/// What is told of the held-out labels of each grader. Of some of the rows nothing is: that would say which labels they have.
pub(super) fn held_out(
    session: &Session,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> Result<Vec<(String, HeldOutAgreement)>, String> {
    let questions = questions(&session.db, session.root);
    if session.suite().is_none() || questions.is_empty() {
        return Ok(Vec::new());
    }
    let OwnFiles { plain, name } = own_files(session, surroundings, system);
    let log = |name: &str| join(&surroundings.committed_dir, &format!("{name}.holdout.jsonl"));
    let files = LogFiles { path: &log(name), before: &log(plain) };
    holdout_log::ask(system, &surroundings.records(), files, &questions)
}
