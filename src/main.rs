//! The binary: runs the library and exits with its code.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use evalrs_cli::cli::Cli;
use evalrs_cli::cli::usage_code::usage_code;
use evalrs_cli::commands::completions::{VARIABLE, complete};
use evalrs_cli::commands::{Console, color, dispatch, width};
use evalrs_cli::log::start_log;
use evalrs_cli::terminal_writer::HarmlessWriter;
use evalrs_exec::supervise;
use evalrs_suite::workspace::Color;
use evalrs_system::System;
use evalrs_system::os::OsSystem;

/// Graphs of small values are built and thrown away: the allocator decides a fifth of what that costs.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(code) = supervise(std::env::args_os()) {
        return code;
    }
    if let Some(shell) = OsSystem.environment().get(VARIABLE) {
        // A shell that asks has no use for an error.
        let _ = complete(shell, std::env::args_os(), &OsSystem, &mut std::io::stdout());
        return ExitCode::SUCCESS;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Where nobody reads what is said, the exit code still says it.
            let _ = if error.use_stderr() {
                let stream = anstream::AutoStream::auto(std::io::stderr());
                write!(HarmlessWriter::new(stream), "{}", error.render().ansi())
            } else {
                error.print()
            };
            let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
            let words: Vec<String> = words.collect();
            return ExitCode::from(if error.use_stderr() { usage_code(&words) } else { 0 });
        }
    };
    let choice = match color(&cli, &OsSystem) {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    // Where colour is taken out, so is every control character: data has none to spare and passes as it is.
    let styled = match choice {
        anstream::ColorChoice::Auto => anstream::AutoStream::choice(&std::io::stdout()),
        choice => choice,
    };
    let mut out: Box<dyn std::io::Write> = if cli.command.prints_data() {
        Box::new(std::io::stdout())
    } else {
        Box::new(HarmlessWriter::new(anstream::AutoStream::new(std::io::stdout(), styled)))
    };
    let mut err = HarmlessWriter::new(anstream::AutoStream::new(std::io::stderr(), choice));
    if let Err(problem) = start_log(cli.global.verbose, &OsSystem) {
        let _ = writeln!(err, "warning: {problem}");
    }
    let is_terminal = std::io::stderr().is_terminal();
    let size = std::io::stdout().is_terminal().then(crossterm::terminal::size);
    let columns = size.and_then(Result::ok).map(|(columns, _)| columns);
    let width = width(columns, &OsSystem);
    let mut console = Console {
        system: &OsSystem,
        out: out.as_mut(),
        err: &mut err,
        is_terminal,
        width,
        cuts: columns.is_some(),
        has_color: styled != anstream::ColorChoice::Never,
        verbosity: cli.global.verbose,
    };
    ExitCode::from(dispatch(&cli, &mut console).code())
}
