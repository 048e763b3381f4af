//! The flags of the commands that set things up.

use clap::{Args, ValueEnum};

use evalrs_use_cases::args::dollars;

/// `evalrs init`.
#[derive(Debug, Default, Args)]
pub struct InitArgs {
    /// Folder to write; it may be missing
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: String,
    /// Add a grader of your own in this language
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    pub grader: Option<StarterLanguage>,
    /// Add a rubric for a judge, and labelled samples
    ///
    /// evalrs also writes a CI job, .gitignore and .gitattributes.
    #[arg(long, conflicts_with = "grader")]
    pub rubric: bool,
    /// Write a skill for coding agents instead
    ///
    /// It goes to `.claude/skills` and `.agents/skills`, and teaches an agent to use evalrs.
    #[arg(long, conflicts_with_all = ["grader", "rubric"])]
    pub skill: bool,
}

/// `evalrs completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `evalrs mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// Let runs spend this many US dollars in all
    ///
    /// Without a budget runs only replay the cache.
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// Let runs make N calls in all
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
}

/// `evalrs man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write the pages of all commands to this folder
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<String>,
}

/// What a grader is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StarterLanguage {
    /// A Python program
    Python,
    /// A TypeScript module
    Typescript,
    /// A JavaScript module
    Javascript,
    /// A shell script
    Bash,
}

/// `evalrs import`.
#[cfg(feature = "import")]
#[derive(Debug, Args)]
pub struct ImportSourceArgs {
    /// Configuration, results or logs, or a folder of them
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// Write suites, datasets, programs and IMPORT.md here
    #[arg(long, short, value_name = "DIR")]
    pub output: String,
    /// Name the kind of SOURCE; an unknown kind lists all
    ///
    /// Usually evalrs recognizes the kind by the content.
    #[arg(long, value_name = "KIND")]
    pub from: Option<String>,
    /// Overwrite files in a folder that has files
    #[arg(long)]
    pub force: bool,
    /// Read no file outside of this folder
    ///
    /// [default: the git repository of SOURCE, else its folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}
