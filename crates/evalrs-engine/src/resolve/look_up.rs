//! Brings what the store has into the graph, and adds what the plans want because of that.

use std::collections::HashSet;

use super::launch::noun;
use super::resolver::Resolver;
use super::stored::StoredReader;
use super::waiting::{FoundOutcomes, RefreshedActions, ScannedPlans, WaitingAction, stays};
use crate::progress::Event;
use evalrs_graph::inputs::Chunk;
use evalrs_graph::{Db, queries};
use evalrs_model::outcome::Outcome;
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
        loop {
            while self.look_up_once() {}
            let stays = stays(self.session);
            if !self.list.add_confirming(self.session, plans, &stays) {
                break;
            }
        }
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
