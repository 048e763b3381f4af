//! The result of actions: the side table that queries read under the epochs of their chunks.
//!
//! Conversations may be large, and are seldom read twice. So the text of a reply may be let go of: its digest stays, and
//! an archive hands the text out again where something reads it after all. A text of another digest is none: the reply is
//! then one that was lost, and whoever wants it waits for it as if it had never been there.

use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use evalrs_model::key::{ActionKey, KeyMap, KeySet};
use evalrs_model::outcome::Outcome;

/// Keeps replies that the graph has let go of.
pub trait ReplyArchive: Send + Sync {
    /// The result of each action; none of one that cannot be read.
    fn replies(&self, keys: &[ActionKey]) -> Vec<Option<Outcome>>;
}

/// An outcome, or what is left of a reply that was let go of.
#[derive(Debug)]
struct KnownOutcome {
    outcome: Option<Arc<Outcome>>,
    /// That of the text of a reply.
    digest: u64,
    /// That of all that is known of it, with its key.
    whole: u128,
}

/// A reply that the archive has, by its digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedReply {
    /// That of its text.
    pub text: u64,
    /// That of all that is known of it, with its key.
    pub whole: u128,
}

/// Outcomes by key.
#[derive(Default)]
pub struct OutcomeTable {
    known: RwLock<KeyMap<KnownOutcome>>,
    archive: RwLock<Option<Arc<dyn ReplyArchive>>>,
    /// Replies that were let go of, and that the archive does not have.
    lost: Mutex<KeySet>,
    /// How many there were when all that nobody wanted were dropped last.
    left: AtomicUsize,
}

impl OutcomeTable {
    /// Adds outcomes; each takes the place of one that is known.
    pub fn extend(&self, outcomes: Vec<(ActionKey, Arc<Outcome>)>) {
        let known = outcomes.into_iter().map(|(key, outcome)| {
            let digest = digest(&outcome);
            let whole = digest_of(key, &outcome);
            (key, KnownOutcome { outcome: Some(outcome), digest, whole })
        });
        self.known.write().unwrap_or_else(PoisonError::into_inner).extend(known);
    }

    /// Drops those that are not `wanted`. The epochs of the chunks that have read them are to be raised.
    pub fn retain(&self, wanted: impl Fn(&ActionKey) -> bool) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).retain(|key, _| wanted(key));
    }

    /// Drops all that are not `wanted`, and gives memory back that is not used. What is dropped must be in no plan: its
    /// cells would stay as they are until an epoch is raised.
    pub fn keep(&self, wanted: impl Fn(&ActionKey) -> bool) {
        self.retain(wanted);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.shrink_to_fit();
        self.left.store(known.len(), Ordering::Relaxed);
    }

    /// Whether enough came since the last [`Self::keep`] to make a pass over all of them worthwhile.
    pub fn has_grown(&self) -> bool {
        const SHARE: usize = 32;
        let left = self.left.load(Ordering::Relaxed);
        self.known.read().unwrap_or_else(PoisonError::into_inner).len() > left + left / SHARE
    }

    /// The result of an action, if it is known.
    pub fn outcome(&self, key: ActionKey) -> Option<Arc<Outcome>> {
        let digest = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            let KnownOutcome { outcome, digest, .. } = known.get(&key)?;
            if let Some(outcome) = outcome {
                return Some(Arc::clone(outcome));
            }
            *digest
        };
        let archived = self.read_archive(&[key]).pop().flatten();
        let archived = archived.filter(|outcome| self::digest(outcome) == digest);
        if archived.is_none() {
            self.lose(key);
        }
        archived.map(Arc::new)
    }

    fn read_archive(&self, keys: &[ActionKey]) -> Vec<Option<Outcome>> {
        let archive = self.archive.read().unwrap_or_else(PoisonError::into_inner).clone();
        archive.map_or_else(Vec::new, |archive| archive.replies(keys))
    }

    /// Reads the texts of replies that were let go of, all at once. Returns the keys of those that are here now.
    pub(super) fn bring_back(&self, keys: impl Iterator<Item = ActionKey>) -> Vec<ActionKey> {
        let mut gone: Vec<ActionKey> = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            keys.filter(|key| known.get(key).is_some_and(|known| known.outcome.is_none())).collect()
        };
        if gone.is_empty() {
            return gone;
        }
        let mut replies = self.read_archive(&gone).into_iter();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        gone.retain(|key| {
            let reply = replies.next().flatten();
            let Some((known, reply)) = known.get_mut(key).zip(reply) else { return false };
            let is_same = known.outcome.is_none() && digest(&reply) == known.digest;
            if is_same {
                known.outcome = Some(Arc::new(reply));
            }
            is_same
        });
        gone
    }

    fn lose(&self, key: ActionKey) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Another one may have come meanwhile.
        if known.get(&key).is_some_and(|known| known.outcome.is_none()) {
            known.remove(&key);
            self.lost.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        }
    }

    /// The digest of a reply, if there is one.
    pub(super) fn reply_digest(&self, key: ActionKey) -> Option<u64> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let KnownOutcome { outcome, digest, .. } = known.get(&key)?;
        let is_failure = matches!(outcome.as_deref(), Some(Outcome::Failure(_)));
        (!is_failure).then_some(*digest)
    }

    /// The digest of all outcomes.
    pub fn digest(&self) -> u128 {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        // Their order is that of the hash, and a sum has none.
        known.values().fold(0, |sum, known| known.whole.wrapping_add(sum))
    }

    /// Sets where released replies can be read again; without a reader, those whose text is not in memory are
    /// lost from now on.
    pub fn set_archive(&self, archive: Option<Arc<dyn ReplyArchive>>) {
        *self.archive.write().unwrap_or_else(PoisonError::into_inner) = archive;
    }

    /// Whether a reply was let go of and could not be brought back since the last call.
    pub fn take_lost(&self, key: ActionKey) -> bool {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).remove(&key)
    }

    /// Adds replies of which only the digest is known, and that the archive has; those that are known stay. There are at most
    /// `most`.
    pub fn add_archived(
        &self,
        most: usize,
        replies: impl Iterator<Item = (ActionKey, ArchivedReply)>,
    ) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.reserve(most);
        for (key, ArchivedReply { text, whole }) in replies {
            known.entry(key).or_insert(KnownOutcome { outcome: None, digest: text, whole });
        }
    }

    /// The digests of a reply, if there is one.
    pub(super) fn archived(&self, key: ActionKey) -> Option<ArchivedReply> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let KnownOutcome { outcome, digest, whole } = known.get(&key)?;
        let is_failure = matches!(outcome.as_deref(), Some(Outcome::Failure(_)));
        (!is_failure).then_some(ArchivedReply { text: *digest, whole: *whole })
    }

    /// Whether an action has an outcome that is kept.
    pub fn is_kept(&self, key: ActionKey) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&key).is_some_and(|known| known.outcome.as_deref().is_none_or(Outcome::is_kept))
    }

    /// Lets go of the text of a reply that the archive has.
    pub fn release(&self, key: ActionKey) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get_mut(&key)
            && matches!(known.outcome.as_deref(), Some(Outcome::Reply(_)))
        {
            known.outcome = None;
        }
    }
}

fn digest(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Reply(reply) => xxh3_64(reply.text.as_bytes()),
        Outcome::Failure(_) => 0,
    }
}

/// The digest of what came of an action. Those of all actions are added up, because they have no order.
fn digest_of(key: ActionKey, outcome: &Outcome) -> u128 {
    let mut hasher = Xxh3::new();
    hasher.update(&key.0);
    outcome.hash(&mut hasher);
    hasher.digest128()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{OutcomeTable, ReplyArchive};
    use evalrs_model::key::ActionKey;
    use evalrs_model::outcome::{Outcome, Reply};

    fn key(number: usize) -> ActionKey {
        ActionKey::parse(&format!("{number:064x}")).unwrap()
    }

    fn add(table: &OutcomeTable, keys: std::ops::Range<usize>) {
        let reply = Reply { text: String::new(), model: None, usage: None, exchange: None };
        let outcome = Arc::new(Outcome::Reply(reply));
        table.extend(keys.map(|number| (key(number), Arc::clone(&outcome))).collect());
    }

    #[test]
    fn what_came_since_all_were_looked_at_adds_up() {
        let table = OutcomeTable::default();
        add(&table, 0..64);
        assert!(table.has_grown());
        table.keep(|_| true);
        assert!(!table.has_grown());
        for number in 64..66 {
            add(&table, number..number + 1);
            // What a save drops of its own is no look at all of them.
            table.retain(|_| true);
            assert!(!table.has_grown());
        }
        add(&table, 66..67);
        assert!(table.has_grown());
        table.keep(|kept| *kept == key(1));
        assert_eq!((table.outcome(key(1)).is_some(), table.outcome(key(2))), (true, None));
        assert!(!table.has_grown());
    }

    #[derive(Default)]
    struct CountedReplies(Mutex<Vec<usize>>);

    impl ReplyArchive for CountedReplies {
        fn replies(&self, keys: &[ActionKey]) -> Vec<Option<Outcome>> {
            self.0.lock().unwrap().push(keys.len());
            let reply = |key: &ActionKey| match *key {
                // Another text than it had, and none.
                other if other == self::key(2) => Some(Outcome::Reply(Reply::new("other"))),
                gone if gone == self::key(3) => None,
                _ => Some(Outcome::Reply(Reply::new(""))),
            };
            keys.iter().map(reply).collect()
        }
    }

    #[test]
    fn replies_that_were_let_go_of_come_back_at_once() {
        let table = OutcomeTable::default();
        add(&table, 0..5);
        let archive = Arc::new(CountedReplies::default());
        table.set_archive(Some(Arc::clone(&archive) as Arc<dyn ReplyArchive>));
        (0..4).for_each(|number| table.release(key(number)));
        let back = table.bring_back((0..9).map(key));
        assert_eq!(back, [key(0), key(1)]);
        assert_eq!(*archive.0.lock().unwrap(), [4]);
        assert!(table.outcome(key(0)).is_some());
        assert_eq!(*archive.0.lock().unwrap(), [4], "it is here");
        assert_eq!(table.outcome(key(2)), None);
        assert!(table.take_lost(key(2)));
        assert_eq!(table.bring_back([key(4), key(7)].into_iter()), []);
        assert_eq!(*archive.0.lock().unwrap(), [4, 1], "nothing is gone");
    }
}
