//! Files that their writer holds until it closes them: others may read them, and can tell that there is a writer.
//!
//! A lock says so where locks bind only those who look. On Windows a lock would keep others from reading, so there the file is
//! opened in a way that nobody else may write to it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// How a file is made that is held. See [`take`] for the rest.
pub(crate) fn new_held() -> OpenOptions {
    let mut options = File::options();
    options.append(true).create_new(true);
    #[cfg(windows)]
    {
        const SHARE_READ: u32 = 1;
        const SHARE_DELETE: u32 = 4;
        std::os::windows::fs::OpenOptionsExt::share_mode(&mut options, SHARE_READ | SHARE_DELETE);
    }
    options
}

/// Takes hold of a file that was just made. False if somebody else looks at it, who may be about to remove it.
pub(crate) fn take(file: &File) -> bool {
    // Where the system has no locks, nobody removes anything.
    cfg!(windows) || !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Opens a file that nobody holds; none if somebody does.
pub(crate) fn open_released(path: &Path) -> io::Result<Option<File>> {
    // Some systems lock only what could be written.
    let file = match File::options().read(true).append(true).open(path) {
        Err(error) if is_sharing_violation(&error) => return Ok(None),
        opened => opened?,
    };
    if cfg!(windows) {
        return Ok(Some(file));
    }
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn is_sharing_violation(error: &io::Error) -> bool {
    const SHARING_VIOLATION: i32 = 32;
    cfg!(windows) && error.raw_os_error() == Some(SHARING_VIOLATION)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the test is another process")]

    use std::fs;
    use std::io::Write as _;

    use super::{new_held, open_released, take};

    #[test]
    fn what_is_held_is_read_and_told_from_what_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut held = new_held().open(&path).unwrap();
        assert!(take(&held));
        held.write_all(b"line\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"line\n");
        assert!(open_released(&path).unwrap().is_none());
        drop(held);
        assert!(open_released(&path).unwrap().is_some());
    }
}
