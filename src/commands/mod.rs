//! One file a command: typed flags → what they mean → driver → report.

pub mod cache;
pub mod list;
pub mod place;
pub mod run;
pub mod validate;

use std::io::Write;

use crate::cli::{Cli, Command};
use crate::error::{Error, ExitStatus};
use crate::system::System;

/// What a command works with.
pub struct Console<'a> {
    /// The outside.
    pub system: &'a dyn System,
    /// Results.
    pub out: &'a mut dyn Write,
    /// Messages and progress.
    pub err: &'a mut dyn Write,
    /// Whether progress may be drawn.
    pub is_terminal: bool,
    /// The columns of the terminal.
    pub width: usize,
}

impl std::fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("width", &self.width).finish_non_exhaustive()
    }
}

/// Runs the command; an error is said on the error stream.
pub fn dispatch(cli: &Cli, console: &mut Console<'_>) -> ExitStatus {
    let done = match &cli.command {
        Command::Run(args) => run::run(args, console),
        Command::Validate(args) => validate::validate(args, console),
        Command::List(args) => list::list(args, console),
        Command::Cache(args) => cache::cache(args, console),
    };
    done.unwrap_or_else(|error| report(&error, console))
}

fn report(error: &Error, console: &mut Console<'_>) -> ExitStatus {
    // A reader that has seen enough closed the pipe: that is no failure.
    if matches!(error, Error::Io(error) if error.kind() == std::io::ErrorKind::BrokenPipe) {
        return ExitStatus::Success;
    }
    // Where the error stream is gone too, the exit code still says it.
    let _ = writeln!(console.err, "{error}");
    error.status()
}
