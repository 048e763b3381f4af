//! Parts of the results of a record, by the bytes that they are: what a later run has in common with it is copied, not made
//! again.

use std::io::{self, BufRead, BufReader, Read, Write};

use super::result_files::ResultsReader;
use evalrs_metrics::results::report::{Results, write_line};

/// Results that follow one another in `results.jsonl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultsPart {
    /// The first byte.
    pub from: u64,
    /// How many bytes.
    pub bytes: u64,
    /// How many lines.
    pub lines: usize,
}

impl ResultsPart {
    /// The byte after the last one.
    pub fn end(self) -> u64 {
        self.from.saturating_add(self.bytes)
    }
}

/// Writes results, and returns how many there are.
pub(super) fn write_each(results: Results<'_>, out: &mut dyn Write) -> io::Result<usize> {
    let mut lines = 0;
    for result in results {
        write_line(&result, out)?;
        lines += 1;
    }
    Ok(lines)
}

/// Reads parts of a file, in their order.
pub(super) struct PartReader<'a> {
    file: ResultsReader<'a>,
    at: u64,
}

impl<'a> PartReader<'a> {
    pub(super) fn new(file: ResultsReader<'a>) -> Self {
        Self { file, at: 0 }
    }

    fn skip_to(&mut self, from: u64) -> io::Result<()> {
        let ahead = from.checked_sub(self.at).ok_or(io::ErrorKind::InvalidInput)?;
        self.file.skip(ahead)?;
        self.at = from;
        Ok(())
    }

    pub(super) fn copy(&mut self, part: ResultsPart, out: &mut dyn Write) -> io::Result<()> {
        self.skip_to(part.from)?;
        let copied = io::copy(&mut Read::take(&mut self.file, part.bytes), out)?;
        self.at += copied;
        if copied == part.bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// Reads the bytes of a file that are in none of some parts, which stand in their order.
pub(super) fn between(file: ResultsReader<'_>, parts: Vec<ResultsPart>) -> impl BufRead {
    let parts = joined(parts);
    BufReader::new(GapReader { file: PartReader::new(file), parts: parts.into_iter().peekable() })
}

/// The same parts, with those that follow one another as one: a reader passes over whole files at once.
fn joined(parts: Vec<ResultsPart>) -> Vec<ResultsPart> {
    let mut joined: Vec<ResultsPart> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if last.end() == part.from => {
                last.bytes += part.bytes;
                last.lines += part.lines;
            }
            _ => joined.push(part),
        }
    }
    joined
}

struct GapReader<'a, I: Iterator<Item = ResultsPart>> {
    file: PartReader<'a>,
    parts: std::iter::Peekable<I>,
}

impl<I: Iterator<Item = ResultsPart>> Read for GapReader<'_, I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(part) = self.parts.next_if(|part| part.from <= self.file.at) {
            self.file.skip_to(part.end().max(self.file.at))?;
        }
        let before_next = self.parts.peek().map_or(u64::MAX, |part| part.from - self.file.at);
        let read = Read::take(&mut self.file.file, before_next).read(buffer)?;
        self.file.at += read as u64;
        Ok(read)
    }
}

/// Counts what it passes on.
pub(super) struct CountingWriter<'a> {
    pub out: &'a mut dyn Write,
    pub bytes: u64,
}

impl Write for CountingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes results, and tells where the parts of so many lines each stand.
pub(super) fn write_counted(
    results: Results<'_>,
    counts: &[usize],
    out: &mut dyn Write,
) -> io::Result<Vec<ResultsPart>> {
    let mut out = CountingWriter { out, bytes: 0 };
    let mut results = results;
    let mut parts = Vec::with_capacity(counts.len());
    for count in counts {
        let from = out.bytes;
        for result in results.by_ref().take(*count) {
            write_line(&result, &mut out)?;
        }
        parts.push(ResultsPart { from, bytes: out.bytes - from, lines: *count });
    }
    results.try_for_each(|result| write_line(&result, &mut out))?;
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::{PartReader, ResultsPart, between};
    use crate::record::result_files::ResultsReader;

    fn part(from: u64, bytes: u64) -> ResultsPart {
        ResultsPart { from, bytes, lines: 1 }
    }

    #[test]
    fn what_is_between_parts_is_read() {
        for (parts, expected) in [
            (vec![], "abcdef"),
            (vec![part(0, 2)], "cdef"),
            (vec![part(1, 2), part(3, 1)], "aef"),
            (vec![part(2, 4)], "ab"),
            (vec![part(0, 6)], ""),
            (vec![part(0, 0), part(5, 1)], "abcde"),
        ] {
            let mut read = String::new();
            let mut reader = between(ResultsReader::of(Box::new(Cursor::new("abcdef"))), parts);
            reader.read_to_string(&mut read).unwrap();
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn a_part_that_is_not_there_is_an_error() {
        for parts in [vec![part(4, 3)], vec![part(7, 1)], vec![part(2, 2), part(1, 1)]] {
            let mut reader = PartReader::new(ResultsReader::of(Box::new(Cursor::new("abcdef"))));
            let copied: Result<(), _> =
                parts.iter().try_for_each(|part| reader.copy(*part, &mut Vec::new()));
            assert!(copied.is_err(), "{parts:?}");
        }
    }
}
