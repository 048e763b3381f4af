//! Keeps two imports of judgments apart: each decides by what is there whether a score is another one.

use std::path::Path;

use evalrs_system::file_lock::FileLock;

/// Waits until no other import works in the cache folder `dir`. Held while an import looks at the store and writes it; runs
/// do not wait for it. Where the system has no locks nobody waits: of two scores that come at one moment the winner is then
/// the same for all, but nobody is told.
pub fn lock_imports(dir: &Path) -> Option<FileLock> {
    FileLock::wait(&dir.join("v1/import.lock").to_string_lossy()).ok()
}
