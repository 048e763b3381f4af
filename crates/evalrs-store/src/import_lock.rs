//! Keeps two imports of judgments apart: each decides by what is there whether a score is another one.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::fs::{self, File};
use std::path::Path;

/// Held while an import looks at the store and writes it. Runs do not wait for it.
#[derive(Debug)]
pub struct ImportLock {
    _file: Option<File>,
}

/// Waits until no other import works in the cache folder `dir`. Where the system has no locks nobody waits: of two scores
/// that come at one moment the winner is then the same for all, but nobody is told.
pub fn lock_imports(dir: &Path) -> ImportLock {
    let folder = dir.join("v1");
    let open = || {
        fs::create_dir_all(&folder).ok()?;
        File::options().create(true).append(true).open(folder.join("import.lock")).ok()
    };
    ImportLock { _file: open().filter(|file| file.lock().is_ok()) }
}
