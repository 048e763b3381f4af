//! The flags of the commands that derive views of records, as agent-eval-harness has them.

use clap::Args;

use crate::args::harness::ProgramArgs;

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

/// `evalrs compare`.
#[derive(Debug, Default, Args)]
#[command(mut_arg("grader", |arg| arg.help(
    "With --strategy custom, what ranks the runs of a prompt: a module that exports `grade`, else a default, else \
     `compare`; any other file as an executable; or a function of a Python file (file.py:name)"
)))]
pub struct CompareArgs {
    /// Results of `capture`, or of `trials`, one file a run: PATH, or LABEL:PATH.
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    /// A further run and what it is called. May be repeated.
    #[arg(long, value_name = "LABEL:PATH")]
    pub run: Vec<String>,
    /// weighted, statistical (with intervals) or custom (a grader).
    #[arg(long, short, value_name = "STRATEGY", default_value = "weighted")]
    pub strategy: String,
    /// json or markdown [default: by the name of the file that -o names, else json].
    #[arg(long, short, value_name = "FORMAT")]
    pub format: Option<String>,
    /// What the files hold: auto, capture or trials.
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub input_format: String,
    /// Writes to this file in place of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Says what is compared.
    #[arg(long)]
    pub progress: bool,
    #[command(flatten)]
    pub program: ProgramArgs,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent >= 0.0);
    percent.ok_or_else(|| "expected a number of at least 0".to_owned())
}
