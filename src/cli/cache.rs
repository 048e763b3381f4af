//! The command line of `evalrs cache` as it is typed.

use clap::{Args, Subcommand};

use super::shared::{AuditArgs, KeyArgs};
use evalrs_use_cases::args::{SelectArgs, StoreArgs};

/// `evalrs cache`.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// What to do with the cache.
    #[command(subcommand)]
    pub command: CacheCommand,
}

/// What to do with the cache.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Write a suite's judgments to a file
    ///
    /// evalrs merges them into `cache/SUITE.judgments.jsonl`, sorted by key. Commit that file.
    Export(ExportArgs),
    /// Show judgments by model, outcome and age
    ///
    /// evalrs also shows where they come from, and how many cache hits the last run had.
    Stats(PlaceArgs),
    /// Merge judgments into the cache
    ///
    /// The files come from `evalrs cache export` of a colleague or another machine. With --as they may be judgments that
    /// another tool made.
    Import(ImportArgs),
    /// Check every entry of the cache
    ///
    /// evalrs checks the committed files too.
    Verify(PlaceArgs),
    /// Remove unused outcomes and compact the rest
    Gc(GcArgs),
    /// Print the folder of the cache
    Path(PlaceArgs),
    /// Write new outcomes to the shared cache
    ///
    /// They go into the log of one writer, signed with its key. See docs/shared-cache.md.
    Push(PlaceArgs),
    /// Read the shared cache
    ///
    /// evalrs brings the outcomes of the writers that evalrs.toml believes. `evalrs run` does so if an outcome is missing.
    Pull(PlaceArgs),
    /// Show what of the shared cache is here
    ///
    /// It opens no connection.
    Status(PlaceArgs),
    /// Count and repeat judgments that others made
    ///
    /// evalrs says how many judgments of a suite are those of writers of the shared cache. With --recheck it repeats some.
    Audit(Box<AuditArgs>),
    /// Make keys for writers of a shared cache
    Key(KeyArgs),
    /// Clean up the bucket of a shared cache
    Remote(RemoteArgs),
}

/// Which store is meant.
#[derive(Debug, Args)]
pub struct PlaceArgs {
    /// Suite whose cache is meant
    ///
    /// [default: the cache of the working directory]
    #[arg(value_name = "SUITE")]
    pub suite: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `evalrs cache gc`.
#[derive(Debug, Args)]
pub struct GcArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Remove outcomes unused since a day or for an age
    ///
    /// A day is like 2026-01-31, an age like 30d, 12h or 2w.
    #[arg(long, value_name = "WHEN")]
    pub unused_since: Option<String>,
    /// Remove the least recently used until the rest fits
    ///
    /// A size is like 500MB or 2GiB.
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<String>,
    /// Show the outcomes to remove; change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `evalrs cache import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Files of `evalrs cache export`; see --as for others
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    /// Import judgments of another tool for this grader
    ///
    /// The files are JSON Lines, JSON or CSV with one judgment per row.
    #[arg(long = "as", num_args = 2, value_names = ["SUITE", "GRADER"], conflicts_with = "suite")]
    pub bind: Vec<String>,
    /// Replace cached scores that differ
    #[arg(long, requires = "bind")]
    pub replace: bool,
    /// Map the fields of such a row: `score=rating`
    ///
    /// The names are id, model, trial, judge, vote, score and rationale. A list of scores has one vote each, and so does
    /// each of `score=[one,two]`. For judge, model, trial and vote, a value that is not a field of any row applies to all
    /// rows: `judge=people`.
    #[arg(long, value_name = "NAME=PATH,...", requires = "bind")]
    pub fields: Vec<String>,
    /// Map values to scores: `Tie=0`
    ///
    /// `garbage=error` is a judgment without a score. Other values are numbers.
    #[arg(long, value_name = "VALUE=SCORE,...", requires = "bind")]
    pub map: Vec<String>,
    /// Exit with 1 if a judgment matches no call
    #[arg(long, requires = "bind")]
    pub complete: bool,
    /// Suite whose cache is meant
    ///
    /// [default: the cache of the working directory]
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `evalrs cache export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Suite file
    #[arg(value_name = "SUITE")]
    pub suite: String,
    /// Write the judgments to this file instead
    ///
    /// By default evalrs merges them into `cache/SUITE.judgments.jsonl` of the workspace.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Remove judgments that the suite no longer needs
    #[arg(long, conflicts_with = "output")]
    pub prune: bool,
    /// Write the conversations of the target too
    ///
    /// `evalrs run --frozen` then needs neither the target nor the judges. Conversations are large.
    #[arg(long)]
    pub targets: bool,
    /// Write what each sample costs to this file instead
    ///
    /// `evalrs run --partition I/N --costs FILE` deals samples out by it. The costs are the tokens of the last whole run.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "prune", "targets", "git", "json"])]
    pub costs: Option<String>,
    /// Write a .gitattributes file beside it too
    ///
    /// With it git merges such files line by line.
    #[arg(long)]
    pub git: bool,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Ignore this file
    ///
    /// The flag is accepted so that you can reuse the command line of `evalrs run`.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub labels: Option<String>,
}

/// `evalrs cache remote`.
#[derive(Debug, Args)]
pub struct RemoteArgs {
    /// What to do with the bucket.
    #[command(subcommand)]
    pub command: RemoteCommand,
}

impl RemoteArgs {
    /// What it is to remove.
    pub fn prune(&self) -> &PruneArgs {
        let RemoteCommand::Prune(args) = &self.command;
        args
    }
}

/// What to do with a bucket.
#[derive(Debug, Subcommand)]
pub enum RemoteCommand {
    /// Remove objects that a log no longer lists
    ///
    /// Their outcomes are in larger objects. It needs the key of the writer, as `evalrs cache push` does.
    Prune(PruneArgs),
}

/// `evalrs cache remote prune`.
#[derive(Debug, Args)]
pub struct PruneArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Remove only objects written before a day or an age
    ///
    /// A day is like 2026-01-31, an age like 30d, 12h or 2w. Readers that read an old list may need younger ones.
    #[arg(long, value_name = "WHEN", default_value = "90d")]
    pub older: String,
    /// Show what would be removed; change nothing
    #[arg(long)]
    pub dry_run: bool,
}
