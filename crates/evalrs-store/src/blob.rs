//! Large bodies beside the segments: `v1/blob/<2 hex>/<digest>.zst`, one file a body, named by the digest of what is in it.
//!
//! A blob is durable before the line that names it, and is never changed: who writes it again replaces it by its like. From
//! its renaming until its line is durable a writer holds a lock on it, so that a sweep which locks it too knows that every
//! line which names it can be seen. Bodies that lines name and no file holds are noted, until they are written again.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::line::blob_reference::BlobReference;
use crate::line::entry_line::LineBody;
use crate::segment::files::write_error;
use crate::{BODY_LIMIT, Entry, EntryLine, StoreError};
use evalrs_model::key::KeyMap;

/// How hard a body is pressed: the next levels take twice as long for a tenth less.
const LEVEL: i32 = 3;
/// How many files are synced to the disk at the same time.
const SYNCED_AT_ONCE: usize = 16;
/// The largest file that can be a blob, in bytes: what cannot be pressed grows a little.
const MAX_FILE: u64 = BODY_LIMIT as u64 + (1 << 20);

#[derive(Clone, Debug)]
pub(crate) struct BlobFolder {
    /// `<cache>/v1/blob`.
    folder: PathBuf,
}

pub(crate) struct NewBlob<'a> {
    pub reference: BlobReference,
    pub body: &'a str,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum BlobError {
    #[error("is missing")]
    Missing,
    /// What is in it is not what its name says.
    #[error("is damaged")]
    Damaged,
    /// What is in it is not what its line says.
    #[error("is not what its line says")]
    OtherBody,
    /// The system does not hand it out; that may pass.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
}

/// A file of the folder.
#[derive(Clone, Debug)]
pub(crate) struct BlobFile {
    pub path: PathBuf,
    /// The digest that it is named after; none if it is what a writer left that was killed.
    pub digest: Option<[u8; 32]>,
    pub bytes: u64,
    pub modified: SystemTime,
}

impl BlobFolder {
    pub(crate) fn of(dir: &Path) -> Self {
        Self { folder: dir.join("v1").join("blob") }
    }

    pub(crate) fn path(&self, digest: [u8; 32]) -> PathBuf {
        let hex = blake3::Hash::from_bytes(digest).to_hex();
        self.folder.join(&hex[..2]).join(format!("{hex}.zst"))
    }

    /// The entry of a line, with its body; or the line and what is wrong with its blob, which is named.
    pub(crate) fn entry(&self, line: EntryLine) -> Result<Entry, (EntryLine, String)> {
        let body = match line.body {
            LineBody::Inline(body) => body,
            LineBody::Blob(ref reference) => match self.body(reference) {
                Ok(body) => body,
                Err(error) => {
                    let problem = self.problem(reference.digest, &error);
                    return Err((line, problem));
                }
            },
        };
        Ok(Entry { key: line.key, generation: line.generation, body })
    }

    pub(crate) fn problem(&self, digest: [u8; 32], error: &BlobError) -> String {
        format!("its blob `{}` {error}", self.path(digest).display())
    }

    fn body(&self, reference: &BlobReference) -> Result<String, BlobError> {
        let BlobReference { digest, bytes, is_reply, .. } = reference;
        let body = read_body(&self.path(*digest), *digest, *bytes as usize)?;
        let is_it = body.len() == *bytes as usize && crate::entry::is_reply(&body) == *is_reply;
        is_it.then_some(body).ok_or(BlobError::OtherBody)
    }

    /// Makes blobs durable. What comes back is to be held until the lines are durable that name them.
    pub(crate) fn write(&self, blobs: &[NewBlob<'_>]) -> Result<Vec<File>, StoreError> {
        let mut folders = BTreeSet::new();
        let mut written = Vec::with_capacity(blobs.len());
        for NewBlob { reference, body } in blobs {
            let path = self.path(reference.digest);
            let failed = |error: io::Error| write_error(&path, &error);
            let folder = path.parent().unwrap_or(&self.folder);
            if !folder.is_dir() {
                fs::create_dir_all(folder).map_err(failed)?;
                folders
                    .extend([Some(self.folder.clone()), self.folder.parent().map(Path::to_owned)]);
            }
            folders.insert(Some(folder.to_owned()));
            written.push((Temporary::write(&path, body).map_err(failed)?, path));
        }
        // All are written before the first one is waited for: the disk takes them together.
        let mut locks = Vec::with_capacity(blobs.len());
        at_once(&written, &|(temporary, path)| {
            temporary.file.sync_data().map_err(|error| write_error(path, &error))
        })?;
        for (temporary, path) in written {
            locks.push(temporary.place(&path).map_err(|error| write_error(&path, &error))?);
        }
        // As for segments: who cannot sync a folder says so with an error that means nothing.
        let folders: Vec<PathBuf> = folders.into_iter().flatten().collect();
        at_once(&folders, &|folder| {
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
            Ok(())
        })?;
        Ok(locks)
    }

    /// Every file of the folder that is or was to become a blob.
    pub(crate) fn list(&self) -> io::Result<Vec<BlobFile>> {
        let mut files = Vec::new();
        for folder in entries_of(&self.folder)? {
            let folder = folder?;
            if folder.file_type()?.is_dir() && folder.file_name().len() == 2 {
                for file in entries_of(&folder.path())? {
                    files.extend(listed(&file?)?);
                }
            }
        }
        Ok(files)
    }
}

/// Does something with each item, several at a time: the disk takes together what waits for it at the same time.
fn at_once<T: Sync>(
    items: &[T],
    sync: &(dyn Fn(&T) -> Result<(), StoreError> + Sync),
) -> Result<(), StoreError> {
    let share = items.len().div_ceil(SYNCED_AT_ONCE).max(1);
    let sync_share = |items: &[T]| items.iter().try_for_each(sync);
    if items.len() == 1 {
        return sync_share(items);
    }
    std::thread::scope(|scope| {
        let shares = items.chunks(share).map(|items| scope.spawn(move || sync_share(items)));
        let threads: Vec<_> = shares.collect();
        let ends = threads.into_iter().map(|thread| match thread.join() {
            Ok(end) => end,
            Err(panicked) => std::panic::resume_unwind(panicked),
        });
        ends.collect()
    })
}

/// The entries of a folder; none if it does not exist.
fn entries_of(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
    match fs::read_dir(folder) {
        Ok(entries) => Ok(Some(entries).into_iter().flatten()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None.into_iter().flatten()),
        Err(error) => Err(error),
    }
}

fn listed(file: &fs::DirEntry) -> io::Result<Option<BlobFile>> {
    let name = file.file_name();
    let Some(name) = name.to_str() else { return Ok(None) };
    let digest = name.strip_suffix(".zst").and_then(|hex| blake3::Hash::from_hex(hex).ok());
    let is_temporary = Path::new(name).extension().is_some_and(|extension| extension == "tmp");
    if digest.is_none() && !is_temporary {
        return Ok(None);
    }
    let metadata = match file.metadata() {
        // It went away meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?,
    };
    Ok(Some(BlobFile {
        path: file.path(),
        digest: digest.map(|digest| *digest.as_bytes()),
        bytes: metadata.len(),
        modified: metadata.modified()?,
    }))
}

/// The body in the blob at `path`. No more than `most` bytes are made of it.
pub(crate) fn read_body(path: &Path, digest: [u8; 32], most: usize) -> Result<String, BlobError> {
    let bytes = read_bounded(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => BlobError::Missing,
        _ => BlobError::Unreadable(error),
    })?;
    let body = zstd::bulk::decompress(&bytes, most).map_err(|_| BlobError::Damaged)?;
    if *blake3::hash(&body).as_bytes() != digest {
        return Err(BlobError::Damaged);
    }
    String::from_utf8(body).map_err(|_| BlobError::Damaged)
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut bytes = Vec::with_capacity(file.metadata()?.len().min(MAX_FILE) as usize);
    file.take(MAX_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A blob under a name of its own, which goes unless it gets the right one.
struct Temporary {
    file: File,
    path: PathBuf,
}

impl Temporary {
    /// Writes what will be the blob at `path`.
    fn write(path: &Path, body: &str) -> io::Result<Self> {
        let bytes = zstd::bulk::compress(body.as_bytes(), LEVEL)?;
        let mut temporary = Self::create(path)?;
        temporary.file.write_all(&bytes)?;
        Ok(temporary)
    }

    /// An empty file beside `path` that sweeps leave alone.
    fn create(path: &Path) -> io::Result<Self> {
        loop {
            let path = path.with_extension(format!("{:016x}.tmp", fastrand::u64(..)));
            // Some systems lock only what could be read, too.
            let file = File::options().read(true).write(true).create_new(true).open(&path)?;
            // A sweep leaves alone what is locked, however long it takes to be written.
            let _ = file.lock_shared();
            // One that came between has taken it for left behind.
            if path.exists() {
                return Ok(Self { file, path });
            }
        }
    }

    /// Gives it its name, and keeps sweeps away from it while this value lives. Where the system has no locks, sweeps
    /// leave blobs alone.
    fn place(self, path: &Path) -> io::Result<File> {
        let _ = self.file.lock_shared();
        // A sweep that is about to remove one of this name would remove this one.
        let replaced = File::open(path);
        let _ = replaced.as_ref().map(File::lock_shared);
        fs::rename(&self.path, path)?;
        self.file.try_clone()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Mostly it has its name by now, and nothing is there.
        let _ = fs::remove_file(&self.path);
    }
}

/// The blobs that a process failed to read: lines that name them are ignored.
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
