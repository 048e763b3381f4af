//! A system that notes which paths are read or listed, those that are not there included: a session has to name them all.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use evalrs_system::{Contents, FileBytes, System};
use jiff::Timestamp;

/// Another system, and what was looked for in it.
pub(crate) struct Noted<'a> {
    system: &'a dyn System,
    paths: RefCell<BTreeSet<String>>,
}

impl<'a> Noted<'a> {
    /// Passes everything to `system`; nothing is noted yet.
    pub(crate) fn new(system: &'a dyn System) -> Self {
        Self { system, paths: RefCell::default() }
    }

    /// The paths that were read or listed since the last call, as they were named.
    pub(crate) fn take(&self) -> BTreeSet<String> {
        self.paths.take()
    }

    fn note(&self, path: &str) {
        let mut paths = self.paths.borrow_mut();
        if !paths.contains(path) {
            paths.insert(path.to_owned());
        }
    }
}

impl System for Noted<'_> {
    fn read(&self, path: &str) -> FileBytes {
        self.note(path);
        self.system.read(path)
    }

    fn open(&self, path: &str) -> std::io::Result<Box<dyn std::io::BufRead>> {
        self.note(path);
        self.system.open(path)
    }

    fn create(&self, path: &str) -> std::io::Result<Box<dyn std::io::Write>> {
        self.system.create(path)
    }

    fn make_executable(&self, path: &str) -> std::io::Result<()> {
        self.system.make_executable(path)
    }

    fn is_executable(&self, path: &str) -> bool {
        self.system.is_executable(path)
    }

    fn stdin(&self) -> std::io::Result<Vec<u8>> {
        self.system.stdin()
    }

    fn append(&self, path: &str, bytes: &[u8]) -> std::io::Result<()> {
        self.system.append(path, bytes)
    }

    fn list(&self, folder: &str) -> Option<Vec<String>> {
        self.note(folder);
        self.system.list(folder)
    }

    fn write(&self, path: &str, contents: Contents<'_>) -> std::io::Result<()> {
        self.system.write(path, contents)
    }

    fn make_folder(&self, path: &str) -> std::io::Result<()> {
        self.system.make_folder(path)
    }

    fn remove_folder(&self, path: &str) -> std::io::Result<()> {
        self.system.remove_folder(path)
    }

    fn environment(&self) -> BTreeMap<String, String> {
        self.system.environment()
    }

    fn absolute(&self, path: &str) -> String {
        self.system.absolute(path)
    }

    fn find_program(&self, name: &str) -> Option<String> {
        self.system.find_program(name)
    }

    fn version_of(
        &self,
        path: &str,
        cwd: &str,
        environment: &BTreeMap<String, String>,
    ) -> Option<String> {
        self.system.version_of(path, cwd, environment)
    }

    fn now(&self) -> Timestamp {
        self.system.now()
    }

    fn elapsed(&self) -> Duration {
        self.system.elapsed()
    }
}
