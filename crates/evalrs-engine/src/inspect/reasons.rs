//! Joins the missing calls with the calls of an earlier run: both sides of every [`reason`].

use serde_json::Value;

use super::preview::ToAsk;
use crate::session::Session;
use evalrs_graph::{queries, results};
use evalrs_metrics::reason::{Panel, PlannedJudgment, Reason, Texts, reason};
use evalrs_metrics::settings;
use evalrs_store::record::history::History;

/// The settings of the graders that are left, as `header.json` holds them.
pub fn grader_settings(session: &Session) -> Vec<Value> {
    let db = &session.db;
    let Some(suite) = session.suite() else { return Vec::new() };
    let settings = session.graders().iter().filter_map(|grader| {
        let spec = suite.graders.iter().find(|spec| spec.name == *grader.name(db))?;
        let ready = queries::ready(db, *grader);
        Some(settings::of_grader(spec, ready, &|path| session.relative(path)))
    });
    settings.collect()
}

/// Finds out why actions would be called.
#[derive(Debug)]
pub struct AskReasons<'a> {
    session: &'a Session,
    history: &'a History,
    /// The settings of each grader, in the order of the suite.
    panels: Vec<Panel>,
}

impl<'a> AskReasons<'a> {
    /// Compares `session` with `history`.
    pub fn new(session: &'a Session, history: &'a History) -> Self {
        let panels = grader_settings(session).iter().map(Panel::of).collect();
        Self { session, history, panels }
    }

    /// Why `to_ask`, an action of the case that `head` names, would be called.
    pub fn reason(&self, to_ask: &ToAsk, head: &results::Head) -> Option<Reason> {
        let db = &self.session.db;
        let ToAsk { cell, ballot, .. } = to_ask;
        let grader = self.session.grader(cell.grader)?;
        // A program is called once, as a judge with one vote would be asked.
        let judge = queries::ready(db, grader).judge();
        let (judge, vote) = judge.map_or((0, 0), |judge| {
            let ballot = judge.ballot(ballot.ballot);
            (ballot.judge, ballot.vote)
        });
        let submission = queries::graded_texts(db, cell.chunk, grader).get(cell.case)?.shown();
        let planned = queries::plans(db, cell.chunk, grader).get(cell.case)?;
        let input = head.input.to_string();
        let ground_truth = head.ground_truth.to_string();
        let now = PlannedJudgment {
            panel: self.panels.get(cell.grader)?,
            judge,
            vote,
            texts: Texts::new(&submission, &input, &ground_truth),
            own_rubric: head.own_rubric,
            first_key: planned.first_key()?,
            held: to_ask.held,
        };
        let case = (head.sample_id.as_str(), head.model.as_deref(), head.trial);
        Some(reason(&self.history.before(case, grader.name(db)), &now))
    }
}
