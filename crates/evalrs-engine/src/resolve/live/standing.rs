//! Reports the progress of a save, and its result.

use super::Live;
use super::resolve_state::{ResolveProgress, ResolveState};
use crate::resolve::admission::Obstacle;
use evalrs_graph::answers;
use evalrs_model::outcome::ActionTally;

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
                "{error}; fix the cause and start a new session"
            ));
        }
        if let Some(cannot) = &self.cannot {
            return ResolveState::Stopped(cannot.to_string());
        }
        match resolver.admission.blocked {
            Some(Obstacle::Budget) => {
                ResolveState::Stopped(resolver.admission.refusal().to_owned())
            }
            Some(Obstacle::Held) => ResolveState::Held(resolver.admission.queues.len() as u64),
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
            waiting: resolver.admission.queues.len() as u64 + tally.pending,
            superseded,
            out: resolver.batches.out.len() as u64,
            calls: resolver.admission.budget.calls(),
            used: resolver.used,
        }
    }

    /// The result of the actions of each grader, in the order of the suite.
    pub fn tallies(&self) -> &[(String, ActionTally)] {
        &self.resolver.list.tallies
    }

    /// The result of the conversations of the target, where it is run.
    pub fn conversations(&self) -> Option<ActionTally> {
        let session = self.session();
        let is_live = answers::is_live(&session.db, session.root);
        is_live.then_some(self.resolver.list.conversations)
    }

    /// Why endpoints are disabled, what could not be read from the store, and how many cached failures were
    /// replayed: a sentence each.
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
            notes.push(format!("not cached, and {flag} forbids calls: {pending}"));
        }
        notes.extend(self.in_vain.iter().cloned());
        notes
    }
}
