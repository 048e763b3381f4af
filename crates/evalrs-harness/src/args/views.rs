//! The flags of the commands that derive views of records, as agent-eval-harness has them.

use clap::Args;

use crate::args::harness::ProgramArgs;

/// What the commands have in common: what they read and where they write.
#[derive(Debug, Default, Args)]
pub struct ViewArgs {
    /// Records, one per line
    #[arg(value_name = "FILE", index = 1)]
    pub file: Option<String>,
    /// Ignored
    #[arg(hide = true, index = 2)]
    pub ignored: Vec<String>,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
}

/// `evalrs extract`.
#[derive(Debug, Default, Args)]
pub struct ExtractArgs {
    #[command(flatten)]
    pub view: ViewArgs,
    /// Use this adapter: a name or a JSON file
    ///
    /// The names are claude-code, gemini-cli and codex.
    #[arg(long, short, value_name = "ADAPTER")]
    pub schema: Option<String>,
    /// Print the number of records
    #[arg(long)]
    pub progress: bool,
}

/// `evalrs format`.
#[derive(Debug, Default, Args)]
pub struct FormatArgs {
    #[command(flatten)]
    pub view: ViewArgs,
    /// Write jsonl, markdown or csv
    #[arg(long, short = 'f', value_name = "STYLE", default_value = "jsonl")]
    pub style: String,
    /// Print the number of records
    #[arg(long)]
    pub progress: bool,
}

/// `evalrs summarize`.
#[derive(Debug, Default, Args)]
pub struct SummarizeArgs {
    #[command(flatten)]
    pub view: ViewArgs,
    /// Write Markdown with every step
    #[arg(long, short)]
    pub markdown: bool,
}

/// `evalrs balance`.
#[derive(Debug, Default, Args)]
pub struct BalanceArgs {
    #[command(flatten)]
    pub view: ViewArgs,
    /// Read the category from this key of `metadata`
    #[arg(long, short, value_name = "KEY", default_value = "category")]
    pub key: String,
    /// Report categories below this percentage of an equal share
    #[arg(long, short, value_name = "PERCENT", default_value_t = 50.0, value_parser = percent)]
    pub threshold: f64,
}

/// `evalrs compare`.
#[derive(Debug, Default, Args)]
#[command(mut_arg("grader", |arg| arg.help(
    "Rank the runs of a prompt with this program (--strategy custom)"
).long_help(
    "Rank the runs of a prompt with this program (--strategy custom)\n\nPATH is a module that exports `grade`, a default \
     or `compare`, a function of a Python file (file.py:name), or any other file, which evalrs runs as an executable."
)))]
pub struct CompareArgs {
    /// Results of `capture` or `trials`: PATH or LABEL:PATH
    ///
    /// One file per run.
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    /// Add a run under a label; may be repeated
    #[arg(long, value_name = "LABEL:PATH")]
    pub run: Vec<String>,
    /// Compare by weighted, statistical or custom
    ///
    /// `statistical` has intervals, `custom` uses a grader.
    #[arg(long, short, value_name = "STRATEGY", default_value = "weighted")]
    pub strategy: String,
    /// Write json or markdown
    ///
    /// [default: by the name of the file that -o names, else json]
    #[arg(long, short, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Read the files as auto, capture or trials
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub input_format: String,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Print the files that are compared
    #[arg(long)]
    pub progress: bool,
    #[command(flatten)]
    pub program: ProgramArgs,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent >= 0.0);
    percent.ok_or_else(|| "expected a number of at least 0".to_owned())
}
