//! A system that notes which paths are read or listed, those that are not there included.
//!
//! `watch` looks at exactly these of what surrounds a suite; of the suite a session says itself what it looked for. What
//! is written is not noted: whoever writes knows it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::{Contents, FileBytes, System};

/// Another system, and what was looked for in it.
pub struct Noted<'a> {
    system: &'a dyn System,
    paths: RefCell<BTreeSet<String>>,
}

impl<'a> Noted<'a> {
    /// Passes everything to `system`; nothing is noted yet.
    pub fn new(system: &'a dyn System) -> Self {
        Self { system, paths: RefCell::default() }
    }

    /// The paths that were read or listed since the last call, as they were named.
    pub fn take(&self) -> BTreeSet<String> {
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

#[cfg(test)]
mod tests {
    use super::Noted;
    use crate::base::system::memory::MemorySystem;
    use crate::base::system::{FileBytes, System};

    #[test]
    fn what_is_read_or_listed_is_noted_once() {
        let memory = MemorySystem::with(&[("suite.yaml", "a"), ("runs/1.json", "b")]);
        let noted = Noted::new(&memory);
        assert_eq!(noted.read("suite.yaml"), FileBytes::Bytes(b"a".to_vec()));
        assert_eq!(noted.read("suite.yaml"), FileBytes::Bytes(b"a".to_vec()));
        assert_eq!(noted.read("absent.md"), FileBytes::Missing);
        assert_eq!(noted.list("runs"), Some(vec!["1.json".to_owned()]));
        assert_eq!(noted.list("nowhere"), None);
        noted.write("out.json", &mut |out| out.write_all(b"c")).unwrap();
        assert_eq!(noted.absolute("suite.yaml"), "/suite.yaml");

        let names: Vec<String> = noted.take().into_iter().collect();
        assert_eq!(names, ["absent.md", "nowhere", "runs", "suite.yaml"]);
        assert_eq!(memory.text("out.json").as_deref(), Some("c"));
        assert!(noted.take().is_empty(), "what was taken is gone");
    }
}
