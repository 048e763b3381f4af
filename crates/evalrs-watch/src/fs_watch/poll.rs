//! Looks at files again and again where the system cannot tell of them: network drives, and too many folders.
//!
//! Stamps are compared and not contents, unlike notify's own polling, which reads every file each time. A thread of its own
//! looks, because a network drive that hangs must not hang the screen.
#![expect(clippy::disallowed_methods, reason = "files are looked at here")]

use std::ffi::OsString;
use std::fs::Metadata;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime};

use super::shared::SharedWatch;
use super::stamps::{SETTLING, Stamps};

#[derive(Debug, Default, PartialEq, Eq)]
enum PathStamp {
    #[default]
    Nothing,
    File(FileStamp),
    /// The folder and its entries.
    Folder(FileStamp, Vec<(OsString, Option<FileStamp>)>),
}

/// Distinguishes two states of a file without reading it.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    len: u64,
    /// Device, inode, seconds and nanoseconds of the last change of either: a file that was replaced by one of equal age.
    identity: [i64; 4],
}

/// Starts the thread that looks at what `shared` says is polled. It looks at once when it is sent anything, and ends with the
/// sender.
pub(crate) fn start(shared: Arc<SharedWatch>, every: Duration) -> std::io::Result<Sender<()>> {
    let (sender, wake) = channel();
    let thread = std::thread::Builder::new().name("poll files".to_owned());
    thread.spawn(move || look_on(&shared, &wake, every))?;
    Ok(sender)
}

fn look_on(shared: &SharedWatch, wake: &Receiver<()>, every: Duration) {
    let mut stamps = Stamps::default();
    let mut next = Duration::ZERO;
    loop {
        let rest = next.saturating_sub(shared.moment());
        let wait = if stamps.is_settled() { rest } else { rest.min(SETTLING) };
        let woken = if shared.polled().is_empty() {
            wake.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            wake.recv_timeout(wait)
        };
        if woken == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        // Of several words one look is enough.
        while wake.try_recv().is_ok() {}
        let polled = shared.polled();
        stamps.keep(|name| polled.contains_key(name));
        let moment = shared.moment();
        let is_whole = woken.is_ok() || moment >= next;
        if is_whole {
            next = moment + every;
        }
        let touched = polled.iter().filter(|(name, path)| {
            (is_whole || !stamps.is_settled_at(name))
                && stamps.is_touched(moment, name, stamp(path))
        });
        shared.touch(touched.map(|(name, _)| &**name));
    }
}

fn stamp(path: &Path) -> PathStamp {
    let Ok(metadata) = std::fs::metadata(path) else { return PathStamp::Nothing };
    if !metadata.is_dir() {
        return PathStamp::File(look(&metadata));
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let mut entries: Vec<_> = entries
        .map(|entry| (entry.file_name(), entry.metadata().ok().map(|metadata| look(&metadata))))
        .collect();
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    PathStamp::Folder(look(&metadata), entries)
}

fn look(metadata: &Metadata) -> FileStamp {
    FileStamp {
        modified: metadata.modified().ok(),
        len: metadata.len(),
        identity: identity(metadata),
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> [i64; 4] {
    use std::os::unix::fs::MetadataExt;
    let [device, inode] = [metadata.dev(), metadata.ino()].map(u64::cast_signed);
    [device, inode, metadata.ctime(), metadata.ctime_nsec()]
}

#[cfg(not(unix))]
fn identity(_metadata: &Metadata) -> [i64; 4] {
    [0; 4]
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::stamp;

    #[test]
    fn every_change_gives_another_stamp() {
        let changes: [fn(&Path); 7] = [
            |path| fs::write(path, "one").unwrap(),
            |path| fs::write(path, "longer").unwrap(),
            |path| {
                let other = path.with_extension("tmp");
                fs::write(&other, "LONGER").unwrap();
                fs::rename(&other, path).unwrap();
            },
            |path| {
                fs::remove_file(path).unwrap();
                fs::create_dir(path).unwrap();
            },
            |path| fs::write(path.join("entry"), "one").unwrap(),
            |path| fs::write(path.join("entry"), "longer").unwrap(),
            |path| fs::remove_dir_all(path).unwrap(),
        ];
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut before = stamp(&path);
        for (number, change) in changes.iter().enumerate() {
            change(&path);
            let after = stamp(&path);
            assert_ne!(after, before, "change {number}");
            assert_eq!(after, stamp(&path), "without a change, after {number}");
            before = after;
        }
    }
}
