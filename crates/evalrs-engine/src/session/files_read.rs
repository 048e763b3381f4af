//! Files as they are read, each with its digest: small ones, which are suites, rubrics and what else is read as a whole, and
//! what a reading saw of the file system, so that it need not be done again while that is the same.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::sync::{Arc, LazyLock};

use evalrs_base::diagnostic::Place;
use evalrs_base::file_text::FileText;
use evalrs_base::yaml::source::mask_lines;
use evalrs_eval::dataset::split;
use evalrs_store::record::read::RESULTS;
use evalrs_store::record::result_files::open_results;
use evalrs_system::changed_paths::ChangedPaths;
use evalrs_system::{FileBytes, System};

/// The digest of a file for records of runs: blake3. That of a large one is worked out beside what waits for nothing of it.
#[derive(Clone)]
pub struct FileDigest(Arc<Work>);

type Work = LazyLock<String, Box<dyn FnOnce() -> String + Send>>;

impl std::fmt::Debug for FileDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for FileDigest {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for FileDigest {}

impl FileDigest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self::known(hex(bytes))
    }

    /// A digest that is known already.
    pub fn known(text: String) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(|| text))))
    }

    /// The digest of `bytes`, worked out on a thread of its own.
    pub fn beside(bytes: &Arc<impl AsRef<[u8]> + Send + Sync + 'static>) -> Self {
        let own = Arc::clone(bytes);
        let work = std::thread::Builder::new().spawn(move || hex((*own).as_ref()));
        let Ok(work) = work else { return Self::of((**bytes).as_ref()) };
        Self(Arc::new(LazyLock::new(Box::new(move || work.join().unwrap_or_default()))))
    }

    /// Lower-case hexadecimal.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The largest suite, rubric or other small file, in bytes.
const SMALL_FILE_LIMIT: usize = 4 << 20;
/// The largest results of a run to compare with, and the largest file of labels, in bytes.
const BIG_FILE_LIMIT: usize = 512 << 20;

/// A suite, rubric or other small file that was read.
#[derive(Clone, Debug)]
pub(crate) struct SmallFile {
    pub text: FileText,
    /// The digest of its bytes, if it could be read.
    pub digest: Option<FileDigest>,
}

impl SmallFile {
    /// Reads the file at `path`. The results of a run may be larger than others.
    pub(crate) fn read(system: &dyn System, path: &str, is_run: bool) -> Self {
        let bytes = match system.read(path) {
            FileBytes::Missing if is_run => results_in_parts(system, path),
            bytes => bytes,
        };
        let (text, digest) = match bytes {
            FileBytes::Missing => (FileText::Missing, None),
            FileBytes::Folder => (FileText::Unreadable("it is a folder".to_owned()), None),
            FileBytes::Unreadable(reason) => (FileText::Unreadable(reason), None),
            FileBytes::Bytes(bytes) => {
                let limit = if is_run { BIG_FILE_LIMIT } else { SMALL_FILE_LIMIT };
                (small_text(path, &bytes, limit), Some(FileDigest::of(&bytes)))
            }
        };
        Self { text, digest }
    }
}

/// The results of a run that stand in several files, where the file at `path` would be if they stood in one.
fn results_in_parts(system: &dyn System, path: &str) -> FileBytes {
    let folder = path.strip_suffix(RESULTS).map(|folder| folder.trim_end_matches('/'));
    let reader = folder.and_then(|folder| open_results(system, folder).ok());
    let Some(mut reader) = reader else { return FileBytes::Missing };
    let mut bytes = Vec::new();
    match reader.read_to_end(&mut bytes) {
        Ok(_) => FileBytes::Bytes(bytes),
        Err(error) => FileBytes::Unreadable(error.to_string()),
    }
}

fn small_text(path: &str, bytes: &[u8], limit: usize) -> FileText {
    if bytes.len() > limit {
        return FileText::Unreadable(format!("it is larger than {} MB", limit >> 20));
    }
    match split::decode(path, bytes) {
        Ok(text) => FileText::Text(text.into()),
        Err(mut diagnostic) => {
            diagnostic.place = diagnostic.place.map(|place| masked(&place, bytes));
            FileText::NoText(Box::new(diagnostic))
        }
    }
}

/// The place with the secrets of its line hidden: suites may hold some.
fn masked(place: &Place, bytes: &[u8]) -> Place {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let line = text.split('\n').nth(place.line.saturating_sub(1)).unwrap_or_default();
    let at = line.char_indices().nth(place.column.saturating_sub(1));
    let span = at.map_or(0..0, |(at, c)| at..at + c.len_utf8());
    let shown = Place::in_line(place.path.as_str(), place.line, &mask_lines(line), span);
    Place { column: place.column, ..shown }
}

/// Reads files and folders, and remembers what it saw.
pub(crate) struct ReadTrace<'a> {
    system: &'a dyn System,
    seen: RefCell<TracedFiles>,
}

/// What was seen of files and folders.
#[derive(Debug, Default)]
pub struct TracedFiles {
    /// The digest of each file, or why there was none.
    files: BTreeMap<String, Result<FileDigest, String>>,
    /// The names in each folder; none where there was no folder.
    folders: BTreeMap<String, Option<Vec<String>>>,
}

impl<'a> ReadTrace<'a> {
    pub(crate) fn new(system: &'a dyn System) -> Self {
        Self { system, seen: RefCell::default() }
    }

    /// The bytes of a file, or why there are none.
    pub(crate) fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let bytes = self.system.read(path).into_bytes();
        let digest = bytes.as_ref().map(|bytes| FileDigest::of(bytes)).map_err(Clone::clone);
        self.seen.borrow_mut().files.insert(path.to_owned(), digest);
        bytes
    }

    /// Whether there is a file at `path`. Whether that is still so is not traced.
    pub(crate) fn is_file(&self, path: &str) -> bool {
        matches!(self.system.read(path), FileBytes::Bytes(_))
    }

    /// The names in a folder, sorted; none if it is not a folder.
    pub(crate) fn list(&self, folder: &str) -> Option<Vec<String>> {
        let names = self.system.list(folder);
        self.seen.borrow_mut().folders.insert(folder.to_owned(), names.clone());
        names
    }

    pub(crate) fn files_read(&self) -> BTreeSet<String> {
        self.seen.borrow().files.keys().cloned().collect()
    }

    /// What was seen since the last call.
    pub(crate) fn take(&self) -> TracedFiles {
        self.seen.take()
    }
}

impl TracedFiles {
    /// Whether another reading would see the same, as far as `stale` leaves open.
    pub fn holds(&self, system: &dyn System, stale: &ChangedPaths) -> bool {
        let digest = |path| system.read(path).into_bytes().map(|bytes| FileDigest::of(&bytes));
        let mut folders = self.folders.iter();
        let mut files = self.files.iter();
        folders.all(|(path, names)| !stale.is_near(path) || system.list(path) == *names)
            && files.all(|(path, held)| !stale.has(path) || digest(path) == *held)
    }

    /// The digests of the files that could be read.
    pub fn digests(&self) -> impl Iterator<Item = (&String, &FileDigest)> {
        self.files.iter().filter_map(|(path, digest)| Some((path, digest.as_ref().ok()?)))
    }

    /// Every file and folder that was looked for.
    pub fn paths(&self) -> impl Iterator<Item = &String> {
        self.files.keys().chain(self.folders.keys())
    }
}

#[cfg(test)]
mod tests {
    use super::SmallFile;
    use evalrs_base::file_text::FileText;
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn results_of_a_run_are_read_whether_they_are_one_file_or_several() {
        let parts = r#"{"format": 1, "parts": [
            {"name": "000000.jsonl", "bytes": 4, "digest": ""},
            {"name": "000001.jsonl", "bytes": 4, "digest": ""}]}"#;
        let system = MemorySystem::with(&[
            ("one/results.jsonl", "one\n"),
            ("two/results/parts.json", parts),
            ("two/results/000000.jsonl", "one\n"),
            ("two/results/000001.jsonl", "two\n"),
            ("cut/results/parts.json", parts),
            ("cut/results/000000.jsonl", "one\n"),
        ]);
        let read = |folder: &str, is_run: bool| {
            SmallFile::read(&system, &format!("{folder}/results.jsonl"), is_run).text
        };
        let is_text = |file: FileText, expected: &str| matches!(file, FileText::Text(text) if *text == *expected);
        assert!(is_text(read("one", true), "one\n"));
        assert!(is_text(read("two", true), "one\ntwo\n"));
        assert!(matches!(read("cut", true), FileText::Unreadable(_)));
        assert_eq!(read("none", true), FileText::Missing);
        assert_eq!(read("two", false), FileText::Missing);
    }
}
