//! The real system: the only code, with the store, that touches files, the environment and the clock.
#![expect(clippy::disallowed_methods, reason = "this is where the effects are")]

use std::collections::BTreeMap;
use std::io::{BufWriter, Error, ErrorKind, IntoInnerError, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::{Contents, FileBytes, System, folder_of};

/// The system this process runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsSystem;

impl System for OsSystem {
    fn read(&self, path: &str) -> FileBytes {
        match std::fs::read(path) {
            Ok(bytes) => FileBytes::Bytes(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => FileBytes::Missing,
            Err(_) if Path::new(path).is_dir() => FileBytes::Folder,
            Err(error) => FileBytes::Unreadable(error.to_string()),
        }
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

fn write_atomically(path: &str, contents: Contents<'_>) -> std::io::Result<()> {
    let folder = match folder_of(path) {
        "" => ".",
        folder => folder,
    };
    std::fs::create_dir_all(folder)?;
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
