//! The command line of `evalrs cache key` as it is typed.

use clap::{Args, Subcommand};

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
