//! The place of every entry of the segments, and how it is read from a segment or from the side file beside it.
//!
//! What is known of a key is its winner and what ties with it. Where files turn out to be damaged, the index is made again
//! from the lines alone, and then knows every entry of a key: what wins may be one that cannot be read.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use crate::line::{self, Position, ScannedEntry, ScannedLines};
use crate::segment::files::segment_folder;
use crate::segment::side_file::{self, EntrySlot};
use evalrs_model::key::{ActionKey, KeyMap};

/// The place of every entry, as far as the files have been read.
#[derive(Default)]
pub(crate) struct Index {
    /// Whether the folder was looked at.
    pub looked: bool,
    /// Whether side files are left aside, because one was wrong, and entries are kept that others win over.
    pub(crate) is_thorough: bool,
    /// The number of a segment is its position here.
    pub segments: Vec<Segment>,
    numbers: BTreeMap<String, u32>,
    /// How many there are, those that no longer win included.
    pub entries: u64,
    pub winners: KeyMap<EntrySlot>,
    /// Further entries that had the rank of the winner: only their bodies tell who wins. They are rare. A thorough index
    /// has all others of a key here.
    others: KeyMap<Vec<EntrySlot>>,
}

pub(crate) struct Segment {
    pub name: String,
    /// Where the first line that is not yet indexed starts.
    end: Position,
}

impl Index {
    /// Adds what is new in the segment `name` at `path`, up to `durable` if that is known, and gives a warning for each
    /// bad line.
    pub(crate) fn absorb(
        &mut self,
        name: &str,
        path: &Path,
        durable: Option<u64>,
    ) -> io::Result<Vec<String>> {
        let number = self.number(name);
        let end = self.segments[number as usize].end;
        let length = fs::metadata(path)?.len().min(durable.unwrap_or(u64::MAX));
        if length <= end.offset {
            return Ok(Vec::new());
        }
        let fresh = end == Position::START && !self.is_thorough;
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
        if slot == held {
            return;
        }
        let wins = slot.rank() > held.rank();
        if wins {
            self.winners.insert(key, slot);
        }
        if self.is_thorough || slot.rank() == held.rank() {
            self.others.entry(key).or_default().push(if wins { held } else { slot });
        }
    }

    /// The generation of the entry that wins under `key`.
    pub(crate) fn generation_of(&self, key: &ActionKey) -> Option<u32> {
        self.winners.get(key).map(|slot| slot.rank().generation)
    }

    /// Where the entries of `key` stand of which one may win.
    pub(crate) fn candidates(&self, key: &ActionKey) -> impl Iterator<Item = &EntrySlot> {
        self.winners.get(key).into_iter().chain(self.others.get(key).into_iter().flatten())
    }
}

pub(crate) fn scan_file(
    path: &Path,
    visit: impl FnMut(ScannedEntry<'_>),
) -> io::Result<ScannedLines> {
    scan_lines(path, Position::START, u64::MAX, visit)
}

/// The keys of the entries of a segment of the store at `dir`.
pub fn keys_of_segment(dir: &Path, name: &str) -> io::Result<Vec<ActionKey>> {
    let path = segment_folder(dir).join(name);
    let length = fs::metadata(&path)?.len();
    if let Some(entries) = read_idx(&path, 0, length) {
        return Ok(entries.into_iter().map(|(key, _)| key).collect());
    }
    let mut keys = Vec::new();
    scan_file(&path, |found| keys.push(found.entry.key))?;
    Ok(keys)
}

/// Visits the entries of the segment at `path` from a line on, up to the offset `upto`.
pub(crate) fn scan_lines(
    path: &Path,
    from: Position,
    upto: u64,
    visit: impl FnMut(ScannedEntry<'_>),
) -> io::Result<ScannedLines> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from.offset))?;
    let rest = file.take(upto.saturating_sub(from.offset));
    let reader = BufReader::with_capacity(1 << 16, rest);
    line::scan(reader, &path.to_string_lossy(), from, visit)
}

fn slot(segment: u32, found: &ScannedEntry<'_>) -> EntrySlot {
    let ScannedEntry { offset, length, ref entry, .. } = *found;
    EntrySlot::new(segment, offset, length, entry.rank())
}

/// The entries of segment `number` at `path` by its side file, if that is one for `length` bytes.
fn read_idx(path: &Path, number: u32, length: u64) -> Option<Vec<(ActionKey, EntrySlot)>> {
    let path = path.with_extension("idx");
    // A line is longer than what the side file says of it: a larger file is none.
    fs::metadata(&path).ok().filter(|file| file.len() <= length + 64)?;
    side_file::decode(&fs::read(&path).ok()?, number, length)
}

fn has_first_idx(path: &Path) -> bool {
    fs::read(path.with_extension("idx")).is_ok_and(|bytes| side_file::is_first_version(&bytes))
}

/// Writes the side file of the segment at `path`, under a temporary name first.
pub(crate) fn write_idx(path: &Path) -> io::Result<()> {
    let mut entries = Vec::new();
    scan_file(path, |found| entries.push((found.entry.key, slot(0, &found))))?;
    let temporary = path.with_extension("idx.tmp");
    fs::write(&temporary, side_file::encode(&entries))?;
    fs::rename(&temporary, path.with_extension("idx"))
}
