//! What is at a path, as a digest of its bytes: for a later process that trusts no state of a file.
//!
//! The digest guards against edits that nobody saw, not against somebody who looks for another file with the same one.
#![cfg_attr(unix, expect(clippy::disallowed_methods, reason = "this is where the effects are"))]

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::FileBytes;

/// Files are digested in parts of this size.
const PART: usize = 1 << 20;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathContent {
    /// Nothing.
    Missing,
    /// A folder, whatever is in it.
    Folder,
    /// Something that cannot be read: the error of the system.
    Unreadable(String),
    /// A file: the digest of the digests of its parts, in hexadecimal.
    Bytes(String),
}

impl PathContent {
    /// Of a file that was read.
    pub fn of(read: &FileBytes) -> Self {
        match read {
            FileBytes::Bytes(bytes) => Self::of_parts(bytes.chunks(PART).map(xxh3_128)),
            FileBytes::Missing => Self::Missing,
            FileBytes::Folder => Self::Folder,
            FileBytes::Unreadable(reason) => Self::Unreadable(reason.clone()),
        }
    }

    fn of_parts(parts: impl Iterator<Item = u128>) -> Self {
        let digests: Vec<u8> = parts.flat_map(u128::to_le_bytes).collect();
        Self::Bytes(format!("{:032x}", xxh3_128(&digests)))
    }
}

/// Reads and digests files with all threads of the machine, large ones in parts.
#[cfg(unix)]
pub(super) fn contents_on_disk(paths: &[&str]) -> Vec<PathContent> {
    let entries: Vec<PathEntry<'_>> = paths.iter().map(|path| PathEntry::at(path)).collect();
    let jobs = entries.iter().enumerate().flat_map(|(file, entry)| {
        let parts = entry.length.unwrap_or_default().div_ceil(PART as u64);
        (0..parts).map(move |part| PathPart { file, number: part })
    });
    let jobs: Vec<PathPart> = jobs.collect();
    let digests = digests_of(&entries, &jobs);
    let mut read = jobs.iter().zip(digests).peekable();
    let contents = entries.iter().enumerate().map(|(file, entry)| {
        let own = std::iter::from_fn(|| read.next_if(|(part, _)| part.file == file));
        let parts: Result<Vec<u128>, String> = own.map(|(_, digest)| digest).collect();
        match (entry.length, parts) {
            (None, _) => entry.otherwise.clone(),
            (Some(_), Ok(parts)) => PathContent::of_parts(parts.into_iter()),
            (Some(_), Err(reason)) => PathContent::Unreadable(reason),
        }
    });
    contents.collect()
}

#[cfg(unix)]
struct PathEntry<'a> {
    path: &'a str,
    /// Of a file.
    length: Option<u64>,
    /// What is there instead of one.
    otherwise: PathContent,
}

#[cfg(unix)]
impl<'a> PathEntry<'a> {
    fn at(path: &'a str) -> Self {
        let of = |length, otherwise| Self { path, length, otherwise };
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => of(Some(metadata.len()), PathContent::Missing),
            Ok(metadata) if metadata.is_dir() => of(None, PathContent::Folder),
            Ok(_) => of(None, PathContent::Unreadable("it is not a regular file".to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                of(None, PathContent::Missing)
            }
            Err(error) => of(None, PathContent::Unreadable(error.to_string())),
        }
    }

    /// The digest of a part, which must be as long as the length says.
    fn digest_of(&self, part: u64, buffer: &mut [u8]) -> Result<u128, String> {
        use std::os::unix::fs::FileExt as _;
        let at = part * PART as u64;
        let rest = self.length.unwrap_or_default().saturating_sub(at);
        let length = usize::try_from(rest).map_or(PART, |rest| rest.min(PART));
        let (bytes, _) = buffer.split_at_mut(length);
        let read = std::fs::File::open(self.path).and_then(|file| file.read_exact_at(bytes, at));
        read.map(|()| xxh3_128(bytes)).map_err(|error| error.to_string())
    }
}

#[cfg(unix)]
struct PathPart {
    file: usize,
    number: u64,
}

/// The digests of parts, in their order.
#[cfg(unix)]
fn digests_of(entries: &[PathEntry<'_>], parts: &[PathPart]) -> Vec<Result<u128, String>> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    const MAX_THREADS: usize = 8;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut buffer = vec![0; PART];
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(at) else { return done };
            let digest = entries.get(part.file).map(|it| it.digest_of(part.number, &mut buffer));
            done.push((at, digest.unwrap_or(Ok(0))));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(MAX_THREADS).min(parts.len());
    let mut all = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            all.extend(other.join().unwrap_or_default());
        }
        all
    });
    all.sort_unstable_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, digest)| digest).collect()
}

#[cfg(test)]
mod tests {
    use super::{PART, PathContent};
    use crate::os::OsSystem;
    use crate::{FileBytes, System};

    #[test]
    fn what_is_at_a_path_is_the_same_by_parts_and_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        let lengths = [0, 1, PART - 1, PART, PART + 1, 3 * PART + 7];
        let mut paths = vec![path("none"), path("")];
        for length in lengths {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            std::fs::write(path(&length.to_string()), bytes).unwrap();
            paths.push(path(&length.to_string()));
        }
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let found = OsSystem.contents(&paths);
        let read = paths.iter().map(|path| PathContent::of(&OsSystem.read(path)));
        assert_eq!(found, read.collect::<Vec<_>>());
        assert_eq!(found[..2], [PathContent::Missing, PathContent::Folder]);
        for (at, content) in found.iter().enumerate() {
            assert!(!found[..at].contains(content), "{}", paths[at]);
        }
    }

    #[test]
    fn each_byte_counts() {
        let bytes = vec![7; 2 * PART + 9];
        let whole = PathContent::of(&FileBytes::Bytes(bytes.clone()));
        for at in [0, PART - 1, PART, 2 * PART + 8] {
            let mut other = bytes.clone();
            other[at] = 8;
            assert_ne!(PathContent::of(&FileBytes::Bytes(other)), whole, "{at}");
        }
    }
}
