//! The command lines of `evalrs cache push`, `pull`, `status` and `key` as they are typed.

use clap::{Args, Subcommand};

use evalrs_use_cases::args::StoreArgs;

/// Which workspace's shared cache is meant.
#[derive(Debug, Args)]
pub struct SharedArgs {
    /// Suite whose workspace is meant
    ///
    /// [default: the workspace of the working directory]
    #[arg(value_name = "SUITE")]
    pub suite: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `evalrs cache key`.
#[derive(Debug, Args)]
pub struct KeyArgs {
    /// What to do with keys.
    #[command(subcommand)]
    pub command: KeyCommand,
}

/// What to do with keys.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a key for a writer of a shared cache
    ///
    /// evalrs prints both halves once and keeps neither. The secret half signs: put it into `EVALRS_CACHE_KEY` of the jobs
    /// that write. The public half goes into `[cache.remote.keys]` of evalrs.toml.
    New,
}
