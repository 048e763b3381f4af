//! Which answers of targets the graph holds whole: the newest ones, up to a bound. Others are read again from the store
//! where somebody needs them, which is seldom once they are graded.

use std::collections::VecDeque;
use std::sync::Arc;

use evalrs_graph::Database;
use evalrs_graph::outcomes::ReplyArchive;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Outcome, read_body};
use evalrs_store::OutcomeStore;

/// Bytes of answers kept in memory: the calls in flight need fewer, unless answers are very large.
const MAX_HELD: usize = if cfg!(test) { 1 << 20 } else { 32 << 20 };

/// Replies as the store has them.
pub(super) struct StoredReplies(pub(super) Arc<dyn OutcomeStore>);

impl ReplyArchive for StoredReplies {
    fn replies(&self, keys: &[ActionKey]) -> Vec<Option<Outcome>> {
        let entries = self.0.get_many(keys).into_iter();
        entries.map(|entry| read_body(&entry?.body).ok()).collect()
    }
}

/// Bytes of a reply; none of a failure, which is not let go of.
pub(super) fn size_of_reply(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Reply(reply) => reply.text.len(),
        Outcome::Failure(_) => 0,
    }
}

/// The answers kept whole, from the oldest to the newest, with their sizes.
#[derive(Debug, Default)]
pub(crate) struct WholeAnswers {
    held: VecDeque<(ActionKey, usize)>,
    bytes: usize,
}

impl WholeAnswers {
    pub(crate) fn add(&mut self, key: ActionKey, bytes: usize) {
        self.bytes += bytes;
        self.held.push_back((key, bytes));
    }

    /// Lets the oldest go where there are too many.
    pub(crate) fn release(&mut self, db: &Database) {
        while self.bytes > MAX_HELD
            && let Some((key, bytes)) = self.held.pop_front()
        {
            self.bytes -= bytes;
            db.outcomes.release(key);
        }
    }
}

#[cfg(test)]
mod tests;
