//! The store on disk: append-only files of lines, one file per writing process, and the index over them.
//!
//! A process writes to its own file only, so nobody waits for a lock and no file has two writers; everything else about
//! a segment follows from that. It holds a lock on that file while it writes it, which tells a sweep to leave the file
//! alone. Nothing is ever changed in place: the index in memory is made again from the files when
//! they contradict it, and an index side file is believed only until a line read through it proves it wrong.
//! A failed write is final for this store: after it nobody knows what of the file is on disk. Open it again to go on.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use super::idx::{self, EntrySlot};
use super::line::{self, Position, Scanned, ScannedEntry};
use super::own::Own;
use super::{Entry, OutcomeStore, StoreError, WARNING_LIMIT, keep_winner, lock};
use crate::pipeline::key::{ActionKey, KeyMap};

/// The size at which a segment is sealed, in bytes.
pub(super) const SEAL_AT: u64 = 64 << 20;
/// How often the folder is listed again because segments went away meanwhile.
const LISTINGS: usize = 8;

/// Outcomes in the segments of one cache folder.
///
/// The folder is first looked at when something is asked; what other processes add is seen at the next miss. Reading needs
/// the lock of `reader` alone, so nobody who reads waits for the disk to take what another thread writes.
pub struct SegmentStore {
    /// `<cache>/v1/seg`.
    folder: PathBuf,
    /// Locked before `reader` where both are.
    writer: Mutex<SegmentWriter>,
    reader: Mutex<SegmentReader>,
}

/// What a store takes on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Its entries, those that no longer win included.
    pub entries: u64,
    /// The files they stand in.
    pub segments: u64,
    /// The bytes of these and their indexes.
    pub bytes: u64,
}

/// The side of a store that writes.
pub(super) struct SegmentWriter {
    pub(super) own: Option<Own>,
    broken: Option<StoreError>,
    pub(super) seal_at: u64,
}

/// The side of a store that reads.
struct SegmentReader {
    folder: PathBuf,
    index: Index,
    /// The segment this process writes, as far as it is durable: what is on its way to the disk is not read.
    own: Option<(String, u64)>,
    /// Whether other processes have written since the folder was first looked at.
    others: bool,
    warnings: Vec<String>,
    /// Every warning so far: each is given once, however often a damaged file is met.
    warned: BTreeSet<String>,
}

impl SegmentStore {
    /// The store in the cache folder `dir`, which need not exist.
    pub fn open(dir: impl Into<PathBuf>) -> Self {
        let folder = segment_folder(&dir.into());
        let reader = SegmentReader {
            folder: folder.clone(),
            index: Index::default(),
            own: None,
            others: false,
            warnings: Vec::new(),
            warned: BTreeSet::new(),
        };
        let writer = SegmentWriter { own: None, broken: None, seal_at: SEAL_AT };
        Self { folder, writer: Mutex::new(writer), reader: Mutex::new(reader) }
    }

    /// Closes the segment written so far and writes its side file; a later put starts another one.
    pub fn seal(&self) {
        self.seal_own(&mut self.writer());
    }

    /// What the store takes on disk.
    pub fn totals(&self) -> Totals {
        let mut reader = self.reader();
        reader.refresh();
        let segments = reader.index.segments.iter().map(|segment| self.folder.join(&segment.name));
        let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        let bytes = segments.map(|path| size(&path) + size(&path.with_extension("idx"))).sum();
        Totals {
            entries: reader.index.entries,
            segments: reader.index.segments.len() as u64,
            bytes,
        }
    }

    pub(super) fn writer(&self) -> MutexGuard<'_, SegmentWriter> {
        lock(&self.writer)
    }

    fn reader(&self) -> MutexGuard<'_, SegmentReader> {
        lock(&self.reader)
    }

    fn seal_own(&self, writer: &mut SegmentWriter) {
        // Its lock is held to the end: no sweep takes the segment away under its new index.
        let Some(own) = writer.own.take() else { return };
        self.reader().own = None;
        let path = self.folder.join(&own.name);
        if own.length == 0 {
            return own.remove(&self.folder);
        }
        if let Err(error) = write_idx(&path) {
            let warning = format!("cannot write an index of `{}`: {error}", path.display());
            self.reader().warn([warning]);
        }
    }

    /// Appends to the segment of this process. What of a failed write is on disk, nobody knows.
    fn append(&self, writer: &mut SegmentWriter, batch: &[u8]) -> Result<(), StoreError> {
        let mut own = match writer.own.take() {
            Some(own) if own.is_intact(&self.folder) => own,
            _ => Own::create(&self.folder)?,
        };
        self.reader().own = Some((own.name.clone(), own.length));
        let written = own.file.write_all(batch).and_then(|()| own.file.sync_data());
        written.map_err(|error| write_error(&self.folder.join(&own.name), &error))?;
        own.length += batch.len() as u64;
        let mut reader = self.reader();
        reader.own = Some((own.name.clone(), own.length));
        reader.absorb(&own.name);
        writer.own = Some(own);
        Ok(())
    }
}

impl SegmentReader {
    /// Indexes what is new in the folder. A segment that a sweep removes meanwhile stands in one that is newer than
    /// the list, so then the folder is listed again.
    fn refresh(&mut self) {
        // What this process writes is indexed at once.
        let before = self.index.looked.then_some(self.index.entries);
        self.index.looked = true;
        self.list();
        self.others |= before.is_some_and(|before| before != self.index.entries);
    }

    fn list(&mut self) {
        for _ in 0..LISTINGS {
            match segment_names(&self.folder) {
                Ok(names) => {
                    if names.iter().all(|name| self.absorb(name)) {
                        return;
                    }
                }
                Err(error) => return self.warn([unreadable(&self.folder, &error)]),
            }
        }
    }

    /// Indexes what is new in one segment, unless it went away.
    fn absorb(&mut self, name: &str) -> bool {
        let path = self.folder.join(name);
        let durable = self.own.as_ref().filter(|(own, _)| own == name).map(|(_, length)| *length);
        match self.index.absorb(name, &path, durable) {
            Ok(skipped) => self.warn(skipped),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
            Err(error) => self.warn([unreadable(&path, &error)]),
        }
        true
    }

    /// Reads the winners of `keys`, file by file from front to back, and says where the files do not hold what the index
    /// says.
    fn read(&self, keys: &[ActionKey]) -> (Vec<Option<Entry>>, Vec<String>) {
        let mut found = vec![None; keys.len()];
        let mut wanted = Vec::with_capacity(keys.len());
        for (place, key) in keys.iter().enumerate() {
            wanted.extend(self.index.candidates(key).map(|slot| (*slot, place)));
        }
        wanted.sort_unstable_by_key(|(slot, place)| (slot.segment, slot.offset, *place));
        let mut problems = Vec::new();
        for group in wanted.chunk_by(|left, right| left.0.segment == right.0.segment) {
            let path = self.folder.join(&self.index.segments[group[0].0.segment as usize].name);
            if let Err(error) = read_group(&path, group, keys, &mut found) {
                problems.push(unreadable(&path, &error));
            }
        }
        (found, problems)
    }

    fn get_many(&mut self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
        if !self.index.looked || keys.iter().any(|key| !self.index.winners.contains_key(key)) {
            self.refresh();
        }
        let (mut found, mut problems) = self.read(keys);
        // A sweep may have moved entries to other segments. If that was not it, a line that a side file is wrong about
        // may even have hidden an intact one: only a scan of all tells.
        for scan_only in [false, true] {
            if problems.is_empty() {
                break;
            }
            self.index = Index { scan_only, ..Index::default() };
            self.others = true;
            self.refresh();
            (found, problems) = self.read(keys);
        }
        self.warn(problems);
        found
    }

    fn warn(&mut self, warnings: impl IntoIterator<Item = String>) {
        for warning in warnings {
            if self.warned.len() < WARNING_LIMIT && self.warned.insert(warning.clone()) {
                self.warnings.push(warning);
            }
        }
    }
}

impl OutcomeStore for SegmentStore {
    fn get_many(&self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
        self.reader().get_many(keys)
    }

    fn put_many(&self, entries: &[Entry]) -> Result<(), StoreError> {
        let mut writer = self.writer();
        if let Some(error) = &writer.broken {
            return Err(error.clone());
        }
        let mut batch = String::new();
        entries.iter().try_for_each(|entry| line::write(entry, &mut batch))?;
        if batch.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.append(&mut writer, batch.as_bytes()) {
            self.reader().own = None;
            writer.broken = Some(error.clone());
            return Err(error);
        }
        if writer.own.as_ref().is_some_and(|own| own.length >= writer.seal_at) {
            self.seal_own(&mut writer);
        }
        Ok(())
    }

    fn try_writing(&self) -> Result<(), StoreError> {
        // Where something was written already, that was the trial: this does not wait for what is being written now.
        if self.reader().own.as_ref().is_some_and(|(_, durable)| *durable > 0) {
            return Ok(());
        }
        let mut writer = self.writer();
        if let Some(error) = &writer.broken {
            return Err(error.clone());
        }
        if writer.own.is_none() {
            let tried =
                Own::create(&self.folder).and_then(|own| own.try_room(&self.folder).map(|()| own));
            match tried {
                Ok(own) => writer.own = Some(own),
                Err(error) => {
                    writer.broken = Some(error.clone());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn others_wrote(&self) -> bool {
        let mut reader = self.reader();
        reader.refresh();
        reader.others
    }

    fn keys(&self) -> Vec<ActionKey> {
        let mut reader = self.reader();
        reader.refresh();
        let mut keys: Vec<ActionKey> = reader.index.winners.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.reader().warnings)
    }
}

impl Drop for SegmentStore {
    fn drop(&mut self) {
        self.seal();
    }
}

/// Where every entry stands, as far as the files have been looked at.
#[derive(Default)]
struct Index {
    looked: bool,
    /// Whether side files are left aside, because one was wrong.
    scan_only: bool,
    /// The number of a segment is its position here.
    segments: Vec<Segment>,
    numbers: BTreeMap<String, u32>,
    entries: u64,
    winners: KeyMap<EntrySlot>,
    /// Further entries that had the rank of the winner: only their bodies tell who wins. They are rare.
    ties: KeyMap<Vec<EntrySlot>>,
}

struct Segment {
    name: String,
    /// Where the first line that is not yet indexed starts.
    end: Position,
}

impl Index {
    /// Adds what is new in the segment `name` at `path`, up to `durable` if that is known, and gives a warning for each
    /// bad line.
    fn absorb(&mut self, name: &str, path: &Path, durable: Option<u64>) -> io::Result<Vec<String>> {
        let number = self.number(name);
        let end = self.segments[number as usize].end;
        let length = fs::metadata(path)?.len().min(durable.unwrap_or(u64::MAX));
        if length <= end.offset {
            return Ok(Vec::new());
        }
        let fresh = end == Position::START && !self.scan_only;
        if let Some(entries) = fresh.then(|| read_idx(path, number, length)).flatten() {
            let line = entries.len() as u64 + 1;
            self.segments[number as usize].end = Position { offset: length, line };
            self.winners.reserve(entries.len());
            for (key, slot) in entries {
                self.add(key, slot);
            }
            return Ok(Vec::new());
        }
        let upto = durable.unwrap_or(u64::MAX);
        let scanned =
            scan_lines(path, end, upto, |found| self.add(found.entry.key, slot(number, &found)))?;
        self.segments[number as usize].end = scanned.end;
        if fresh && has_first_idx(path) {
            // Only who may write it can: for others it is scanned again.
            let _ = write_idx(path);
        }
        Ok(scanned.skipped)
    }

    fn number(&mut self, name: &str) -> u32 {
        let next = self.segments.len() as u32;
        let number = *self.numbers.entry(name.to_owned()).or_insert(next);
        if number == next {
            self.segments.push(Segment { name: name.to_owned(), end: Position::START });
        }
        number
    }

    fn add(&mut self, key: ActionKey, slot: EntrySlot) {
        self.entries += 1;
        let held = *self.winners.entry(key).or_insert(slot);
        if slot.rank() > held.rank() {
            self.winners.insert(key, slot);
        } else if slot.rank() == held.rank() && slot != held {
            self.ties.entry(key).or_default().push(slot);
        }
    }

    fn candidates(&self, key: &ActionKey) -> impl Iterator<Item = &EntrySlot> {
        self.winners.get(key).into_iter().chain(self.ties.get(key).into_iter().flatten())
    }
}

/// The folder of the segments of the store in the cache folder `dir`.
pub(super) fn segment_folder(dir: &Path) -> PathBuf {
    dir.join("v1").join("seg")
}

/// The segments of a folder, in the order of their creation; none if there is no folder.
pub(super) fn segment_names(folder: &Path) -> io::Result<Vec<String>> {
    names_in(folder, "jsonl")
}

/// The files of a folder that have an extension, sorted; none if there is no folder.
pub(super) fn names_in(folder: &Path, extension: &str) -> io::Result<Vec<String>> {
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let mut names = Vec::new();
    for file in files {
        let path = file?.path();
        if path.extension().is_some_and(|found| found == extension) {
            names.extend(path.file_name().and_then(|name| name.to_str()).map(str::to_owned));
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Visits the entries of the segment at `path`.
pub(super) fn scan_file(path: &Path, visit: impl FnMut(ScannedEntry)) -> io::Result<Scanned> {
    scan_lines(path, Position::START, u64::MAX, visit)
}

/// Visits the entries of the segment at `path` from a line on, up to the offset `upto`.
fn scan_lines(
    path: &Path,
    from: Position,
    upto: u64,
    visit: impl FnMut(ScannedEntry),
) -> io::Result<Scanned> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from.offset))?;
    let rest = file.take(upto.saturating_sub(from.offset));
    let reader = BufReader::with_capacity(1 << 16, rest);
    line::scan(reader, &path.to_string_lossy(), from, visit)
}

/// Reads the entries of one file; a line that cannot be read does not hide the others.
pub(super) fn read_group(
    path: &Path,
    group: &[(EntrySlot, usize)],
    keys: &[ActionKey],
    found: &mut [Option<Entry>],
) -> io::Result<()> {
    let mut reader = BufReader::new(File::open(path)?);
    let mut at = 0;
    let mut outcome = Ok(());
    for (slot, place) in group {
        // A relative seek keeps what is buffered: winners often stand side by side.
        reader.seek_relative(i64::from(slot.offset) - at)?;
        at = i64::from(slot.offset) + i64::from(slot.length());
        match read_entry(&mut reader, slot) {
            Ok(entry) if entry.key == keys[*place] => keep_winner(&mut found[*place], entry),
            Ok(_) => outcome = Err(io::ErrorKind::InvalidData.into()),
            Err(error) => {
                outcome = Err(error);
                at = 0;
                reader.rewind()?;
            }
        }
    }
    outcome
}

fn read_entry(mut reader: impl io::Read, slot: &EntrySlot) -> io::Result<Entry> {
    let mut line = vec![0; slot.length() as usize];
    reader.read_exact(&mut line)?;
    let entry = line::parse(&line).ok().filter(|entry| entry.rank() == slot.rank());
    entry.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn slot(segment: u32, found: &ScannedEntry) -> EntrySlot {
    let ScannedEntry { offset, length, ref entry, .. } = *found;
    EntrySlot::new(segment, offset, length, entry.rank())
}

/// The entries of segment `number` at `path` by its side file, if that is one for `length` bytes.
fn read_idx(path: &Path, number: u32, length: u64) -> Option<Vec<(ActionKey, EntrySlot)>> {
    let path = path.with_extension("idx");
    // A line is longer than what the side file says of it: a larger file is none.
    let plausible = fs::metadata(&path).ok()?.len() <= length + 64;
    if plausible { idx::decode(&fs::read(&path).ok()?, number, length) } else { None }
}

/// Whether the side file of the segment at `path` is one of the first version.
fn has_first_idx(path: &Path) -> bool {
    fs::read(path.with_extension("idx")).is_ok_and(|bytes| idx::is_first_version(&bytes))
}

/// Writes the side file of the segment at `path`, under a temporary name first.
fn write_idx(path: &Path) -> io::Result<()> {
    let mut entries = Vec::new();
    scan_file(path, |found| entries.push((found.entry.key, slot(0, &found))))?;
    let temporary = path.with_extension("idx.tmp");
    fs::write(&temporary, idx::encode(&entries))?;
    fs::rename(&temporary, path.with_extension("idx"))
}

pub(super) fn write_error(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Write { path: path.display().to_string(), reason: error.to_string() }
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("cannot read the store at `{}`: {error}", path.display())
}
