//! The flags of the commands that run agents without a suite, as agent-eval-harness has them.
//!
//! Numbers are read by the commands, which say what is wrong with them in the words of agent-eval-harness.

use clap::Args;

use crate::args::harness::ProgramArgs;

/// `evalrs capture`.
#[derive(Debug, Default, Args)]
#[command(mut_arg("refresh", |arg| arg.help("Runs the agent, and the grader, even where what they gave is stored")))]
#[command(mut_arg("frozen", |arg| arg.help("Only replays what is stored: a prompt without an answer is an error")))]
#[command(mut_arg("max_concurrent", |arg| arg.hide(true)))]
pub struct CaptureArgs {
    /// The prompts, one a line: `id`, `input` (text, or the turns of a conversation), `hint`, `metadata`, `timeout`.
    #[arg(value_name = "PROMPTS", index = 1)]
    pub file: Option<String>,
    /// What is passed over.
    #[arg(hide = true, index = 2)]
    pub ignored: Vec<String>,
    /// The adapter: a JSON file, or claude-code, gemini-cli or codex.
    #[arg(long, short, value_name = "ADAPTER")]
    pub schema: Option<String>,
    /// Writes the records to this file in place of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// The folder that the agent works in.
    #[arg(long, short, value_name = "DIR")]
    pub cwd: Option<String>,
    /// Milliseconds that a turn may take [default: as the adapter says, else 60000].
    #[arg(long, short, value_name = "MS")]
    pub timeout: Option<String>,
    /// Prompts under way at once.
    #[arg(long, short = 'j', value_name = "N", default_value = "1")]
    pub concurrency: String,
    /// Reads the prompts from standard input.
    #[arg(long)]
    pub stdin: bool,
    /// Gives every prompt a folder of its own in this one.
    #[arg(long, value_name = "DIR")]
    pub workspace_dir: Option<String>,
    /// Says how far it is.
    #[arg(long)]
    pub progress: bool,
    /// Adds to the end of the file that -o names.
    #[arg(long)]
    pub append: bool,
    /// Says what the agent does, and the end of what it wrote to standard error.
    #[arg(long)]
    pub debug: bool,
    #[command(flatten)]
    pub program: ProgramArgs,
}

/// `evalrs trials`.
#[derive(Debug, Default, Args)]
pub struct TrialsArgs {
    /// How often every prompt is tried.
    #[arg(short = 'k', value_name = "N", default_value = "5")]
    pub trials: String,
    #[command(flatten)]
    pub capture: CaptureArgs,
}

/// `evalrs run --raw`.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Without a suite")]
pub struct RawArgs {
    /// The adapter: a JSON file, or claude-code, gemini-cli or codex.
    #[arg(long, short, value_name = "ADAPTER", requires = "raw")]
    pub schema: Option<String>,
    /// A command whose first {} is the prompt in single quotes.
    #[arg(long, value_name = "COMMAND", requires = "raw")]
    pub simple: Option<String>,
    /// A line for a shell that finds the prompt in $PROMPT.
    #[arg(long, value_name = "LINE", requires = "raw")]
    pub shell: Option<String>,
    /// The folder that the agent works in.
    #[arg(long, short, value_name = "DIR", requires = "raw")]
    pub cwd: Option<String>,
    /// Milliseconds that a turn may take [default: as the adapter says, else 60000].
    #[arg(long, short, value_name = "MS", requires = "raw")]
    pub timeout: Option<String>,
    /// Says how far it is.
    #[arg(long, requires = "raw")]
    pub progress: bool,
}

/// `evalrs headless`.
#[derive(Debug, Default, Args)]
pub struct HeadlessArgs {
    /// The adapter: a JSON file, or claude-code, gemini-cli or codex.
    #[arg(long, short, value_name = "ADAPTER")]
    pub schema: Option<String>,
}
