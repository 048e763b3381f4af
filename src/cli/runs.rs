//! The command lines of `evalrs runs` and `evalrs merge` as they are typed.

use clap::{Args, Subcommand};

use evalrs_report::{FORMATS, ReportFormat};
use evalrs_use_cases::args::{StoreArgs, report_formats};

/// `evalrs runs`.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// What to do with recorded runs.
    #[command(subcommand)]
    pub command: RunsCommand,
}

/// What to do with recorded runs.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// List recorded runs, the newest first
    List(RunsListArgs),
    /// Write a run to one file
    ///
    /// The file has the record, the outcomes that it rests on and the files that it read. `report`, `diff`, `explain` and
    /// `serve` take it instead of a run, on any machine. `merge` joins the files of parts.
    Export(RunsExportArgs),
    /// Remove records of runs
    ///
    /// Outcomes stay in the cache.
    Remove(RunsRemoveArgs),
}

/// `evalrs runs list`.
#[derive(Debug, Args)]
pub struct RunsListArgs {
    /// Suite whose workspace is meant
    ///
    /// [default: the workspace of the working directory]
    #[arg(value_name = "SUITE")]
    pub suite: Option<String>,
    /// Show only the last N runs
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Print the runs as JSON
    #[arg(long)]
    pub json: bool,
}

/// `evalrs runs export`.
#[derive(Debug, Args)]
pub struct RunsExportArgs {
    /// Run: an id, `latest`, `latest~1` or a folder
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// File to write [default: `RUN.zip`]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Export a run of this suite
    ///
    /// By default evalrs takes the runs of the working directory.
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    /// Leave out the outcomes and the files
    ///
    /// `explain` and `merge` need them.
    #[arg(long)]
    pub record_only: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `evalrs runs remove`.
#[derive(Debug, Args)]
pub struct RunsRemoveArgs {
    /// Runs: ids or folders of records
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,
    /// Remove runs of this suite
    ///
    /// By default evalrs takes the runs of the working directory.
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
}

/// `evalrs merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Files of `evalrs runs export`, one of each part
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// Suite, if it has moved since
    ///
    /// [default: the suite that the files name]
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    /// Choose the format of the report
    #[arg(
        long,
        value_name = "FORMAT",
        value_parser = report_formats(),
        default_value = FORMATS[0].name
    )]
    pub format: &'static ReportFormat,
    /// Write the record of the run to this folder too
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<String>,
    /// Print no progress, and a report only with --format
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}
