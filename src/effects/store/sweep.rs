//! Sweeping the store: what no run needs any more goes, what is left is packed into few segments.
//!
//! Nothing is lost at any moment: what is kept of a segment is durable in a new one before the old one is removed, and
//! until then it stands there twice, which harms nobody. A segment that another process writes is locked, and is left
//! alone; what stands there counts for nothing, because it may not be on disk yet. Committed files are never touched.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::gc_policy::{Candidate, Fate, fates};
use super::line::ScannedEntry;
use super::segments::{
    SEAL_AT, SegmentStore, scan_file, segment_folder, segment_names, unreadable, write_error,
};
use super::uses::{Uses, read_uses};
use super::{Entry, OutcomeStore, StoreError, WARNING_LIMIT};

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
    pub made: &'a dyn Fn(&Entry) -> i64,
    /// Whether nothing is changed, only counted.
    pub dry_run: bool,
}

/// What went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Entries that stay, those of segments in use not among them.
    pub kept: u64,
    /// The bytes of these, their index included.
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
    /// Manifests of uses that nobody needs any more.
    pub manifests: u64,
    /// Bad lines, which are packed into no segment, and files that could not be read or removed.
    pub problems: Vec<String>,
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
    let mut survey = survey(&folder, &uses, sweep.made)?;
    let room = sweep.max_size.map(|most| most.saturating_sub(survey.busy_bytes));
    let fates = fates(&survey.candidates, sweep.unused_since, room);
    survey.count(&fates);
    survey.swept.manifests = uses.needless.len() as u64;
    if !sweep.dry_run {
        survey.pack(dir, &folder, &fates)?;
        for path in &uses.needless {
            // It is no harm if it stays.
            let _ = fs::remove_file(path);
        }
    }
    Ok(survey.swept)
}

/// Keeps two sweeps apart; the system releases it whatever becomes of the process.
fn lock(path: &Path) -> Result<File, SweepError> {
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
}

#[derive(Default)]
struct Survey {
    /// In the order of segments, each front to back.
    candidates: Vec<Candidate>,
    closed: Vec<Closed>,
    busy_bytes: u64,
    swept: Swept,
}

/// Looks at every entry of every segment that nobody writes.
fn survey(folder: &Path, uses: &Uses, made: &dyn Fn(&Entry) -> i64) -> Result<Survey, StoreError> {
    let mut survey = Survey::default();
    let names = segment_names(folder).map_err(|error| write_error(folder, &error))?;
    for name in names {
        let path = folder.join(name);
        let length = match closed_length(&path) {
            Ok(Some(length)) => length,
            Ok(None) => {
                survey.swept.busy += 1;
                survey.busy_bytes += fs::metadata(&path).map_or(0, |file| file.len());
                continue;
            }
            Err(error) => {
                survey.problem(unreadable(&path, &error));
                continue;
            }
        };
        let first = survey.candidates.len();
        let candidates = &mut survey.candidates;
        let scanned = scan_file(&path, |found| {
            let used = uses.last.get(&found.entry.key).copied().unwrap_or(i64::MIN);
            let last_use = used.max(made(&found.entry));
            let is_needed = uses.needed.contains(&found.entry.key);
            candidates.push(Candidate { is_needed, ..candidate(&found, last_use) });
        });
        match scanned {
            Ok(scanned) => {
                let is_torn = !scanned.skipped.is_empty() || scanned.end.offset < length;
                scanned.skipped.into_iter().for_each(|problem| survey.problem(problem));
                survey.closed.push(Closed { path, length, first, is_torn });
            }
            Err(error) => {
                survey.candidates.truncate(first);
                survey.problem(unreadable(&path, &error));
            }
        }
    }
    Ok(survey)
}

fn candidate(found: &ScannedEntry, last_use: i64) -> Candidate {
    Candidate {
        key: found.entry.key,
        rank: found.entry.rank(),
        digest: *blake3::hash(found.entry.body.as_bytes()).as_bytes(),
        offset: found.offset,
        size: u64::from(found.length) + 1 + INDEXED,
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

    fn count(&mut self, fates: &[Fate]) {
        let swept = &mut self.swept;
        for (candidate, fate) in self.candidates.iter().zip(fates) {
            let (count, bytes) = match fate {
                Fate::Kept => (&mut swept.kept, &mut swept.kept_bytes),
                Fate::Superseded => (&mut swept.superseded, &mut swept.dropped_bytes),
                Fate::Unused => (&mut swept.unused, &mut swept.dropped_bytes),
                Fate::OverSize => (&mut swept.over_size, &mut swept.dropped_bytes),
            };
            *count += 1;
            *bytes += candidate.size;
        }
    }

    /// Writes what is kept of segments that lose something or are small to new ones, then removes the old ones.
    fn pack(&mut self, dir: &Path, folder: &Path, fates: &[Fate]) -> Result<(), StoreError> {
        let packed = self.to_pack(fates);
        let writer = SegmentStore::open(dir);
        for at in &packed {
            self.copy(*at, fates, &writer)?;
        }
        writer.seal();
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

    /// The segments that lose something, and all small ones if there are several.
    fn to_pack(&self, fates: &[Fate]) -> Vec<usize> {
        let is_small = |closed: &Closed| closed.length < SEAL_AT / 2;
        let loses = |at: usize| {
            let fates = &fates[self.entries(at)];
            self.closed[at].is_torn
                || fates.is_empty()
                || fates.iter().any(|fate| *fate != Fate::Kept)
        };
        let small = self.closed.iter().filter(|closed| is_small(closed)).count();
        let ats = 0..self.closed.len();
        ats.filter(|at| loses(*at) || (small > 1 && is_small(&self.closed[*at]))).collect()
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
        let scanned = scan_file(path, |found| {
            while known.next_if(|(candidate, _)| candidate.offset < found.offset).is_some() {
                missing += 1;
            }
            let is_it = |candidate: &Candidate| {
                candidate.offset == found.offset && candidate.key == found.entry.key
            };
            let Some((_, fate)) = known.next_if(|(candidate, _)| is_it(candidate)) else { return };
            if fate == Fate::Kept && written.is_ok() {
                size += found.entry.body.len();
                batch.push(found.entry);
                if size >= BATCH {
                    written = writer.put_many(&batch);
                    batch.clear();
                    size = 0;
                }
            }
        });
        scanned.map_err(|error| write_error(path, &error))?;
        written?;
        writer.put_many(&batch)?;
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
