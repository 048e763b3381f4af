//! The files that hold what is known of the chunks of a suite: packs of bytes, and a table of what stands where in them.
//!
//! A run after an edit adds a pack with what is new, and writes the table again. Where there are many packs, or most of their
//! bytes are used no more, one pack in a new folder takes their place. What is damaged or gone is not known: then rows are read.

use std::collections::HashMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use evalrs_base::file_path::join;
use evalrs_eval::dataset::layout::Layout;
use evalrs_graph::known::{KnownChunk, KnownChunks, KnownResults};
use evalrs_graph::known_chunks::CollectedChunk;
use evalrs_system::System;

/// The most packs: a run opens each of them.
const MOST_PACKS: usize = 16;

/// What is known of chunks, and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct KnownTable {
    /// The folder of the packs.
    folder: String,
    packs: Vec<PackFile>,
    chunks: Vec<PackedChunk>,
    /// How the file of the dataset is cut, with its path.
    pub layout: Option<(String, Layout)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PackFile {
    name: String,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct PackedChunk {
    /// The digest of its rows.
    hash: u128,
    place: PackPlace,
    results: Option<KnownResults>,
}

/// Where the bytes of a chunk stand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct PackPlace {
    pack: usize,
    from: usize,
    bytes: usize,
    /// Their digest.
    check: u64,
}

impl KnownTable {
    /// Whether it is time for one pack that holds no more than `chunks` do.
    fn is_worn(&self, chunks: &[CollectedChunk]) -> bool {
        let used: usize = chunks.iter().map(|chunk| chunk.bytes.len()).sum();
        let held: u64 = self.packs.iter().map(|pack| pack.bytes).sum();
        self.packs.len() >= MOST_PACKS || held > 2 * used as u64
    }
}

/// The files of a suite.
pub(super) struct KnownPacks<'a> {
    /// The path of the table.
    pub table: String,
    /// The folder of the folders of packs.
    pub folder: String,
    pub system: &'a dyn System,
}

impl KnownPacks<'_> {
    /// The table, if it has this digest.
    pub(super) fn read(&self, digest: &str) -> Option<KnownTable> {
        let bytes = self.system.read(&self.table).into_bytes().ok()?;
        let is_it = blake3::hash(&bytes).to_hex().as_str() == digest;
        if is_it { postcard::from_bytes(&bytes).ok() } else { None }
    }

    /// What is known of the chunks of a table.
    pub(super) fn chunks(&self, table: &KnownTable) -> KnownChunks {
        let known = self.bytes_of(table).into_iter().filter_map(|(chunk, bytes)| {
            Some((chunk.hash, KnownChunk::read(bytes, chunk.results)?))
        });
        known.collect()
    }

    /// The bytes of the chunks of a table that are what they were.
    fn bytes_of(&self, table: &KnownTable) -> Vec<(PackedChunk, Bytes)> {
        let folder = join(&self.folder, &table.folder);
        let packs = table.packs.iter().map(|pack| {
            let bytes = self.system.read(&join(&folder, &pack.name)).into_bytes();
            bytes.map(Bytes::from).unwrap_or_default()
        });
        let packs: Vec<Bytes> = packs.collect();
        let chunks = table.chunks.iter().filter_map(|chunk| {
            let PackPlace { pack, from, bytes, check } = chunk.place;
            let pack = packs.get(pack)?;
            let end = from.checked_add(bytes).filter(|end| *end <= pack.len())?;
            let bytes = pack.slice(from..end);
            (xxh3_64(&bytes) == check).then_some((*chunk, bytes))
        });
        chunks.collect()
    }

    /// Writes what is known by now beside what the `held` table has, as far as it `was_read`. The digest of the new table; none
    /// if something cannot be written.
    pub(super) fn write(
        &self,
        held: Option<&KnownTable>,
        was_read: &dyn Fn(u128) -> bool,
        chunks: &[CollectedChunk],
        layout: Option<(String, Layout)>,
    ) -> Option<String> {
        let (mut table, mut pack) = added(held.cloned().unwrap_or_default(), was_read, chunks);
        table.layout = layout;
        let is_new = held != Some(&table);
        if is_new && held.is_some_and(|held| held.is_worn(chunks)) {
            let (other, whole) = added(KnownTable::default(), was_read, chunks);
            table = KnownTable { layout: table.layout, ..other };
            pack = whole;
        }
        let bytes = postcard::to_allocvec(&table).ok()?;
        if is_new {
            if let (false, Some(file)) = (pack.is_empty(), table.packs.last()) {
                let path = join(&join(&self.folder, &table.folder), &file.name);
                self.system.write(&path, &mut |file| file.write_all(&pack)).ok()?;
            }
            self.system.write(&self.table, &mut |file| file.write_all(&bytes)).ok()?;
        }
        if held.is_none_or(|held| held.folder != table.folder) {
            self.remove_others(&table.folder);
        }
        Some(blake3::hash(&bytes).to_hex().to_string())
    }

    /// Removes the folders of earlier packs. It is no harm if one stays: the next pack that takes the place of all removes it.
    fn remove_others(&self, folder: &str) {
        let folders = self.system.list(&self.folder).unwrap_or_default();
        for other in folders.iter().filter(|other| *other != folder) {
            let _ = self.system.remove_folder(&join(&self.folder, other));
        }
    }
}

/// The table of `chunks`, and the pack of those that nobody has read from the packs of the `held` one.
fn added(
    held: KnownTable,
    was_read: &dyn Fn(u128) -> bool,
    chunks: &[CollectedChunk],
) -> (KnownTable, Vec<u8>) {
    let KnownTable { mut folder, mut packs, chunks: known, layout } = held;
    let read = known.iter().filter(|chunk| was_read(chunk.hash));
    let known: HashMap<u128, PackPlace> = read.map(|chunk| (chunk.hash, chunk.place)).collect();
    let mut pack = Vec::new();
    let packed = chunks.iter().map(|chunk| {
        let check = xxh3_64(&chunk.bytes);
        let bytes = chunk.bytes.len();
        let is_there = |place: &&PackPlace| place.check == check && place.bytes == bytes;
        let place = known.get(&chunk.hash).filter(is_there).copied().unwrap_or_else(|| {
            let from = pack.len();
            pack.extend_from_slice(&chunk.bytes);
            PackPlace { pack: packs.len(), from, bytes, check }
        });
        PackedChunk { hash: chunk.hash, place, results: chunk.results }
    });
    let chunks = packed.collect();
    if !pack.is_empty() {
        // Two processes that add to the same packs give theirs other names.
        let name = blake3::hash(&pack).to_hex()[..16].to_owned();
        if packs.is_empty() {
            folder.clone_from(&name);
        }
        packs.push(PackFile { name, bytes: pack.len() as u64 });
    }
    (KnownTable { folder, packs, chunks, layout }, pack)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use evalrs_graph::known_chunks::CollectedChunk;
    use evalrs_system::System;
    use evalrs_system::memory::MemorySystem;

    use super::{KnownPacks, KnownTable, MOST_PACKS, added};

    fn chunk(number: u128) -> CollectedChunk {
        CollectedChunk {
            hash: number,
            bytes: Bytes::from(format!("what is known of {number:04}")),
            results: None,
        }
    }

    fn packs(system: &dyn System) -> KnownPacks<'_> {
        KnownPacks { table: "i/t".to_owned(), folder: "i/p".to_owned(), system }
    }

    /// The bytes of the files of all packs.
    fn written(system: &MemorySystem) -> Vec<usize> {
        let folders = system.list("i/p").unwrap_or_default();
        let files = folders.iter().flat_map(|folder| {
            let names = system.list(&format!("i/p/{folder}")).unwrap_or_default();
            names.into_iter().map(move |name| format!("i/p/{folder}/{name}"))
        });
        let mut sizes: Vec<usize> =
            files.map(|path| system.read(&path).into_bytes().unwrap().len()).collect();
        sizes.sort_unstable();
        sizes
    }

    #[test]
    fn an_edit_writes_what_is_new_until_much_is_used_no_more() {
        let system = MemorySystem::default();
        let packs = packs(&system);
        let mut all: Vec<CollectedChunk> = (0..100).map(chunk).collect();
        let mut held: Option<KnownTable> = None;
        let one = all[0].bytes.len();
        for edit in 0..40_u128 {
            let digest = packs.write(held.as_ref(), &|_| true, &all, None).unwrap();
            let table = packs.read(&digest).unwrap();
            assert_eq!(packs.read("another"), None);
            let again = packs.write(Some(&table), &|_| true, &all, None);
            assert_eq!(again.as_ref(), Some(&digest), "nothing is new");
            let sizes = written(&system);
            let expected = match edit as usize % MOST_PACKS {
                0 => vec![100 * one],
                edits => [vec![one; edits], vec![100 * one]].concat(),
            };
            assert_eq!(sizes, expected, "{edit}");
            held = Some(table);
            all[edit as usize] = chunk(1_000 + edit);
        }
        // Most of the suite is gone.
        let few = &all[..40];
        packs.write(held.as_ref(), &|_| true, few, None).unwrap();
        assert_eq!(written(&system), [40 * one]);
    }

    #[test]
    fn what_moved_stays_where_it_stands_and_other_bytes_of_the_same_rows_are_new() {
        let all: Vec<CollectedChunk> = (0..3).map(chunk).collect();
        let (table, pack) = added(KnownTable::default(), &|_| true, &all);
        assert_eq!(pack.len(), 3 * all[0].bytes.len());
        let moved: Vec<CollectedChunk> = all.iter().rev().cloned().collect();
        let (again, pack) = added(table.clone(), &|_| true, &moved);
        assert!(pack.is_empty() && again.packs == table.packs && again != table);
        let other = CollectedChunk { bytes: Bytes::from_static(b"other"), ..chunk(1) };
        assert_eq!(added(table.clone(), &|_| true, &[chunk(0), other]).1, b"other");
        // It stands there by the table, and could not be read.
        assert_eq!(added(table, &|hash| hash != 1, &all).1, all[1].bytes);
    }

    #[test]
    fn processes_that_write_at_once_leave_what_is_right_or_less() {
        let system = MemorySystem::default();
        let packs = packs(&system);
        let write = |held: Option<&KnownTable>, all: &[CollectedChunk]| {
            let read = held.map_or(Vec::new(), |held| packs.bytes_of(held));
            let was_read = |hash| read.iter().any(|(chunk, _)| chunk.hash == hash);
            packs.read(&packs.write(held, &was_read, all, None).unwrap()).unwrap()
        };
        let readable = |table: &KnownTable, all: &[CollectedChunk]| {
            let read = packs.bytes_of(table);
            for (found, bytes) in &read {
                assert!(all.iter().any(|one| (one.hash, &one.bytes) == (found.hash, bytes)));
            }
            read.len()
        };
        let edited = |at: usize, number: u128| {
            let mut all: Vec<CollectedChunk> = (0..100).map(chunk).collect();
            all[at] = chunk(number);
            all
        };
        let first = write(None, &edited(0, 0));
        // Both add to the packs of the first.
        let [one, other] = [edited(1, 1_001), edited(2, 1_002)];
        for all in [&one, &other] {
            assert_eq!(readable(&write(Some(&first), all), all), 100);
        }
        // One joins all packs while the other still has the table of before.
        let few = &one[..40];
        assert_eq!(readable(&write(Some(&first), few), few), 40);
        let before = packs.bytes_of(&first).len();
        assert_eq!(before, 0, "they are gone");
        let (stale, pack) = added(first, &|_| true, &other);
        system.set(&format!("i/p/{}/{}", stale.folder, stale.packs[1].name), pack);
        assert_eq!(readable(&stale, &other), 1);
        assert_eq!(readable(&write(Some(&stale), &other), &other), 100);
    }
}
