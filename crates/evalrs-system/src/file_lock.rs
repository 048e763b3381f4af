//! A lock on a file, for which processes wait.
#![expect(clippy::disallowed_methods, reason = "this is where the effects are")]

use std::fs::{File, TryLockError};
use std::io::ErrorKind;

use evalrs_base::file_path::folder_of;

/// A lock that one process holds at a time, until this is dropped.
#[derive(Debug)]
pub struct FileLock {
    _file: Option<File>,
}

impl FileLock {
    /// Waits until nobody else holds the lock at `path`, a file that is made and stays. Where the file system has no
    /// locks there is none to wait for.
    pub fn wait(path: &str) -> std::io::Result<Self> {
        let file = opened(path)?;
        match file.lock() {
            Err(error) if error.kind() == ErrorKind::Unsupported => Ok(Self { _file: None }),
            locked => locked.map(|()| Self { _file: Some(file) }),
        }
    }

    /// The same without waiting: none if somebody else holds it.
    pub fn attempt(path: &str) -> std::io::Result<Option<Self>> {
        let file = opened(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: Some(file) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                Ok(Some(Self { _file: None }))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn opened(path: &str) -> std::io::Result<File> {
    let folder = folder_of(path);
    if !folder.is_empty() {
        std::fs::create_dir_all(folder)?;
    }
    File::options().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::FileLock;

    #[test]
    fn one_at_a_time_holds_a_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/lock").to_string_lossy().into_owned();
        let count = dir.path().join("count");
        std::fs::write(&count, "0").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _lock = FileLock::wait(&path).unwrap();
                    let seen: u32 = std::fs::read_to_string(&count).unwrap().parse().unwrap();
                    std::fs::write(&count, (seen + 1).to_string()).unwrap();
                });
            }
        });
        assert_eq!(std::fs::read_to_string(&count).unwrap(), "8");
    }
}
