//! What becomes of each entry in a sweep: a decision over plain data. Knows no files.

use super::EntryRank;
use crate::pipeline::key::ActionKey;

/// An entry that may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) key: ActionKey,
    pub(super) rank: EntryRank,
    /// The blake3 digest of its body, which breaks ties.
    pub(super) digest: [u8; 32],
    /// Where its line starts in its segment, in bytes.
    pub(super) offset: u32,
    /// What it takes on disk, in bytes.
    pub(super) size: u64,
    /// When it was last needed, in seconds of Unix time.
    pub(super) last_use: i64,
    /// Whether the last run of a suite needed it.
    pub(super) is_needed: bool,
}

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stays.
    Kept,
    /// Another entry of its key wins, or is the same and stands before it.
    Superseded,
    /// It was last used before the limit.
    Unused,
    /// The store is too large, and it is one of those that are needed least.
    OverSize,
}

/// The fate of each candidate: of every key one stays, if it was used since `unused_since` and is not among the least
/// recently used that do not fit into `room` bytes. What the last run of a suite needed is the last to go for its size.
pub(super) fn fates(
    candidates: &[Candidate],
    unused_since: Option<i64>,
    room: Option<u64>,
) -> Vec<Fate> {
    let mut fates = vec![Fate::Superseded; candidates.len()];
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    // Stable: of equals the first stays.
    order.sort_by(|left, right| {
        let left = &candidates[*left];
        let right = &candidates[*right];
        let winner = (right.rank, right.digest).cmp(&(left.rank, left.digest));
        left.key.cmp(&right.key).then(winner)
    });
    order.dedup_by_key(|at| candidates[*at].key);
    order.retain(|at| {
        let is_used = unused_since.is_none_or(|since| candidates[*at].last_use >= since);
        fates[*at] = if is_used { Fate::Kept } else { Fate::Unused };
        is_used
    });
    let Some(room) = room else { return fates };
    let mut total: u64 = order.iter().map(|at| candidates[*at].size).sum();
    order.sort_by_key(|at| {
        let Candidate { is_needed, last_use, key, .. } = candidates[*at];
        (is_needed, last_use, key)
    });
    for at in order {
        if total <= room {
            break;
        }
        total -= candidates[at].size;
        fates[at] = Fate::OverSize;
    }
    fates
}
