//! Everything a report is written from, and its results as lines: `results.jsonl`.
//!
//! Each line is put together before it is written, so that a reader of a growing file sees whole lines.

use std::io::{self, Write};

use super::{ReportHeader, ResultLine, Summary};

/// Everything a format is written from. Results are asked for, not held: a run may have many, and some formats
/// read them more than once.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// What was evaluated.
    pub header: &'a ReportHeader,
    /// The aggregates.
    pub summary: &'a Summary,
    /// The results from the first on, in dataset order; each call gives the same.
    pub results: &'a dyn Fn() -> Results<'a>,
    /// The same for digests that keep this many failures, where most need not be put together.
    pub briefs: Option<&'a dyn Fn(usize) -> BriefResults<'a>>,
}

/// Results, one after the other.
pub type Results<'a> = Box<dyn Iterator<Item = ResultLine> + 'a>;

/// What a digest has to know of a result.
pub enum BriefResult<'a> {
    /// All of it.
    Whole(Box<ResultLine>),
    /// Which grades failed. No grade could not be made or is of nothing, and enough failures are kept already.
    Failed {
        /// Its trial, from 0.
        trial: u32,
        /// The names of the graders.
        graders: Vec<&'a str>,
    },
}

/// Results as a digest reads them, one after the other.
pub type BriefResults<'a> = Box<dyn Iterator<Item = BriefResult<'a>> + 'a>;

/// Writes every result as a line.
pub fn write_lines(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    (report.results)().try_for_each(|result| write_line(&result, out))
}

/// Writes a result as a line.
pub fn write_line(result: &ResultLine, out: &mut dyn Write) -> io::Result<()> {
    // Written at once, so that a reader of a growing file sees whole lines.
    let mut line = serde_json::to_vec(result)?;
    line.push(b'\n');
    out.write_all(&line)
}
