//! The flags of the commands that set things up.

use clap::{Args, ValueEnum};

use evalrs_use_cases::args::dollars;

/// `evalrs init`.
#[derive(Debug, Default, Args)]
pub struct InitArgs {
    /// The folder, made if needed.
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: String,
    /// With a grader of one's own in this language.
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub grader: Option<StarterLanguage>,
    /// With a rubric and a judge model: labelled rows, a job for CI, and what git has to know.
    #[arg(long, conflicts_with = "grader")]
    pub rubric: bool,
    /// Instead, what agents are told of evalrs: a skill in `.claude/skills` and `.agents/skills`.
    #[arg(long, conflicts_with_all = ["grader", "rubric"])]
    pub skill: bool,
}

/// `evalrs completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `evalrs mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// Lets runs ask what is not stored, until they have spent this many US dollars in all. Without a budget nothing is asked.
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// The same, until they have executed N actions in all.
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
}

/// `evalrs man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Writes the pages of all commands to this folder.
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<String>,
}

/// What a grader is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StarterLanguage {
    /// A Python program.
    Python,
    /// A TypeScript module.
    Typescript,
    /// A JavaScript module.
    Javascript,
    /// A shell script.
    Bash,
}

/// `evalrs import`.
#[cfg(feature = "import")]
#[derive(Debug, Args)]
pub struct ImportSourceArgs {
    /// What another tool wrote: a configuration, a file of results or logs, or a folder of them.
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// The folder that is made: suites, datasets, programs, and IMPORT.md.
    #[arg(long, short, value_name = "DIR")]
    pub output: String,
    /// What SOURCE is, where its content does not tell; an unknown kind lists all.
    #[arg(long, value_name = "KIND")]
    pub from: Option<String>,
    /// Writes into a folder that holds files, and over those of the same names.
    #[arg(long)]
    pub force: bool,
    /// The folder outside of which no file is read [default: the git repository of SOURCE, else its folder].
    #[arg(long, value_name = "DIR")]
    pub root: Option<String>,
    /// Prints the report as JSON.
    #[arg(long)]
    pub json: bool,
}
