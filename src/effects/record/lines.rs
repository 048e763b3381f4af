//! Reads files of lines that anybody may have written: one line in memory at a time, and none without an end.

use std::io::{self, BufRead, Read};

/// The bytes a line of results may take.
pub(crate) const MAX_RESULT: usize = 256 << 20;

/// A line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordLine<'a> {
    /// With its end, which is left out here.
    Whole(&'a [u8]),
    /// The last one, and the file ends before it does.
    Torn(&'a [u8]),
    /// It is longer than it may be.
    TooLong,
}

/// Visits the lines that are not empty, in order; none is held that is longer than `most` bytes.
pub(crate) fn each_line(
    mut reader: &mut dyn BufRead,
    most: usize,
    visit: &mut dyn FnMut(RecordLine<'_>),
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        if Read::take(&mut reader, limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        match line.strip_suffix(b"\n") {
            Some(text) if text.trim_ascii().is_empty() => {}
            Some(text) => visit(RecordLine::Whole(text)),
            None if line.len() > most => {
                reader.skip_until(b'\n')?;
                visit(RecordLine::TooLong);
            }
            None => visit(RecordLine::Torn(&line)),
        }
    }
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
        ];
        for (text, expected) in table {
            assert_eq!(read(text, 3), *expected, "{text:?}");
        }
    }
}
