//! What judges were sent about one case, and what they replied. Reads only, and sends nothing.
//!
//! A request is written again from its action, by the functions that wrote it; what was replied is what the store has.

use crate::session::Session;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_eval::action::Action;
use evalrs_eval::evaluate::GradePlan;
use evalrs_eval::judge::question::{Order, Question};
use evalrs_eval::judge::request_url::url;
use evalrs_eval::judge::sent::{open_headers, requests};
use evalrs_eval::judge::without_secrets;
use evalrs_graph::inputs::{CellId, Chunk};
use evalrs_graph::planned_actions::wanted;
use evalrs_graph::queries::{self, Grader};
use evalrs_graph::results;
use evalrs_metrics::explain::sent::{SentCase, SentJudgment, SentOrigin};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Outcome, StoredOutcome};

/// A stored judgment and where it is kept.
pub struct FoundJudgment {
    pub stored: StoredOutcome,
    /// The layer of the store that has it.
    pub layer: String,
    pub generation: u32,
}

pub(crate) type FindJudgment<'a> = &'a mut dyn FnMut(ActionKey) -> Option<FoundJudgment>;

/// What the judges of a case were sent and replied, grader by grader. The session has what the store has.
pub fn sent_case(
    session: &Session,
    chunk: Chunk,
    case: usize,
    find: FindJudgment<'_>,
) -> Option<SentCase> {
    let db = &session.db;
    let head = results::head(db, chunk, case)?;
    let mut graders = Vec::new();
    for (ordinal, grader) in session.graders().iter().enumerate() {
        let cell = CellId { chunk, case, grader: ordinal };
        graders.push((grader.name(db).clone(), sent_judgments(session, cell, *grader, find)?));
    }
    Some(SentCase { model: head.model, trial: head.trial, graders: OrderedMap(graders) })
}

/// The judgments that a grade is made of, with every vote, order and turn.
pub fn sent_judgments(
    session: &Session,
    cell: CellId,
    grader: Grader<'_>,
    find: FindJudgment<'_>,
) -> Option<Vec<SentJudgment>> {
    let db = &session.db;
    let planned = queries::plans(db, cell.chunk, grader).get(cell.case)?;
    let ready = queries::ready(db, grader);
    let is_per_turn = matches!(planned, GradePlan::Turns(_));
    let mut judgments = Vec::new();
    for (ballot, key) in wanted(db, cell) {
        let action = results::action_of(db, cell.chunk, cell.case, grader, ballot)?;
        let (Action::Judge(action), Some(judge)) = (action, ready.judge()) else { continue };
        let which = judge.ballot(ballot.ballot);
        let found = find(key);
        let outcome = found.as_ref().map(|found| &found.stored.outcome);
        let requests = requests(&action, outcome.and_then(Outcome::exchange));
        let base_url = judge.seats.get(which.judge).map(|seat| seat.base_url.as_str());
        let path = requests.first().and_then(|request| request.path.as_deref());
        let url = path.zip(base_url).map(|(path, base)| without_secrets(&url(base, path)));
        let origin = found.as_ref().map(|FoundJudgment { stored, layer, generation }| {
            SentOrigin::new(stored, layer.clone(), *generation)
        });
        let is_pair = *judge.question() == Question::Compare;
        let judgment = SentJudgment {
            turn: is_per_turn.then_some(ballot.turn),
            judge: action.model.clone(),
            provider: action.provider.clone(),
            vote: which.vote,
            reversed: is_pair.then_some(which.order == Order::Reversed),
            key: key.to_string(),
            url,
            headers: open_headers(&action),
            exchanges: Vec::new(),
            failure: None,
            stored: origin,
        };
        judgments.push(judgment.with(requests, found.map(|found| found.stored)));
    }
    Some(judgments)
}
