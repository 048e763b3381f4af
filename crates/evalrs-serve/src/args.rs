//! The flags of `evalrs serve`, and those of `evalrs watch --serve`.

use clap::Args;

use evalrs_use_cases::args::StoreArgs;

/// What is served, and to whom.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// Suite files, or folders of them. Their samples can be looked at, labelled and evaluated; the runs of the
    /// workspace are served in any case.
    #[arg(value_name = "SUITE")]
    pub suites: Vec<String>,
    /// The port; 0 takes a free one.
    #[arg(long, default_value_t = 7357, value_name = "PORT")]
    pub port: u16,
    /// The address to listen at. Another than that of this machine needs a token.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub bind: std::net::IpAddr,
    /// Opens the page in the browser.
    #[arg(long)]
    pub open: bool,
    /// The environment variable that holds the token, of at least 16 characters: programs send it as
    /// `Authorization: Bearer TOKEN`, browsers are asked for it as a password.
    #[arg(long, value_name = "NAME")]
    pub token_env: Option<String>,
    /// Neither evaluates nor writes labels.
    #[arg(long)]
    pub read_only: bool,
    /// Several people label on this server: its page asks each for a name, and requests say it as `who`. Without it
    /// labels are of the person who runs the server: `EVALRS_WHO`, else the account.
    #[arg(long, conflicts_with = "read_only")]
    pub labellers: bool,
    /// Labels of people, as `run` takes them [default: `bot.labels.jsonl` beside `bot.yaml`].
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// A session of `watch` on a page.
#[derive(Clone, Debug, Default, Args)]
pub struct ServeSessionArgs {
    /// Serves the session in the browser too, as `evalrs serve` does: verdicts as they come, and labels by a key.
    #[arg(long)]
    pub serve: bool,
    /// The port of --serve at 127.0.0.1; 0 takes a free one.
    #[arg(long, requires = "serve", default_value_t = 7357, value_name = "PORT")]
    pub port: u16,
    /// Opens the page of --serve in the browser.
    #[arg(long, requires = "serve")]
    pub open: bool,
}
