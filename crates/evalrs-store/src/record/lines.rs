//! Reads files of lines that anybody may have written: one line in memory at a time, and none without an end.

use std::io::{self, BufRead, Read};

/// The bytes a line of results may take.
pub const MAX_RESULT: usize = 256 << 20;

/// A line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordLine<'a> {
    /// With its end, which is left out here.
    Whole(&'a [u8]),
    /// The last one, and the file ends before it does.
    Torn(&'a [u8]),
    /// It is longer than it may be.
    TooLong,
}

impl<'a> RecordLine<'a> {
    /// What it says, unless it is too long.
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Whole(bytes) | Self::Torn(bytes) => Some(bytes),
            Self::TooLong => None,
        }
    }
}

/// What was read of a line, which says the version of its form.
pub(super) struct VersionedLine<T> {
    pub format: u32,
    pub line: T,
}

pub(crate) struct LineReader<R> {
    reader: R,
    most: usize,
    line: Vec<u8>,
}

impl<R: BufRead> LineReader<R> {
    /// Of `reader`, without keeping any line in memory that is longer than `most` bytes.
    pub(crate) fn new(reader: R, most: usize) -> Self {
        Self { reader, most, line: Vec::new() }
    }

    /// The next line that is not empty; none at the end.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<RecordLine<'_>>> {
        let limit = u64::try_from(self.most).unwrap_or(u64::MAX).saturating_add(1);
        loop {
            self.line.clear();
            if Read::take(&mut self.reader, limit).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            if !self.line.trim_ascii().is_empty() || self.line.last() != Some(&b'\n') {
                break;
            }
        }
        Ok(Some(match self.line.strip_suffix(b"\n") {
            Some(text) => RecordLine::Whole(without_mark(text)),
            None if self.line.len() > self.most => {
                self.reader.skip_until(b'\n')?;
                RecordLine::TooLong
            }
            None => RecordLine::Torn(without_mark(&self.line)),
        }))
    }
}

/// A line without a byte-order mark, which editors put in front of a file and merges move with its first line.
fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// Visits the lines that are not empty, in order; none longer than `most` bytes is kept in memory.
pub fn each_line(
    reader: &mut dyn BufRead,
    most: usize,
    visit: &mut dyn FnMut(RecordLine<'_>),
) -> io::Result<()> {
    let mut lines = LineReader::new(reader, most);
    while let Some(line) = lines.next_line()? {
        visit(line);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{RecordLine, each_line};

    fn read(text: &str, most: usize) -> Vec<String> {
        let mut found = Vec::new();
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        each_line(&mut text.as_bytes(), most, &mut |line| {
            found.push(match line {
                RecordLine::Whole(bytes) => shown(bytes),
                RecordLine::Torn(bytes) => format!("torn {}", shown(bytes)),
                RecordLine::TooLong => "too long".to_owned(),
            });
        })
        .unwrap();
        found
    }

    #[test]
    fn lines_are_whole_torn_or_too_long() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("\n \r\n\n", &[]),
            ("abc\nd\n", &["abc", "d"]),
            ("abc\nd", &["abc", "torn d"]),
            ("abcd\ne\n", &["too long", "e"]),
            ("abcdefgh", &["too long"]),
            ("a\nabcdefgh\n\nb", &["a", "too long", "torn b"]),
            ("\u{feff}\n\u{feff}", &["", "torn "]),
        ];
        for (text, expected) in table {
            assert_eq!(read(text, 3), *expected, "{text:?}");
        }
    }
}
