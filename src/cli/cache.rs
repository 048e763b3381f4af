//! The command line of `evalrs cache` as it is typed.

use clap::{Args, Subcommand};

use evalrs_use_cases::args::{SelectArgs, StoreArgs};

/// `evalrs cache`.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// What to do with the store.
    #[command(subcommand)]
    pub command: CacheCommand,
}

/// What to do with the store.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Writes the judgments a suite needs as a file to commit, sorted by key.
    Export(ExportArgs),
    /// Shows what the store holds: judgments by model, outcome, origin and age, and how many the last run found.
    Stats(PlaceArgs),
    /// Merges exported judgments, of a colleague or another machine, into the store.
    Import(ImportArgs),
    /// Checks every entry of the store and of the committed files.
    Verify(PlaceArgs),
    /// Removes outcomes that no run needs any more, and compacts the rest.
    Gc(GcArgs),
    /// Prints where the store is.
    Path(PlaceArgs),
}

/// Which store is meant.
#[derive(Debug, Args)]
pub struct PlaceArgs {
    /// The suite whose store it is [default: that of the working directory].
    #[arg(value_name = "SUITE")]
    pub suite: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Prints the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `evalrs cache gc`.
#[derive(Debug, Args)]
pub struct GcArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Removes what no run has used since a day (2026-01-31), or for an age (30d, 12h, 2w).
    #[arg(long, value_name = "WHEN")]
    pub unused_since: Option<String>,
    /// Removes the least recently used outcomes until the rest fits (500MB, 2GiB).
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<String>,
    /// Shows what would be removed; changes nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// `evalrs cache import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Files of judgments, as `cache export` writes them; with --as, JSON Lines, JSON or CSV with one judgment a row.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// Treats the files as judgments made elsewhere, by the judge of this grader.
    #[arg(long = "as", num_args = 2, value_names = ["SUITE", "GRADER"], conflicts_with = "suite")]
    pub bind: Vec<String>,
    /// Replaces scores in the store that differ from those of the files, as a refresh would.
    #[arg(long, requires = "bind")]
    pub replace: bool,
    /// Where the fields of such a judgment stand: id, model, trial, judge, vote, score, rationale. A list of scores is
    /// one a vote, and so is each of `score=[one,two]`. Of judge, model, trial and vote, what no row has a field of is
    /// said of all rows: `judge=people`.
    #[arg(long, value_name = "NAME=PATH,...", requires = "bind")]
    pub fields: Vec<String>,
    /// The scores that values stand for, such as `Tie=0`; `garbage=error` is a judgment without one. Other values are
    /// numbers.
    #[arg(long, value_name = "VALUE=SCORE,...", requires = "bind")]
    pub map: Vec<String>,
    /// Exits with 1 unless every judgment belongs to something that the grader asks for.
    #[arg(long, requires = "bind")]
    pub complete: bool,
    /// The suite whose store it is [default: that of the working directory].
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Prints the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `evalrs cache export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The suite.
    #[arg(value_name = "SUITE")]
    pub suite: String,
    /// Writes only these judgments to a file of their own; without it they are merged into the suite's file of committed
    /// judgments, `<suite>.judgments.jsonl` in the workspace's `cache/`.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Removes from the suite's file what the suite no longer needs.
    #[arg(long, conflicts_with = "output")]
    pub prune: bool,
    /// Also writes what a live target did, so that `run --frozen` needs neither the target nor its judges. Left out
    /// otherwise: conversations are large.
    #[arg(long)]
    pub targets: bool,
    /// Also writes a .gitattributes beside the file, with which git merges such files line by line.
    #[arg(long)]
    pub git: bool,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Prints what was written as JSON.
    #[arg(long)]
    pub json: bool,
    /// Labels of people, as `run` takes them. Ignored here: accepted so that a command line can be reused with another
    /// command.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
}
