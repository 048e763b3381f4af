//! The index side file of a sealed segment, as bytes.
//!
//! It only saves time: whatever is wrong with it, the segment is scanned instead. Layout, integers little endian:
//! magic with the version (16 bytes), the entries in the order of their lines (40 each: key, generation, length, whose
//! highest bit is set for a reply), CRC-32 of everything before (4). There are no offsets: the lines must cover the segment without a gap, so that a side file
//! that leaves out an entry, or speaks of another state of the segment, is not believed. Binary, because nobody merges
//! or reads it.

use crate::entry::EntryRank;
use evalrs_model::key::ActionKey;

const MAGIC: &[u8; 16] = b"evalrs idx v2\n\0\0";
/// That of side files which do not tell replies from failures.
const FIRST_MAGIC: &[u8; 16] = b"evalrs idx v1\n\0\0";

/// Set in the size of an entry that is a reply: no line is nearly so long.
const REPLY: u32 = 1 << 31;

/// The place of an entry: 16 bytes, because the index in memory has one for every key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntrySlot {
    pub segment: u32,
    /// Where the line starts, in bytes.
    pub offset: u32,
    /// The bytes of the line without its line break, and whether it is a reply.
    size: u32,
    generation: u32,
}

impl EntrySlot {
    /// The place of a line of `length` bytes that starts at `offset`.
    pub(crate) fn new(segment: u32, offset: u32, length: u32, rank: EntryRank) -> Self {
        let size = length | if rank.is_reply { REPLY } else { 0 };
        Self { segment, offset, size, generation: rank.generation }
    }

    pub(crate) fn length(&self) -> u32 {
        self.size & !REPLY
    }

    pub(crate) fn rank(&self) -> EntryRank {
        EntryRank { is_reply: self.size & REPLY != 0, generation: self.generation }
    }
}

/// Whether this is a side file of the first version, which is to be made again.
pub(crate) fn is_first_version(bytes: &[u8]) -> bool {
    bytes.starts_with(FIRST_MAGIC)
}

/// The side file of a segment that holds `entries`.
pub(crate) fn encode(entries: &[(ActionKey, EntrySlot)]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for (key, slot) in entries {
        bytes.extend_from_slice(&key.0);
        for number in [slot.generation, slot.size] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
    let checksum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// What the side file of segment number `segment` holds, unless it is damaged, of another version, or does not fit
/// the length of the segment in bytes.
pub(crate) fn decode(
    bytes: &[u8],
    segment: u32,
    segment_length: u64,
) -> Option<Vec<(ActionKey, EntrySlot)>> {
    let (content, checksum) = bytes.split_last_chunk()?;
    if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
        return None;
    }
    let mut rest = content.strip_prefix(MAGIC)?;
    let mut entries = Vec::with_capacity(rest.len() / 40);
    let mut offset = 0;
    while !rest.is_empty() {
        let key = ActionKey(*take(&mut rest)?);
        let generation = u32::from_le_bytes(*take(&mut rest)?);
        let size = u32::from_le_bytes(*take(&mut rest)?);
        let slot = EntrySlot { segment, offset, size, generation };
        entries.push((key, slot));
        offset = offset.checked_add(slot.length())?.checked_add(1)?;
    }
    (u64::from(offset) == segment_length).then_some(entries)
}

fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(first)
}
