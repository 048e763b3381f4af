//! What keys say of files: their digests, and their paths as they are seen from a folder.

use std::collections::{BTreeMap, BTreeSet};

use evalrs_base::file_path::{folder_of, non_empty};
use evalrs_eval::program::{FOLDER, MISSING, file_digest};
use evalrs_system::{FileBytes, System};

/// The text in keys for the content at a path.
pub(crate) fn state(path: &str, system: &dyn System) -> String {
    match system.read(path) {
        FileBytes::Bytes(bytes) => file_digest(Some(&bytes)),
        FileBytes::Folder => FOLDER.to_owned(),
        FileBytes::Missing | FileBytes::Unreadable(_) => MISSING.to_owned(),
    }
}

/// Folders in which many files are looked for that are not there: each is read once.
pub(crate) struct Folders<'a> {
    system: &'a dyn System,
    names: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Folders<'a> {
    pub(crate) fn of(system: &'a dyn System) -> Self {
        Self { system, names: BTreeMap::new() }
    }

    /// The text in keys for the content at a path, if it exists.
    pub(crate) fn state(&mut self, path: &str) -> Option<String> {
        let folder = non_empty(folder_of(path));
        if !self.names.contains_key(folder) {
            let names = self.system.list(folder).unwrap_or_default();
            self.names.insert(folder.to_owned(), names.into_iter().collect());
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_there = self.names.get(folder).is_some_and(|names| names.contains(name));
        is_there.then(|| state(path, self.system)).filter(|state| state != MISSING)
    }
}

/// An absolute path as it is seen from `folder`, which is absolute too.
pub(crate) fn seen_from(folder: &str, path: &str) -> String {
    let mut ups = String::new();
    let mut base = folder.trim_end_matches('/');
    loop {
        match path.strip_prefix(base).and_then(|rest| rest.strip_prefix('/')) {
            Some(rest) => return format!("{ups}{rest}"),
            None if base.is_empty() => return path.to_owned(),
            None => {
                base = &base[..base.rfind('/').unwrap_or(0)];
                ups.push_str("../");
            }
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    file_digest(Some(bytes))
}

pub(crate) fn digest(path: &str, system: &dyn System) -> String {
    file_digest(system.read(path).into_bytes().ok().as_deref())
}
