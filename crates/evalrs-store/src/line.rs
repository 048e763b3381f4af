//! One entry as one line of text, in segments and in committed files alike.
//!
//! `{"k":"<64 hex>","g":<generation>,"v":<body>,"c":"<8 hex>"}`: a JSON object in a fixed layout, so that key and
//! generation are read without a JSON parse while grep, jq and git still understand it. In a segment `<body>` may be a
//! reference to a blob (`blob_reference`), or lack what it shares with an earlier line (`shared_text`). The
//! checksum is the CRC-32 of every byte before `,"c"`: it finds damage, not malice. Knows no files; whoever scans says where a
//! line stands.

pub(crate) mod blob_reference;
pub(crate) mod elements;
pub mod entry_line;
pub(crate) mod outline;
pub(crate) mod shared_text;

use std::fmt::Write as _;
use std::io::{self, BufRead, Read as _};

use crate::entry::{BODY_LIMIT, Entry, EntryRank, StoreError, WARNING_LIMIT, is_reply};
use crate::line::blob_reference::BlobReference;
use crate::line::elements::{Elements, elements_of};
use crate::line::entry_line::{EntryLine, LineBody};
use crate::line::shared_text::SharedText;
use evalrs_model::key::ActionKey;

/// The longest line that is read, in bytes without the line break: beside its body a line has at most 107.
const LINE_LIMIT: usize = BODY_LIMIT + 128;
/// The longest body in the line of a segment. Longer ones are blobs.
pub(crate) const INLINE_LIMIT: usize = 64 << 10;
/// The bytes of `,"c":"<8 hex>"}`.
const TAIL: usize = 16;

/// The start of a line: its offset in bytes and its number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub offset: u64,
    pub line: u64,
}

impl Position {
    pub(crate) const START: Self = Self { offset: 0, line: 1 };
}

/// An entry as its line says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredLine<'a> {
    pub key: ActionKey,
    pub generation: u32,
    /// The body, or its replacement.
    value: &'a str,
    pub checksum: u32,
}

impl<'a> StoredLine<'a> {
    pub(crate) fn rank(&self) -> EntryRank {
        let inline = || EntryRank { is_reply: is_reply(self.value), generation: self.generation };
        self.blob().map_or_else(inline, |blob| blob.rank(self.generation))
    }

    /// The blob that is its body, if it is one.
    pub(crate) fn blob(&self) -> Option<BlobReference> {
        BlobReference::parse(self.value)
    }

    /// The line that it shares parts with, if it does.
    pub(crate) fn shared(&self) -> Option<SharedText<'a>> {
        SharedText::parse(self.value)
    }

    /// The entry of a line that shares nothing.
    pub(crate) fn whole(&self) -> EntryLine {
        let Self { key, generation, value, .. } = *self;
        let body = self.blob().map_or_else(|| LineBody::Inline(value.to_owned()), LineBody::Blob);
        EntryLine { key, generation, body, is_incomplete: false }
    }

    /// The entry, if it can be read without the store that it was written in.
    pub(crate) fn alone(&self) -> Result<Entry, &'static str> {
        let Self { key, generation, value, .. } = *self;
        if self.shared().is_some() {
            Err(
                "it shares parts with another line of its segment; `evalrs cache export` writes whole lines",
            )
        } else if self.blob().is_some() {
            Err(
                "it names a blob, which stays in its store; `evalrs cache export` writes whole lines",
            )
        } else {
            Ok(Entry { key, generation, body: value.to_owned() })
        }
    }
}

#[derive(Debug)]
pub(crate) struct ScannedEntry<'a> {
    /// The number of its line, from 1.
    pub line: u64,
    /// Where its line starts, in bytes.
    pub offset: u32,
    /// The bytes of its line without the line break.
    pub length: u32,
    pub entry: StoredLine<'a>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScannedLines {
    /// Where the first line without a line break starts: that is a torn tail, or one that is being written.
    pub end: Position,
    /// A warning for each line that is not an entry.
    pub skipped: Vec<String>,
    /// How many of these are about a conflict of git, which hides nothing: both sides are read.
    pub conflicts: usize,
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
        let (signs, rest) = line.trim_ascii_end().split_at_checked(7)?;
        let marker = match signs {
            b"<<<<<<<" => Self::Start,
            b"|||||||" | b"=======" => Self::Middle,
            b">>>>>>>" => Self::End,
            _ => return None,
        };
        matches!(rest.first(), None | Some(b' ')).then_some(marker)
    }
}

/// The warning of a conflict, once, where it begins.
const CONFLICT: &str = "an unresolved conflict of git: both sides are read; with `*.judgments.jsonl merge=union` in .gitattributes (`evalrs cache export --git` writes it) there is none, and an export takes the markers out";

/// Refuses an entry whose body would not survive as one line, and reports where the ingredients stand in one that
/// does.
pub(crate) fn check(entry: &Entry) -> Result<Elements, StoreError> {
    let Entry { key, body, .. } = entry;
    let refused = |reason| Err(StoreError::Body { key: *key, reason });
    if memchr::memchr2(b'\n', b'\r', body.as_bytes()).is_some() {
        return refused("contains a line break");
    }
    if body.len() > BODY_LIMIT {
        return refused("is too long");
    }
    match elements_of(body).filter(|_| is_object(body)) {
        Some(elements) => Ok(elements),
        None => refused("is not a compact JSON object"),
    }
}

/// Whether the body may stand in the line of a segment: it is short, and nobody would take it for a reference.
pub(crate) fn fits_in_line(body: &str) -> bool {
    body.len() <= INLINE_LIMIT && !is_reference(body)
}

/// Whether a reader of the line would take this for the replacement of a body.
fn is_reference(body: &str) -> bool {
    BlobReference::parse(body).is_some() || SharedText::parse(body).is_some()
}

/// Appends the line of `entry` with its body, however long that is, line break included, to `out`.
pub(crate) fn write(entry: &Entry, out: &mut String) -> Result<(), StoreError> {
    check(entry)?;
    if is_reference(&entry.body) {
        let reason = "looks like a reference of a segment";
        return Err(StoreError::Body { key: entry.key, reason });
    }
    append(entry.key, entry.generation, out, |out| out.push_str(&entry.body));
    Ok(())
}

/// Appends the line of an entry, line break included, to `out`, with what `write_value` appends for its body. Its checksum.
pub(crate) fn append(
    key: ActionKey,
    generation: u32,
    out: &mut String,
    write_value: impl FnOnce(&mut String),
) -> u32 {
    let from = out.len();
    // Writing to a string cannot fail.
    let _ = write!(out, r#"{{"k":"{key}","g":{generation},"v":"#);
    write_value(out);
    let checksum = crc32fast::hash(&out.as_bytes()[from..]);
    let _ = writeln!(out, r#","c":"{checksum:08x}"}}"#);
    checksum
}

/// Reads a line without its `\n`, or reports why it is none; a `\r` left by a Windows checkout is ignored, and so
/// is a byte-order mark, which a merge may have moved from the beginning of a file.
pub(crate) fn parse(line: &[u8]) -> Result<StoredLine<'_>, &'static str> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let (content, digits) = split_checksum(line).ok_or("not an entry")?;
    let checksum = crc32fast::hash(content);
    if format!("{checksum:08x}").as_bytes() != digits {
        return Err("the checksum does not match");
    }
    parse_content(content, checksum).ok_or("not an entry")
}

fn split_checksum(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (content, tail) = line.split_at(line.len().checked_sub(TAIL)?);
    Some((content, tail.strip_prefix(br#","c":""#)?.strip_suffix(br#""}"#)?))
}

fn parse_content(content: &[u8], checksum: u32) -> Option<StoredLine<'_>> {
    let (hex, rest) = content.strip_prefix(br#"{"k":""#)?.split_at_checked(64)?;
    let key = ActionKey::parse(std::str::from_utf8(hex).ok()?)?;
    let rest = std::str::from_utf8(rest.strip_prefix(br#"","g":"#)?).ok()?;
    let (generation, value) = rest.split_once(r#","v":"#)?;
    let digits = generation.bytes().all(|byte| byte.is_ascii_digit());
    let generation = generation.parse().ok()?;
    (digits && is_object(value)).then_some(StoredLine { key, generation, value, checksum })
}

fn is_object(body: &str) -> bool {
    body.starts_with('{') && body.ends_with('}')
}

/// The warning for a line that is not an entry, or not usable.
pub(crate) fn skipped(path: &str, line: u64, reason: &str) -> String {
    format!("skipped the stored outcome at `{path}:{line}`: {reason}")
}

/// Reads every line that ends with a line break and visits the entries. Other lines are skipped with a warning, which
/// calls the file `path`; blank ones without.
pub(crate) fn scan(
    mut reader: impl BufRead,
    path: &str,
    from: Position,
    mut visit: impl FnMut(ScannedEntry<'_>),
) -> io::Result<ScannedLines> {
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
            return Ok(ScannedLines { end: Position { offset, line }, skipped, conflicts });
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
