//! The judgments of a session that others made and share, and what they say. Nothing is called.

use std::sync::Arc;

use super::forecast::{Bill, forecast};
use super::preview::{Preview, ToAsk, preview};
use crate::resolve::settings::Settings;
use crate::session::Session;
use evalrs_base::price::{Cost, Prices};
use evalrs_eval::evaluate::Purpose;
use evalrs_eval::program::reply;
use evalrs_graph::inputs::CellId;
use evalrs_graph::planned_actions::wanted;
use evalrs_graph::queries::{self, plans};
use evalrs_metrics::reason::StoreMiss;
use evalrs_model::key::{ActionKey, KeySet};
use evalrs_model::outcome::Outcome;
use evalrs_store::OutcomeStore;
use evalrs_system::System;

/// Outcomes that are looked up at once.
const AT_ONCE: usize = 1_024;

/// A stored judgment that another machine made.
#[derive(Clone, Debug)]
pub struct ForeignJudgment {
    /// The call that would repeat it.
    pub call: ToAsk,
    /// Who shares it.
    pub writer: Arc<str>,
}

/// What a judgment says.
#[derive(Clone, Debug, PartialEq)]
pub struct SaidScore {
    /// From 0.0 to 1.0.
    pub score: f64,
    pub rationale: String,
}

/// The judgments that a session rests on.
#[derive(Debug, Default)]
pub struct SessionJudgments {
    /// How many are stored.
    pub stored: usize,
    /// Those that others share, each key once, in the order of the dataset.
    pub foreign: Vec<ForeignJudgment>,
    /// What the store has of the session.
    preview: Preview,
}

impl SessionJudgments {
    /// What repeating those of others would cost; none where a price is not known.
    pub fn cost(self, session: &Session, prices: &Prices) -> Option<Cost> {
        let to_ask = self.foreign.into_iter().map(|judgment| judgment.call).collect();
        let preview = Preview { to_ask, ..self.preview };
        let bills = forecast(session, &preview, prices).graders;
        bills.into_iter().fold(Bill::default(), Bill::and).cost
    }
}

/// Brings in what the store has, and finds the judgments that others made.
pub fn session_judgments(
    session: &mut Session,
    store: &dyn OutcomeStore,
    system: &dyn System,
    settings: &Settings,
) -> SessionJudgments {
    let preview = preview(session, store, system, settings);
    let calls = wanted_calls(session);
    let mut found = SessionJudgments { preview, ..SessionJudgments::default() };
    for calls in calls.chunks(AT_ONCE) {
        let keys: Vec<ActionKey> = calls.iter().map(|call| call.key).collect();
        found.stored += store.lines_of(&keys).iter().flatten().count();
        for (call, writer) in calls.iter().zip(store.writers_of(&keys)) {
            found.foreign.extend(writer.map(|writer| ForeignJudgment { call: *call, writer }));
        }
    }
    found
}

/// The calls that grade, each key once.
fn wanted_calls(session: &Session) -> Vec<ToAsk> {
    let db = &session.db;
    let mut seen = KeySet::default();
    let mut calls = Vec::new();
    for chunk in session.root.chunks(db) {
        for (ordinal, grader) in session.graders().iter().enumerate() {
            for (case, plan) in plans(db, *chunk, *grader).iter().enumerate() {
                let cell = CellId { chunk: *chunk, case, grader: ordinal };
                let graded = wanted(db, cell).into_iter();
                let graded = graded
                    .filter(|(ballot, _)| plan.purpose(ballot.turn) == Purpose::Grade)
                    .filter(|(_, key)| seen.insert(*key));
                calls.extend(graded.map(|(ballot, key)| ToAsk {
                    cell,
                    ballot,
                    key,
                    purpose: Purpose::Grade,
                    held: StoreMiss::Refreshed,
                }));
            }
        }
    }
    calls
}

/// The score in the outcome of a call that grades; why there is none.
pub fn said_score(session: &Session, call: &ToAsk, outcome: &Outcome) -> Result<SaidScore, String> {
    let reply = match outcome {
        Outcome::Reply(reply) => reply,
        Outcome::Failure(failure) => return Err(failure.message.clone()),
    };
    let grader = session.grader(call.cell.grader).ok_or("its grader is gone")?;
    let ready = queries::ready(&session.db, grader);
    if let Some(judge) = ready.judge() {
        let verdict = judge.read(&reply.text)?;
        return Ok(SaidScore { score: verdict.score, rationale: verdict.rationale });
    }
    let program = ready.program().ok_or("its grader has neither judge nor program")?;
    let grade = reply::grade(&program.spec, &reply.text)?;
    match grade.error {
        Some(error) => Err(error.message),
        None => Ok(SaidScore { score: grade.score, rationale: grade.rationale.into_owned() }),
    }
}
