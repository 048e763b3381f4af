//! One entry as one line of text, in segments and in committed files alike.
//!
//! `{"k":"<64 hex>","g":<generation>,"v":<body>,"c":"<8 hex>"}`: a JSON object in a fixed layout, so that key and
//! generation are read without a JSON parse while grep, jq and git still understand it. In a segment `<body>` may be a
//! [reference](super::blob_reference) to a blob. The checksum is the CRC-32 of
//! every byte before `,"c"`: it finds damage, not malice. Knows no files; whoever scans says where a line stands.

use std::fmt::Write as _;
use std::io::{self, BufRead, Read as _};

use super::blob_reference::BlobReference;
use super::entry_line::{EntryLine, LineBody};
use super::{Entry, StoreError, WARNING_LIMIT};
use crate::pipeline::key::ActionKey;

/// The longest body that is kept.
pub const BODY_LIMIT: usize = 64 << 20;
/// The longest line that is read, in bytes without the line break: beside its body a line has at most 107.
const LINE_LIMIT: usize = BODY_LIMIT + 128;
/// The longest body that stands in the line of a segment. Longer ones are blobs.
pub(super) const INLINE_LIMIT: usize = 64 << 10;
/// The bytes of `,"c":"<8 hex>"}`.
const TAIL: usize = 16;

/// The start of a line: its offset in bytes and its number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) offset: u64,
    pub(super) line: u64,
}

impl Position {
    pub(super) const START: Self = Self { offset: 0, line: 1 };
}

/// An entry and where it stands.
#[derive(Debug)]
pub(super) struct ScannedEntry {
    /// The number of its line, from 1.
    pub(super) line: u64,
    /// Where its line starts, in bytes.
    pub(super) offset: u32,
    /// The bytes of its line without the line break.
    pub(super) length: u32,
    pub(super) entry: EntryLine,
}

/// What came of reading lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scanned {
    /// Where the first line without a line break starts: that is a torn tail, or one that is being written.
    pub(super) end: Position,
    /// A warning for each line that is no entry.
    pub(super) skipped: Vec<String>,
    /// How many of these are about a conflict of git, which hides nothing: both sides are read.
    pub(super) conflicts: usize,
}

/// What a line of a conflict of git is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    Start,
    Middle,
    End,
}

impl Marker {
    fn of(line: &[u8]) -> Option<Self> {
        let line = line.trim_ascii_end();
        let is_marker = |sign: u8| {
            let (signs, rest) = line.split_at_checked(7)?;
            (signs.iter().all(|byte| *byte == sign) && matches!(rest.first(), None | Some(b' ')))
                .then_some(())
        };
        let markers =
            [(b'<', Self::Start), (b'|', Self::Middle), (b'=', Self::Middle), (b'>', Self::End)];
        markers.into_iter().find_map(|(sign, marker)| is_marker(sign).map(|()| marker))
    }
}

/// What is told of a conflict once, where it begins.
const CONFLICT: &str = "an unresolved conflict of git: both sides are read; with `*.judgments.jsonl merge=union` in .gitattributes (`evalrs cache export --git` writes it) there is none, and an export takes the markers out";

/// Refuses an entry whose body would not survive as one line.
pub(super) fn check(entry: &Entry) -> Result<(), StoreError> {
    let Entry { key, body, .. } = entry;
    let reason = if memchr::memchr2(b'\n', b'\r', body.as_bytes()).is_some() {
        "contains a line break"
    } else if body.len() > BODY_LIMIT {
        "is too long"
    } else if !is_object(body) || serde_json::from_str::<serde::de::IgnoredAny>(body).is_err() {
        "is not a compact JSON object"
    } else {
        return Ok(());
    };
    Err(StoreError::Body { key: *key, reason })
}

/// Whether the body may stand in the line of a segment: it is short, and nobody would take it for a reference.
pub(super) fn fits_in_line(body: &str) -> bool {
    body.len() <= INLINE_LIMIT && BlobReference::parse(body).is_none()
}

/// Appends the line of `entry` with its body, however long that is, line break included, to `out`.
pub(super) fn write(entry: &Entry, out: &mut String) -> Result<(), StoreError> {
    check(entry)?;
    if BlobReference::parse(&entry.body).is_some() {
        return Err(StoreError::Body {
            key: entry.key,
            reason: "looks like a reference to a blob",
        });
    }
    append(entry.key, entry.generation, &entry.body, out);
    Ok(())
}

/// Appends the line of an entry with `value` for its body, line break included, to `out`.
pub(super) fn append(key: ActionKey, generation: u32, value: &str, out: &mut String) {
    let from = out.len();
    // Writing to a string cannot fail.
    let _ = write!(out, r#"{{"k":"{key}","g":{generation},"v":{value}"#);
    let checksum = crc32fast::hash(&out.as_bytes()[from..]);
    let _ = writeln!(out, r#","c":"{checksum:08x}"}}"#);
}

/// Reads a line without its `\n`, or says why it is none; a `\r` left by a Windows checkout is ignored.
pub(super) fn parse(line: &[u8]) -> Result<EntryLine, &'static str> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let (content, checksum) = split_checksum(line).ok_or("not an entry")?;
    if format!("{:08x}", crc32fast::hash(content)).as_bytes() != checksum {
        return Err("the checksum does not match");
    }
    parse_content(content).ok_or("not an entry")
}

fn split_checksum(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (content, tail) = line.split_at(line.len().checked_sub(TAIL)?);
    Some((content, tail.strip_prefix(br#","c":""#)?.strip_suffix(br#""}"#)?))
}

fn parse_content(content: &[u8]) -> Option<EntryLine> {
    let (hex, rest) = content.strip_prefix(br#"{"k":""#)?.split_at_checked(64)?;
    let key = ActionKey::parse(std::str::from_utf8(hex).ok()?)?;
    let rest = std::str::from_utf8(rest.strip_prefix(br#"","g":"#)?).ok()?;
    let (generation, body) = rest.split_once(r#","v":"#)?;
    let digits = generation.bytes().all(|byte| byte.is_ascii_digit());
    let generation = generation.parse().ok()?;
    (digits && is_object(body)).then(|| {
        let reference = BlobReference::parse(body).map(LineBody::Blob);
        let body = reference.unwrap_or_else(|| LineBody::Inline(body.to_owned()));
        EntryLine { key, generation, body }
    })
}

fn is_object(body: &str) -> bool {
    body.starts_with('{') && body.ends_with('}')
}

/// What is said of a line that is no entry, or none that can be used.
pub(super) fn skipped(path: &str, line: u64, reason: &str) -> String {
    format!("skipped the stored outcome at `{path}:{line}`: {reason}")
}

/// Reads every line that ends with a line break and visits the entries. Other lines are skipped with a warning, which
/// calls the file `path`; blank ones without.
pub(super) fn scan(
    mut reader: impl BufRead,
    path: &str,
    from: Position,
    mut visit: impl FnMut(ScannedEntry),
) -> io::Result<Scanned> {
    let Position { mut offset, mut line } = from;
    let mut skipped = Vec::new();
    let mut conflicts = 0;
    let mut is_conflict = false;
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let limit = LINE_LIMIT as u64 + 1;
        let mut read = reader.by_ref().take(limit).read_until(b'\n', &mut buffer)?;
        let found = if let Some(text) = buffer.strip_suffix(b"\n") {
            parse(text)
        } else if buffer.len() > LINE_LIMIT {
            read += reader.skip_until(b'\n')?;
            Err("longer than 64 MiB")
        } else {
            return Ok(Scanned { end: Position { offset, line }, skipped, conflicts });
        };
        let marker = if found.is_err() { Marker::of(&buffer) } else { None };
        let goes_on = is_conflict && matches!(marker, Some(Marker::Middle | Marker::End));
        is_conflict = marker.map_or(is_conflict, |marker| marker != Marker::End);
        match (found, u32::try_from(offset)) {
            (Ok(entry), Ok(offset)) => {
                visit(ScannedEntry { line, offset, length: buffer.len() as u32 - 1, entry });
            }
            _ if goes_on || skipped.len() == WARNING_LIMIT || buffer.trim_ascii().is_empty() => {}
            _ if marker.is_some() => {
                conflicts += 1;
                skipped.push(format!("`{path}:{line}` is {CONFLICT}"));
            }
            (found, _) => {
                let reason = found.err().unwrap_or("beyond the first 4 GiB");
                skipped.push(self::skipped(path, line, reason));
            }
        }
        offset += read as u64;
        line += 1;
    }
}
