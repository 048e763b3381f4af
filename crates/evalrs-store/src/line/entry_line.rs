//! An entry as its line has it: with its body, or with the name of the blob that is its body.

use crate::entry::{Entry, EntryRank, is_reply, says_ingredients};
use crate::line::blob_reference::BlobReference;
use evalrs_model::key::ActionKey;

/// An entry whose body was not read if it is a large one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryLine {
    /// What it is the outcome of.
    pub key: ActionKey,
    /// Which asking it came from.
    pub generation: u32,
    pub body: LineBody,
    /// Whether it lacks what its key was made of: see [`BaseLines`](crate::segment::base_lines::BaseLines).
    pub(crate) is_incomplete: bool,
}

/// The replacement of a body in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineBody {
    /// The body.
    Inline(String),
    /// The body is kept beside the segments.
    Blob(BlobReference),
}

impl EntryLine {
    /// What decides which entry of a key wins, but for ties.
    pub fn rank(&self) -> EntryRank {
        match &self.body {
            LineBody::Inline(body) => {
                EntryRank { is_reply: is_reply(body), generation: self.generation }
            }
            LineBody::Blob(reference) => reference.rank(self.generation),
        }
    }

    /// The blake3 digest of the body, which breaks ties.
    pub fn digest(&self) -> [u8; 32] {
        match &self.body {
            LineBody::Inline(body) => *blake3::hash(body.as_bytes()).as_bytes(),
            LineBody::Blob(reference) => reference.digest,
        }
    }

    pub(crate) fn blob(&self) -> Option<&BlobReference> {
        match &self.body {
            LineBody::Inline(_) => None,
            LineBody::Blob(reference) => Some(reference),
        }
    }

    pub(crate) fn says_ingredients(&self) -> bool {
        says_ingredients(self.outline())
    }

    /// Whether it wins over `other`, as its entry would.
    pub fn wins_over(&self, other: &Self) -> bool {
        let by_rank = self.rank().cmp(&other.rank());
        let by_ingredients = || self.says_ingredients().cmp(&other.says_ingredients());
        by_rank.then_with(by_ingredients).then_with(|| self.digest().cmp(&other.digest())).is_gt()
    }

    /// The bytes of the body, if it is kept as a blob.
    pub fn large_bytes(&self) -> Option<u64> {
        self.blob().map(|blob| u64::from(blob.bytes))
    }

    /// What can be read of the body without opening a blob: all of it, or what is short in it.
    pub fn outline(&self) -> &str {
        match &self.body {
            LineBody::Inline(body) => body,
            LineBody::Blob(reference) => &reference.outline,
        }
    }
}

impl From<Entry> for EntryLine {
    fn from(entry: Entry) -> Self {
        let Entry { key, generation, body } = entry;
        Self { key, generation, body: LineBody::Inline(body), is_incomplete: false }
    }
}

/// Puts `candidate` in `place` if it wins there.
pub(crate) fn keep_winning_line(place: &mut Option<EntryLine>, candidate: EntryLine) {
    if place.as_ref().is_none_or(|held| candidate.wins_over(held)) {
        *place = Some(candidate);
    }
}
