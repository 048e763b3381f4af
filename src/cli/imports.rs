//! The command line of `evalrs import`.

use clap::Args;

/// `evalrs import`.
#[derive(Debug, Args)]
pub struct ImportSourceArgs {
    /// What another tool wrote: a configuration, a file of results or logs, or a folder of them.
    #[arg(value_name = "SOURCE")]
    pub source: String,
    /// The folder that is made: suites, datasets, outputs, programs, and IMPORT.md.
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
