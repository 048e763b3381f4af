//! Runs of about 64 records, cut where the content says so.
//!
//! A chunk is the unit of the incremental database: large enough that verifying one costs nothing, small
//! enough that editing one record re-reads few others. The cuts depend on the records alone, so a record
//! inserted in the middle moves no cut but its own. Chunks hold no position: a chunk that moved is unchanged.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

pub use super::records::Records;

use super::join::JoinedRow;

/// A record whose hash has these bits clear ends its chunk: one in 64.
const CUT_MASK: u64 = 63;
/// The most records of a chunk.
const MOST_RECORDS: usize = 256;
/// A chunk that reaches this many bytes ends, so that large trajectories are not read again in
/// hundreds.
const MOST_BYTES: usize = 1 << 20;

/// A chunk of a dataset that was read: its content only where nobody holds it yet.
#[derive(Debug)]
pub struct ChunkedDataset {
    /// Identifies the content.
    pub hash: u128,
    /// How many records it holds.
    pub records: usize,
    /// The content, if it is new.
    pub fresh: Option<Records>,
}

/// The chunks that are there already: how many of each hash.
#[derive(Debug, Default)]
pub struct HeldChunks(HashMap<u128, usize>);

impl HeldChunks {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes one of these, if one is left.
    pub fn take(&mut self, hash: u128) -> bool {
        let left = self.0.get_mut(&hash).filter(|count| **count > 0);
        left.map(|count| *count -= 1).is_some()
    }
}

impl FromIterator<u128> for HeldChunks {
    fn from_iter<I: IntoIterator<Item = u128>>(hashes: I) -> Self {
        let mut held = HashMap::new();
        for hash in hashes {
            *held.entry(hash).or_insert(0) += 1;
        }
        Self(held)
    }
}

/// Cuts the records of a dataset into chunks. `held` are those that are there already; `file` is the text that records
/// were cut from.
pub fn chunks(
    records: &[JoinedRow<'_>],
    mut held: HeldChunks,
    file: &Arc<String>,
) -> Vec<ChunkedDataset> {
    let cuts: Vec<(Range<usize>, u128, bool)> = cuts(records)
        .into_iter()
        .map(|(range, hash)| {
            let is_held = held.take(hash);
            (range, hash, is_held)
        })
        .collect();
    // A share keeps the whole file in memory: worth it when most of it is new, as it is the first time.
    let is_shared = cuts.iter().filter(|(_, _, held)| !held).count() * 2 > cuts.len();
    let build = |(range, hash, held): (Range<usize>, u128, bool)| {
        let records = &records[range];
        let shared = || is_shared.then(|| Records::shared(hash, records, file)).flatten();
        ChunkedDataset {
            hash,
            records: records.len(),
            fresh: (!held).then(|| shared().unwrap_or_else(|| Records::own(hash, records))),
        }
    };
    cuts.into_iter().map(build).collect()
}

/// Where the chunks are, and the hash of each.
fn cuts(records: &[JoinedRow<'_>]) -> Vec<(Range<usize>, u128)> {
    let mut cuts = Vec::with_capacity(records.len() / 48 + 1);
    let mut from = 0;
    let mut cutter = Cutter::default();
    for (at, record) in records.iter().enumerate() {
        if let Some(hash) = cutter.push(record) {
            cuts.push((from..at + 1, hash));
            from = at + 1;
        }
    }
    cuts.extend(cutter.finish().map(|hash| (from..records.len(), hash)));
    cuts
}

/// Says after which records a chunk ends: after one whose own hash says so, or one that fills it.
#[derive(Default)]
pub(super) struct Cutter {
    records: usize,
    bytes: usize,
    hasher: Xxh3,
}

impl Cutter {
    /// Takes the next record. The hash of the chunk that it ends, if it ends one.
    pub(super) fn push(&mut self, record: &JoinedRow<'_>) -> Option<u128> {
        let row = xxh3_64(record.row.as_bytes());
        let recorded =
            if record.recorded.is_empty() { 0 } else { xxh3_64(record.recorded.as_bytes()) };
        let hash = row ^ recorded.rotate_left(17);
        self.hasher.update(&row.to_le_bytes());
        self.hasher.update(&recorded.to_le_bytes());
        self.records += 1;
        self.bytes += record.row.len() + record.recorded.len();
        let is_full = self.records >= MOST_RECORDS || self.bytes >= MOST_BYTES;
        if hash & CUT_MASK == 0 || is_full { self.finish() } else { None }
    }

    /// Ends the chunk that was begun. Its hash, if one was.
    pub(super) fn finish(&mut self) -> Option<u128> {
        let begun = self.has_begun().then(|| self.hasher.digest128());
        *self = Self::default();
        begun
    }

    /// Whether a chunk was begun that has not ended.
    pub(super) fn has_begun(&self) -> bool {
        self.records > 0
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use std::sync::Arc;

    use super::{ChunkedDataset, HeldChunks, Records};
    use crate::dataset::join::JoinedRow;
    use crate::dataset::split::RecordStart;

    fn joined(rows: impl IntoIterator<Item = String>) -> Vec<JoinedRow<'static>> {
        rows.into_iter()
            .map(|row| JoinedRow {
                row: Cow::Owned(row),
                recorded: Cow::Borrowed("r"),
                start: RecordStart::default(),
            })
            .collect()
    }

    fn rows(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("{{\"id\": {at}}}")).collect()
    }

    fn chunks(records: &[JoinedRow<'_>]) -> Vec<Records> {
        let chunked = super::chunks(records, HeldChunks::default(), &Arc::default());
        chunked.into_iter().filter_map(|chunk| chunk.fresh).collect()
    }

    #[test]
    fn a_first_reading_shares_the_file_and_an_edit_builds_its_chunk_alone() {
        let file = Arc::new(rows(2_000).join("\n"));
        let joined: Vec<JoinedRow<'_>> = file
            .lines()
            .map(|row| JoinedRow {
                row: Cow::Borrowed(row),
                recorded: Cow::Borrowed(""),
                start: RecordStart::default(),
            })
            .collect();
        let first = super::chunks(&joined, HeldChunks::default(), &file);
        let texts: Vec<&str> = first
            .iter()
            .filter_map(|chunk| chunk.fresh.as_ref())
            .flat_map(Records::iter)
            .map(|(row, _)| row)
            .collect();
        assert_eq!(texts, rows(2_000));
        assert!(Arc::strong_count(&file) > first.len(), "every chunk shares the file");
        let held: HeldChunks = first.iter().map(|chunk| chunk.hash).collect();
        let edited = Arc::new(file.replace("{\"id\": 1000}", "{\"id\": \"x\"}"));
        let joined = self::joined(edited.lines().map(str::to_owned))
            .into_iter()
            .map(|row| JoinedRow { recorded: Cow::Borrowed(""), ..row });
        let second: Vec<ChunkedDataset> = super::chunks(&joined.collect::<Vec<_>>(), held, &edited);
        assert!((1..=2).contains(&second.iter().filter(|chunk| chunk.fresh.is_some()).count()));
        assert_eq!(Arc::strong_count(&edited), 1, "an edit does not keep the whole file");
    }

    #[test]
    fn chunks_hold_every_record_in_order() {
        let rows = rows(1_000);
        let chunks = chunks(&joined(rows.clone()));
        let held: Vec<&str> = chunks.iter().flat_map(Records::iter).map(|(row, _)| row).collect();
        assert_eq!(held, rows);
        assert!(chunks.iter().flat_map(Records::iter).all(|(_, recorded)| recorded == "r"));
        assert!((8..40).contains(&chunks.len()), "{}", chunks.len());
    }

    #[test]
    fn an_insertion_changes_at_most_two_chunks() {
        let before = chunks(&joined(rows(5_000)));
        for at in [0, 1, 700, 2_500, 5_000] {
            let mut edited = rows(5_000);
            edited.insert(at, "{\"id\": \"new\"}".to_owned());
            let after = chunks(&joined(edited));
            let fresh = after.iter().filter(|chunk| !before.contains(chunk)).count();
            assert!((1..=2).contains(&fresh), "inserting at {at} made {fresh} new chunks");
        }
    }

    #[test]
    fn the_border_between_row_and_recording_is_part_of_the_content() {
        let make = |row: &'static str, recorded: &'static str| {
            chunks(&[JoinedRow {
                row: row.into(),
                recorded: recorded.into(),
                start: RecordStart::default(),
            }])
        };
        assert_ne!(make("ab", "c")[0].hash(), make("a", "bc")[0].hash());
    }
}
