//! Cuts a dataset file into records, whatever its format, and remembers where each stood.
//!
//! A record is the JSON text of one row. JSON Lines and arrays keep the row's own text; a CSV row becomes an
//! object of strings, empty cells left out. Only the shape of the file is checked here: what a row says is
//! read by `row`, on demand.

use std::borrow::Cow;

use serde_json::value::RawValue;

pub use super::raw_record::{
    RECORD_LIMIT, RawRecord, RecordStart, SHOWN_PROBLEMS, line_place, record_place, too_deep,
    too_long,
};

use super::plain_json::{PlainJson, may_have_some};
use super::raw_record::{LineCounter, bad_json};
use super::{cells, yaml};
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_model::spec::DatasetFormat;

/// The message for a file without records.
const NO_RECORDS: &str = "the dataset has no records";

/// Whether a problem is that a file has no records.
pub fn is_empty_file(problem: &Diagnostic) -> bool {
    problem.message == NO_RECORDS
}

/// The bytes of a file as text, without a byte order mark; a diagnostic for anything that is not
/// text.
pub fn decode<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str, Diagnostic> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        let problem = Diagnostic::error(Place::file(path), "the file is UTF-16");
        return Err(problem.hint("save it as UTF-8"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(path, bytes, &error))?;
    match memchr::memchr(0, text.as_bytes()) {
        None => Ok(text),
        Some(at) => Err(Diagnostic::error(
            Place::in_text(path, text, at..at + 1),
            "there is a NUL character here: this is not a text file",
        )
        .hint("if the file is UTF-16, save it as UTF-8")),
    }
}

fn not_utf8(path: &str, bytes: &[u8], error: &std::str::Utf8Error) -> Diagnostic {
    let (good, rest) = bytes.split_at(error.valid_up_to());
    let line = memchr::memchr_iter(b'\n', good).count() + 1;
    let line_start = memchr::memrchr(b'\n', good).map_or(0, |at| at + 1);
    let before = String::from_utf8_lossy(&good[line_start..]);
    let line_end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let after = String::from_utf8_lossy(&rest[..line_end]);
    let marked = before.len()..before.len() + '\u{fffd}'.len_utf8();
    let byte = rest.first().copied().unwrap_or_default();
    Diagnostic::error(
        Place::in_line(path, line, &format!("{before}{after}"), marked),
        "the file is not UTF-8",
    )
    .label(format!("the byte 0x{byte:02x} is part of no character"))
    .hint("save the file as UTF-8")
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
        DatasetFormat::Csv | DatasetFormat::Tsv => cells::rows(path, text, format)?,
        DatasetFormat::Yaml => yaml::items(path, text).map_err(|diagnostic| vec![diagnostic])?,
    };
    if records.is_empty() {
        let hint = match format {
            DatasetFormat::Jsonl => {
                "write one JSON object per line: {\"input\": \"…\", \"ground_truth\": \"…\", \"output\": \"…\"}"
            }
            DatasetFormat::Json => {
                "write an array of objects: [{\"input\": \"…\", \"output\": \"…\"}]"
            }
            DatasetFormat::Csv | DatasetFormat::Tsv => {
                "write a header line such as `input,ground_truth,output` and one line per sample"
            }
            DatasetFormat::Yaml => "write a list of mappings: `- {input: …, output: …}`",
        };
        return Err(vec![Diagnostic::error(Place::file(path), NO_RECORDS).hint(hint)]);
    }
    Ok(records)
}

fn jsonl<'a>(path: &str, text: &'a str) -> Result<Vec<RawRecord<'a>>, Vec<Diagnostic>> {
    if let Some(problem) = no_lines(path, text) {
        return Err(vec![problem]);
    }
    let mut problems = Vec::new();
    let records = lines(path, text, &mut problems);
    if problems.is_empty() { Ok(records) } else { Err(problems) }
}

/// The lines that are records, whatever they say; `problems` takes those that are too long.
pub(super) fn lines<'a>(
    path: &str,
    text: &'a str,
    problems: &mut Vec<Diagnostic>,
) -> Vec<RawRecord<'a>> {
    let mut records = Vec::new();
    let mut from = 0;
    let mut line = 0;
    let is_plain = !may_have_some(text);
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    for end in ends {
        line += 1;
        let raw = &text[from..end];
        from = (end + 1).min(text.len());
        let trimmed = trimmed_line(raw);
        if trimmed.is_empty() {
            continue;
        }
        if trimmed.len() > RECORD_LIMIT {
            problems.push(too_long(Place::in_line(path, line as usize, raw, 0..1), raw.len()));
            continue;
        }
        let column = (trimmed.as_ptr().addr() - raw.as_ptr().addr()) as u32;
        let offset = trimmed.as_ptr().addr() - text.as_ptr().addr();
        let start = RecordStart { line, column, offset, ..RecordStart::default() };
        if is_plain {
            records.push(RawRecord { text: Cow::Borrowed(trimmed), start });
            continue;
        }
        let text = PlainJson::of(trimmed).text;
        let is_converted = matches!(text, Cow::Owned(_));
        records.push(RawRecord { text, start: RecordStart { is_converted, ..start } });
    }
    records
}

/// A line without the blanks around its record.
pub(super) fn trimmed_line(line: &str) -> &str {
    line.trim_matches([' ', '\t', '\r'])
}

/// A file that is JSON, but not one object a line: every line of it would be wrong.
fn no_lines(path: &str, text: &str) -> Option<Diagnostic> {
    let from = text.len() - text.trim_start().len();
    let first = text[from..].lines().next()?.trim_end();
    let (message, hint) = if first.starts_with('[') {
        let _: Vec<serde::de::IgnoredAny> = serde_json::from_str(text).ok()?;
        if text[from..].trim_end().lines().nth(1).is_none() && !first.contains('{') {
            return None;
        }
        (
            "the dataset is one JSON array, not one object per line",
            "name it .json, or set `dataset: {path: …, format: json}`",
        )
    } else if first == "{" {
        (
            "an object begins here that goes on over several lines",
            "a .jsonl file has one object per line; an array of objects is a .json file",
        )
    } else if first.starts_with('{') || serde_json::from_str::<serde::de::IgnoredAny>(first).is_ok()
    {
        return None;
    } else {
        (
            "the dataset is not one JSON object per line",
            "it cannot have comments; name a CSV file .csv, or set `dataset: {path: …, format: csv}`",
        )
    };
    let end = from + text[from..].chars().next().map_or(0, char::len_utf8);
    Some(Diagnostic::error(Place::in_text(path, text, from..end), message).hint(hint))
}

fn json_array<'a>(path: &str, text: &'a str) -> Result<Vec<RawRecord<'a>>, Diagnostic> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let plain = PlainJson::of(text);
    match &plain.text {
        Cow::Borrowed(text) => array_items(path, text),
        Cow::Owned(read) => {
            let records = array_items(path, read)?.into_iter();
            Ok(records.map(|record| plain.written(record)).collect())
        }
    }
}

fn array_items<'a>(path: &str, text: &'a str) -> Result<Vec<RawRecord<'a>>, Diagnostic> {
    let items: Vec<&RawValue> =
        serde_json::from_str(text).map_err(|error| no_array(path, text, &error))?;
    let mut lines = LineCounter::default();
    let mut records = Vec::with_capacity(items.len());
    for item in items {
        let offset = item.get().as_ptr().addr() - text.as_ptr().addr();
        let start = lines.advance(text, offset);
        if item.get().len() > RECORD_LIMIT {
            return Err(too_long(record_place(path, text, start, Some(0..1)), item.get().len()));
        }
        records.push(RawRecord { text: Cow::Borrowed(item.get()), start });
    }
    Ok(records)
}

fn no_array(path: &str, text: &str, error: &serde_json::Error) -> Diagnostic {
    if error.is_data() {
        let from = text.len() - text.trim_start().len();
        let place = Place::in_text(path, text, from..from + 1);
        return Diagnostic::error(place, "the dataset is not a JSON array")
            .label("expected `[`")
            .hint("a .json dataset is one array of objects; `records: PATH` names a list or mapping inside an object, and for one object per line, set `dataset: {path: …, format: jsonl}`");
    }
    bad_json(path, text, error)
}
