//! How far the settling of a save is, and what it came to.

use super::Live;
use crate::resolve::allowance::Blocked;
use evalrs_graph::answers;
use evalrs_model::outcome::ActionTally;
use evalrs_model::outcome::Usage;

/// How far the settling of the last save is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveState {
    /// Not everything is planned yet.
    Planning,
    /// Judges are asked.
    Asking,
    /// So many actions wait for a word of the user.
    Held(u64),
    /// Nothing is left to do.
    Done,
    /// Nothing more is asked, and why.
    Stopped(String),
}

/// What became of the actions of the last save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResolveProgress {
    /// What the actions of all graders came to so far.
    pub tally: ActionTally,
    /// Being executed.
    pub under_way: u64,
    /// Still to be launched.
    pub waiting: u64,
    /// Being executed, though they are superseded.
    pub superseded: u64,
    /// Launched since the session began.
    pub calls: u64,
    /// What was used since the session began.
    pub used: Usage,
}

impl Live<'_> {
    /// How far it is.
    pub fn standing(&self) -> ResolveState {
        let resolver = &self.resolver;
        let is_busy = !resolver.in_flight.waits_for_nothing() || self.has_arrived();
        if !self.to_plan.is_empty() {
            return ResolveState::Planning;
        }
        if is_busy || !self.again.is_empty() {
            return ResolveState::Asking;
        }
        if let Some(error) = &resolver.settled.write_error {
            return ResolveState::Stopped(format!(
                "{error}; begin another session once that is mended"
            ));
        }
        if let Some(cannot) = &self.cannot {
            return ResolveState::Stopped(cannot.to_string());
        }
        match resolver.blocked {
            Some(Blocked::Budget) => {
                ResolveState::Stopped(resolver.budget.refusal(resolver.settings.limits).to_owned())
            }
            Some(Blocked::Held) => ResolveState::Held(resolver.queues.len() as u64),
            None if self.is_done => ResolveState::Done,
            None => ResolveState::Asking,
        }
    }

    /// What became of the actions of the last save.
    pub fn progressed(&self) -> ResolveProgress {
        let resolver = &self.resolver;
        let (under_way, superseded) = resolver.in_flight.under_way();
        let tallies = resolver.list.tallies.iter().map(|(_, tally)| *tally);
        let tallies = tallies.chain([resolver.list.conversations]);
        let tally = tallies.fold(ActionTally::default(), ActionTally::and);
        ResolveProgress {
            tally,
            under_way,
            waiting: resolver.queues.len() as u64 + tally.pending,
            superseded,
            calls: resolver.budget.calls(),
            used: resolver.used,
        }
    }

    /// What the actions of each grader came to, in the order of the suite.
    pub fn tallies(&self) -> &[(String, ActionTally)] {
        &self.resolver.list.tallies
    }

    /// What the conversations of the target came to, where it is run.
    pub fn conversations(&self) -> Option<ActionTally> {
        let session = self.session();
        let is_live = answers::is_live(&session.db, session.root);
        is_live.then_some(self.resolver.list.conversations)
    }

    /// Why endpoints are asked no more, what of the store could not be read, and how many stored failures stand for
    /// answers: a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let settled = &self.resolver.settled;
        let mut notes: Vec<String> =
            settled.stopped.iter().chain(&settled.warnings).cloned().collect();
        if settled.replayed_failures > 0 {
            let count = settled.replayed_failures;
            notes.push(evalrs_base::text::count(count, "cached error"));
        }
        if let (Some(flag), pending @ 1..) =
            (self.resolver.settings.ask.flag(), self.progressed().tally.pending)
        {
            notes.push(format!("not in the store, and {flag} forbids asking: {pending}"));
        }
        notes.extend(self.in_vain.iter().cloned());
        notes
    }
}
