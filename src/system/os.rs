//! The real system: the only code, with the store, that touches files, the environment and the clock.
#![expect(clippy::disallowed_methods, reason = "this is where the effects are")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Error, ErrorKind, IntoInnerError, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::{Contents, FileBytes, System, folder_of};

/// Files of so many bytes are read by two threads: what takes the time is getting memory for them.
#[cfg(unix)]
const LARGE: usize = 8 << 20;

/// The system this process runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsSystem;

impl System for OsSystem {
    fn read(&self, path: &str) -> FileBytes {
        match read_whole(path) {
            Ok(bytes) => FileBytes::Bytes(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => FileBytes::Missing,
            Err(_) if Path::new(path).is_dir() => FileBytes::Folder,
            Err(error) => FileBytes::Unreadable(error.to_string()),
        }
    }

    fn open(&self, path: &str) -> std::io::Result<Box<dyn BufRead>> {
        let file = std::fs::File::open(path)?;
        Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
    }

    fn list(&self, folder: &str) -> Option<Vec<String>> {
        let entries = std::fs::read_dir(folder).ok()?;
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        Some(names)
    }

    fn write(&self, path: &str, contents: Contents<'_>) -> std::io::Result<()> {
        let named = |error: Error| Error::new(error.kind(), format!("`{path}`: {error}"));
        write_atomically(path, contents).map_err(named)
    }

    fn append(&self, path: &str, bytes: &[u8]) -> std::io::Result<()> {
        let named = |error: Error| Error::new(error.kind(), format!("`{path}`: {error}"));
        append_durably(path, bytes).map_err(named)
    }

    fn remove_folder(&self, path: &str) -> std::io::Result<()> {
        let named = |error: Error| Error::new(error.kind(), format!("`{path}`: {error}"));
        std::fs::remove_dir_all(path).map_err(named)
    }

    fn environment(&self) -> BTreeMap<String, String> {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    fn absolute(&self, path: &str) -> String {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
        absolute.to_string_lossy().into_owned()
    }

    fn now(&self) -> String {
        let now = jiff::Timestamp::now();
        format!("{now:.0}")
    }

    fn elapsed(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

/// Makes the folder of a file, and says which it is.
fn made_folder_of(path: &str) -> std::io::Result<&str> {
    let folder = match folder_of(path) {
        "" => ".",
        folder => folder,
    };
    std::fs::create_dir_all(folder)?;
    Ok(folder)
}

fn append_durably(path: &str, bytes: &[u8]) -> std::io::Result<()> {
    made_folder_of(path)?;
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

/// Reads a file. One that changes meanwhile is read as it is found, as any reader would.
#[cfg(unix)]
fn read_whole(path: &str) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::open(path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if length < LARGE || length > isize::MAX as usize {
        return std::fs::read(path);
    }
    let mut bytes = vec![0; length];
    let (first, second) = bytes.split_at_mut(length / 2);
    let at = first.len() as u64;
    let is_read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| file.read_exact_at(first, 0).is_ok());
        let is_read = file.read_exact_at(second, at).is_ok();
        is_read & reader.join().unwrap_or(false)
    });
    // One that is shorter or longer by now is read in the order in which it is written.
    if is_read && file.metadata()?.len() == length as u64 { Ok(bytes) } else { std::fs::read(path) }
}

#[cfg(not(unix))]
fn read_whole(path: &str) -> std::io::Result<Vec<u8>> {
    std::fs::read(path)
}

fn write_atomically(path: &str, contents: Contents<'_>) -> std::io::Result<()> {
    let folder = made_folder_of(path)?;
    let mut file = BufWriter::new(tempfile::NamedTempFile::new_in(folder)?);
    contents(&mut file)?;
    file.flush()?;
    let file = file.into_inner().map_err(IntoInnerError::into_error)?;
    readable_by_all(file.as_file())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Temporary files are made for their owner alone; records are for everybody, as any file a program writes.
#[cfg(unix)]
fn readable_by_all(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable_by_all(_file: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::OsSystem;
    use crate::system::System;

    #[test]
    fn what_is_appended_stands_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/folder/log").to_string_lossy().into_owned();
        OsSystem.append(&path, b"one\n").unwrap();
        OsSystem.append(&path, b"two\n").unwrap();
        let mut text = String::new();
        OsSystem.open(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\n");
        let folder = dir.path().to_string_lossy().into_owned();
        let error = OsSystem.append(&folder, b"x").unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{folder}`: ")), "{error}");
        assert!(OsSystem.open(&format!("{folder}/none")).is_err());
    }
}
