//! Results that are put together of parts of an earlier record and of new lines.

use std::io::{self, Write};

use super::judged_part::JudgedPart;
use super::parts::{CountingWriter, PartReader, ResultsPart, write_each};
use super::result_files::ResultsReader;
use evalrs_metrics::results::report::Results;

/// A part of new results.
pub enum SplicedPart<'a> {
    /// It is a part of the earlier file. These come in the order of that file.
    Same(ResultsPart),
    /// It is one with other verdicts, in the same order.
    Judged(JudgedPart<'a>),
    /// These lines.
    New(Results<'a>),
}

/// Results of which some are those of an earlier record, byte for byte.
#[derive(Clone, Copy)]
pub struct SplicedResults<'a> {
    /// The folder of that record.
    pub earlier: &'a str,
    /// The digest of its results.
    pub digest: &'a str,
    /// Their length in bytes.
    pub bytes: u64,
    /// How many lines there are now.
    pub lines: usize,
    /// The parts, in order; each call gives the same.
    pub parts: &'a dyn Fn() -> Box<dyn Iterator<Item = SplicedPart<'a>> + 'a>,
}

impl SplicedResults<'_> {
    /// The parts, if they are the whole earlier file.
    pub(super) fn whole(&self) -> Option<Vec<ResultsPart>> {
        let mut parts = Vec::new();
        let mut end = 0;
        for part in (self.parts)() {
            match part {
                SplicedPart::Same(part) if part.from == end => {
                    end = part.end();
                    parts.push(part);
                }
                SplicedPart::Same(_) | SplicedPart::Judged(_) | SplicedPart::New(_) => return None,
            }
        }
        (end == self.bytes).then_some(parts)
    }

    /// Writes them. `earlier` reads those that they are partly in.
    pub(super) fn write(
        &self,
        earlier: ResultsReader<'_>,
        out: &mut dyn Write,
    ) -> io::Result<Vec<ResultsPart>> {
        let mut earlier = PartReader::new(earlier);
        let mut out = CountingWriter { out, bytes: 0 };
        let mut written = Vec::new();
        for part in (self.parts)() {
            let from = out.bytes;
            let lines = match part {
                SplicedPart::Same(part) => {
                    earlier.copy(part, &mut out)?;
                    part.lines
                }
                SplicedPart::Judged(judged) => judged.write(&mut earlier, &mut out)?,
                SplicedPart::New(results) => write_each(results, &mut out)?,
            };
            written.push(ResultsPart { from, bytes: out.bytes - from, lines });
        }
        Ok(written)
    }
}
