//! The records of a chunk: one text, and the place of each record in it.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::join::{JoinedRow, alone};
use super::raw_record::RecordStart;
use super::split;

/// What of a text is looked for at first, in bytes.
const BEGINNING: usize = 16;

/// The records of one chunk: one text and the place of each record in it.
#[derive(Clone)]
pub struct Records {
    hash: u128,
    count: usize,
    source: RecordSource,
}

/// Records, or the lines that they are cut from once somebody reads one.
#[derive(Clone)]
enum RecordSource {
    Cut(CutRecords),
    Uncut(UncutLines),
}

#[derive(Clone)]
struct CutRecords {
    text: ChunkText,
    spans: Box<[RecordSpan]>,
}

/// The text of a chunk: its own, or a part of the file that all chunks of a first reading share.
#[derive(Clone)]
enum ChunkText {
    Own(Box<str>),
    Shared { file: Arc<String>, from: usize },
}

/// Lines of a file that were cut before: their digest says so.
#[derive(Clone)]
struct UncutLines {
    file: Arc<String>,
    range: Range<usize>,
    cut: OnceLock<CutRecords>,
}

/// A row and what was recorded for it, as bytes of the chunk's text.
#[derive(Clone, Copy, Default)]
struct RecordSpan {
    start: u32,
    row_end: u32,
    end: u32,
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Records({} records, {:016x})", self.len(), self.hash as u64)
    }
}

impl PartialEq for Records {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.count == other.count && self.iter().eq(other.iter())
    }
}

impl Eq for Records {}

impl CutRecords {
    fn own(records: &[JoinedRow<'_>]) -> Self {
        let mut text = String::with_capacity(
            records.iter().map(|record| record.row.len() + record.recorded.len()).sum(),
        );
        let mut spans = Vec::with_capacity(records.len());
        for record in records {
            let start = text.len() as u32;
            text.push_str(&record.row);
            let row_end = text.len() as u32;
            text.push_str(&record.recorded);
            spans.push(RecordSpan { start, row_end, end: text.len() as u32 });
        }
        Self { text: ChunkText::Own(text.into_boxed_str()), spans: spans.into_boxed_slice() }
    }

    /// Records that are parts of `file`, if all of them are.
    fn shared(records: &[JoinedRow<'_>], file: &Arc<String>) -> Option<Self> {
        let base = file.as_ptr().addr();
        let within = |row: &str| {
            row.as_ptr().addr().checked_sub(base).filter(|at| at + row.len() <= file.len())
        };
        let from = within(&records.first()?.row)?;
        let span = |record: &JoinedRow<'_>| {
            let start =
                within(&record.row).filter(|_| record.recorded.is_empty())?.checked_sub(from)?;
            let end = u32::try_from(start + record.row.len()).ok()?;
            Some(RecordSpan { start: start as u32, row_end: end, end })
        };
        let spans: Option<Box<[RecordSpan]>> = records.iter().map(span).collect();
        Some(Self { text: ChunkText::Shared { file: Arc::clone(file), from }, spans: spans? })
    }

    fn text(&self) -> &str {
        match &self.text {
            ChunkText::Own(text) => text,
            ChunkText::Shared { file, from } => &file[*from..],
        }
    }
}

impl UncutLines {
    fn cut(&self) -> &CutRecords {
        self.cut.get_or_init(|| {
            let lines = self.file.get(self.range.clone()).unwrap_or_default();
            let mark = if self.range.start == 0 { "\u{feff}" } else { "" };
            let lines = lines.strip_prefix(mark).unwrap_or(lines);
            // They were records when their digest was made, and are the same lines: none is too long.
            let records = alone(split::lines("", lines, &mut Vec::new()));
            CutRecords::shared(&records, &self.file).unwrap_or_else(|| CutRecords::own(&records))
        })
    }
}

impl Records {
    /// A chunk without records: what an unused slot holds.
    pub fn empty() -> Self {
        Self::own(0, &[])
    }

    /// The records of lines that were cut before: `count` of them, with the digest `hash`.
    pub fn uncut(hash: u128, count: usize, file: &Arc<String>, range: Range<usize>) -> Self {
        let lines = UncutLines { file: Arc::clone(file), range, cut: OnceLock::new() };
        Self { hash, count, source: RecordSource::Uncut(lines) }
    }

    fn cut(&self) -> &CutRecords {
        match &self.source {
            RecordSource::Cut(cut) => cut,
            RecordSource::Uncut(lines) => lines.cut(),
        }
    }

    fn span(&self, at: usize) -> RecordSpan {
        self.cut().spans.get(at).copied().unwrap_or_default()
    }

    /// Identifies the content within this process.
    pub fn hash(&self) -> u128 {
        self.hash
    }

    /// How many records it holds.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The row and the recorded text of record `at`, below [`Records::len`].
    pub fn get(&self, at: usize) -> (&str, &str) {
        let text = self.cut().text();
        let RecordSpan { start, row_end, end } = self.span(at);
        (&text[start as usize..row_end as usize], &text[row_end as usize..end as usize])
    }

    /// The place of a text in record `at`, below [`Records::len`]: its first byte there.
    pub fn find(&self, at: usize, text: &str) -> Option<u32> {
        let record = self.record(at).as_bytes();
        // To get ready for a long text takes longer than to look for its beginning, which mostly stands there once.
        let beginning = &text.as_bytes()[..text.len().min(BEGINNING)];
        let first = memchr::memmem::find(record, beginning)?;
        let found = if record[first..].starts_with(text.as_bytes()) {
            first
        } else {
            memchr::memmem::find(record, text.as_bytes())?
        };
        u32::try_from(found).ok()
    }

    /// The text that was found there.
    pub fn part(&self, at: usize, part: TextPart) -> &str {
        &self.record(at)[part.from as usize..][..part.length as usize]
    }

    /// The row of record `at` with what was recorded for it behind it.
    fn record(&self, at: usize) -> &str {
        let RecordSpan { start, end, .. } = self.span(at);
        &self.cut().text()[start as usize..end as usize]
    }

    /// The records in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// The same records with a text of their own, so that they keep no file in memory.
    #[must_use]
    pub fn detached(&self) -> Self {
        let joined: Vec<JoinedRow<'_>> = self
            .iter()
            .map(|(row, recorded)| JoinedRow {
                row: row.into(),
                recorded: recorded.into(),
                start: RecordStart::default(),
            })
            .collect();
        Self::own(self.hash, &joined)
    }

    /// Records with a text of their own.
    pub fn own(hash: u128, records: &[JoinedRow<'_>]) -> Self {
        let source = RecordSource::Cut(CutRecords::own(records));
        Self { hash, count: records.len(), source }
    }

    /// Records that are parts of `file`, if all of them are.
    pub fn shared(hash: u128, records: &[JoinedRow<'_>], file: &Arc<String>) -> Option<Self> {
        let source = RecordSource::Cut(CutRecords::shared(records, file)?);
        Some(Self { hash, count: records.len(), source })
    }
}

/// The place of a text in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPart {
    /// The first byte.
    pub from: u32,
    /// How many bytes.
    pub length: u32,
    /// The digest of the text: another text in the same place is another.
    pub digest: u64,
}
