//! A system over another one, with files of its own that nobody else sees.

use std::collections::BTreeMap;
use std::io::{BufRead, Cursor, Write};
use std::time::Duration;

use jiff::Timestamp;

use super::{Contents, FileBytes, FileIdentity, FileState, System, WriteStamp};

/// Files that are read instead of those below, which stay as they are. What is written goes below.
pub struct OverlaySystem<'a> {
    below: &'a dyn System,
    files: BTreeMap<String, String>,
}

impl<'a> OverlaySystem<'a> {
    /// The system `below` with these files: path → text.
    pub fn new(below: &'a dyn System, files: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { below, files: files.into_iter().collect() }
    }
}

impl System for OverlaySystem<'_> {
    fn read(&self, path: &str) -> FileBytes {
        match self.files.get(path) {
            Some(text) => FileBytes::Bytes(text.clone().into_bytes()),
            None => self.below.read(path),
        }
    }

    fn open(&self, path: &str) -> std::io::Result<Box<dyn BufRead>> {
        match self.files.get(path) {
            Some(text) => Ok(Box::new(Cursor::new(text.clone().into_bytes()))),
            None => self.below.open(path),
        }
    }

    fn list(&self, folder: &str) -> Option<Vec<String>> {
        self.below.list(folder)
    }

    fn write(&self, path: &str, contents: Contents<'_>) -> std::io::Result<()> {
        self.below.write(path, contents)
    }

    fn is_link(&self, path: &str) -> bool {
        self.below.is_link(path)
    }

    fn identity(&self, path: &str) -> Option<FileIdentity> {
        self.below.identity(path)
    }

    fn stamp(&self, path: &str) -> Option<WriteStamp> {
        self.below.stamp(path)
    }

    fn state(&self, path: &str) -> Option<FileState> {
        self.below.state(path)
    }

    fn link(&self, from: &str, to: &str) -> bool {
        self.below.link(from, to)
    }

    fn link_target(&self, path: &str) -> Option<String> {
        self.below.link_target(path)
    }

    fn protect(&self, path: &str) {
        self.below.protect(path);
    }

    fn create(&self, path: &str) -> std::io::Result<Box<dyn Write>> {
        self.below.create(path)
    }

    fn make_executable(&self, path: &str) -> std::io::Result<()> {
        self.below.make_executable(path)
    }

    fn is_executable(&self, path: &str) -> bool {
        self.below.is_executable(path)
    }

    fn owner_mode(&self, path: &str) -> Option<u32> {
        self.below.owner_mode(path)
    }

    fn stdin(&self) -> std::io::Result<Vec<u8>> {
        self.below.stdin()
    }

    fn append(&self, path: &str, bytes: &[u8]) -> std::io::Result<()> {
        self.below.append(path, bytes)
    }

    fn make_folder(&self, path: &str) -> std::io::Result<()> {
        self.below.make_folder(path)
    }

    fn remove_folder(&self, path: &str) -> std::io::Result<()> {
        self.below.remove_folder(path)
    }

    fn environment(&self) -> BTreeMap<String, String> {
        self.below.environment()
    }

    fn absolute(&self, path: &str) -> String {
        self.below.absolute(path)
    }

    fn resolved(&self, path: &str) -> String {
        self.below.resolved(path)
    }

    fn find_program(&self, name: &str) -> Option<String> {
        self.below.find_program(name)
    }

    fn version_of(
        &self,
        path: &str,
        cwd: &str,
        environment: &BTreeMap<String, String>,
    ) -> Option<String> {
        self.below.version_of(path, cwd, environment)
    }

    fn now(&self) -> Timestamp {
        self.below.now()
    }

    fn time_of_day(&self, at: Timestamp) -> String {
        self.below.time_of_day(at)
    }

    fn elapsed(&self) -> Duration {
        self.below.elapsed()
    }
}
