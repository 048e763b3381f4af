//! Sweeping the store: what no run needs any more goes, what is left is packed into few segments.
//!
//! Nothing is lost at any moment: what is kept of a segment is durable in a new one before the old one is removed, and
//! until then it stands there twice, which harms nobody. A segment that another process writes is locked, and is left
//! alone; what stands there counts for nothing, because it may not be on disk yet. Committed files are never touched.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

pub(crate) mod blob_sweep;
pub mod packing;
pub(crate) mod policy;
pub mod survey;
pub mod uses;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use crate::blob::BlobFile;
use crate::segment::base_lines::BaseLines;
use crate::segment::files::{segment_folder, segment_names, write_error};
use crate::segment::held_file::open_released;
use crate::segment::index::scan_file;
use crate::segment::line_batch::NewLine;
use crate::segment::removal_lock::{remove_segments, try_removing_segments};
use crate::sweep::blob_sweep::{BlobSweep, remove_blobs};
use crate::sweep::policy::{Fate, fates};
use crate::sweep::survey::{ClosedSegment, INDEXED, Survey, SweptEntries, survey};
use crate::sweep::uses::{Uses, read_uses, remove_unfinished};
use crate::{EntryLine, SegmentStore, StoreError};

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
pub fn sweep(dir: &Path, sweep: &Sweep<'_>) -> Result<SweptEntries, SweepError> {
    let folder = segment_folder(dir);
    if !folder.exists() {
        return Ok(SweptEntries::default());
    }
    // A look at what would go changes nothing, and may be had of a store that is not ours to write.
    let _lock = if sweep.dry_run { None } else { Some(lock(&dir.join("v1").join("gc.lock"))?) };
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
        survey.name_incomplete(&packed, &fates);
        survey.pack(dir, &fates, packed, ReaderPolicy::Waits)?;
        survey.remove_blobs(&folder, &needless);
        for path in &uses.needless {
            // It is no harm if it stays.
            let _ = fs::remove_file(path);
        }
        remove_unfinished(dir, sweep.now);
    }
    Ok(survey.swept)
}

/// Keeps two sweeps apart; the system releases it whatever becomes of the process.
pub(crate) fn lock(path: &Path) -> Result<File, SweepError> {
    let file = File::options().create(true).append(true).open(path);
    let file = file.map_err(|error| write_error(path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(SweepError::Busy),
        Err(TryLockError::Error(error)) => Err(write_error(path, &error).into()),
    }
}

/// The uses of keys. Where they decide what goes, all of them must be known.
pub fn uses(dir: &Path, sweep: &Sweep<'_>) -> Result<Uses, SweepError> {
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

/// What is done where somebody reads segments that are to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReaderPolicy {
    /// They are waited for.
    Waits,
    /// Nothing is packed then.
    GivesUp,
}

impl Survey {
    fn remove_blobs(&mut self, folder: &Path, needless: &[&BlobFile]) {
        remove_blobs(folder, needless, &mut |removed| match removed {
            Ok(file) => self.swept.count_blob(file),
            Err(problem) => self.problem(problem),
        });
    }

    /// Writes what is kept of the segments `packed` to new ones, then removes the old ones.
    pub(crate) fn pack(
        &mut self,
        dir: &Path,
        fates: &[Fate],
        packed: Vec<usize>,
        patience: ReaderPolicy,
    ) -> Result<(), StoreError> {
        let folder = segment_folder(dir);
        let writer = SegmentStore::open(dir);
        let copied = packed.iter().try_for_each(|at| self.copy(*at, fates, &writer));
        writer.seal();
        let removal = match patience {
            ReaderPolicy::Waits => Some(remove_segments(&folder)),
            ReaderPolicy::GivesUp => try_removing_segments(&folder),
        };
        let Some(_removal) = removal.filter(|_| copied.is_ok()) else {
            // All of it stands where it stood.
            writer.take_back();
            return copied;
        };
        self.count_written(&packed, fates, writer.writer().written);
        for at in packed {
            let ClosedSegment { path, length, .. } = &self.closed[at];
            match remove(path, *length) {
                Ok(true) => self.swept.packed += 1,
                Ok(false) => self.swept.busy += 1,
                Err(error) => self.problem(format!("cannot remove `{}`: {error}", path.display())),
            }
        }
        remove_orphans(&folder);
        Ok(())
    }

    /// What was packed takes what it takes now.
    fn count_written(&mut self, packed: &[usize], fates: &[Fate], written: u64) {
        let entries = packed.iter().flat_map(|at| self.entries(*at));
        let kept = entries.filter(|at| fates[*at] == Fate::Kept);
        let before: u64 = kept.map(|at| self.candidates[at].size - INDEXED).sum();
        self.swept.kept_bytes = self.swept.kept_bytes + written - before;
    }

    /// Copies what is kept of one segment.
    fn copy(&self, at: usize, fates: &[Fate], writer: &SegmentStore) -> Result<(), StoreError> {
        let path = &self.closed[at].path;
        let mut known = self.entries(at).map(|at| (&self.candidates[at], fates[at])).peekable();
        let mut batch = Vec::new();
        let mut size = 0;
        let mut written = Ok(());
        let mut missing = 0;
        let mut bases = BaseLines::of(path);
        let scanned = scan_file(path, |found| {
            while known.next_if(|(candidate, _)| candidate.offset < found.offset).is_some() {
                missing += 1;
            }
            let own = known.next_if(|(candidate, _)| {
                candidate.offset == found.offset && candidate.key == found.entry.key
            });
            let Some((_, fate)) = own else { return };
            if fate == Fate::Kept && written.is_ok() {
                size += found.length as usize;
                batch.push(bases.entry(&found.entry));
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
    match open_released(path)? {
        Some(file) if file.metadata()?.len() == length => {
            let _ = fs::remove_file(path.with_extension("idx"));
            fs::remove_file(path).map(|()| true)
        }
        Some(_) | None => Ok(false),
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
