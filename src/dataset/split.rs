//! Cuts a dataset file into records, whatever its format, and remembers where each stood.
//!
//! A record is the JSON text of one row. JSON Lines and arrays keep the row's own text; a CSV row becomes an
//! object of strings, empty cells left out. Only the shape of the file is checked here: what a row says is
//! read by `row`, on demand.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::diagnostic::{Diagnostic, Place};
use crate::suite::DatasetFormat;

/// The longest record that is read, in bytes.
pub const RECORD_LIMIT: usize = 32 << 20;
/// The deepest nesting of a record.
pub const DEPTH_LIMIT: usize = 128;
/// Problems shown of one file before the rest is only counted.
pub const SHOWN_PROBLEMS: usize = 20;

/// Where a record starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The line, from 1.
    pub line: u32,
    /// The byte column in that line, from 0.
    pub column: u32,
}

/// One row, not yet read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRecord<'a> {
    /// The JSON text of the row.
    pub text: Cow<'a, str>,
    /// Where it starts in the file.
    pub start: Start,
}

/// The bytes of a file as text, without a byte order mark; a diagnostic for anything that is no text.
pub fn decode<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str, Diagnostic> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let at = good.len();
        let rest = String::from_utf8_lossy(&bytes[error.valid_up_to()..]);
        let line_end: String = rest.chars().take(40).take_while(|c| *c != '\n').collect();
        Diagnostic::error(
            Place::in_text(path, &format!("{good}{line_end}"), at..at + '\u{fffd}'.len_utf8()),
            "the file is not UTF-8",
        )
        .label("this byte starts no character")
        .hint("save the file as UTF-8")
    })?;
    match memchr::memchr(0, text.as_bytes()) {
        None => Ok(text),
        Some(at) => Err(Diagnostic::error(
            Place::in_text(path, text, at..at + 1),
            "the file holds a NUL byte",
        )
        .label("text files have none")
        .hint("is this a text file? UTF-16 files must be saved as UTF-8")),
    }
}

/// The records of the file, in order, or everything that is wrong with its shape.
pub fn split<'a>(
    path: &str,
    text: &'a str,
    format: DatasetFormat,
) -> Result<Vec<RawRecord<'a>>, Vec<Diagnostic>> {
    let records = match format {
        DatasetFormat::Jsonl => jsonl(path, text)?,
        DatasetFormat::Json => json_array(path, text).map_err(|diagnostic| vec![diagnostic])?,
        DatasetFormat::Csv => csv_rows(path, text)?,
    };
    if records.is_empty() {
        let hint = match format {
            DatasetFormat::Jsonl => {
                "write one JSON object a line: {\"input\": \"…\", \"ground_truth\": \"…\", \"output\": \"…\"}"
            }
            DatasetFormat::Json => {
                "write an array of objects: [{\"input\": \"…\", \"output\": \"…\"}]"
            }
            DatasetFormat::Csv => {
                "write a header line such as `input,ground_truth,output` and one line a sample"
            }
        };
        let message = "the dataset has no records";
        return Err(vec![Diagnostic::error(Place::file(path), message).hint(hint)]);
    }
    Ok(records)
}

fn jsonl<'a>(path: &str, text: &'a str) -> Result<Vec<RawRecord<'a>>, Vec<Diagnostic>> {
    let mut records = Vec::new();
    let mut problems = Vec::new();
    let mut from = 0;
    let mut line = 0;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    for end in ends {
        line += 1;
        let raw = &text[from..end];
        from = (end + 1).min(text.len());
        let trimmed = raw.trim_matches([' ', '\t', '\r']);
        if trimmed.is_empty() {
            continue;
        }
        if trimmed.len() > RECORD_LIMIT {
            problems.push(too_long(path, line, raw));
            continue;
        }
        let column = (trimmed.as_ptr().addr() - raw.as_ptr().addr()) as u32;
        records.push(RawRecord { text: Cow::Borrowed(trimmed), start: Start { line, column } });
    }
    if problems.is_empty() { Ok(records) } else { Err(problems) }
}

fn too_long(path: &str, line: u32, text: &str) -> Diagnostic {
    let megabytes = text.len() >> 20;
    Diagnostic::error(
        Place::in_line(path, line as usize, text, 0..1),
        format!("the record is {megabytes} MB long"),
    )
    .label(format!("at most {} MB are read", RECORD_LIMIT >> 20))
    .hint("record long outputs apart and grade an excerpt")
}

fn json_array<'a>(path: &str, text: &'a str) -> Result<Vec<RawRecord<'a>>, Diagnostic> {
    let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| {
        let offset = offset_of(text, error.line(), error.column());
        let place = Place::in_text(path, text, offset..offset + 1);
        let starts = text.trim_start();
        let diagnostic = Diagnostic::error(place, format!("bad JSON: {}", plain_message(&error)));
        if starts.starts_with('{') {
            diagnostic
                .hint("a .json dataset is one array of objects; for one object a line use .jsonl")
        } else {
            diagnostic
        }
    })?;
    let mut lines = LineCounter::default();
    let mut records = Vec::with_capacity(items.len());
    for item in items {
        let offset = item.get().as_ptr().addr() - text.as_ptr().addr();
        let start = lines.advance(text, offset);
        if item.get().len() > RECORD_LIMIT {
            return Err(too_long(path, start.line, item.get()));
        }
        records.push(RawRecord { text: Cow::Borrowed(item.get()), start });
    }
    Ok(records)
}

/// The words of a JSON error, without the position that serde appends.
pub fn plain_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rfind(" at line ") {
        Some(at) => message[..at].to_owned(),
        None => message,
    }
}

/// The byte offset of serde's line (from 1) and column (from 1, the column of the last byte read).
pub fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let line_start = if line <= 1 {
        0
    } else {
        memchr::memchr_iter(b'\n', text.as_bytes()).nth(line - 2).map_or(text.len(), |at| at + 1)
    };
    (line_start + column.saturating_sub(1)).min(text.len())
}

/// Counts lines once over a text that is visited in order.
#[derive(Default)]
struct LineCounter {
    line: u32,
    line_start: usize,
    counted: usize,
}

impl LineCounter {
    fn advance(&mut self, text: &str, offset: usize) -> Start {
        for at in memchr::memchr_iter(b'\n', &text.as_bytes()[self.counted..offset]) {
            self.line += 1;
            self.line_start = self.counted + at + 1;
        }
        self.counted = offset;
        Start { line: self.line + 1, column: (offset - self.line_start) as u32 }
    }
}

fn csv_rows<'a>(path: &str, text: &'a str) -> Result<Vec<RawRecord<'a>>, Vec<Diagnostic>> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let headers = match reader.headers() {
        Ok(headers) => headers.clone(),
        Err(error) => return Err(vec![csv_error(path, text, &error)]),
    };
    check_headers(path, text, &headers)?;
    let mut records = Vec::new();
    let mut problems = Vec::new();
    let mut lines = LineCounter::default();
    let mut row = csv::StringRecord::new();
    loop {
        let offset = reader.position().byte() as usize;
        match reader.read_record(&mut row) {
            Ok(false) => break,
            Err(error) => {
                problems.push(csv_error(path, text, &error));
                break;
            }
            Ok(true) => {}
        }
        let start = lines.advance(text, skip_blank_lines(text, offset));
        if row.len() > headers.len() {
            problems.push(too_many_cells(path, text, start, [row.len(), headers.len()]));
            continue;
        }
        let cells = headers.iter().zip(row.iter()).filter(|(_, cell)| !cell.is_empty());
        let object: Map<String, Value> =
            cells.map(|(name, cell)| (name.to_owned(), Value::from(cell))).collect();
        if !object.is_empty() {
            records.push(RawRecord { text: Cow::Owned(Value::Object(object).to_string()), start });
        }
    }
    problems.extend(unclosed_quote(path, text, &records, &row));
    if problems.is_empty() { Ok(records) } else { Err(problems) }
}

fn check_headers(
    path: &str,
    text: &str,
    headers: &csv::StringRecord,
) -> Result<(), Vec<Diagnostic>> {
    let first = text.lines().next().unwrap_or_default();
    let mut problems = Vec::new();
    for (at, name) in headers.iter().enumerate() {
        if headers.iter().take(at).any(|earlier| earlier == name) && !name.is_empty() {
            let from = first.rfind(name).unwrap_or(0);
            let place = Place::in_line(path, 1, first, from..from + name.len());
            problems.push(
                Diagnostic::error(place, format!("the column `{name}` appears twice"))
                    .hint("give every column a name of its own"),
            );
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn too_many_cells(
    path: &str,
    text: &str,
    start: Start,
    [cells, columns]: [usize; 2],
) -> Diagnostic {
    Diagnostic::error(
        line_place(path, text, start),
        format!("the row has {cells} cells, the header has {columns}"),
    )
    .hint("put cells that contain commas or line breaks into double quotes")
}

/// A quote that is never closed swallows the rest of the file into its last cell.
fn unclosed_quote(
    path: &str,
    text: &str,
    records: &[RawRecord<'_>],
    last: &csv::StringRecord,
) -> Option<Diagnostic> {
    let quotes = memchr::memchr_iter(b'"', text.as_bytes()).count();
    let swallowed = last.iter().next_back().is_some_and(|cell| cell.contains('\n'));
    if quotes.is_multiple_of(2) || !swallowed {
        return None;
    }
    let start = records.last()?.start;
    Some(
        Diagnostic::error(
            line_place(path, text, start),
            "a quoted cell that starts in this row is never closed",
        )
        .hint("close it with a double quote; a quote inside a quoted cell is written twice"),
    )
}

fn skip_blank_lines(text: &str, mut offset: usize) -> usize {
    while matches!(text.as_bytes().get(offset), Some(b'\n' | b'\r')) {
        offset += 1;
    }
    offset.min(text.len())
}

fn csv_error(path: &str, text: &str, error: &csv::Error) -> Diagnostic {
    let place = match error.position() {
        Some(position) => {
            let offset = (position.byte() as usize).min(text.len());
            Place::in_text(path, text, offset..offset)
        }
        None => Place::file(path),
    };
    Diagnostic::error(place, format!("bad CSV: {error}"))
}

/// The line a record starts on, marked from its start to its end.
pub fn line_place(path: &str, text: &str, start: Start) -> Place {
    record_place(path, text, start, None)
}

/// The bytes `span` of the record that starts at `start` in the file `text`; the rest of its first line if none.
pub fn record_place(path: &str, text: &str, start: Start, span: Option<Range<usize>>) -> Place {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let record = offset_of(text, start.line as usize, start.column as usize + 1);
    let line_end =
        memchr::memchr(b'\n', &text.as_bytes()[record..]).map_or(text.len(), |at| record + at);
    let span = span.map_or(record..line_end, |span| record + span.start..record + span.end);
    Place::in_text(path, text, span)
}

/// Where the nesting of a JSON text passes [`DEPTH_LIMIT`], if it does.
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
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at += 1;
        match memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
            None => return bytes.len(),
            Some(found) if bytes[at + found] == b'"' => return at + found,
            Some(found) => at += found + 1,
        }
    }
}
