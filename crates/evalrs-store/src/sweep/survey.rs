//! What there is in segments that nobody writes, and what is to become of it.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::blob::BlobFile;
use crate::entry::{StoreError, WARNING_LIMIT};
use crate::line::entry_line::EntryLine;
use crate::segment::base_lines::BaseLines;
use crate::segment::files::unreadable;
use crate::segment::held_file::open_released;
use crate::segment::index::scan_file;
use crate::segment::store::SEAL_AT;
use crate::segment::written_base_lines::SegmentLayout;
use crate::sweep::blob_sweep::BlobSweep;
use crate::sweep::policy::{Candidate, DiskSpace, Fate};
use crate::sweep::uses::Uses;

/// The bytes that an entry takes in the index of its segment, beside its line and line break.
pub(crate) const INDEXED: u64 = 40;

/// What went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweptEntries {
    /// Entries that stay, those of segments in use not among them.
    pub kept: u64,
    /// The bytes of these, their index and their blobs included: in a dry run as they stand now.
    pub kept_bytes: u64,
    /// Entries that went because another one of their key wins.
    pub superseded: u64,
    /// Entries that went because no run used them since.
    pub unused: u64,
    /// Entries that went because the store was too large.
    pub over_size: u64,
    /// The bytes of all that went.
    pub dropped_bytes: u64,
    /// Segments that were left alone, because a process writes them.
    pub busy: u64,
    /// The segments that were packed into others or were empty.
    pub packed: u64,
    /// Blobs that went, because no entry names them any more.
    pub blobs: u64,
    /// Manifests of uses that nobody needs any more.
    pub manifests: u64,
    /// Bad lines, which are packed into no segment, and files that could not be read or removed.
    pub problems: Vec<String>,
}

impl SweptEntries {
    pub(crate) fn count_blob(&mut self, file: &BlobFile) {
        self.blobs += 1;
        self.dropped_bytes += file.bytes;
    }
}

pub(crate) struct ClosedSegment {
    pub path: PathBuf,
    /// Its length when it was read, in bytes.
    pub length: u64,
    /// Where its candidates begin among all.
    first: usize,
    /// Whether it has bytes that are not an entry.
    is_torn: bool,
    /// Whether it would be shorter if it was written again.
    is_outdated: bool,
}

/// What there is in segments that nobody writes.
#[derive(Default)]
pub(crate) struct Survey {
    /// In the order of segments, each front to back.
    pub candidates: Vec<Candidate>,
    pub closed: Vec<ClosedSegment>,
    pub(crate) busy_bytes: u64,
    /// The digests of blobs that segments in use name.
    busy_blobs: HashSet<[u8; 32]>,
    pub swept: SweptEntries,
}

/// Looks at every entry of those segments that nobody writes.
pub(crate) fn survey(
    folder: &Path,
    names: Vec<String>,
    uses: &Uses,
    made: &dyn Fn(&EntryLine) -> i64,
    blobs: &BlobSweep,
) -> Survey {
    let mut survey = Survey::default();
    for name in names {
        let path = folder.join(name);
        let length = match closed_length(&path) {
            Ok(Some(length)) => length,
            Ok(None) => {
                survey.look_at_busy(&path, blobs);
                continue;
            }
            Err(error) => {
                survey.unreadable(&path, &error);
                continue;
            }
        };
        let first = survey.candidates.len();
        let candidates = &mut survey.candidates;
        let mut bases = BaseLines::of(&path);
        let mut layout = SegmentLayout::default();
        let scanned = scan_file(&path, |found| {
            let entry = bases.entry(&found.entry);
            layout.look_at(&found.entry, &entry);
            let used = uses.last.get(&entry.key).copied().unwrap_or(i64::MIN);
            let blob = entry.blob().map(|blob| blobs.size_of(blob.digest));
            candidates.push(Candidate {
                key: entry.key,
                rank: entry.rank(),
                digest: entry.digest(),
                offset: found.offset,
                size: u64::from(found.length) + 1 + INDEXED,
                blob: blob.flatten(),
                is_lost: blob == Some(None),
                is_incomplete: entry.is_incomplete,
                says_ingredients: entry.says_ingredients(),
                last_use: used.max(made(&entry)),
                is_needed: uses.needed.contains(&entry.key),
            });
        });
        match scanned {
            Ok(scanned) => {
                let is_torn = !scanned.skipped.is_empty() || scanned.end.offset < length;
                scanned.skipped.into_iter().for_each(|problem| survey.problem(problem));
                let is_outdated = layout.is_outdated();
                survey.closed.push(ClosedSegment { path, length, first, is_torn, is_outdated });
            }
            Err(error) => {
                survey.candidates.truncate(first);
                survey.unreadable(&path, &error);
            }
        }
    }
    survey
}

/// The length of a segment in bytes, unless a process writes it.
fn closed_length(path: &Path) -> io::Result<Option<u64>> {
    let file = open_released(path)?;
    file.map(|file| file.metadata().map(|file| file.len())).transpose()
}

impl Survey {
    pub(crate) fn problem(&mut self, problem: String) {
        if self.swept.problems.len() < WARNING_LIMIT {
            self.swept.problems.push(problem);
        }
    }

    /// A segment that a process writes is left alone, and so is what it names.
    fn look_at_busy(&mut self, path: &Path, blobs: &BlobSweep) {
        self.swept.busy += 1;
        self.busy_bytes += fs::metadata(path).map_or(0, |file| file.len());
        // What cannot be read now is read again before a blob goes.
        let _ = scan_file(path, |found| {
            let digest = found.entry.blob().map(|blob| blob.digest);
            if let Some(digest) = digest.filter(|digest| self.busy_blobs.insert(*digest)) {
                self.busy_bytes += blobs.size_of(digest).unwrap_or_default();
            }
        });
    }

    /// Finds the entries whose blobs cannot be read. Blobs that are there are looked into where other entries would go
    /// for them.
    pub(crate) fn find_lost(&mut self, blobs: &BlobSweep) -> Result<(), StoreError> {
        if self.candidates.iter().all(|candidate| candidate.blob.is_none() && !candidate.is_lost) {
            return Ok(());
        }
        let mut order: Vec<usize> = (0..self.candidates.len()).collect();
        order.sort_by_key(|at| self.candidates[*at].key);
        let groups =
            order.chunk_by(|left, right| self.candidates[*left].key == self.candidates[*right].key);
        let mut looked_into: Vec<(usize, Option<String>)> = Vec::new();
        for group in groups {
            let digests = group.iter().map(|at| self.candidates[*at].digest);
            let is_contested = digests.clone().any(|digest| Some(digest) != digests.clone().next());
            for at in group {
                let Candidate { digest, blob, is_lost, .. } = self.candidates[*at];
                if is_lost || (blob.is_some() && is_contested) {
                    looked_into.push((*at, blobs.problem_of(digest)?));
                }
            }
        }
        for (at, problem) in looked_into {
            self.candidates[at].is_lost = problem.is_some();
            if let Some(problem) = problem {
                let key = self.candidates[at].key;
                self.problem(format!("skipped the cached outcome of {key}: {problem}"));
            }
        }
        Ok(())
    }

    /// The blobs that nobody needs.
    pub(crate) fn needless<'b>(
        &self,
        blobs: &'b BlobSweep,
        fates: &[Fate],
        now: i64,
    ) -> Vec<&'b BlobFile> {
        let mut named = self.busy_blobs.clone();
        let mut dropped = HashSet::new();
        for (candidate, fate) in self.candidates.iter().zip(fates) {
            if candidate.blob.is_some() {
                let to = if *fate == Fate::Kept { &mut named } else { &mut dropped };
                to.insert(candidate.digest);
            }
        }
        blobs.needless(&named, &dropped, now)
    }

    pub(crate) fn count(&mut self, fates: &[Fate]) {
        let swept = &mut self.swept;
        let mut kept = DiskSpace::default();
        for (candidate, fate) in self.candidates.iter().zip(fates) {
            let count = match fate {
                Fate::Kept => {
                    swept.kept += 1;
                    kept.add(candidate);
                    continue;
                }
                Fate::Superseded => &mut swept.superseded,
                Fate::Unused => &mut swept.unused,
                Fate::OverSize => &mut swept.over_size,
                Fate::Lost => continue,
            };
            *count += 1;
            swept.dropped_bytes += candidate.size;
        }
        swept.kept_bytes = kept.bytes;
    }

    /// Names what is kept without what its key was made of: once it is packed nobody can tell any more.
    pub(crate) fn name_incomplete(&mut self, packed: &[usize], fates: &[Fate]) {
        for at in packed.iter().flat_map(|at| self.entries(*at)).collect::<Vec<usize>>() {
            let Candidate { key, is_incomplete, .. } = self.candidates[at];
            if is_incomplete && fates[at] == Fate::Kept {
                self.problem(format!(
                    "kept the cached outcome of {key} without the ingredients of its key: the line that it shared them with is damaged"
                ));
            }
        }
    }

    /// The segments that lose something, lack something or are outdated, and all small ones if there are several.
    pub(crate) fn to_pack(&self, fates: &[Fate]) -> Vec<usize> {
        let is_small = |closed: &ClosedSegment| closed.length < SEAL_AT / 2;
        let loses = |at: usize| {
            let ClosedSegment { is_torn, is_outdated, .. } = self.closed[at];
            let mut entries = self.entries(at);
            let goes = |at: usize| fates[at] != Fate::Kept || self.candidates[at].is_incomplete;
            is_torn || is_outdated || entries.is_empty() || entries.any(goes)
        };
        let small = self.closed.iter().filter(|closed| is_small(closed)).count();
        let ats = 0..self.closed.len();
        ats.filter(|at| loses(*at) || (small > 1 && is_small(&self.closed[*at]))).collect()
    }

    /// Whether a segment has nothing that cannot be read.
    pub(crate) fn is_intact(&self, at: usize, fates: &[Fate]) -> bool {
        let entries = &self.candidates[self.entries(at)];
        !self.closed[at].is_torn
            && !fates[self.entries(at)].contains(&Fate::Lost)
            && !entries.iter().any(|candidate| candidate.is_incomplete)
    }

    /// Notes that a segment cannot be read. One that is gone was taken away by who had made it for nothing, or packed, if
    /// this is a look without the lock.
    fn unreadable(&mut self, path: &Path, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.problem(unreadable(path, error));
        }
    }

    pub(crate) fn entries(&self, at: usize) -> std::ops::Range<usize> {
        let end = self.closed.get(at + 1).map_or(self.candidates.len(), |next| next.first);
        self.closed[at].first..end
    }
}
