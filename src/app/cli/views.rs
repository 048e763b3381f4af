//! The flags of the commands that derive views of records, as agent-eval-harness has them.

use clap::Args;

/// What the commands have in common: what they read and where they write.
#[derive(Debug, Default, Args)]
pub struct ViewArgs {
    /// The records, one a line.
    #[arg(value_name = "FILE", index = 1)]
    pub file: Option<String>,
    /// What is passed over.
    #[arg(hide = true, index = 2)]
    pub ignored: Vec<String>,
    /// Writes to this file in place of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
}

/// `evalrs extract`.
#[derive(Debug, Default, Args)]
pub struct ExtractArgs {
    #[command(flatten)]
    pub view: ViewArgs,
    /// The adapter: a JSON file, or claude-code, gemini-cli or codex.
    #[arg(long, short, value_name = "ADAPTER")]
    pub schema: Option<String>,
    /// Says how many records there are.
    #[arg(long)]
    pub progress: bool,
}

/// `evalrs format`.
#[derive(Debug, Default, Args)]
pub struct FormatArgs {
    #[command(flatten)]
    pub view: ViewArgs,
    /// jsonl, markdown or csv.
    #[arg(long, short = 'f', value_name = "STYLE", default_value = "jsonl")]
    pub style: String,
    /// Says how many records there are.
    #[arg(long)]
    pub progress: bool,
}

/// `evalrs summarize`.
#[derive(Debug, Default, Args)]
pub struct SummarizeArgs {
    #[command(flatten)]
    pub view: ViewArgs,
    /// Writes Markdown with every step in place of a line a record.
    #[arg(long, short)]
    pub markdown: bool,
}

/// `evalrs balance`.
#[derive(Debug, Default, Args)]
pub struct BalanceArgs {
    #[command(flatten)]
    pub view: ViewArgs,
    /// The member of `metadata` that names the category.
    #[arg(long, short, value_name = "KEY", default_value = "category")]
    pub key: String,
    /// A category is too small below this share of an equal share, in percent.
    #[arg(long, short, value_name = "PERCENT", default_value_t = 50.0, value_parser = percent)]
    pub threshold: f64,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent >= 0.0);
    percent.ok_or_else(|| "expected a number of at least 0".to_owned())
}
