//! The batches that are out: `*.batches.jsonl` beside the committed judgments, to be shared like those.
//!
//! A line for each step of a batch, and the last one that speaks of something holds. First comes the intent, before anything is
//! sent: whom the requests go to and the marks of their keys. So no process and no clone sends them again, whatever becomes of
//! the one that wrote it. A batch whose results are in the store is closed, and its lines go.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};

use evalrs_base::file_path::join;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::JudgeExchange;
use evalrs_system::file_lock::FileLock;
use evalrs_system::{FileBytes, System, WriteStamp};

/// How names of such files end.
const ENDING: &str = ".batches.jsonl";

/// The marks of some keys: the first eight bytes of each, which is enough to tell them apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyMarks(Vec<u64>);

impl KeyMarks {
    /// Those of `keys`.
    pub fn of(keys: &[ActionKey]) -> Self {
        let mut marks: Vec<u64> = keys.iter().map(|key| mark(*key)).collect();
        marks.sort_unstable();
        Self(marks)
    }

    /// Whether `key` may be among them.
    pub fn have(&self, key: ActionKey) -> bool {
        self.0.binary_search(&mark(key)).is_ok()
    }
}

fn mark(key: ActionKey) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&key.0[..8]);
    u64::from_be_bytes(bytes)
}

impl Serialize for KeyMarks {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|mark| mark.to_be_bytes()).collect();
        to.serialize_str(&STANDARD_NO_PAD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for KeyMarks {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = STANDARD_NO_PAD.decode(text).map_err(serde::de::Error::custom)?;
        let (marks, rest) = bytes.as_chunks();
        if !rest.is_empty() {
            return Err(serde::de::Error::custom("the marks of keys have eight bytes each"));
        }
        let mut marks: Vec<u64> = marks.iter().map(|mark| u64::from_be_bytes(*mark)).collect();
        marks.sort_unstable();
        Ok(Self(marks))
    }
}

/// A batch that is to be made, or is out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenBatch {
    /// The digest of its intent, by which its provider knows it.
    pub digest: String,
    /// The suite, seen from its workspace.
    pub suite: String,
    /// The provider.
    pub provider: String,
    /// Where its API is, without secrets.
    pub base_url: String,
    /// The model.
    pub model: String,
    /// How many judgments it has.
    pub requests: usize,
    /// Their keys.
    pub keys: KeyMarks,
    /// The generation of each answer, in the order of the keys; none where nothing was there before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generations: Vec<u32>,
    /// What its requests leave out or say beyond what their keys say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Box<JudgeExchange>>,
    /// When it was intended, RFC 3339.
    pub at: String,
    /// When it was about to be made, of which file.
    #[serde(skip)]
    pub creation: Option<BatchCreation>,
    /// Its name at the provider.
    #[serde(skip)]
    pub id: Option<String>,
    /// The file that it stands in.
    #[serde(skip)]
    pub file: String,
}

impl OpenBatch {
    /// The generation that the answer to this action will have, if the batch has it.
    pub fn generation(&self, key: ActionKey) -> Option<u32> {
        let at = self.keys.0.binary_search(&mark(key)).ok()?;
        Some(self.generations.get(at).copied().unwrap_or(0))
    }
}

/// What was known when a batch was about to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchCreation {
    /// The file of its requests at the provider, where it has one.
    pub file: Option<String>,
    /// When, RFC 3339.
    pub at: String,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LedgerLine {
    /// A batch is to be made.
    Intent(Box<OpenBatch>),
    /// It is made now.
    Create(String, BatchCreation),
    /// It has this name.
    Named(String, String),
    /// Nothing is wanted of it any more.
    Closed(String),
}

/// The files of batches of a workspace.
#[derive(Clone, Debug, Default)]
pub struct BatchLedger {
    /// The folder of the files; empty where there are none.
    folder: String,
}

/// What the files say.
#[derive(Clone, Debug, Default)]
pub struct OpenBatches {
    /// The batches, in the order of their intents.
    pub batches: Vec<OpenBatch>,
    /// What could not be read, a sentence each.
    pub warnings: Vec<String>,
    seen: Vec<(String, Option<WriteStamp>)>,
}

impl OpenBatches {
    /// Whether a batch may have a request for this action.
    pub fn have(&self, key: ActionKey) -> bool {
        self.batches.iter().any(|batch| batch.keys.have(key))
    }
}

impl BatchLedger {
    /// Those in the folder of committed judgments.
    pub fn of(folder: &str) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The file of a suite with this file of committed judgments.
    pub fn file_of(&self, committed: &str) -> String {
        let name = committed.strip_suffix(".judgments.jsonl").unwrap_or(committed);
        join(&self.folder, &format!("{name}{ENDING}"))
    }

    /// Reads all of them, unless nothing has changed since `last`.
    pub fn read(&self, last: &OpenBatches, system: &dyn System) -> Option<OpenBatches> {
        let names = if self.folder.is_empty() { None } else { system.list(&self.folder) };
        let names = names.unwrap_or_default().into_iter().filter(|name| name.ends_with(ENDING));
        let paths: Vec<String> = names.map(|name| join(&self.folder, &name)).collect();
        let seen: Vec<(String, Option<WriteStamp>)> =
            paths.into_iter().map(|path| (path.clone(), system.stamp(&path))).collect();
        if seen == last.seen && seen.iter().all(|(_, stamp)| stamp.is_some()) {
            return None;
        }
        let mut found = OpenBatches::default();
        for (path, _) in &seen {
            match system.read(path) {
                FileBytes::Bytes(bytes) => fold(path, &bytes, &mut found),
                FileBytes::Missing => {}
                FileBytes::Folder => found.warnings.push(format!("`{path}` is a folder")),
                FileBytes::Unreadable(why) => {
                    found.warnings.push(format!("cannot read the batches in `{path}`: {why}"));
                }
            }
        }
        found.seen = seen;
        Some(found)
    }

    /// The lock of whoever makes batches or looks for lost ones; none if somebody else holds it.
    pub fn try_lock(&self) -> std::io::Result<Option<FileLock>> {
        FileLock::attempt(&join(&self.folder, "v1/batches.lock"))
    }

    /// Notes that a batch is to be made.
    pub fn intend(&self, batch: &OpenBatch, system: &dyn System) -> std::io::Result<()> {
        append(&batch.file, &LedgerLine::Intent(Box::new(batch.clone())), system)
    }

    /// Notes that it is made now.
    pub fn create(
        &self,
        batch: &OpenBatch,
        creation: BatchCreation,
        system: &dyn System,
    ) -> std::io::Result<()> {
        append(&batch.file, &LedgerLine::Create(batch.digest.clone(), creation), system)
    }

    /// Notes what its provider calls it.
    pub fn name(&self, batch: &OpenBatch, id: &str, system: &dyn System) -> std::io::Result<()> {
        append(&batch.file, &LedgerLine::Named(batch.digest.clone(), id.to_owned()), system)
    }

    /// Takes a batch off. A file without one goes.
    pub fn close(&self, batch: &OpenBatch, system: &dyn System) -> std::io::Result<()> {
        append(&batch.file, &LedgerLine::Closed(batch.digest.clone()), system)?;
        // Without the lock somebody may be about to add a line.
        let Some(_lock) = self.try_lock()? else { return Ok(()) };
        tidy_up(&batch.file, system)
    }

    /// The same for whoever holds the lock.
    pub fn close_under(
        &self,
        _lock: &FileLock,
        batch: &OpenBatch,
        system: &dyn System,
    ) -> std::io::Result<()> {
        append(&batch.file, &LedgerLine::Closed(batch.digest.clone()), system)?;
        tidy_up(&batch.file, system)
    }
}

/// Leaves out the lines of batches that are closed.
fn tidy_up(path: &str, system: &dyn System) -> std::io::Result<()> {
    let FileBytes::Bytes(bytes) = system.read(path) else { return Ok(()) };
    let mut found = OpenBatches::default();
    fold(path, &bytes, &mut found);
    if found.batches.is_empty() && found.warnings.is_empty() {
        return std::fs::remove_file(path);
    }
    let mut kept = String::new();
    let lines = String::from_utf8_lossy(&bytes);
    for line in lines.lines() {
        let is_open = |digest: &String| found.batches.iter().any(|open| open.digest == *digest);
        let is_kept = match serde_json::from_str(line) {
            Ok(LedgerLine::Intent(batch)) => is_open(&batch.digest),
            Ok(LedgerLine::Create(digest, _) | LedgerLine::Named(digest, _)) => is_open(&digest),
            Ok(LedgerLine::Closed(_)) => false,
            // Whoever edited the file may want to mend it.
            Err(_) => true,
        };
        if is_kept {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    system.write(path, &mut |file| file.write_all(kept.as_bytes()))
}

/// Adds a line; one that was torn before it is left behind.
fn append(path: &str, line: &LedgerLine, system: &dyn System) -> std::io::Result<()> {
    let ends = match system.read(path) {
        FileBytes::Bytes(bytes) => bytes.last().is_none_or(|last| *last == b'\n'),
        _ => true,
    };
    let line = serde_json::to_string(line).map_err(std::io::Error::other)?;
    let start = if ends { "" } else { "\n" };
    system.append(path, format!("{start}{line}\n").as_bytes())
}

/// Adds the batches of one file that are open.
fn fold(path: &str, bytes: &[u8], found: &mut OpenBatches) {
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    let mut batches: Vec<OpenBatch> = Vec::new();
    let mut closed: Vec<String> = Vec::new();
    let text = String::from_utf8_lossy(bytes);
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let of = |digest: &String| open.get(digest).copied();
        match serde_json::from_str(line) {
            Ok(LedgerLine::Intent(batch)) => {
                if of(&batch.digest).is_none() {
                    open.insert(batch.digest.clone(), batches.len());
                    batches.push(OpenBatch { file: path.to_owned(), ..*batch });
                }
            }
            Ok(LedgerLine::Create(digest, creation)) => {
                if let Some(at) = of(&digest) {
                    batches[at].creation = Some(creation);
                }
            }
            Ok(LedgerLine::Named(digest, id)) => {
                if let Some(at) = of(&digest) {
                    batches[at].id = Some(id);
                }
            }
            Ok(LedgerLine::Closed(digest)) => closed.push(digest),
            Err(error) => {
                let line = at + 1;
                found.warnings.push(format!("`{path}:{line}` is no line of a batch: {error}"));
            }
        }
    }
    found.batches.extend(batches.into_iter().filter(|batch| !closed.contains(&batch.digest)));
}

#[cfg(test)]
mod tests {
    use super::{BatchCreation, BatchLedger, KeyMarks, OpenBatch, OpenBatches};
    use evalrs_model::key::ActionKey;
    use evalrs_system::System;
    use evalrs_system::os::OsSystem;

    fn batch(digest: &str, file: &str) -> OpenBatch {
        OpenBatch {
            digest: digest.to_owned(),
            suite: "suite.yaml".to_owned(),
            provider: "openai".to_owned(),
            base_url: "https://api.openai.com/v1".to_owned(),
            model: "m".to_owned(),
            requests: 1,
            keys: KeyMarks::of(&[ActionKey([7; 32]), ActionKey([1; 32])]),
            generations: vec![1, 7],
            exchange: None,
            at: "2026-01-01T00:00:00Z".to_owned(),
            creation: None,
            id: None,
            file: file.to_owned(),
        }
    }

    /// Digest, whether it is being made, and name of each open batch.
    fn open(ledger: &BatchLedger) -> Vec<(String, bool, Option<String>)> {
        let found = ledger.read(&OpenBatches::default(), &OsSystem).unwrap_or_default();
        let told = |batch: OpenBatch| (batch.digest, batch.creation.is_some(), batch.id);
        found.batches.into_iter().map(told).collect()
    }

    #[test]
    fn a_batch_is_open_from_its_intent_until_it_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("cache").to_string_lossy().into_owned();
        let ledger = BatchLedger::of(&folder);
        let file = ledger.file_of("s.judgments.jsonl");
        assert!(file.ends_with("cache/s.batches.jsonl"));
        let system = OsSystem;
        let [one, two] = ["d1", "d2"].map(|digest| batch(digest, &file));
        ledger.intend(&one, &system).unwrap();
        ledger.intend(&two, &system).unwrap();
        let creation = BatchCreation { file: Some("f".to_owned()), at: String::new() };
        ledger.create(&two, creation, &system).unwrap();
        let told =
            |digest: &str, made, id: Option<&str>| (digest.to_owned(), made, id.map(str::to_owned));
        assert_eq!(open(&ledger), [told("d1", false, None), told("d2", true, None)]);
        ledger.name(&two, "b2", &system).unwrap();
        // A line that was torn is skipped with a warning, and stays for whoever mends it.
        system.append(&file, b"{\"named\":[\"d1\"").unwrap();
        ledger.name(&one, "b1", &system).unwrap();
        let read = ledger.read(&OpenBatches::default(), &system).unwrap();
        assert!(read.warnings[0].contains("s.batches.jsonl:5` is no line of a batch"));
        assert!(read.have(ActionKey([7; 32])) && !read.have(ActionKey([2; 32])));
        let generation = |byte| read.batches[0].generation(ActionKey([byte; 32]));
        assert_eq!([1, 7, 2].map(generation), [Some(1), Some(7), None]);
        assert!(ledger.read(&read, &system).is_none(), "nothing has changed");
        ledger.close(&one, &system).unwrap();
        assert_eq!(open(&ledger), [told("d2", true, Some("b2"))]);
        ledger.close(&two, &system).unwrap();
        assert_eq!(open(&ledger), []);
        let left = std::fs::read_to_string(&file).unwrap();
        assert_eq!(left, "{\"named\":[\"d1\"\n");
    }

    #[test]
    fn a_file_without_open_batches_goes() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = BatchLedger::of(&dir.path().to_string_lossy());
        let file = ledger.file_of("s.judgments.jsonl");
        let one = batch("d1", &file);
        ledger.intend(&one, &OsSystem).unwrap();
        // While another process makes batches only a line is added.
        let lock = ledger.try_lock().unwrap();
        ledger.close(&one, &OsSystem).unwrap();
        assert!(std::path::Path::new(&file).exists());
        assert_eq!(open(&ledger), []);
        drop(lock);
        ledger.close(&one, &OsSystem).unwrap();
        assert!(!std::path::Path::new(&file).exists());
        assert!(BatchLedger::default().read(&OpenBatches::default(), &OsSystem).is_none());
    }
}
