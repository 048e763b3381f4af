//! A system in memory, for tests of everything above it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::rc::Rc;

use jiff::Timestamp;

use super::{Contents, FileBytes, FileIdentity, System, WriteStamp};

/// Files, an empty environment and a clock that does not move.
#[derive(Debug, Default)]
pub struct MemorySystem {
    files: Rc<RefCell<BTreeMap<String, FileBytes>>>,
    programs: RefCell<BTreeMap<String, MemoryProgram>>,
    /// How many files were given another name.
    links: Cell<usize>,
}

/// A program that is installed.
#[derive(Debug)]
struct MemoryProgram {
    path: String,
    version: String,
}

struct CreatedFile {
    path: String,
    files: Rc<RefCell<BTreeMap<String, FileBytes>>>,
}

impl Write for CreatedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Some(FileBytes::Bytes(held)) = self.files.borrow_mut().get_mut(&self.path) {
            held.extend(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MemorySystem {
    /// A system with these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let system = Self::default();
        for (path, text) in files {
            system.set(path, text);
        }
        system
    }

    /// How many files were given another name.
    pub fn linked(&self) -> usize {
        self.links.get()
    }

    /// The same system with a program installed at `path`, which is found by its name and by its path.
    #[must_use]
    pub fn with_program(self, name: &str, path: &str, version: &str) -> Self {
        self.set_program(name, path, version);
        self
    }

    /// Installs a program, or another version of it.
    pub fn set_program(&self, name: &str, path: &str, version: &str) {
        let program = MemoryProgram { path: path.to_owned(), version: version.to_owned() };
        self.programs.borrow_mut().insert(name.to_owned(), program);
    }

    /// Writes a file.
    pub fn set(&self, path: &str, text: impl AsRef<[u8]>) {
        let bytes = FileBytes::Bytes(text.as_ref().to_vec());
        self.files.borrow_mut().insert(path.to_owned(), bytes);
    }

    /// Makes a path answer with something else than bytes.
    pub fn set_fault(&self, path: &str, fault: FileBytes) {
        self.files.borrow_mut().insert(path.to_owned(), fault);
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        self.files.borrow_mut().remove(path);
    }

    /// The text of a file that was written.
    pub fn text(&self, path: &str) -> Option<String> {
        match self.files.borrow().get(path)? {
            FileBytes::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }
}

impl System for MemorySystem {
    fn read(&self, path: &str) -> FileBytes {
        match self.files.borrow().get(path) {
            Some(found) => found.clone(),
            None if self.list(path).is_some() => FileBytes::Folder,
            None => FileBytes::Missing,
        }
    }

    fn open(&self, path: &str) -> std::io::Result<Box<dyn std::io::BufRead>> {
        let bytes = self.read(path).into_bytes().map_err(std::io::Error::other)?;
        Ok(Box::new(std::io::Cursor::new(bytes)))
    }

    fn list(&self, folder: &str) -> Option<Vec<String>> {
        let prefix = format!("{}/", folder.trim_end_matches('/'));
        let files = self.files.borrow();
        let names: BTreeSet<String> = files
            .keys()
            .filter_map(|path| path.strip_prefix(&prefix))
            .filter_map(|rest| rest.split('/').next().map(str::to_owned))
            .collect();
        (!names.is_empty()).then(|| names.into_iter().collect())
    }

    fn write(&self, path: &str, contents: Contents<'_>) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        contents(&mut bytes)?;
        self.set(path, bytes);
        Ok(())
    }

    fn identity(&self, path: &str) -> Option<FileIdentity> {
        let bytes = self.read(path).into_bytes().ok()?;
        Some(FileIdentity { device: 0, number: xxhash_rust::xxh3::xxh3_64(&bytes) })
    }

    /// Of what a file says: here nobody knows when it was written.
    fn stamp(&self, path: &str) -> Option<WriteStamp> {
        let bytes = self.read(path).into_bytes().ok()?;
        let modified = xxhash_rust::xxh3::xxh3_64(&bytes).to_string();
        Some(WriteStamp { bytes: bytes.len() as u64, modified })
    }

    fn link(&self, from: &str, to: &str) -> bool {
        let Ok(bytes) = self.read(from).into_bytes() else { return false };
        self.set(to, bytes);
        self.links.set(self.links.get() + 1);
        true
    }

    fn create(&self, path: &str) -> std::io::Result<Box<dyn Write>> {
        self.set(path, []);
        Ok(Box::new(CreatedFile { path: path.to_owned(), files: Rc::clone(&self.files) }))
    }

    fn make_executable(&self, _path: &str) -> std::io::Result<()> {
        Ok(())
    }

    fn stdin(&self) -> std::io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn append(&self, path: &str, bytes: &[u8]) -> std::io::Result<()> {
        let mut whole = match self.read(path) {
            FileBytes::Missing => Vec::new(),
            found => found.into_bytes().map_err(std::io::Error::other)?,
        };
        whole.extend(bytes);
        self.set(path, whole);
        Ok(())
    }

    fn make_folder(&self, _path: &str) -> std::io::Result<()> {
        // Folders are there with what they hold.
        Ok(())
    }

    fn remove_folder(&self, path: &str) -> std::io::Result<()> {
        let prefix = format!("{}/", path.trim_end_matches('/'));
        self.files.borrow_mut().retain(|path, _| !path.starts_with(&prefix));
        Ok(())
    }

    fn environment(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn absolute(&self, path: &str) -> String {
        evalrs_base::file_path::join("/", path)
    }

    fn find_program(&self, name: &str) -> Option<String> {
        let programs = self.programs.borrow();
        let by_path = || programs.values().find(|program| program.path == name);
        programs.get(name).or_else(by_path).map(|program| program.path.clone())
    }

    fn version_of(
        &self,
        path: &str,
        _cwd: &str,
        _environment: &BTreeMap<String, String>,
    ) -> Option<String> {
        let programs = self.programs.borrow();
        let program = programs.values().find(|program| program.path == path)?;
        Some(program.version.clone())
    }

    fn now(&self) -> Timestamp {
        Timestamp::constant(1_767_225_600, 0)
    }

    fn elapsed(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}
