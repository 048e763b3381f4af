//! The flags of the commands that run agents without a suite, as agent-eval-harness has them.
//!
//! Numbers are read by the commands, which say what is wrong with them in the words of agent-eval-harness.

use clap::Args;

use crate::args::harness::ProgramArgs;

/// `evalrs capture`.
#[derive(Debug, Default, Args)]
#[command(mut_arg("refresh", |arg| arg.help("Run the agent and the grader again despite cached results")))]
#[command(mut_arg("frozen", |arg| arg.help("Replay the cache only; a cache miss is an error")))]
#[command(mut_arg("max_concurrent", |arg| arg.hide(true)))]
pub struct CaptureArgs {
    /// Prompts, one per line
    ///
    /// Each has `id`, `input` (a text, or the turns of a conversation), `hint`, `metadata` and `timeout`.
    #[arg(value_name = "PROMPTS", index = 1)]
    pub file: Option<String>,
    /// Ignored
    #[arg(hide = true, index = 2)]
    pub ignored: Vec<String>,
    /// Use this adapter: a name or a JSON file
    ///
    /// The names are claude-code, gemini-cli and codex.
    #[arg(long, short, value_name = "ADAPTER")]
    pub schema: Option<String>,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Run the agent in this folder
    #[arg(long, short, value_name = "DIR")]
    pub cwd: Option<String>,
    /// Limit a turn to MS milliseconds
    ///
    /// [default: the adapter's limit, else 60000]
    #[arg(long, short, value_name = "MS")]
    pub timeout: Option<String>,
    /// Keep N prompts in flight
    #[arg(long, short = 'j', value_name = "N", default_value = "1")]
    pub concurrency: String,
    /// Read the prompts from standard input
    #[arg(long)]
    pub stdin: bool,
    /// Give each prompt its own folder in this one
    #[arg(long, value_name = "DIR")]
    pub workspace_dir: Option<String>,
    /// Print progress
    #[arg(long)]
    pub progress: bool,
    /// Append to the file that -o names
    #[arg(long)]
    pub append: bool,
    /// Print the agent's steps
    ///
    /// evalrs also prints the end of the agent's standard error.
    #[arg(long)]
    pub debug: bool,
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// `evalrs trials`.
#[derive(Debug, Default, Args)]
pub struct TrialsArgs {
    /// Run each prompt N times
    #[arg(short = 'k', value_name = "N", default_value = "5")]
    pub trials: String,
    #[command(flatten)]
    pub capture: CaptureArgs,
}

/// `evalrs run --raw`.
#[derive(Clone, Debug, Default, Args)]
pub struct RawArgs {
    /// Use this adapter: a name or a JSON file
    ///
    /// The names are claude-code, gemini-cli and codex.
    #[arg(
        long,
        short,
        help_heading = "Without a suite",
        value_name = "ADAPTER",
        requires = "raw",
        hide_short_help = true
    )]
    pub schema: Option<String>,
    /// Run this command with the prompt, quoted, for its first {}
    #[arg(
        long,
        help_heading = "Without a suite",
        value_name = "COMMAND",
        requires = "raw",
        hide_short_help = true
    )]
    pub simple: Option<String>,
    /// Run this shell line with the prompt in $PROMPT
    #[arg(
        long,
        help_heading = "Without a suite",
        value_name = "LINE",
        requires = "raw",
        hide_short_help = true
    )]
    pub shell: Option<String>,
    /// Run the agent in this folder
    #[arg(
        long,
        short,
        help_heading = "Without a suite",
        value_name = "DIR",
        requires = "raw",
        hide_short_help = true
    )]
    pub cwd: Option<String>,
    /// Limit a turn to MS milliseconds
    ///
    /// [default: the adapter's limit, else 60000]
    #[arg(
        long,
        short,
        help_heading = "Without a suite",
        value_name = "MS",
        requires = "raw",
        hide_short_help = true
    )]
    pub timeout: Option<String>,
    /// Print progress
    #[arg(long, help_heading = "Without a suite", requires = "raw", hide_short_help = true)]
    pub progress: bool,
}

/// `evalrs headless`.
#[derive(Debug, Default, Args)]
pub struct HeadlessArgs {
    /// Use this adapter: a name or a JSON file
    ///
    /// The names are claude-code, gemini-cli and codex.
    #[arg(long, short, value_name = "ADAPTER")]
    pub schema: Option<String>,
}
