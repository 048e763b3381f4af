//! Calls programs again for some of what they were called for, where a suite wants to know whether they give the same.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::Value;

use super::settle::Settling;
use super::waiting::Waiting;
use crate::effects::exec::EndpointId;
use crate::graph::planned_actions::actions_of_grader;
use crate::graph::{Db, queries, results};
use crate::pipeline::key::KeySet;
use crate::pipeline::outcome::Outcome;
use crate::pipeline::spec::Repeat;

/// The most calls of one grader that are repeated.
const MOST: usize = 20;

/// A program that was called twice for the same.
pub(crate) struct CalledAgain {
    waiting: Waiting,
    before: Arc<Outcome>,
    now: Outcome,
}

impl<'a> Settling<'a> {
    /// Calls programs with `deterministic: check` again for some of what they were called for just now, evenly over
    /// the dataset, and warns of what differs. What came first stands.
    pub(crate) async fn check_again(&mut self, stop: Pin<&mut impl Future<Output = ()>>) {
        let asked: KeySet = self.settled.asked.iter().copied().collect();
        let again: Vec<Waiting> = self.to_repeat(&asked);
        if again.is_empty() || !self.may_ask() {
            return;
        }
        let calls: Vec<_> = again.iter().filter_map(|waiting| self.call_again(waiting)).collect();
        let outcomes = tokio::select! {
            biased;
            () = stop => {
                self.settled.interrupted = true;
                return;
            }
            outcomes = join_all(calls) => outcomes,
        };
        let differing: Vec<String> =
            outcomes.iter().filter_map(|again| self.difference(again)).collect();
        self.settled.warnings.extend(differing);
    }

    /// Calls a program again for what it was called for, whatever its place.
    pub(crate) fn call_again(
        &self,
        waiting: &Waiting,
    ) -> Option<impl Future<Output = CalledAgain> + use<'a>> {
        let before = self.session.db.outcome(waiting.key)?;
        let launch = self.launch(waiting, EndpointId::Program).ok()?;
        let waiting = *waiting;
        let executing = self.world.executor.execute(launch);
        Some(async move { CalledAgain { waiting, before, now: executing.await } })
    }

    /// What is repeated of what was asked.
    pub(crate) fn to_repeat(&self, asked: &KeySet) -> Vec<Waiting> {
        let db = &self.session.db;
        let root = self.session.root;
        let mut all = Vec::new();
        for (ordinal, grader) in queries::graders(db, root).iter().enumerate() {
            let program = queries::ready(db, *grader).program();
            if program.is_none_or(|program| program.spec.repeat != Repeat::Sometimes) {
                continue;
            }
            let of_grader: Vec<Waiting> = actions_of_grader(db, root, ordinal)
                .filter(|action| asked.contains(&action.key))
                .filter(|action| !action.planned.is_extraction(action.ballot.turn))
                .map(|action| Waiting::new(action.cell, action.ballot, action.key))
                .collect();
            let step = of_grader.len().div_ceil(MOST).max(1);
            all.extend(of_grader.into_iter().step_by(step));
        }
        all
    }

    /// What a second call gave instead, if something else.
    pub(crate) fn difference(&self, again: &CalledAgain) -> Option<String> {
        let db = &self.session.db;
        let root = self.session.root;
        let CalledAgain { waiting, before, now } = again;
        let before = told(before);
        let now = told(now);
        if before == now {
            return None;
        }
        let grader = queries::graders(db, root).get(waiting.cell.grader)?.name(db);
        let sample = results::head(db, waiting.cell.chunk, waiting.cell.case)?.sample_id;
        Some(format!(
            "`{grader}` is not deterministic: called twice for sample `{sample}` it gave {before}, then {now}"
        ))
    }
}

/// What a call gave, whatever the order of its members.
fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failure(failure) => format!("an error ({})", failure.message),
        Outcome::Reply(reply) => {
            let mut value: Value = serde_json::from_str(&reply.text).unwrap_or_default();
            value.sort_all_objects();
            value.to_string()
        }
    }
}
