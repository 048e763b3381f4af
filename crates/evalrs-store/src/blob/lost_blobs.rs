//! The blobs that a process could not read: lines that name them count for nothing. Knows no files.

use std::collections::HashSet;

use crate::{Entry, EntryLine};
use evalrs_model::key::KeyMap;

/// What was lost, as far as it was asked for.
#[derive(Clone, Default)]
pub(crate) struct LostBlobs {
    digests: HashSet<[u8; 32]>,
    /// The line of each key that would win.
    lines: KeyMap<EntryLine>,
}

impl LostBlobs {
    pub(crate) fn has(&self, digest: &[u8; 32]) -> bool {
        self.digests.contains(digest)
    }

    pub(crate) fn add(&mut self, line: &EntryLine) {
        self.digests.extend(line.blob().map(|blob| blob.digest));
        let held = self.lines.entry(line.key).or_insert_with(|| line.clone());
        if line.wins_over(held) {
            *held = line.clone();
        }
    }

    /// The blob of this digest was written again.
    pub(crate) fn mend(&mut self, digest: [u8; 32]) {
        if self.digests.remove(&digest) {
            self.lines.retain(|_, line| line.digest() != digest);
        }
    }

    /// The generation under which an entry is kept: its own, or one that wins over what is lost. Else every process would
    /// look for that first, and say that it is lost.
    pub(crate) fn generation_of(&self, entry: &Entry) -> u32 {
        let Some(lost) = self.lines.get(&entry.key) else { return entry.generation };
        let own = EntryLine::from(entry.clone());
        let is_mended = own.digest() == lost.digest();
        if is_mended || own.wins_over(lost) || own.rank().is_reply != lost.rank().is_reply {
            return entry.generation;
        }
        lost.generation.saturating_add(1)
    }
}
