//! Calls programs again for some of what they were called for, where a suite wants to know whether they give the same.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use serde_json::Value;

use super::launch::launch;
use super::waiting::WaitingAction;
use crate::session::Session;
use evalrs_eval::evaluate::Purpose;
use evalrs_exec::{EndpointId, Executor};
use evalrs_graph::planned_actions::actions_of_grader;
use evalrs_graph::{Db, queries, results};
use evalrs_model::key::{ActionKey, KeySet};
use evalrs_model::outcome::Outcome;
use evalrs_model::spec::Repeat;

/// The most calls of one grader that are repeated.
const MOST: usize = 20;

/// A program that was called twice for the same.
struct CalledAgain {
    waiting: WaitingAction,
    before: Arc<Outcome>,
    now: Outcome,
}

/// Programs that are being called again. To be dropped when the session changes.
#[derive(Default)]
pub(crate) struct RepeatedCalls<'a> {
    calls: FuturesOrdered<Pin<Box<dyn Future<Output = CalledAgain> + 'a>>>,
    seen: KeySet,
}

impl<'a> RepeatedCalls<'a> {
    /// Calls programs with `deterministic: check` again for some new results that were not checked yet, evenly over the
    /// dataset.
    pub(crate) fn begin(
        &mut self,
        session: &Session,
        executor: &'a dyn Executor,
        asked: &[ActionKey],
    ) {
        let asked: KeySet = asked.iter().copied().filter(|key| self.seen.insert(*key)).collect();
        for waiting in to_repeat(session, &asked) {
            let Some(before) = session.db.outcome(waiting.key) else { continue };
            let Ok(launch) = launch(session, &waiting, EndpointId::Program) else { continue };
            let executing = executor.execute(launch);
            self.calls.push_back(Box::pin(async move {
                CalledAgain { waiting, before, now: executing.await }
            }));
        }
    }

    /// What the next call gave instead of what came first, if something else; none where nothing is called.
    pub(crate) async fn next(&mut self, session: &Session) -> Option<Option<String>> {
        self.calls.next().await.map(|again| again.difference(session))
    }

    /// What all calls gave instead of what came first, those that gave the same apart.
    pub(crate) async fn finish(self, session: &Session) -> Vec<String> {
        let again: Vec<CalledAgain> = self.calls.collect().await;
        again.iter().filter_map(|again| again.difference(session)).collect()
    }
}

fn to_repeat(session: &Session, asked: &KeySet) -> Vec<WaitingAction> {
    let db = &session.db;
    let root = session.root;
    let mut all = Vec::new();
    for (ordinal, grader) in session.graders().iter().enumerate() {
        let program = queries::ready(db, *grader).program();
        if program.is_none_or(|program| program.spec.repeat != Repeat::Sometimes) {
            continue;
        }
        let of_grader: Vec<WaitingAction> = actions_of_grader(db, root, ordinal)
            .filter(|action| asked.contains(&action.key))
            .filter(|action| action.planned.purpose(action.ballot.turn) == Purpose::Grade)
            .map(|action| WaitingAction::new(action.cell, action.ballot, action.key))
            .collect();
        let step = of_grader.len().div_ceil(MOST).max(1);
        all.extend(of_grader.into_iter().step_by(step));
    }
    all
}

impl CalledAgain {
    fn difference(&self, session: &Session) -> Option<String> {
        let db = &session.db;
        let before = comparable(&self.before);
        let now = comparable(&self.now);
        if before == now {
            return None;
        }
        let cell = self.waiting.cell;
        let grader = session.grader(cell.grader)?.name(db);
        let sample = results::head(db, cell.chunk, cell.case)?.sample_id;
        Some(format!(
            "`{grader}` is not deterministic: called twice for sample `{sample}` it gave {before}, then {now}"
        ))
    }
}

/// What a call gave, whatever the order of its members.
fn comparable(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failure(failure) => format!("an error ({})", failure.message),
        Outcome::Reply(reply) => {
            let mut value: Value = serde_json::from_str(&reply.text).unwrap_or_default();
            value.sort_all_objects();
            value.to_string()
        }
    }
}
