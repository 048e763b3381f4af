//! The command lines of what reads records of runs and nothing else.

use clap::Args;

use super::report_formats;
use crate::pipeline::report::{FORMATS, ReportFormat};

/// `evalrs report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The id of a run or the beginning of it, `latest`, `latest~1` (the run before it), or the folder of a record.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// What is written.
    #[arg(long, value_name = "FORMAT", value_parser = report_formats(), default_value = FORMATS[0].name)]
    pub format: &'static ReportFormat,
    /// Writes to this file in place of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// The suite whose records are meant; by default those of the working directory.
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    /// Maximum number of failures that the report lists [default: 10, in Markdown 20].
    #[arg(long, value_name = "N")]
    pub failures: Option<usize>,
}

/// `evalrs history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// The suite file.
    #[arg(value_name = "SUITE")]
    pub suite: String,
    /// Prints the runs as JSON.
    #[arg(long)]
    pub json: bool,
    /// Only the last N runs.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}
