//! The outcomes of stored entries, or nothing for those to be repeated or that cannot be read. Brings what the
//! store has into the graph, and adds what the plans want because of that.

use std::collections::HashSet;

use super::credentials::kind_of;
use super::launch::noun;
use super::refreshed::RefreshedActions;
use super::resolver::Resolver;
use super::settings::Settings;
use super::waiting::{FoundOutcomes, ScannedPlans, WaitingAction, stays};
use crate::progress::Event;
use crate::session::Session;
use evalrs_eval::evaluate::Purpose;
use evalrs_eval::program::reply as program_reply;
use evalrs_eval::target::answer;
use evalrs_graph::inputs::Chunk;
use evalrs_graph::{Db, queries};
use evalrs_model::outcome::{Outcome, read_body};
use evalrs_store::Entry;

impl Resolver<'_> {
    /// Whether some of the plans want something that they did not want before.
    pub(crate) fn wants_more(&mut self, plans: &ScannedPlans) -> bool {
        if matches!(plans, ScannedPlans::From(0)) {
            self.touched.clear();
        }
        let db = &self.session.db;
        self.list.add_confirming(self.session, plans, &|key| db.outcome(key))
    }

    /// Brings in everything that the store has, also of what some of the plans want because of that.
    pub(crate) fn look_up(&mut self, plans: &ScannedPlans) {
        self.bring_in(plans);
        let target = [("target".to_owned(), self.list.conversations)];
        let tallies = || self.list.tallies.iter().chain(&target);
        let totals = tallies().filter(|(_, tally)| tally.total > 0);
        let totals = totals.map(|(name, tally)| (name.clone(), tally.total)).collect();
        let noun = noun(self.session);
        self.world.progress.event(&Event::Planned { totals, noun });
        // Later there is news only if there is more to ask.
        if self.may_ask() && (self.settled.asked.is_empty() || !self.list.queue.is_empty()) {
            let cached = tallies().map(|(_, tally)| tally.cached).sum();
            self.world.progress.event(&Event::Cached(cached));
        }
    }

    /// The same without showing it.
    pub(crate) fn bring_in(&mut self, plans: &ScannedPlans) {
        loop {
            while self.look_up_once() {}
            let stays = stays(self.session);
            if !self.list.add_confirming(self.session, plans, &stays) {
                return;
            }
        }
    }

    /// Brings in what the store has, until that is much. True if there may be more.
    fn look_up_once(&mut self) -> bool {
        let settings = &self.settings;
        let warnings = &mut self.settled.warnings;
        let replayed = &mut self.settled.replayed_failures;
        let refreshed = RefreshedActions::of(self.session, settings);
        let reader = StoredReader { session: self.session, settings, refreshed };
        let mut usable = |entry: &Entry, waiting: &WaitingAction| {
            let outcome = reader.usable(entry, waiting, warnings);
            *replayed += u64::from(matches!(outcome, Some(Outcome::Failure(_))));
            outcome
        };
        let unapplied = self.list.take_unapplied(self.session);
        let found = self.list.look_up(self.world.store.as_ref(), &mut usable);
        let FoundOutcomes { outcomes, waiting, answers, has_more, .. } = found;
        let waiting = waiting.into_iter().chain(unapplied).collect::<HashSet<Chunk>>();
        let waiting: Vec<_> = waiting.into_iter().collect();
        for (key, size) in answers {
            self.whole_answers.add(key, size);
        }
        self.applied += u64::from(!outcomes.is_empty() || !waiting.is_empty());
        self.apply_to(outcomes, &waiting);
        if has_more {
            self.evaluate(&waiting);
        }
        has_more
    }

    /// Plans these chunks while the answers that they rest on are in memory.
    fn evaluate(&self, chunks: &[Chunk]) {
        for chunk in chunks {
            for grader in self.session.graders() {
                queries::plans(&self.session.db, *chunk, *grader);
            }
        }
    }
}

/// The outcome that a command without a suite takes from the entry `held` of an action, and the generation of a new outcome
/// if it is executed. What was executed by the same command stands, as does a result of the last generation, which could not
/// be replaced. A stored failure is no reason to fail again where that `may_run`.
pub(crate) fn standing(
    held: Option<Entry>,
    was_executed: bool,
    anew: bool,
    may_run: bool,
) -> (Option<Outcome>, u32) {
    let Some(held) = held else { return (None, 0) };
    let is_last = held.generation == u32::MAX;
    let outcome = read_body(&held.body).ok().filter(|outcome| match outcome {
        Outcome::Reply(_) => was_executed || is_last || !anew,
        Outcome::Failure(_) => was_executed || !may_run,
    });
    (outcome, held.generation.saturating_add(1))
}

/// Reads stored entries as a session with these settings takes them.
pub(crate) struct StoredReader<'a> {
    pub session: &'a Session,
    pub settings: &'a Settings,
    pub refreshed: RefreshedActions,
}

impl StoredReader<'_> {
    /// The outcome of an entry that `waiting` waits for, unless it is to be repeated.
    pub(crate) fn usable(
        &self,
        entry: &Entry,
        waiting: &WaitingAction,
        warnings: &mut Vec<String>,
    ) -> Option<Outcome> {
        let may_ask = self.settings.ask.may_ask(kind_of(self.session, waiting));
        let retry_errors = self.settings.retry_errors;
        let is_refreshed = may_ask && self.refreshed.has(waiting);
        if is_refreshed && entry.generation < u32::MAX {
            return None;
        }
        let key = entry.key;
        match self.read(entry, waiting) {
            // A failure of the last generation gives way to a reply.
            Ok(Outcome::Failure(_)) if (retry_errors || is_refreshed) && may_ask => None,
            Ok(outcome) => {
                if is_refreshed {
                    warnings.push(format!("the stored outcome of {key} cannot be refreshed: it has the last generation there is; remove its line"));
                }
                Some(outcome)
            }
            Err(error) => {
                warnings.push(format!(
                    "the cached outcome of {key} cannot be read, so its call is repeated: {error}"
                ));
                None
            }
        }
    }

    /// What an entry holds. A reply that is no verdict is the failure that it would be if it came now.
    pub(crate) fn read(
        &self,
        entry: &Entry,
        waiting: &WaitingAction,
    ) -> Result<Outcome, serde_json::Error> {
        Ok(read_body(&entry.body)?.checked(|text| self.check(text, waiting)))
    }

    fn check(&self, text: &str, waiting: &WaitingAction) -> Result<(), String> {
        match waiting.purpose {
            Purpose::Submission => return program_reply::submission(text).map(drop),
            Purpose::Answer => return answer::check(text),
            Purpose::Grade => {}
        }
        let Some(grader) = self.session.grader(waiting.cell.grader) else { return Ok(()) };
        let ready = queries::ready(&self.session.db, grader);
        match (ready.judge(), ready.program()) {
            (Some(judge), _) => judge.read(text).map(drop),
            (None, Some(identity)) => program_reply::check(&identity.spec, text),
            (None, None) => Ok(()),
        }
    }
}
