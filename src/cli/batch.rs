//! The command line of `evalrs batch` as it is typed.

use clap::{Args, Subcommand};

use evalrs_use_cases::args::StoreArgs;

/// `evalrs batch`.
#[derive(Debug, Args)]
pub struct BatchCommandArgs {
    /// What to do with batches.
    #[command(subcommand)]
    pub command: BatchCommand,
}

/// What to do with batches.
#[derive(Debug, Subcommand)]
pub enum BatchCommand {
    /// List the batches that are out
    ///
    /// The state comes from the providers. With --offline evalrs shows what is noted.
    List(BatchListArgs),
    /// Collect the answers of ended batches
    ///
    /// The answers go into the cache. evalrs calls no judge. It exits with 4 while judgments are out in a batch.
    Collect(BatchCollectArgs),
    /// Cancel batches at their providers
    ///
    /// Answers that are there by then are not lost: collect them.
    Cancel(BatchNamesArgs),
    /// Forget batches
    ///
    /// evalrs calls their judgments again, and the provider may bill both.
    Forget(BatchNamesArgs),
}

/// `evalrs batch list`.
#[derive(Debug, Args)]
pub struct BatchListArgs {
    /// Suite whose workspace is meant
    ///
    /// [default: the workspace of the working directory]
    #[arg(value_name = "SUITE")]
    pub suite: Option<String>,
    /// Send nothing to providers
    #[arg(long)]
    pub offline: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `evalrs batch collect`.
#[derive(Debug, Args)]
pub struct BatchCollectArgs {
    /// Suite files
    #[arg(required = true, value_name = "SUITE")]
    pub suites: Vec<String>,
    /// Also look through all batches at this provider
    ///
    /// It finds batches whose file `cache/SUITE.batches.jsonl` is lost.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `evalrs batch cancel` and `forget`.
#[derive(Debug, Args)]
pub struct BatchNamesArgs {
    /// Ids of batches, or beginnings of them, as `evalrs batch list` shows them
    #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "ID")]
    pub ids: Vec<String>,
    /// Use all batches of the workspace
    #[arg(long)]
    pub all: bool,
    /// Suite whose workspace is meant
    ///
    /// [default: the workspace of the working directory]
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
}
