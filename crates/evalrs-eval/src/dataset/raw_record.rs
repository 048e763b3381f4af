//! A record cut out of a dataset file: its text, its place, and its allowed size and depth.

use std::borrow::Cow;
use std::ops::Range;

use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::json_syntax::slip;

/// The longest record that is read, in bytes.
pub const RECORD_LIMIT: usize = 32 << 20;
/// The deepest nesting of a record.
pub(crate) const DEPTH_LIMIT: usize = 128;
/// Problems shown of one file before the rest is only counted.
pub const SHOWN_PROBLEMS: usize = 20;

/// Where a record starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordStart {
    /// The line, from 1.
    pub line: u32,
    /// The byte column in that line, from 0.
    pub column: u32,
    /// The byte in the file, its byte order mark not counted.
    pub offset: usize,
    /// The number of the file, from 0.
    pub file: u32,
    /// Whether the record was derived from the text at its place, and is not that text.
    pub is_converted: bool,
}

/// One row, not yet read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRecord<'a> {
    /// The JSON text of the row.
    pub text: Cow<'a, str>,
    /// Where it starts in the file.
    pub start: RecordStart,
}

impl RawRecord<'_> {
    /// The same with a text of its own.
    pub fn into_owned(self) -> RawRecord<'static> {
        RawRecord { text: Cow::Owned(self.text.into_owned()), start: self.start }
    }
}

pub(super) fn bad_json(path: &str, text: &str, error: &serde_json::Error) -> Diagnostic {
    let slip = slip(text, error);
    let place = Place::in_text(path, text, slip.span.clone());
    slip.diagnostic("bad JSON", place)
}

/// Says that a record of `length` bytes is longer than the limit.
pub fn too_long(place: Place, length: usize) -> Diagnostic {
    Diagnostic::error(place, format!("the record is {} MB long", length >> 20))
        .label(format!("at most {} MB are read", RECORD_LIMIT >> 20))
        .hint("record long outputs apart and grade an excerpt")
}

/// Counts lines once over a text that is visited in order.
#[derive(Default)]
pub(super) struct LineCounter {
    line: u32,
    line_start: usize,
    counted: usize,
}

impl LineCounter {
    /// The place of `offset`, which is not less than the last one.
    pub(super) fn advance(&mut self, text: &str, offset: usize) -> RecordStart {
        for at in memchr::memchr_iter(b'\n', &text.as_bytes()[self.counted..offset]) {
            self.line += 1;
            self.line_start = self.counted + at + 1;
        }
        self.counted = offset;
        let column = (offset - self.line_start) as u32;
        RecordStart { line: self.line + 1, column, offset, ..RecordStart::default() }
    }
}

/// The line a record starts on, marked from its start to its end.
pub fn line_place(path: &str, text: &str, start: RecordStart) -> Place {
    record_place(path, text, start, None)
}

/// The bytes `span` of the record that starts at `start` in the file `text`; the rest of its first line if none.
///
/// Counts lines from the record on: a file of a million wrong rows must not be read a million times.
pub fn record_place(
    path: &str,
    text: &str,
    start: RecordStart,
    span: Option<Range<usize>>,
) -> Place {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(record) = text.get(start.offset..) else { return Place::file(path) };
    let skipped = span.as_ref().map_or(0, |span| span.start.min(record.len()));
    let breaks = memchr::memchr_iter(b'\n', &record.as_bytes()[..skipped]);
    let line = start.line as usize + breaks.count();
    let at = start.offset + skipped;
    let line_start = memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |before| before + 1);
    let line_end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |end| at + end);
    let end = span.map_or(line_end, |span| start.offset + span.end).min(line_end);
    Place::in_line(path, line, &text[line_start..line_end], at - line_start..end - line_start)
}

/// Where the nesting of a JSON text passes `DEPTH_LIMIT`, if it does.
pub fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            b'[' | b'{' => {
                depth += 1;
                if depth > DEPTH_LIMIT {
                    return Some(at);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// The position of the quote that ends the string starting at `at`, or the end of the text.
pub(super) fn string_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at += 1;
        match memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
            None => return bytes.len(),
            Some(found) if bytes[at + found] == b'"' => return at + found,
            Some(found) => at += found + 1,
        }
    }
}
