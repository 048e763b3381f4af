//! The flags of the commands that set things up.

use clap::{Args, ValueEnum};

use evalrs_use_cases::args::dollars;

/// `evalrs init`.
#[derive(Debug, Default, Args)]
pub struct InitArgs {
    /// Folder to write; it may be missing
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: String,
    /// Start from your data: sessions, messages or answers
    ///
    /// PATH is a folder of Claude Code sessions, a file or folder of OpenAI messages, or a table of answers (CSV, TSV, JSON or
    /// JSON Lines). The suite reads the data where they are. Nothing is copied.
    #[cfg(feature = "import")]
    #[arg(long, value_name = "PATH", conflicts_with_all = ["grader", "rubric", "skill"])]
    pub from: Option<String>,
    /// Name the column of a field; may be repeated
    ///
    /// For example `--field output=answer`. evalrs finds columns of common names by itself.
    #[cfg(feature = "import")]
    #[arg(long = "field", value_name = "NAME=COLUMN", requires = "from", value_parser = named_column)]
    pub fields: Vec<(String, String)>,
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

/// A field of rows and the column that it is in.
#[cfg(feature = "import")]
fn named_column(text: &str) -> Result<(String, String), String> {
    let named =
        text.split_once('=').filter(|(name, column)| !name.is_empty() && !column.is_empty());
    let named = named.ok_or_else(|| "expected NAME=COLUMN, such as `output=answer`".to_owned())?;
    Ok((named.0.to_owned(), named.1.to_owned()))
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
