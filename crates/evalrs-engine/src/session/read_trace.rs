//! What a reading saw of the file system, so that it need not be done again while that is the same.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::digest::FileDigest;
use evalrs_system::changed_paths::ChangedPaths;
use evalrs_system::{FileBytes, System};

/// Reads files and folders, and remembers what it saw.
pub(crate) struct ReadTrace<'a> {
    system: &'a dyn System,
    seen: RefCell<TracedFiles>,
}

/// What was seen of files and folders.
#[derive(Debug, Default)]
pub struct TracedFiles {
    /// The digest of each file, or why there was none.
    files: BTreeMap<String, Result<FileDigest, String>>,
    /// The names in each folder; none where there was no folder.
    folders: BTreeMap<String, Option<Vec<String>>>,
}

impl<'a> ReadTrace<'a> {
    pub(crate) fn new(system: &'a dyn System) -> Self {
        Self { system, seen: RefCell::default() }
    }

    /// The bytes of a file, or why there are none.
    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let bytes = self.system.read(path).into_bytes();
        let digest = bytes.as_ref().map(|bytes| FileDigest::of(bytes)).map_err(Clone::clone);
        self.seen.borrow_mut().files.insert(path.to_owned(), digest);
        bytes
    }

    /// Whether there is a file at `path`. Whether that is still so is not traced.
    pub(crate) fn is_file(&self, path: &str) -> bool {
        matches!(self.system.read(path), FileBytes::Bytes(_))
    }

    /// The names in a folder, sorted; none if it is no folder.
    pub(crate) fn list(&self, folder: &str) -> Option<Vec<String>> {
        let names = self.system.list(folder);
        self.seen.borrow_mut().folders.insert(folder.to_owned(), names.clone());
        names
    }

    pub(crate) fn files_read(&self) -> BTreeSet<String> {
        self.seen.borrow().files.keys().cloned().collect()
    }

    /// What was seen since the last call.
    pub(crate) fn take(&self) -> TracedFiles {
        self.seen.take()
    }
}

impl TracedFiles {
    /// Whether another reading would see the same, as far as `stale` leaves open.
    pub fn holds(&self, system: &dyn System, stale: &ChangedPaths) -> bool {
        let is_same_folder = |(folder, names): (&String, &Option<Vec<String>>)| {
            !stale.is_near(folder) || system.list(folder) == *names
        };
        let is_same_file = |(path, digest): (&String, &Result<FileDigest, String>)| {
            let read = || system.read(path).into_bytes().map(|bytes| FileDigest::of(&bytes));
            !stale.has(path) || read() == *digest
        };
        self.folders.iter().all(is_same_folder) && self.files.iter().all(is_same_file)
    }

    /// The digests of the files that could be read.
    pub fn digests(&self) -> impl Iterator<Item = (&String, &FileDigest)> {
        self.files.iter().filter_map(|(path, digest)| Some((path, digest.as_ref().ok()?)))
    }

    /// Every file and folder that was looked for.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.keys().chain(self.folders.keys())
    }
}
