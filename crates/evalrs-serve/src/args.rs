//! The flags of `evalrs serve`, and those of `evalrs watch --serve`.

use clap::Args;

use evalrs_use_cases::args::StoreArgs;

/// What is served, and to whom.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// Suite files or folders
    ///
    /// You can browse, label and evaluate their samples. The runs of the workspace are always served.
    #[arg(value_name = "SUITE")]
    pub suites: Vec<String>,
    /// Listen on this port
    ///
    /// 0 takes a free one.
    #[arg(long, default_value_t = 7357, value_name = "PORT")]
    pub port: u16,
    /// Listen on this address
    ///
    /// An address that other machines reach needs --token-env.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub bind: std::net::IpAddr,
    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
    /// Require the token in this environment variable
    ///
    /// A token has at least 16 characters. Programs send it as `Authorization: Bearer TOKEN`, browsers as a password.
    #[arg(long, value_name = "NAME")]
    pub token_env: Option<String>,
    /// Evaluate nothing and write no labels
    #[arg(long)]
    pub read_only: bool,
    /// Let several people label, each with a name
    ///
    /// Each reviewer enters a name on the page. Requests pass it as `who`. By default labels belong to the person who runs
    /// the server: `EVALRS_WHO`, else the account.
    #[arg(long, conflicts_with = "read_only")]
    pub labellers: bool,
    /// Read and write labels in this file
    ///
    /// [default: `bot.labels.jsonl` beside `bot.yaml`]
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// A session of `watch` on a page.
#[derive(Clone, Debug, Default, Args)]
pub struct ServeSessionArgs {
    /// Serve the session in the browser too
    ///
    /// The page is that of `evalrs serve`: it shows verdicts as they arrive, and you label with keys.
    #[arg(long, help_heading = "Output")]
    pub serve: bool,
    /// Listen on this port of 127.0.0.1
    ///
    /// 0 takes a free one.
    #[arg(
        long,
        hide_short_help = true,
        requires = "serve",
        default_value_t = 7357,
        value_name = "PORT"
    )]
    pub port: u16,
    /// Open the page of --serve in the browser
    #[arg(long, help_heading = "Output", hide_short_help = true, requires = "serve")]
    pub open: bool,
}
