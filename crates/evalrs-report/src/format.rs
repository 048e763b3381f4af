//! What a format of reports is: its name, who reads it, and the writer that takes one run after the other.

use std::io::{self, Write};

use super::ending::RunEnding;
use super::origin::ReportOrigin;
use super::page::terminal::PageScreen;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::Cost;
use evalrs_metrics::diff::since::RunMoves;
use evalrs_metrics::results::report::Report;
use evalrs_metrics::rollup::RollupReport;
use evalrs_model::outcome::{ActionTally, Usage};

/// A format of reports.
#[derive(Debug)]
pub struct ReportFormat {
    /// What `--format` calls it.
    pub name: &'static str,
    /// What it is for.
    pub help: &'static str,
    /// Who reads it.
    pub audience: Audience,
    /// Whether the reports of several suites make one document. One after the other they must else be readable.
    pub joins_suites: bool,
    /// Starts the reports of a command.
    pub start: fn(ReportOptions) -> Box<dyn ReportWriter>,
}

/// Who reads a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Whoever sits at the terminal: graders have the names that people know them by.
    Terminal,
    /// People, by way of some program: the same names, and no styles.
    People,
    /// Programs: graders have their keys in the suite.
    Programs,
    /// People, through GitHub, which knows files by their paths in the repository.
    GitHub,
}

/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub struct ReportOptions {
    /// The terminal, or what stands for it.
    pub screen: PageScreen,
    /// Whether all numbers are shown.
    pub details: bool,
    /// Whether somebody named the run that this one is compared with.
    pub against: bool,
    /// How many failures are listed; the format knows how many are good.
    pub failures: Option<usize>,
    /// Whether a roll-up follows the suites.
    pub rolls_up: bool,
}

/// Where a report goes.
pub struct ReportSink<'a> {
    /// Standard output.
    pub out: &'a mut dyn Write,
    /// A page for people beside it, which some CI systems show.
    pub page: Option<&'a mut dyn Write>,
}

/// Writes the reports of a command, a suite after the other.
pub trait ReportWriter {
    /// Writes what is reported of one evaluation, or keeps it for the end.
    fn add(&mut self, run: &ReportedRun<'_, '_>, sink: &mut ReportSink<'_>) -> io::Result<()>;

    /// Writes what several suites come to together, after all of them, or keeps it for the end. Formats of single results have no
    /// place for it.
    fn add_rollup(
        &mut self,
        _rollup: &ReportedRollup<'_>,
        _sink: &mut ReportSink<'_>,
    ) -> io::Result<()> {
        Ok(())
    }

    /// Writes what was kept, after the last evaluation.
    fn finish(self: Box<Self>, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// Writes each evaluation as it comes.
pub(crate) struct RunWriter(pub fn(&ReportedRun<'_, '_>, &mut dyn Write) -> io::Result<()>);

impl ReportWriter for RunWriter {
    fn add(&mut self, run: &ReportedRun<'_, '_>, sink: &mut ReportSink<'_>) -> io::Result<()> {
        (self.0)(run, sink.out)
    }
}

/// One evaluation and what is known of its run.
#[derive(Clone, Copy)]
pub struct ReportedRun<'a, 'r> {
    /// What was found.
    pub report: &'a Report<'r>,
    /// What belongs to the process.
    pub facts: &'a ProcessFacts,
    /// The files it came from.
    pub origin: &'a ReportOrigin,
}

/// What several suites came to together, and what is known of its file and record.
#[derive(Clone, Copy, Debug)]
pub struct ReportedRollup<'a> {
    /// What was found.
    pub rollup: &'a RollupReport,
    /// Its file, as the reader of the report knows it.
    pub path: Option<&'a str>,
    /// Where its record stands.
    pub record: Option<&'a str>,
}

/// What belongs to the process and not to the report. What is not known is not shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessFacts {
    /// Actions whose outcome was asked for.
    pub asked: Option<u64>,
    /// Actions whose outcome was kept from before.
    pub cached: Option<u64>,
    /// Actions that failed.
    pub failed: Option<u64>,
    /// What graders used in the run.
    pub spent: Usage,
    /// What that would have cost at list price, where it is known.
    pub list_cost: Option<Cost>,
    /// What the judgments it found in the store had used when they were asked.
    pub saved: Usage,
    /// The conversations of the target, where it is run.
    pub target: Option<ActionTally>,
    /// Whose outcomes of a shared cache it rests on: writer → how many.
    pub writers: OrderedMap<u64>,
    /// Wall time of the run, in seconds.
    pub seconds: Option<f64>,
    /// When the run ended, in nanoseconds since 1970.
    pub ended: Option<u64>,
    /// Where all results stand.
    pub report: Option<String>,
    /// What moved since an earlier run.
    pub moved: Option<RunMoves>,
    /// How the run ended.
    pub ending: RunEnding,
}
