//! The command line of `evalrs watch`.

use clap::Args;

#[cfg(feature = "serve")]
use evalrs_serve::args::ServeSessionArgs;
use evalrs_use_cases::args::{SelectArgs, StoreArgs, dollars};

/// `evalrs watch`.
#[derive(Debug, Default, Args)]
pub struct WatchArgs {
    /// Suite file
    #[arg(value_name = "SUITE")]
    pub suite: String,
    #[command(flatten)]
    pub select: SelectArgs,
    /// Replay the cache only; call nothing
    #[arg(long, help_heading = "Cache")]
    pub frozen: bool,
    /// Retry cached failures
    ///
    /// evalrs retries them at the start of the session and with every save that meets some.
    #[arg(long, help_heading = "Cache")]
    pub retry_errors: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Make N judge calls per save, then wait
    ///
    /// Enter makes the rest.
    #[arg(long, value_name = "N", help_heading = "Limits", default_value_t = 20)]
    pub preview: u64,
    /// Run N conversations per save, then wait
    ///
    /// Enter runs the rest.
    #[arg(
        long,
        value_name = "N",
        help_heading = "Limits",
        hide_short_help = true,
        default_value_t = 3
    )]
    pub preview_targets: u64,
    /// Never wait for Enter: make all calls of a save
    #[arg(long, short, help_heading = "Limits")]
    pub yes: bool,
    /// Stop calling after this many US dollars
    ///
    /// The budget is for the whole session. --max-cost is the same flag.
    #[arg(long, alias = "max-cost", value_name = "DOLLARS", help_heading = "Limits", value_parser = dollars)]
    pub budget: Option<f64>,
    /// Stop calling after N judge calls
    ///
    /// The limit is for the whole session.
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub max_calls: Option<u64>,
    /// Keep at most N calls in flight
    #[arg(
        long,
        value_name = "N",
        help_heading = "Limits",
        value_parser = clap::value_parser!(u32).range(1..=4096)
    )]
    pub max_concurrent: Option<u32>,
    /// Keep at most N conversations of the target in flight [default: 4]
    #[arg(
        long,
        value_name = "N",
        help_heading = "Limits",
        hide_short_help = true,
        value_parser = clap::value_parser!(u32).range(1..=4096)
    )]
    pub max_concurrent_targets: Option<u32>,
    /// Compare verdicts with these human labels
    ///
    /// JSON Lines, JSON or CSV with `id` and `label` [default: `bot.labels.jsonl` beside `bot.yaml`, if it exists].
    #[arg(long, value_name = "FILE", help_heading = "Labels")]
    pub labels: Option<String>,
    /// Print lines instead of the full-screen view
    ///
    /// Each save prints a block. This is the default if standard output is not a terminal.
    #[arg(long, help_heading = "Output")]
    pub plain: bool,
    /// Print one event per line as JSON
    #[arg(long, help_heading = "Output", conflicts_with = "plain")]
    pub json: bool,
    #[cfg(feature = "serve")]
    #[command(flatten)]
    pub page: ServeSessionArgs,
    /// Poll files, for network drives [default: 500 ms]
    ///
    /// By default evalrs uses file-system events.
    #[arg(
        long,
        value_name = "MILLISECONDS",
        help_heading = "Output",
        hide_short_help = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "500",
        value_parser = clap::value_parser!(u64).range(10..=60_000)
    )]
    pub poll: Option<u64>,
}
