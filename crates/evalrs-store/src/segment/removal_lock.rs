//! Keeps readers from looking while a sweep takes segments away.
//!
//! A folder is listed name by name: what is moved to a new file meanwhile may be listed under neither name. The lock is that
//! of the folder itself, so reading makes no file. Where the system cannot lock a folder nobody waits, and a reader that
//! finds a segment gone lists again.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::fs::{File, TryLockError};
use std::path::Path;

/// Released when it is dropped, whatever becomes of the process.
#[derive(Debug)]
pub(crate) struct RemovalLock {
    _folder: Option<File>,
}

/// Until this is dropped, no sweep removes a segment of `folder`.
pub(crate) fn keep_segments(folder: &Path) -> RemovalLock {
    let folder = File::open(folder).ok();
    RemovalLock { _folder: folder.filter(|folder| folder.lock_shared().is_ok()) }
}

/// Waits until nobody looks at the segments of `folder`; until this is dropped, nobody does.
pub(crate) fn remove_segments(folder: &Path) -> RemovalLock {
    let folder = File::open(folder).ok();
    RemovalLock { _folder: folder.filter(|folder| folder.lock().is_ok()) }
}

/// The same without waiting: none if somebody looks at them.
pub(crate) fn try_removing_segments(folder: &Path) -> Option<RemovalLock> {
    let Ok(folder) = File::open(folder) else { return Some(RemovalLock { _folder: None }) };
    match folder.try_lock() {
        Ok(()) => Some(RemovalLock { _folder: Some(folder) }),
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Error(_)) => Some(RemovalLock { _folder: None }),
    }
}
