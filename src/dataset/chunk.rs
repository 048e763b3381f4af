//! Runs of about 64 records, cut where the content says so.
//!
//! A chunk is the unit of the incremental database: large enough that verifying one costs nothing, small
//! enough that editing one record re-reads few others. The cuts depend on the records alone, so a record
//! inserted in the middle moves no cut but its own. Chunks hold no position: a chunk that moved is unchanged.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::join::Joined;

/// A record whose hash has these bits clear ends its chunk: one in 64.
const CUT_MASK: u64 = 63;
/// The most records of a chunk.
const MOST_RECORDS: usize = 256;
/// A chunk that reaches so many bytes ends, so that large trajectories are not read again in hundreds.
const MOST_BYTES: usize = 1 << 20;

/// The records of one chunk: one text and where each record ends in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Records {
    hash: u128,
    text: Box<str>,
    /// For each record the end of its row and the end of what was recorded for it.
    ends: Box<[[u32; 2]]>,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Records({} records, {:016x})", self.len(), self.hash as u64)
    }
}

impl Records {
    /// A chunk without records: what an unused slot holds.
    pub fn empty() -> Self {
        Self { hash: 0, text: Box::default(), ends: Box::default() }
    }

    /// Identifies the content within this process.
    pub fn hash(&self) -> u128 {
        self.hash
    }

    /// How many records it holds.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The row and the recorded text of record `at`, below [`Records::len`].
    pub fn get(&self, at: usize) -> (&str, &str) {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before][1] as usize);
        let [row_end, end] = self.ends[at].map(|end| end as usize);
        (&self.text[start..row_end], &self.text[row_end..end])
    }

    /// The records in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        (0..self.len()).map(|at| self.get(at))
    }
}

/// Cuts the records of a dataset into chunks.
pub fn chunks(records: &[Joined<'_>]) -> Vec<Records> {
    let mut chunks = Vec::with_capacity(records.len() / 48 + 1);
    let mut open = Builder::default();
    for record in records {
        let cut = open.push(&record.row, &record.recorded);
        if cut || open.ends.len() >= MOST_RECORDS || open.text.len() >= MOST_BYTES {
            chunks.push(std::mem::take(&mut open).build());
        }
    }
    if !open.ends.is_empty() {
        chunks.push(open.build());
    }
    chunks
}

#[derive(Default)]
struct Builder {
    text: String,
    ends: Vec<[u32; 2]>,
    hasher: Xxh3,
}

impl Builder {
    /// Takes a record in and says whether its content ends the chunk.
    fn push(&mut self, row: &str, recorded: &str) -> bool {
        let start = self.text.len();
        self.text.push_str(row);
        let row_end = self.text.len() as u32;
        self.text.push_str(recorded);
        self.ends.push([row_end, self.text.len() as u32]);
        let hash = xxh3_64(&self.text.as_bytes()[start..]);
        self.hasher.update(&hash.to_le_bytes());
        self.hasher.update(&(row.len() as u64).to_le_bytes());
        hash & CUT_MASK == 0
    }

    fn build(self) -> Records {
        Records {
            hash: self.hasher.digest128(),
            text: self.text.into_boxed_str(),
            ends: self.ends.into_boxed_slice(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{Records, chunks};
    use crate::dataset::join::Joined;
    use crate::dataset::split::Start;

    fn joined(rows: impl IntoIterator<Item = String>) -> Vec<Joined<'static>> {
        rows.into_iter()
            .map(|row| Joined {
                row: Cow::Owned(row),
                recorded: Cow::Borrowed("r"),
                start: Start::default(),
            })
            .collect()
    }

    fn rows(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("{{\"id\": {at}}}")).collect()
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
            chunks(&[Joined {
                row: row.into(),
                recorded: recorded.into(),
                start: Start::default(),
            }])
        };
        assert_ne!(make("ab", "c")[0].hash(), make("a", "bc")[0].hash());
    }
}
