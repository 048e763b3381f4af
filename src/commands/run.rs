//! `evalrs run`: evaluates suites, or with `--raw` gives every prompt to an agent.

#[cfg(feature = "harness")]
use evalrs_harness::commands::raw::raw;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::evaluate::evaluate;

use crate::cli::RunArgs;

/// Evaluates every suite in turn.
pub(crate) fn run(args: &RunArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    if args.evaluate.raw {
        return give_prompts(args, console);
    }
    evaluate(&args.evaluate, None, console)
}

#[cfg(feature = "harness")]
fn give_prompts(args: &RunArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    raw(&args.evaluate, &args.raw, console)
}

#[cfg(not(feature = "harness"))]
fn give_prompts(_: &RunArgs, _: &mut Console<'_>) -> Result<ExitStatus, Error> {
    Err(Error::plain(
        "this evalrs was built without its feature `harness`, so it has no `--raw`",
        "install a build with it",
    ))
}
