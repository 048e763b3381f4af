//! One kept outcome, which one of a key wins, and why one could not be kept. Opens no files.

use evalrs_model::key::ActionKey;

/// The longest body that is kept.
pub const BODY_LIMIT: usize = 64 << 20;

/// One kept outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is the outcome of.
    pub key: ActionKey,
    /// Which asking it came from: of replies the highest wins, ties by digest of the body.
    pub generation: u32,
    /// The outcome and what is kept with it: compact JSON text of one object, without line breaks.
    pub body: String,
}

impl Entry {
    /// Whether it wins over `other`, an entry of the same key: a reply over a failure, then by generation, then one with the
    /// ingredients of its key, then by the greater blake3 digest of the body, so that processes that called at the same
    /// moment agree afterwards.
    pub fn wins_over(&self, other: &Self) -> bool {
        let digest = |entry: &Self| *blake3::hash(entry.body.as_bytes()).as_bytes();
        let by_rank = self.rank().cmp(&other.rank());
        by_rank
            .then_with(|| says_ingredients(&self.body).cmp(&says_ingredients(&other.body)))
            .then_with(|| digest(self).cmp(&digest(other)))
            .is_gt()
    }

    /// What decides which entry of a key wins, but for ties.
    pub fn rank(&self) -> EntryRank {
        EntryRank { is_reply: is_reply(&self.body), generation: self.generation }
    }
}

/// What decides which entry of a key wins, but for ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryRank {
    /// Whether there is a reply: a failure never wins over a reply, whatever its generation.
    pub is_reply: bool,
    /// Which asking it came from.
    pub generation: u32,
}

/// Whether a body does not say that its key was made of nothing: that is what is left where the line is damaged that it shared
/// its ingredients with. Inside a text the quotes would be escaped.
pub(crate) fn says_ingredients(body: &str) -> bool {
    memchr::memmem::find(body.as_bytes(), br#""ingredients":[]"#).is_none()
}

/// Whether a body holds a reply. Bodies of evalrs begin with their outcome; those of others are read.
pub(crate) fn is_reply(body: &str) -> bool {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Body {
        outcome: BodyOutcome,
    }

    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct BodyOutcome {
        reply: Option<serde::de::IgnoredAny>,
    }
    if let Some(outcome) = body.strip_prefix(r#"{"outcome":{""#) {
        return outcome.starts_with(r#"reply":"#);
    }
    serde_json::from_str::<Body>(body).is_ok_and(|body| body.outcome.reply.is_some())
}

/// Puts `candidate` in `place` if it wins there.
pub(crate) fn keep_winner(place: &mut Option<Entry>, candidate: Entry) {
    if place.as_ref().is_none_or(|held| candidate.wins_over(held)) {
        *place = Some(candidate);
    }
}

/// How many warnings a store gives: a file of garbage has millions of bad lines.
pub(crate) const WARNING_LIMIT: usize = 1000;

/// Why an outcome could not be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store's files cannot be written.
    #[error("cannot write the store at `{path}`: {reason}")]
    Write {
        /// The file or folder.
        path: String,
        /// The error of the system.
        reason: String,
    },
    /// The entry does not fit the format; nothing of its batch was written.
    #[error("cannot keep the outcome of `{key}`: its body {reason}")]
    Body {
        /// Whose entry it is.
        key: ActionKey,
        /// What is wrong with the body.
        reason: &'static str,
    },
}
