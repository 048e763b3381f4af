//! Properties of files on a disk only: a stamp that shows whether one has changed.
#![expect(clippy::disallowed_methods, reason = "this is where the effects are")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use evalrs_base::file_path::{folder_of, non_empty};

/// Clocks of file systems are this much behind, at most.
const BEHIND: Duration = Duration::from_millis(50);

/// A moment on the clock of files.
#[derive(Clone, Copy, Debug)]
pub struct DiskMoment(SystemTime);

impl DiskMoment {
    /// Now.
    pub fn now() -> Self {
        Self(SystemTime::now())
    }

    /// Whether what is at `path` is as it was before this moment; where nothing is, whether nothing was.
    pub fn is_after_all_of(self, path: &str) -> bool {
        let here = DiskStamp::of(path);
        // What is gone has changed its folder.
        let stamp = here.or_else(|| DiskStamp::of(non_empty(folder_of(path))));
        let written = stamp.and_then(|stamp| stamp.written);
        // What claims to be written in the future was written by another clock: nobody knows when.
        let is_elsewhere = |written: SystemTime| written > SystemTime::now() + BEHIND;
        written.is_none_or(|written| written + BEHIND < self.0 || is_elsewhere(written))
    }
}

/// Clocks of some file systems go by whole seconds, or by two.
const COARSE: Duration = Duration::from_secs(2);

/// What the system knows of a file without reading it: it changes with each write, and where another file takes its place. All
/// zero where nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileState {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Nanoseconds since 1970.
    written: u64,
    /// The same, of its last change of any kind.
    changed: u64,
}

impl FileState {
    /// The state of what is at `path`, through links.
    #[cfg(unix)]
    pub fn of(path: &str) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(metadata) = std::fs::metadata(path) else { return Self::default() };
        let nanos = |seconds: i64, nanos: i64| {
            seconds.saturating_mul(1_000_000_000).saturating_add(nanos).cast_unsigned()
        };
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            written: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether no write after the moment `now` could leave the file in this state. Anybody can set the time of the last write,
    /// but not that of the last change.
    pub fn is_settled(&self, now: DiskMoment) -> bool {
        let last = self.written.max(self.changed);
        let is_coarse = last.is_multiple_of(1_000_000_000);
        let last = UNIX_EPOCH + Duration::from_nanos(last);
        last + if is_coarse { COARSE } else { BEHIND } < now.0
    }
}

/// Shows that a file or a folder is unchanged, without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskStamp {
    written: Option<SystemTime>,
    /// Its bytes.
    pub length: u64,
}

impl DiskStamp {
    /// The stamp of what is at `path`; none where nothing is.
    pub fn of(path: &str) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { written: metadata.modified().ok(), length: metadata.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::{DiskMoment, DiskStamp};

    #[test]
    fn a_file_that_changes_has_another_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file").to_string_lossy().into_owned();
        assert_eq!(DiskStamp::of(&path), None);
        std::fs::write(&path, "a").unwrap();
        let before = DiskStamp::of(&path);
        assert!(before.is_some() && before == DiskStamp::of(&path));
        std::fs::write(&path, "ab").unwrap();
        assert_ne!(DiskStamp::of(&path), before);
    }

    #[test]
    fn what_is_written_or_removed_since_a_moment_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        let long_ago = std::time::UNIX_EPOCH;
        let later = std::time::SystemTime::now() + std::time::Duration::from_hours(1);
        let [old, new, gone, ahead] = ["old/file", "new/file", "gone/file", "ahead/file"].map(path);
        for path in [&old, &new, &gone, &ahead] {
            std::fs::create_dir_all(super::folder_of(path)).unwrap();
            std::fs::write(path, "a").unwrap();
        }
        let times = std::fs::FileTimes::new().set_modified(long_ago);
        for path in [&old, super::folder_of(&old)] {
            std::fs::File::open(path).unwrap().set_times(times).unwrap();
        }
        let times = std::fs::FileTimes::new().set_modified(later);
        std::fs::File::open(&ahead).unwrap().set_times(times).unwrap();
        std::fs::remove_file(&gone).unwrap();
        let now = DiskMoment::now();
        let beside = path("old/never");
        let known = [&old, &beside, &ahead, &new, &gone].map(|path| now.is_after_all_of(path));
        assert_eq!(known, [true, true, true, false, false]);
    }
}
