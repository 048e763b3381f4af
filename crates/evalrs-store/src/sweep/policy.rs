//! What becomes of each entry in a sweep: a decision over plain data. Knows no files.

use std::collections::HashMap;

use crate::entry::EntryRank;
use evalrs_model::key::ActionKey;

/// An entry that may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub key: ActionKey,
    pub rank: EntryRank,
    /// The blake3 digest of its body, which breaks ties.
    pub digest: [u8; 32],
    /// Where its line starts in its segment, in bytes.
    pub offset: u32,
    /// What its line takes on disk, in bytes.
    pub size: u64,
    /// What its blob takes, if its body is one: once, however many entries have that body.
    pub blob: Option<u64>,
    /// Whether its blob cannot be read.
    pub is_lost: bool,
    /// Whether the line is damaged that it shares its ingredients with.
    pub(crate) is_incomplete: bool,
    /// Whether it says what its key was made of: neither that one nor what a sweep has made of such a one does.
    pub(crate) says_ingredients: bool,
    /// When it was last needed, in seconds of Unix time.
    pub(crate) last_use: i64,
    /// Whether the last run of a suite needed it.
    pub(crate) is_needed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    /// Another entry of its key wins, or is the same and comes before it.
    Superseded,
    /// It was last used before the limit.
    Unused,
    /// The store is too large, and it is one of those that are needed least.
    OverSize,
    /// Nobody can read it.
    Lost,
}

/// What entries take on disk together.
#[derive(Default)]
pub(crate) struct DiskSpace {
    /// The bytes of all lines, and of each blob once.
    pub bytes: u64,
    /// How many entries have each blob.
    blobs: HashMap<[u8; 32], u64>,
}

impl DiskSpace {
    pub(crate) fn add(&mut self, candidate: &Candidate) {
        self.bytes += candidate.size;
        if let Some(bytes) = candidate.blob {
            let entries = self.blobs.entry(candidate.digest).or_default();
            self.bytes += if *entries == 0 { bytes } else { 0 };
            *entries += 1;
        }
    }

    fn take(&mut self, candidate: &Candidate) {
        self.bytes -= candidate.size;
        if let (Some(bytes), Some(entries)) =
            (candidate.blob, self.blobs.get_mut(&candidate.digest))
        {
            *entries -= 1;
            self.bytes -= if *entries == 0 { bytes } else { 0 };
        }
    }
}

/// The fate of each candidate: of every key one stays, if it was used since `unused_since` and is not among the least
/// recently used that do not fit into `room` bytes. What the last run of a suite needed is the last to go for its size.
pub(crate) fn fates(
    candidates: &[Candidate],
    unused_since: Option<i64>,
    room: Option<u64>,
) -> Vec<Fate> {
    let mut fates: Vec<Fate> = candidates
        .iter()
        .map(|candidate| if candidate.is_lost { Fate::Lost } else { Fate::Superseded })
        .collect();
    let mut order: Vec<usize> =
        (0..candidates.len()).filter(|at| !candidates[*at].is_lost).collect();
    // Stable: of equals the first stays.
    order.sort_by(|left, right| {
        let left = &candidates[*left];
        let right = &candidates[*right];
        let best = |of: &Candidate| (of.rank, of.says_ingredients, of.digest);
        left.key.cmp(&right.key).then_with(|| best(right).cmp(&best(left)))
    });
    order.dedup_by_key(|at| candidates[*at].key);
    order.retain(|at| {
        let is_used = unused_since.is_none_or(|since| candidates[*at].last_use >= since);
        fates[*at] = if is_used { Fate::Kept } else { Fate::Unused };
        is_used
    });
    let Some(room) = room else { return fates };
    let mut total = DiskSpace::default();
    for at in &order {
        total.add(&candidates[*at]);
    }
    order.sort_by_key(|at| {
        let Candidate { is_needed, last_use, key, .. } = candidates[*at];
        (is_needed, last_use, key)
    });
    for at in order {
        if total.bytes <= room {
            break;
        }
        total.take(&candidates[at]);
        fates[at] = Fate::OverSize;
    }
    fates
}
