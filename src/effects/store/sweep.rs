//! Sweeping the store: what no run needs any more goes, what is left is packed into few segments.
//!
//! Nothing is lost at any moment: what is kept of a segment is durable in a new one before the old one is removed, and
//! until then it stands there twice, which harms nobody. A segment that another process writes is locked, and is left
//! alone; what stands there counts for nothing, because it may not be on disk yet. Committed files are never touched.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::bases::Bases;
use super::blobs::BlobFile;
use super::entry_line::EntryLine;
use super::gc_policy::{Candidate, DiskSpace, Fate, fates};
use super::index::scan_file;
use super::line::ScannedEntry;
use super::line_batch::NewLine;
use super::removal_lock::remove_segments;
use super::segment_files::{segment_folder, segment_names, unreadable, write_error};
use super::segment_layout::SegmentLayout;
use super::segments::{SEAL_AT, SegmentStore};
use super::sweep_blobs::{BlobSweep, remove_blobs};
use super::uses::{Uses, read_uses};
use super::{StoreError, WARNING_LIMIT};

/// The bytes that an entry takes in the index of its segment, beside its line and line break.
const INDEXED: u64 = 40;
/// How much is written at once, in bytes.
const BATCH: usize = 4 << 20;

/// What goes. Entries that others of their key win over always do.
pub struct Sweep<'a> {
    /// Entries that were last used before, in seconds of Unix time.
    pub unused_since: Option<i64>,
    /// The least recently used, until the rest takes no more than this, in bytes; at last also what the last run of a suite
    /// needed.
    pub max_size: Option<u64>,
    /// When an entry was made, in seconds of Unix time: its first use. `i64::MAX` where nobody knows.
    pub made: &'a dyn Fn(&EntryLine) -> i64,
    /// What time it is, in seconds of Unix time: blobs that nobody names stay for a day.
    pub now: i64,
    /// Whether nothing is changed, only counted.
    pub dry_run: bool,
}

/// What went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
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

impl Swept {
    fn count_blob(&mut self, file: &BlobFile) {
        self.blobs += 1;
        self.dropped_bytes += file.bytes;
    }
}

/// Why nothing was swept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SweepError {
    /// Another sweep is under way.
    #[error("another process sweeps the store")]
    Busy,
    /// Without this manifest nobody knows what is in use.
    #[error("cannot read what runs used in `{path}`: {reason}")]
    Uses {
        /// The manifest.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The store's files cannot be read or written; what was there is still there.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Sweeps the store in the cache folder `dir`.
pub fn sweep(dir: &Path, sweep: &Sweep<'_>) -> Result<Swept, SweepError> {
    let folder = segment_folder(dir);
    if !folder.exists() {
        return Ok(Swept::default());
    }
    let _lock = lock(&dir.join("v1").join("gc.lock"))?;
    let uses = uses(dir, sweep)?;
    // Before the lines are read: what is made meanwhile is not looked at.
    let blobs = BlobSweep::list(dir).map_err(|error| write_error(&dir.join("v1/blob"), &error))?;
    let names = segment_names(&folder).map_err(|error| write_error(&folder, &error))?;
    let mut survey = survey(&folder, names, &uses, sweep.made, &blobs);
    survey.find_lost(&blobs)?;
    let room = sweep.max_size.map(|most| most.saturating_sub(survey.busy_bytes));
    let fates = fates(&survey.candidates, sweep.unused_since, room);
    survey.count(&fates);
    survey.swept.manifests = uses.needless.len() as u64;
    let needless = survey.needless(&blobs, &fates, sweep.now);
    if sweep.dry_run {
        for file in &needless {
            survey.swept.count_blob(file);
        }
    } else {
        let packed = survey.to_pack(&fates);
        survey.pack(dir, &folder, &fates, packed)?;
        survey.remove_blobs(&folder, &needless);
        for path in &uses.needless {
            // It is no harm if it stays.
            let _ = fs::remove_file(path);
        }
    }
    Ok(survey.swept)
}

/// Keeps two sweeps apart; the system releases it whatever becomes of the process.
pub(super) fn lock(path: &Path) -> Result<File, SweepError> {
    let file = File::options().create(true).append(true).open(path);
    let file = file.map_err(|error| write_error(path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(SweepError::Busy),
        Err(TryLockError::Error(error)) => Err(write_error(path, &error).into()),
    }
}

/// The uses of keys. Where they decide what goes, all of them must be known.
fn uses(dir: &Path, sweep: &Sweep<'_>) -> Result<Uses, SweepError> {
    let failed = |path: &Path, reason: &str| SweepError::Uses {
        path: path.display().to_string(),
        reason: reason.to_owned(),
    };
    let uses = read_uses(dir, sweep.unused_since);
    let uses = uses.map_err(|error| failed(&dir.join("v1").join("use"), &error.to_string()))?;
    let decides = sweep.unused_since.is_some() || sweep.max_size.is_some();
    match uses.damaged.first() {
        Some((path, reason)) if decides => Err(failed(path, reason)),
        _ => Ok(uses),
    }
}

/// A segment that nobody writes.
struct Closed {
    path: PathBuf,
    /// Its length when it was read, in bytes.
    length: u64,
    /// Where its candidates begin among all.
    first: usize,
    /// Whether it has bytes that are no entry.
    is_torn: bool,
    /// Whether it would be shorter if it was written anew.
    is_outdated: bool,
}

/// What there is in segments that nobody writes.
#[derive(Default)]
pub(super) struct Survey {
    /// In the order of segments, each front to back.
    pub(super) candidates: Vec<Candidate>,
    closed: Vec<Closed>,
    busy_bytes: u64,
    /// The digests of blobs that segments in use name.
    busy_blobs: HashSet<[u8; 32]>,
    pub(super) swept: Swept,
}

/// Looks at every entry of those segments that nobody writes.
pub(super) fn survey(
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
                survey.problem(unreadable(&path, &error));
                continue;
            }
        };
        let first = survey.candidates.len();
        let candidates = &mut survey.candidates;
        let mut bases = Bases::of(&path);
        let mut layout = SegmentLayout::default();
        let scanned = scan_file(&path, |found| {
            let entry = bases.entry(&found.entry).unwrap_or_else(|incomplete| incomplete);
            layout.look_at(&found.entry, &entry);
            let used = uses.last.get(&entry.key).copied().unwrap_or(i64::MIN);
            let last_use = used.max(made(&entry));
            let is_needed = uses.needed.contains(&entry.key);
            let blob = entry.blob().map(|blob| blobs.size_of(blob.digest));
            let known = Candidate {
                is_needed,
                is_lost: blob == Some(None),
                ..candidate(&found, &entry, last_use)
            };
            candidates.push(Candidate { blob: blob.flatten(), ..known });
        });
        match scanned {
            Ok(scanned) => {
                let is_torn = !scanned.skipped.is_empty() || scanned.end.offset < length;
                scanned.skipped.into_iter().for_each(|problem| survey.problem(problem));
                let is_outdated = layout.is_outdated();
                survey.closed.push(Closed { path, length, first, is_torn, is_outdated });
            }
            Err(error) => {
                survey.candidates.truncate(first);
                survey.problem(unreadable(&path, &error));
            }
        }
    }
    survey
}

fn candidate(found: &ScannedEntry<'_>, entry: &EntryLine, last_use: i64) -> Candidate {
    Candidate {
        key: entry.key,
        rank: entry.rank(),
        digest: entry.digest(),
        offset: found.offset,
        size: u64::from(found.length) + 1 + INDEXED,
        blob: None,
        is_lost: false,
        last_use,
        is_needed: false,
    }
}

/// The length of a segment in bytes, unless a process writes it.
fn closed_length(path: &Path) -> io::Result<Option<u64>> {
    // Some systems lock only what could be written.
    let file = File::options().read(true).append(true).open(path)?;
    match file.try_lock() {
        Ok(()) => file.metadata().map(|file| Some(file.len())),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl Survey {
    fn problem(&mut self, problem: String) {
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
    pub(super) fn find_lost(&mut self, blobs: &BlobSweep) -> Result<(), StoreError> {
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
            let candidate = &mut self.candidates[at];
            candidate.is_lost = problem.is_some();
            let key = candidate.key;
            if let Some(problem) = problem {
                self.problem(format!("left out the stored outcome of {key}: {problem}"));
            }
        }
        Ok(())
    }

    /// The blobs that nobody needs.
    fn needless<'b>(&self, blobs: &'b BlobSweep, fates: &[Fate], now: i64) -> Vec<&'b BlobFile> {
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

    fn remove_blobs(&mut self, folder: &Path, needless: &[&BlobFile]) {
        let swept = &mut self.swept;
        let mut problems = Vec::new();
        remove_blobs(folder, needless, &mut |removed| match removed {
            Ok(file) => swept.count_blob(file),
            Err(problem) => problems.push(problem),
        });
        for problem in problems {
            self.problem(problem);
        }
    }

    pub(super) fn count(&mut self, fates: &[Fate]) {
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

    /// Writes what is kept of the segments `packed` to new ones, then removes the old ones.
    pub(super) fn pack(
        &mut self,
        dir: &Path,
        folder: &Path,
        fates: &[Fate],
        packed: Vec<usize>,
    ) -> Result<(), StoreError> {
        let writer = SegmentStore::open(dir);
        for at in &packed {
            self.copy(*at, fates, &writer)?;
        }
        writer.seal();
        self.count_written(&packed, fates, writer.writer().written);
        let _removal = remove_segments(folder);
        for at in packed {
            let Closed { path, length, .. } = &self.closed[at];
            match remove(path, *length) {
                Ok(true) => self.swept.packed += 1,
                Ok(false) => self.swept.busy += 1,
                Err(error) => {
                    let problem = format!("cannot remove `{}`: {error}", path.display());
                    self.problem(problem);
                }
            }
        }
        remove_orphans(folder);
        Ok(())
    }

    /// What was packed takes what it takes now.
    fn count_written(&mut self, packed: &[usize], fates: &[Fate], written: u64) {
        let entries = packed.iter().flat_map(|at| self.entries(*at));
        let kept = entries.filter(|at| fates[*at] == Fate::Kept);
        let before: u64 = kept.map(|at| self.candidates[at].size - INDEXED).sum();
        self.swept.kept_bytes = self.swept.kept_bytes + written - before;
    }

    /// The segments that lose something or are outdated, and all small ones if there are several.
    pub(super) fn to_pack(&self, fates: &[Fate]) -> Vec<usize> {
        let is_small = |closed: &Closed| closed.length < SEAL_AT / 2;
        let loses = |at: usize| {
            let fates = &fates[self.entries(at)];
            let Closed { is_torn, is_outdated, .. } = self.closed[at];
            is_torn
                || is_outdated
                || fates.is_empty()
                || fates.iter().any(|fate| *fate != Fate::Kept)
        };
        let small = self.closed.iter().filter(|closed| is_small(closed)).count();
        let ats = 0..self.closed.len();
        ats.filter(|at| loses(*at) || (small > 1 && is_small(&self.closed[*at]))).collect()
    }

    /// Whether a segment has nothing that cannot be read.
    pub(super) fn is_intact(&self, at: usize, fates: &[Fate]) -> bool {
        !self.closed[at].is_torn && !fates[self.entries(at)].contains(&Fate::Lost)
    }

    fn entries(&self, at: usize) -> std::ops::Range<usize> {
        let end = self.closed.get(at + 1).map_or(self.candidates.len(), |next| next.first);
        self.closed[at].first..end
    }

    /// Copies what is kept of one segment.
    fn copy(&self, at: usize, fates: &[Fate], writer: &SegmentStore) -> Result<(), StoreError> {
        let path = &self.closed[at].path;
        let mut known = self.entries(at).map(|at| (&self.candidates[at], fates[at])).peekable();
        let mut batch = Vec::new();
        let mut size = 0;
        let mut written = Ok(());
        let mut missing = 0;
        let mut bases = Bases::of(path);
        let scanned = scan_file(path, |found| {
            while known.next_if(|(candidate, _)| candidate.offset < found.offset).is_some() {
                missing += 1;
            }
            let is_it = |candidate: &Candidate| {
                candidate.offset == found.offset && candidate.key == found.entry.key
            };
            let Some((_, fate)) = known.next_if(|(candidate, _)| is_it(candidate)) else { return };
            if fate == Fate::Kept && written.is_ok() {
                size += found.length as usize;
                batch.push(bases.entry(&found.entry).unwrap_or_else(|incomplete| incomplete));
                if size >= BATCH {
                    written = writer.put(batch.iter().map(NewLine::from));
                    batch.clear();
                    size = 0;
                }
            }
        });
        scanned.map_err(|error| write_error(path, &error))?;
        written?;
        writer.put(batch.iter().map(NewLine::from))?;
        if missing + known.count() > 0 {
            let error = io::Error::other("it was changed while it was swept");
            return Err(write_error(path, &error));
        }
        Ok(())
    }
}

/// Removes a segment of this length with its index, unless a process writes it after all: one that was just made.
fn remove(path: &Path, length: u64) -> io::Result<bool> {
    let file = File::options().read(true).append(true).open(path)?;
    match file.try_lock() {
        Ok(()) if file.metadata()?.len() == length => {
            let _ = fs::remove_file(path.with_extension("idx"));
            fs::remove_file(path).map(|()| true)
        }
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Removes the indexes of segments that are gone: a writer that was killed leaves them.
fn remove_orphans(folder: &Path) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()) {
        let name = path.to_string_lossy();
        let stem = name.strip_suffix(".idx.tmp").or_else(|| name.strip_suffix(".idx"));
        if stem.is_some_and(|stem| !Path::new(&format!("{stem}.jsonl")).exists()) {
            let _ = fs::remove_file(&path);
        }
    }
}
