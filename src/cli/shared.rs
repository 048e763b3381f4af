//! The command lines of `evalrs cache key` and `remote` as they are typed.

use clap::{Args, Subcommand};

use super::PlaceArgs;

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
    /// Remove objects that the log of a writer no longer lists
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
