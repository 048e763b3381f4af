//! Renders an action that waits as something that can be executed: plans keep keys, not prompts.

use super::credentials::{access, judge_of};
use super::waiting::Waiting;
use crate::effects::exec::{EndpointId, JudgeLaunch, Launch, ProgramLaunch};
use crate::engine::session::Session;
use crate::graph::inputs::CellId;
use crate::graph::results;
use crate::pipeline::action::Action;

/// Renders `waiting`. An error names the promise of the graph that does not hold.
pub(crate) fn launch(
    session: &Session,
    waiting: &Waiting,
    endpoint: EndpointId,
) -> Result<Launch, &'static str> {
    let db = &session.db;
    let CellId { chunk, case, grader } = waiting.cell;
    let grader = session.grader(grader).ok_or("its grader is gone")?;
    let action = results::action_of(db, chunk, case, grader, waiting.ballot);
    let action = match action.ok_or("its plan does not have it")? {
        Action::Judge(action) => action,
        Action::Program(action) => {
            let start = session.start_of(&action.identity.spec);
            let start = start.ok_or("its program was not read")?;
            return Ok(Launch::Program(ProgramLaunch { action, start }));
        }
        Action::Dependencies(_) => return Err("it is a list of files"),
    };
    let EndpointId::Judge(endpoint) = endpoint else {
        return Err("a judge waits among programs");
    };
    let (judge, at) = judge_of(session, waiting).ok_or("its grader has no judge")?;
    let access = access(session, judge, at).ok_or("its judge is not on the panel")?;
    let sample = results::sample_id(db, chunk, case);
    let what_for = format!("{} of {}", grader.name(db), sample.unwrap_or_default());
    Ok(Launch::Judge(JudgeLaunch {
        action,
        endpoint,
        what_for,
        base_url: access.base_url.to_owned(),
        api_key: access.api_key(),
        headers: access.headers(),
        patience: access.spec.patience.clone(),
    }))
}
