//! `evalrs completions`: what a shell needs to complete command lines.

use clap::CommandFactory;

use super::Console;
use crate::app::cli::{Cli, CompletionsArgs};
use crate::app::error::{Error, ExitStatus};

/// Prints the completions.
pub(crate) fn completions(
    args: &CompletionsArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "evalrs", &mut text);
    console.out.write_all(&text)?;
    Ok(ExitStatus::Success)
}
