//! Sweeping blobs: what no line names any more goes.
//!
//! A blob goes only while it is locked: a writer holds a lock on a blob until the line is durable that names it, so that
//! whoever has the lock sees every line that counts, once it has read the segments again. Blobs that no line named when
//! they were looked at may be those of a writer that the locks of a network do not reach: they stay for a day.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::blob::{BlobError, BlobFile, BlobFolder, read_body};
use crate::line::Position;
use crate::segment::files::{segment_names, unreadable, write_error};
use crate::segment::index::scan_lines;
use crate::{BODY_LIMIT, StoreError};

/// How long a blob stays that nobody names, in seconds.
const ORPHANED: i64 = 86_400;
/// The most blobs that are locked at once: each is an open file.
const MAX_LOCKED: usize = 64;

/// The blobs of a store, as they were when they were listed.
pub(crate) struct BlobSweep {
    folder: BlobFolder,
    files: Vec<BlobFile>,
    /// The bytes of each on disk.
    sizes: HashMap<[u8; 32], u64>,
}

impl BlobSweep {
    pub(crate) fn list(dir: &Path) -> io::Result<Self> {
        let folder = BlobFolder::of(dir);
        let files = folder.list()?;
        let sizes = files.iter().filter_map(|file| Some((file.digest?, file.bytes))).collect();
        Ok(Self { folder, files, sizes })
    }

    /// The blobs of the store in `dir`, each read on demand.
    pub(crate) fn unlisted(dir: &Path) -> Self {
        Self { folder: BlobFolder::of(dir), files: Vec::new(), sizes: HashMap::new() }
    }

    /// The bytes of a blob on disk; none if it is not there.
    pub(crate) fn size_of(&self, digest: [u8; 32]) -> Option<u64> {
        let held = self.sizes.get(&digest).copied();
        // It may be newer than the list.
        held.or_else(|| fs::metadata(self.folder.path(digest)).ok().map(|file| file.len()))
    }

    /// What is wrong with a blob, in words; an error where nobody can tell.
    pub(crate) fn problem_of(&self, digest: [u8; 32]) -> Result<Option<String>, StoreError> {
        let path = self.folder.path(digest);
        match read_body(&path, digest, BODY_LIMIT) {
            Ok(_) => Ok(None),
            Err(BlobError::Unreadable(error)) => Err(write_error(&path, &error)),
            Err(error) => Ok(Some(self.folder.problem(digest, &error))),
        }
    }

    /// The blobs that go, where lines that stay have `named` theirs and others, which go, the `dropped`. `now` is in seconds
    /// of Unix time.
    pub(crate) fn needless(
        &self,
        named: &HashSet<[u8; 32]>,
        dropped: &HashSet<[u8; 32]>,
        now: i64,
    ) -> Vec<&BlobFile> {
        let is_old = |file: &BlobFile| {
            let since = file.modified.duration_since(UNIX_EPOCH);
            let modified = since.map_or(0, |since| since.as_secs().cast_signed());
            modified < now.saturating_sub(ORPHANED)
        };
        let is_needless = |file: &&BlobFile| match file.digest {
            Some(digest) if named.contains(&digest) => false,
            Some(digest) if dropped.contains(&digest) => true,
            _ => is_old(file),
        };
        self.files.iter().filter(is_needless).collect()
    }
}

/// Removes blobs that no line in the segments of `folder` names, and reports each removal or problem.
pub(crate) fn remove_blobs<'b>(
    folder: &Path,
    needless: &[&'b BlobFile],
    tell: &mut dyn FnMut(Result<&'b BlobFile, String>),
) {
    let mut names = BlobNames::default();
    for files in needless.chunks(MAX_LOCKED) {
        let mut locked: Vec<(File, &BlobFile)> = Vec::with_capacity(files.len());
        for file in files {
            match lock(file) {
                Ok(lock) => locked.extend(lock.map(|lock| (lock, *file))),
                Err(error) => tell(Err(not_removed(file, &error))),
            }
        }
        if let Err(problem) = names.read(folder) {
            // Nobody knows what it names.
            return tell(Err(problem));
        }
        for (_lock, file) in locked {
            if file.digest.is_some_and(|digest| names.digests.contains(&digest)) {
                continue;
            }
            match fs::remove_file(&file.path) {
                Ok(()) => tell(Ok(file)),
                Err(error) => tell(Err(not_removed(file, &error))),
            }
        }
    }
}

fn not_removed(file: &BlobFile, error: &io::Error) -> String {
    format!("cannot remove `{}`: {error}", file.path.display())
}

/// Locks a blob against those who write it again; none if somebody does, or it is gone. Where the system has no locks,
/// it is left alone.
fn lock(file: &BlobFile) -> io::Result<Option<File>> {
    // Some systems lock only what could be written.
    let opened = match File::options().read(true).append(true).open(&file.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match opened.try_lock() {
        Ok(()) => Ok(is_at(&opened, &file.path).then_some(opened)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether the file at `path` is still this one: another one may have taken its place before it was locked.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(locked), Ok(there)) = (file.metadata(), fs::metadata(path)) else { return false };
    #[cfg(unix)]
    let is_same = {
        use std::os::unix::fs::MetadataExt as _;
        (locked.dev(), locked.ino()) == (there.dev(), there.ino())
    };
    #[cfg(not(unix))]
    let is_same = locked.modified().ok() == there.modified().ok();
    is_same
}

#[derive(Default)]
struct BlobNames {
    digests: HashSet<[u8; 32]>,
    /// How far each segment was read.
    ends: HashMap<String, Position>,
}

impl BlobNames {
    /// Reads what was added to the segments of `folder` since the last time.
    fn read(&mut self, folder: &Path) -> Result<(), String> {
        let names = segment_names(folder).map_err(|error| unreadable(folder, &error))?;
        for name in names {
            let path = folder.join(&name);
            let from = self.ends.get(&name).copied().unwrap_or(Position::START);
            let scanned = scan_lines(&path, from, u64::MAX, |found| {
                self.digests.extend(found.entry.blob().map(|blob| blob.digest));
            });
            let end = scanned.map_err(|error| unreadable(&path, &error))?.end;
            self.ends.insert(name, end);
        }
        Ok(())
    }
}
