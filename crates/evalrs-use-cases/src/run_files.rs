//! Runs that are one file, instead of a record: unpacked, they are a workspace of their own.

use std::collections::BTreeMap;

use super::console::Console;
use super::records::{home, record};
use crate::error::Error;
use evalrs_base::text::sanitize;
use evalrs_store::record::read::{PastRun, open};
use evalrs_store::run_archive::{RunArchive, UnpackedRun};
use evalrs_system::{FileBytes, System};

/// Runs as a command line names them. Those in files are unpacked until this is dropped.
#[derive(Debug, Default)]
pub struct NamedRuns(BTreeMap<String, UnpackedRun>);

impl NamedRuns {
    /// Unpacks those of `names` that are files.
    pub fn open<'a>(
        names: impl IntoIterator<Item = &'a str>,
        console: &Console<'_>,
    ) -> Result<Self, Error> {
        let mut runs = BTreeMap::new();
        for name in names.into_iter().filter(|name| is_run_file(name)) {
            let bytes = read_run_file(name, console.system)?;
            let unpacked = RunArchive::open(&bytes).and_then(|file| file.unpack(console.system));
            let unpacked = unpacked.map_err(|reason| not_readable(name, &reason))?;
            runs.insert(name.to_owned(), unpacked);
        }
        Ok(Self(runs))
    }

    /// What was unpacked of this name.
    pub fn unpacked(&self, name: &str) -> Option<&UnpackedRun> {
        self.0.get(name)
    }

    /// Where the records are of those of `names` that are no files; nothing where all are.
    pub fn home<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        suite: Option<&str>,
        console: &Console<'_>,
    ) -> Result<String, Error> {
        let has_all = names.into_iter().all(|name| self.0.contains_key(name));
        if has_all { Ok(String::new()) } else { home(suite, console.system) }
    }

    /// The record that a user names, under `home` unless it is a file.
    pub fn record(&self, name: &str, home: &str, console: &Console<'_>) -> Result<PastRun, Error> {
        let Some(unpacked) = self.0.get(name) else { return record(name, home, console) };
        let past = open(console.system, &unpacked.record, &unpacked.id);
        past.ok_or_else(|| not_readable(name, "its `header.json` cannot be read"))
    }
}

/// Whether a run is named by a file.
pub fn is_run_file(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("zip"))
}

/// The bytes of such a file.
pub fn read_run_file(path: &str, system: &dyn System) -> Result<Vec<u8>, Error> {
    let bytes = match system.read(path) {
        FileBytes::Missing => Err("there is no such file".to_owned()),
        bytes => bytes.into_bytes(),
    };
    bytes.map_err(|reason| not_readable(path, &reason))
}

/// The error of a file that cannot be read.
pub fn not_readable(path: &str, reason: &str) -> Error {
    Error::plain(
        sanitize(&format!("cannot read the run in `{path}`: {reason}")),
        "name a file that `evalrs runs export` wrote",
    )
}
