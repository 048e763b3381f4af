//! The command line of `evalrs cache audit` and `key` as it is typed.

use clap::{Args, Subcommand};

use evalrs_use_cases::args::{LimitArgs, SelectArgs, StoreArgs, TrustArgs};

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

/// `evalrs cache audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Suite file
    #[arg(value_name = "SUITE")]
    pub suite: String,
    /// Repeat N of their judgments, chosen at random
    ///
    /// These calls are paid. Their replies are compared and not kept. evalrs exits with 1 if a score differs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub recheck: Option<u32>,
    /// Allow scores to differ by this much [default: 0]
    ///
    /// A judge with a temperature differs from itself. Scores are between 0 and 1.
    #[arg(long, value_name = "SCORE", requires = "recheck", value_parser = tolerance)]
    pub tolerance: Option<f64>,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let score = text.parse::<f64>().ok().filter(|score| (0.0..=1.0).contains(score));
    score.ok_or_else(|| "it is between 0 and 1, like 0.1".to_owned())
}
