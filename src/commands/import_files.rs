//! The files that an import may read: those below one folder, within a limit of memory.
//!
//! A configuration that somebody else wrote may name any file, and a link in its folder lead to any; what is read ends up in a
//! dataset, which is then committed.

use std::cell::Cell;
use std::io::Read;

use serde_json::{Map, Value};

use evalrs_base::file_path::{folder_of, non_empty};
use evalrs_import::database::{self, DatabaseRows};
use evalrs_import::source::SourceFiles;
use evalrs_system::{FileBytes, MISSING, System, is_stream};
use evalrs_use_cases::context::whole;
use evalrs_use_cases::error::Error;

/// The most bytes of all files together.
const MAX_BYTES: usize = 2 * 1024 * 1024 * 1024;

const TOO_MUCH: &str = "the files together exceed 2 GB";

pub(super) struct RootedFiles<'a> {
    system: &'a dyn System,
    /// Absolute and plain.
    root: String,
    /// Where that is without links.
    linked_root: String,
    left: Cell<usize>,
}

impl<'a> RootedFiles<'a> {
    /// The files below `root`, or else below what `source` is a part of.
    pub(super) fn new(source: &str, root: Option<&str>, system: &'a dyn System) -> Self {
        let root = match root {
            Some(root) => whole(root, system),
            None => root_of(source, system),
        };
        let linked_root = system.resolved(&root);
        Self { system, root, linked_root, left: Cell::new(MAX_BYTES) }
    }

    /// Counts what was read.
    fn take(&self, bytes: usize) -> Result<(), String> {
        let left = self.left.get().checked_sub(bytes).ok_or(TOO_MUCH)?;
        self.left.set(left);
        Ok(())
    }

    /// Refuses what is not below the root, or only by name.
    pub(super) fn check(&self, path: &str) -> Result<(), String> {
        let root = &self.root;
        if !is_below(&whole(path, self.system), root) {
            return Err(format!("it is outside `{root}`; `--root DIR` allows more"));
        }
        let root = &self.linked_root;
        let target = self.system.resolved(non_empty(path));
        if !is_below(&target, root) && !is_stream(path) {
            return Err(format!(
                "a link leads it to `{target}`, outside `{root}`; `--root DIR` allows more"
            ));
        }
        Ok(())
    }
}

impl SourceFiles for RootedFiles<'_> {
    fn read(&self, path: &str) -> FileBytes {
        if let Err(reason) = self.check(path) {
            return FileBytes::Unreadable(reason);
        }
        let read = self.system.read(path);
        if let FileBytes::Bytes(bytes) = &read
            && let Err(reason) = self.take(bytes.len())
        {
            return FileBytes::Unreadable(reason);
        }
        read
    }

    fn beginning(&self, path: &str, most: usize) -> Result<Vec<u8>, String> {
        self.check(path)?;
        let mut bytes = Vec::new();
        let file = self.system.open(path).map_err(|error| error.to_string())?;
        file.take(most as u64).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    fn list(&self, folder: &str) -> Option<Vec<String>> {
        self.check(folder).ok()?;
        self.system.list(non_empty(folder))
    }

    fn rows(
        &self,
        path: &str,
        query: &str,
        texts: &[&str],
    ) -> Result<Vec<Map<String, Value>>, String> {
        self.check(path)?;
        let DatabaseRows { rows, bytes } =
            database::rows(&self.system.absolute(path), query, texts)?;
        self.take(bytes)?;
        Ok(rows)
    }
}

/// Refuses a source that is not there, or that may not be read.
pub(super) fn check_is_there(
    source: &str,
    files: &RootedFiles<'_>,
    system: &dyn System,
) -> Result<(), Error> {
    let reason = match system.read(source) {
        FileBytes::Bytes(_) | FileBytes::Folder => match files.check(source) {
            Ok(()) => return Ok(()),
            Err(reason) => reason,
        },
        FileBytes::Missing => MISSING.to_owned(),
        FileBytes::Unreadable(reason) => reason,
    };
    let hint = "name a file or folder that is there";
    Err(Error::plain(format!("cannot read `{source}`: {reason}"), hint))
}

/// The nearest folder upwards that is a git repository, else the source's own.
pub(super) fn root_of(source: &str, system: &dyn System) -> String {
    let absolute = whole(source, system);
    let own = match system.list(&absolute) {
        Some(_) => absolute,
        None => folder_of(&absolute).to_owned(),
    };
    let mut folder = own.as_str();
    while folder.len() > 1 {
        if system.read(&format!("{folder}/.git")) != FileBytes::Missing {
            return folder.to_owned();
        }
        folder = folder_of(folder);
    }
    own
}

/// Whether an absolute path is a folder, or below it.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::RootedFiles;
    use evalrs_import::source::SourceFiles;
    use evalrs_system::FileBytes;
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn files_outside_of_the_root_are_not_read() {
        let files = [
            ("/w/repo/.git", ""),
            ("/w/repo/evals/c.yaml", ""),
            ("/w/repo/p.txt", "p"),
            ("/w/x", "x"),
        ];
        let system = MemorySystem::with(&files);
        for (root, path, expected) in [
            (None, "/w/repo/evals/c.yaml", true),
            (None, "/w/repo/evals/../p.txt", true),
            (None, "/w/repo/../x", false),
            (None, "/w/repository", false),
            (Some("/w/repo/evals"), "/w/repo/p.txt", false),
            (Some("/"), "/w/x", true),
        ] {
            let read = RootedFiles::new("/w/repo/evals/c.yaml", root, &system).read(path);
            assert_eq!(!matches!(read, FileBytes::Unreadable(_)), expected, "{root:?} {path}");
        }
    }
}
