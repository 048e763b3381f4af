//! Where the chunks of a JSON Lines file stand in it, so that an edit is cut again where it was made and nowhere else.
//!
//! Remembers lengths and hashes, not the text: comparing costs one pass over the new bytes and holds no second copy of
//! them. Gives up on whatever is not plainly well formed; the whole file is then read by `split`, which says what is
//! wrong. What it does cut is cut exactly as there.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::chunk::{ChunkedDataset, Cutter, HeldChunks, Records};
use super::join::JoinedRow;
use super::plain_json::may_have_some;
use super::split::{RECORD_LIMIT, RecordStart, trimmed_line};

/// The chunks of a file, one after the other, up to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    extents: Vec<ChunkExtent>,
    /// The file, as long as its extents are not hashed: a run that reads it once never needs that.
    #[serde(skip)]
    unhashed: Option<Arc<String>>,
}

/// The lines of one chunk: from after the last line of the one before to the end of its own last line. Of the last
/// chunk, up to the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ChunkExtent {
    bytes: usize,
    raw: u128,
    chunk: u128,
    records: usize,
}

/// A file that was edited, cut again.
#[derive(Debug)]
pub struct Recut {
    /// Its chunks, with their contents where they are new; none if the file is the same byte for byte.
    pub chunks: Option<Vec<ChunkedDataset>>,
    /// Where they stand.
    pub layout: Layout,
}

/// The unchanged parts of a file.
#[derive(Debug)]
struct UnchangedParts {
    /// The number of extents at its front, and their end.
    front: (usize, usize),
    /// The first of the extents at its back, and where that starts.
    back: (usize, usize),
}

impl Layout {
    /// The layout of `file`, whose `chunks` hold the records that start at `starts`; its byte order mark counts in none
    /// of those.
    pub fn new(file: &Arc<String>, chunks: &[ChunkedDataset], starts: &[RecordStart]) -> Self {
        let mark = file.len() - file.strip_prefix('\u{feff}').unwrap_or(file).len();
        let mut extents = Vec::with_capacity(chunks.len());
        let mut from = 0;
        let mut next = 0;
        for chunk in chunks {
            next += chunk.records;
            let last = starts.get(next.saturating_sub(1)).map_or(0, |start| mark + start.offset);
            let line_end = || memchr::memchr(b'\n', &file.as_bytes()[last..]);
            let end = if next < starts.len() { line_end() } else { None };
            let end = end.map_or(file.len(), |at| last + at + 1);
            let bytes = end - from;
            let records = chunk.records;
            extents.push(ChunkExtent { bytes, raw: 0, chunk: chunk.hash, records });
            from = end;
        }
        Self { extents, unhashed: Some(Arc::clone(file)) }
    }

    /// Hashes what is not hashed yet, and lets go of the file.
    pub fn let_go(&mut self) {
        let Some(file) = self.unhashed.take() else { return };
        let mut from = 0;
        for extent in &mut self.extents {
            let bytes = file.as_bytes().get(from..from + extent.bytes).unwrap_or_default();
            extent.raw = xxh3_128(bytes);
            from += extent.bytes;
        }
    }

    /// The same, with a hash of each extent.
    #[must_use]
    pub fn hashed(&self) -> Self {
        let mut hashed = self.clone();
        hashed.let_go();
        hashed
    }

    /// The chunks of a file that has this layout, cut once somebody reads them; but for those that are `fresh`.
    pub fn uncut(&self, fresh: Vec<ChunkedDataset>, file: &Arc<String>) -> Vec<ChunkedDataset> {
        let mut fresh = fresh.into_iter();
        let mut from = 0;
        let chunks = self.extents.iter().map(|extent| {
            let ChunkExtent { bytes, chunk: hash, records, .. } = *extent;
            let range = from..from + bytes;
            from = range.end;
            let cut = fresh.next().and_then(|chunk| chunk.fresh);
            let uncut = || Records::uncut(hash, records, file, range);
            ChunkedDataset { hash, records, fresh: Some(cut.unwrap_or_else(uncut)) }
        });
        chunks.collect()
    }

    /// The line of each record of a file that has this layout, from 1.
    pub fn lines(&self, file: &str) -> Vec<u32> {
        let mut lines = Vec::with_capacity(self.extents.iter().map(|it| it.records).sum());
        let mut from = 0;
        let mut before = 0;
        for extent in &self.extents {
            let text = file.get(from..from + extent.bytes).unwrap_or_default();
            from += extent.bytes;
            let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).count();
            let is_open = usize::from(!text.ends_with('\n'));
            if breaks + is_open == extent.records {
                lines.extend((before + 1..).take(extent.records));
            } else {
                let mark = if before == 0 { "\u{feff}" } else { "" };
                let all = text.strip_prefix(mark).unwrap_or(text).split('\n').zip(before + 1..);
                lines.extend(all.filter(|(it, _)| !trimmed_line(it).is_empty()).map(|it| it.1));
            }
            before += breaks as u32;
        }
        lines
    }

    /// Cuts what is new of an edited file. `held` are the chunks that are there already. Nothing if the edit is large,
    /// or if anything looks wrong in it.
    pub fn recut(&mut self, bytes: &[u8], held: HeldChunks) -> Option<Recut> {
        self.let_go();
        let UnchangedParts { front, back: (mut back, mut next) } = self.same(bytes);
        if next == front.1 && bytes.len() == self.bytes() {
            return Some(Recut { chunks: None, layout: self.with(&[], 0..0) });
        }
        if (next - front.1) * 2 > bytes.len() {
            return None;
        }
        let mut middle = Middle { from: front.1, chunk_from: front.1, ..Middle::default() };
        loop {
            // A line that lost its end goes on in what follows.
            let ends_line = next == middle.from || next == bytes.len() || bytes[next - 1] == b'\n';
            if ends_line {
                middle.cut(bytes, next)?;
                if middle.chunk_from == next {
                    break;
                }
            }
            let Some(extent) = self.extents.get(back) else {
                middle.finish(bytes)?;
                break;
            };
            // What follows goes on the chunk that was begun.
            back += 1;
            next += extent.bytes;
        }
        let recut = self.joined(front.0, middle, back, held);
        recut.chunks.as_ref().is_some_and(|chunks| !chunks.is_empty()).then_some(recut)
    }

    /// The chunks before `front`, those in the middle, and those from `back` on.
    fn joined(&self, front: usize, middle: Middle<'_>, back: usize, mut held: HeldChunks) -> Recut {
        let kept = self.extents[..front].iter().chain(&self.extents[back..]);
        for extent in kept {
            held.take(extent.chunk);
        }
        let old = |extent: &ChunkExtent| ChunkedDataset {
            hash: extent.chunk,
            records: extent.records,
            fresh: None,
        };
        let mut chunks: Vec<ChunkedDataset> = self.extents[..front].iter().map(old).collect();
        chunks.extend(middle.chunks.into_iter().map(|records| ChunkedDataset {
            hash: records.hash(),
            records: records.len(),
            fresh: (!held.take(records.hash())).then_some(records),
        }));
        chunks.extend(self.extents[back..].iter().map(old));
        Recut { chunks: Some(chunks), layout: self.with(&middle.extents, front..back) }
    }

    fn bytes(&self) -> usize {
        self.extents.iter().map(|extent| extent.bytes).sum()
    }

    /// This layout with `extents` instead of some of its own.
    fn with(&self, extents: &[ChunkExtent], replaced: std::ops::Range<usize>) -> Self {
        let front = &self.extents[..replaced.start];
        let back = &self.extents[replaced.end..];
        Self { extents: [front, extents, back].concat(), unhashed: None }
    }

    /// The unchanged part of the file. The last extent ends with the file and not with a line: it is the same at the
    /// end alone.
    fn same(&self, bytes: &[u8]) -> UnchangedParts {
        let is_at = |extent: &ChunkExtent, from: usize| {
            bytes.get(from..from + extent.bytes).is_some_and(|found| xxh3_128(found) == extent.raw)
        };
        let mut front = (0, 0);
        for extent in self.extents.iter().take(self.extents.len().saturating_sub(1)) {
            if !is_at(extent, front.1) {
                break;
            }
            front = (front.0 + 1, front.1 + extent.bytes);
        }
        let mut back = (self.extents.len(), bytes.len());
        for extent in self.extents[front.0..].iter().rev() {
            let from = back.1.checked_sub(extent.bytes).filter(|from| *from >= front.1);
            let Some(from) = from.filter(|from| is_at(extent, *from)) else { break };
            back = (back.0 - 1, from);
        }
        UnchangedParts { front, back }
    }
}

#[derive(Default)]
struct Middle<'a> {
    cutter: Cutter,
    /// Where what was not cut yet starts.
    from: usize,
    /// Where the chunk that was begun starts.
    chunk_from: usize,
    begun: Vec<JoinedRow<'a>>,
    chunks: Vec<Records>,
    extents: Vec<ChunkExtent>,
}

impl<'a> Middle<'a> {
    /// Cuts the lines up to `end`. Nothing if one of them cannot be a record.
    fn cut(&mut self, bytes: &'a [u8], end: usize) -> Option<()> {
        let mut text = std::str::from_utf8(bytes.get(self.from..end)?).ok()?;
        if memchr::memchr(0, text.as_bytes()).is_some() || may_have_some(text) {
            return None;
        }
        let mut at = self.from;
        if at == 0 {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
            at = end - text.len();
            // Of a file that is no JSON Lines, the first line tells.
            let first = text.trim_start().lines().next()?.trim_end();
            if !first.starts_with('{') || first == "{" {
                return None;
            }
        }
        for line in text.split_inclusive('\n') {
            at += line.len();
            let row = trimmed_line(line.strip_suffix('\n').unwrap_or(line));
            if row.len() > RECORD_LIMIT {
                return None;
            }
            if row.is_empty() {
                continue;
            }
            let row = Cow::Borrowed(row);
            let recorded = Cow::Borrowed("");
            let record = JoinedRow { row, recorded, start: RecordStart::default() };
            let ended = self.cutter.push(&record);
            self.begun.push(record);
            if let Some(hash) = ended {
                self.add(hash, &bytes[self.chunk_from..at]);
            }
        }
        self.from = end;
        Some(())
    }

    /// Ends the last chunk with the file, together with blank lines after it. Nothing if there are only those.
    fn finish(&mut self, bytes: &'a [u8]) -> Option<()> {
        match self.cutter.finish() {
            Some(hash) => self.add(hash, &bytes[self.chunk_from..]),
            None => {
                let last = self.extents.last_mut()?;
                let from = self.chunk_from - last.bytes;
                (last.bytes, last.raw) = (bytes.len() - from, xxh3_128(&bytes[from..]));
            }
        }
        Some(())
    }

    fn add(&mut self, chunk: u128, lines: &[u8]) {
        let records = std::mem::take(&mut self.begun);
        self.extents.push(ChunkExtent {
            bytes: lines.len(),
            raw: xxh3_128(lines),
            chunk,
            records: records.len(),
        });
        self.chunks.push(Records::own(chunk, &records));
        self.chunk_from += lines.len();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::{Strategy, any, prop};
    use proptest::test_runner::Config;
    use proptest::{prop_assert_eq, proptest};

    use super::{Layout, Recut};
    use crate::dataset::chunk;
    use crate::dataset::chunk::HeldChunks;
    use crate::dataset::join;
    use crate::dataset::split;
    use crate::dataset::split::RecordStart;
    use evalrs_model::spec::DatasetFormat;

    /// A chunk: its hash and its records.
    type Whole = (u128, Vec<String>);

    /// The hashes of a file's chunks and their records, with its layout; nothing if its shape is wrong.
    fn whole(bytes: &[u8]) -> Option<(Layout, Vec<Whole>)> {
        split::decode("data.jsonl", bytes).ok()?;
        let file = Arc::new(String::from_utf8(bytes.to_vec()).ok()?);
        let text = file.strip_prefix('\u{feff}').unwrap_or(&file);
        let rows = join::alone(split::split("data.jsonl", text, DatasetFormat::Jsonl).ok()?);
        let starts: Vec<RecordStart> = rows.iter().map(|row| row.start).collect();
        let chunks = chunk::chunks(&rows, HeldChunks::default(), &file);
        let mut layout = Layout::new(&file, &chunks, &starts);
        layout.let_go();
        let records = |chunk: &chunk::ChunkedDataset| {
            let records = chunk.fresh.as_ref().unwrap();
            (chunk.hash, records.iter().map(|(row, _)| row.to_owned()).collect())
        };
        Some((layout, chunks.iter().map(records).collect()))
    }

    /// Holds a file, edits it and compares what was cut again with cutting all. How many records were cut.
    fn check(before: &[u8], after: &[u8]) -> Option<usize> {
        let (mut layout, held) = whole(before).unwrap();
        let hashes: HeldChunks = held.iter().map(|(hash, _)| *hash).collect();
        let Recut { chunks, layout } = layout.recut(after, hashes)?;
        let (expected_layout, expected) = whole(after).expect("only what is well formed is cut");
        assert_eq!(layout.extents, expected_layout.extents);
        check_uncut(&layout, after, &expected);
        let Some(chunks) = chunks else {
            assert_eq!(before, after);
            return Some(0);
        };
        let found: Vec<u128> = chunks.iter().map(|chunk| chunk.hash).collect();
        assert_eq!(found, expected.iter().map(|(hash, _)| *hash).collect::<Vec<_>>());
        let mut cut = 0;
        for (chunk, (_, rows)) in chunks.iter().zip(&expected) {
            assert_eq!(chunk.records, rows.len());
            if let Some(fresh) = &chunk.fresh {
                let fresh: Vec<&str> = fresh.iter().map(|(row, _)| row).collect();
                assert_eq!(fresh, *rows);
                cut += rows.len();
            } else {
                assert!(held.iter().any(|(hash, _)| *hash == chunk.hash));
            }
        }
        Some(cut)
    }

    /// Compares what is cut when it is read, and the lines of records, with cutting all.
    fn check_uncut(layout: &Layout, bytes: &[u8], expected: &[Whole]) {
        let file = Arc::new(String::from_utf8(bytes.to_vec()).unwrap());
        let chunks = layout.uncut(Vec::new(), &file).into_iter().map(|chunk| {
            let records = chunk.fresh.unwrap();
            assert_eq!(records.len(), chunk.records);
            (chunk.hash, records.iter().map(|(row, _)| row.to_owned()).collect())
        });
        assert_eq!(chunks.collect::<Vec<Whole>>(), expected);
        let text = file.strip_prefix('\u{feff}').unwrap_or(&file);
        let rows = split::split("data.jsonl", text, DatasetFormat::Jsonl).unwrap();
        let lines: Vec<u32> = rows.iter().map(|row| row.start.line).collect();
        assert_eq!(layout.lines(&file), lines);
    }

    fn row(id: usize) -> String {
        format!("{{\"id\": {id}, \"é\": \"…\"}}")
    }

    fn file(rows: usize) -> Vec<String> {
        (0..rows).map(row).collect()
    }

    #[test]
    fn an_edit_cuts_few_records() {
        let before = file(5_000);
        let text = before.join("\n");
        assert_eq!(check(text.as_bytes(), text.as_bytes()), Some(0));
        for at in [0, 1, 700, 2_500, 4_999] {
            let mut edited = before.clone();
            edited[at] = "{\"id\": \"x\"}".to_owned();
            let cut = check(text.as_bytes(), edited.join("\n").as_bytes());
            assert!(cut.is_some_and(|cut| (1..700).contains(&cut)), "{at}: {cut:?}");
            edited.remove(at);
            let cut = check(text.as_bytes(), edited.join("\n").as_bytes());
            assert!(cut.is_some_and(|cut| cut < 700), "{at}: {cut:?}");
        }
        let longer = format!("{text}\n{}", row(5_000));
        assert!(check(text.as_bytes(), longer.as_bytes()).is_some_and(|cut| cut < 300));
    }

    #[test]
    fn a_chunk_may_begin_with_a_line_that_is_no_record() {
        let before = file(1_000);
        let text = before.join("\n");
        let (layout, _) = whole(text.as_bytes()).unwrap();
        let mut at = 0;
        for extent in &layout.extents {
            at += extent.records;
            for line in ["no JSON at all", "{", "\u{feff}", "[1,"] {
                let mut edited = before.clone();
                edited.insert(at, line.to_owned());
                let cut = check(text.as_bytes(), edited.join("\n").as_bytes());
                assert!(cut.is_some_and(|cut| cut < 700), "{line} at {at}: {cut:?}");
            }
        }
    }

    /// One edit of lines: where, of which kind, how many lines.
    fn edit(lines: &mut Vec<String>, (at, kind, count): (usize, u8, usize)) {
        let at = at % (lines.len() + 1);
        let end = (at + count).min(lines.len());
        match kind % 14 {
            0 => drop(lines.drain(at..end)),
            1 => drop(lines.splice(at..at, (0..count).map(|id| row(90_000 + id)))),
            2 => drop(lines.splice(at..end, (0..count).map(|id| row(70_000 + id)))),
            3 => lines.insert(at, String::new()),
            4 => lines.insert(at, " \t ".to_owned()),
            5 => lines[at..end].iter_mut().for_each(|line| line.push('\r')),
            6 => lines[at..end].iter_mut().for_each(|line| line.insert(0, ' ')),
            // Lines that lose their end.
            7 => {
                let merged = lines.drain(at..end).collect::<String>();
                lines.insert(at, merged);
            }
            8 => lines.insert(at, "no JSON at all".to_owned()),
            9 => lines.insert(at, "{".to_owned()),
            // What a file that another was appended to may have.
            10 => lines[at..end].iter_mut().for_each(|line| line.insert(0, '\u{feff}')),
            11 => lines.insert(at, "\u{feff}".to_owned()),
            12 => lines[at..end].rotate_left((end - at) / 2),
            _ => lines[at..end].reverse(),
        }
    }

    fn edits() -> impl Strategy<Value = Vec<(usize, u8, usize)>> {
        prop::collection::vec((any::<usize>(), any::<u8>(), 0..40usize), 1..4)
    }

    proptest! {
        #![proptest_config(Config::with_cases(256))]
        #[test]
        fn what_is_cut_again_is_cut_as_the_whole_file(
            count in 1..900usize,
            edits in edits(),
            (mark, breaks) in (any::<[bool; 2]>(), any::<[bool; 2]>()),
            damage in prop::option::of((any::<usize>(), any::<u8>())),
        ) {
            let mut lines = file(count);
            let text = |lines: &[String], at: usize| {
                let mark = if mark[at] { "\u{feff}" } else { "" };
                format!("{mark}{}{}", lines.join("\n"), if breaks[at] { "\n" } else { "" })
            };
            let before = text(&lines, 0);
            for one in edits {
                edit(&mut lines, one);
            }
            let mut after = text(&lines, 1).into_bytes();
            if let Some((at, byte)) = damage && !after.is_empty() {
                let at = at % after.len();
                after[at] = byte;
            }
            check(before.as_bytes(), &after);
            if whole(&after).is_some() {
                prop_assert_eq!(check(&after, &after).unwrap_or(0), 0);
            }
        }
    }
}
