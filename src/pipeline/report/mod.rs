//! The formats that results are written in, one file a format.
//!
//! A report is a function of inputs and outcomes alone: no clock, no absolute path, nothing of what was
//! cached. What belongs to one process stands in `effects::record`.

pub(crate) mod diff;
pub(crate) mod ending;
pub(crate) mod explain;
pub(crate) mod github;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod jsonl;
pub(crate) mod junit;
pub(crate) mod labels;
pub(crate) mod markdown;
pub(crate) mod origin;
pub(crate) mod plan;
pub(crate) mod settings;
pub(crate) mod terminal;
pub(crate) mod usage;

mod digest;
#[cfg(test)]
mod fixtures;
pub(crate) mod verdict;

use super::results::{ReportHeader, ResultLine, Summary};

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
}

/// Results, one after the other.
pub type Results<'a> = Box<dyn Iterator<Item = ResultLine> + 'a>;
