//! Where the answer of a live target comes from: its conversation, and what of it differs from an earlier run.

use super::explain::ExplanationSource;
use evalrs_eval::action::Action;
use evalrs_graph::inputs::Chunk;
use evalrs_graph::{answers, results};
use evalrs_metrics::explain::ExplainedOutcome;
use evalrs_metrics::explain::conversation::{ExplainedConversation, changes};
use evalrs_metrics::results::ResultLine;
use evalrs_model::key::{ActionKey, Ingredient};
use evalrs_store::record::read::PastLine;

impl ExplanationSource<'_> {
    /// The conversation of a case; none where the target is recorded.
    pub fn conversation(
        &mut self,
        chunk: Chunk,
        case: usize,
        line: &ResultLine,
    ) -> Option<ExplainedConversation> {
        let db = &self.session.db;
        let sample = results::sample_id(db, chunk, case)?;
        let action = Action::Target(answers::conversation_of(db, chunk, case, sample)?);
        let key = action.key();
        let ingredients = action.ingredients();
        let kept = self.stored(key);
        let earlier = self.earlier_conversation(line);
        let before = earlier.as_ref().and_then(|(_, key)| *key);
        let differs = before.filter(|before| *before != key).and_then(|before| {
            let held: Vec<Ingredient> = self.stored(before)?.stored.ingredients;
            Some(changes(&held, &ingredients))
        });
        Some(ExplainedConversation {
            key: key.to_string(),
            ingredients,
            outcome: kept.map(|found| {
                let cost = action.cost(&found.stored.outcome, self.session.root.prices(db));
                ExplainedOutcome::new(found.stored, found.layer, found.generation, cost)
            }),
            earlier: earlier.map(|(run, _)| run),
            is_same: before == Some(key),
            differs: differs.unwrap_or_default(),
        })
    }

    /// The newest earlier run that held a conversation with the case, and its key.
    fn earlier_conversation(&self, line: &ResultLine) -> Option<(String, Option<ActionKey>)> {
        let is_it = |past: &&PastLine| past.model == line.model && past.trial == line.trial;
        let earlier = self.earlier?;
        earlier.pasts.iter().find_map(|past| {
            let lines = earlier.lines.of(past);
            let conversation = lines.iter().find(is_it)?.conversation.as_deref()?;
            Some((past.id.clone(), ActionKey::parse(conversation)))
        })
    }
}
