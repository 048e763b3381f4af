//! One file a command: typed flags → what they mean → engine → report.

pub(crate) mod agree;
pub(crate) mod batch;
mod cache;
pub mod completions;
pub(crate) mod diff;
pub(crate) mod explain;
mod explain_recorded;
pub(crate) mod history;
#[cfg(feature = "import")]
pub(crate) mod import;
#[cfg(feature = "import")]
mod import_files;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod merge;
pub(crate) mod man;
pub(crate) mod plan;
mod plan_batching;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
#[cfg(feature = "import")]
mod starter;
pub(crate) mod mcp;
pub(crate) mod strip_types;
pub(crate) mod validate;
pub(crate) mod watch;

use std::io::Write;

use super::cli::{Cli, ColorChoice, Command};
use evalrs_suite::workspace::Color;
use evalrs_system::System;
#[cfg(not(feature = "harness"))]
use evalrs_use_cases::calibration::calibrate_suite;
pub use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// When output has colour: as the command line says, else the environment, else the `evalrs.toml` of the first suite.
/// What is wrong with that file is said by the command.
pub fn color(cli: &Cli, system: &dyn System) -> Color {
    const VARIABLES: [&str; 3] = ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"];
    match cli.global.color {
        Some(ColorChoice::Auto) => return Color::Auto,
        Some(ColorChoice::Always) => return Color::Always,
        Some(ColorChoice::Never) => return Color::Never,
        None => {}
    }
    let environment = system.environment();
    if VARIABLES.iter().any(|name| environment.get(*name).is_some_and(|value| !value.is_empty())) {
        // The streams look at these themselves.
        return Color::Auto;
    }
    evalrs_use_cases::context::color(cli.command.suite().unwrap_or_default(), system)
        .unwrap_or(Color::Auto)
}

/// The width of text where nothing limits it: what is wider is as good as endless.
const ENDLESS: usize = 10_000;

/// The columns that text is written in: those of the terminal, else what `COLUMNS` says, else as many as it takes, for a
/// log or a pager breaks lines by itself, and what was cut is lost.
pub fn width(columns: Option<u16>, system: &dyn System) -> usize {
    let columns = columns.filter(|columns| *columns > 0).or_else(|| {
        let said = system.environment().remove("COLUMNS")?;
        said.trim().parse().ok().filter(|columns| *columns > 0)
    });
    columns.map_or(ENDLESS, |columns| usize::from(columns).max(40))
}

/// Runs the command; an error is printed on the error stream.
pub fn dispatch(cli: &Cli, console: &mut Console<'_>) -> ExitStatus {
    if let Command::Watch(args) = &cli.command {
        // Once nobody reads what it says, a session ends.
        let done = watch::watch(args, console);
        return ended(done, console.err);
    }
    let mut out = UntilClosed(Some(console.out));
    let mut err = UntilClosed(Some(console.err));
    let mut console = Console {
        system: console.system,
        out: &mut out,
        err: &mut err,
        is_terminal: console.is_terminal,
        width: console.width,
        cuts: console.cuts,
        has_color: console.has_color,
        verbosity: cli.global.verbose,
    };
    let done = match &cli.command {
        Command::Run(args) => run::run(args, &mut console),
        Command::Plan(args) => plan::plan(args, &mut console),
        Command::Explain(args) => explain::explain(args, &mut console),
        Command::Agree(args) => agree::agree(args, &mut console),
        Command::Diff(args) => diff::diff(args, &mut console),
        Command::History(args) => history::history(args, &mut console),
        Command::Report(args) => report::report(args, &mut console),
        #[cfg(feature = "serve")]
        Command::Serve(args) => evalrs_serve::serve(args, &mut console),
        Command::Validate(args) => validate::validate(args, &mut console),
        Command::List(args) => list::list(args, &mut console),
        Command::Batch(args) => batch::batch(args, &mut console),
        Command::Cache(args) => cache::cache(args, &mut console),
        Command::Runs(args) => runs::runs_command(args, &mut console),
        Command::Merge(args) => merge::merge_parts(args, &mut console),
        Command::StripTypes { file } => strip_types::strip_types(file, &mut console),
        #[cfg(feature = "harness")]
        Command::Harness(command) => command.run(&mut console),
        #[cfg(not(feature = "harness"))]
        Command::Calibrate(args) => calibrate_suite(&args.suite, &args.options(), &mut console),
        Command::Init(args) => init::init(args, &mut console),
        #[cfg(feature = "import")]
        Command::Import(args) => import::import(args, &mut console),
        Command::Completions(args) => completions::completions(args, &mut console),
        Command::Man(args) => man::man(args, &mut console),
        Command::Mcp(args) => mcp::mcp(args, &dispatch, &mut console),
        Command::Watch(_) => return ExitStatus::Success,
    };
    let status = ended(done, console.err);
    if cli.command.has_two_codes() { status.of_harness() } else { status }
}

/// The status of a command; an error is printed.
fn ended(done: Result<ExitStatus, Error>, err: &mut dyn Write) -> ExitStatus {
    done.unwrap_or_else(|error| {
        // Where the error stream is gone too, the exit code still says it.
        let _ = writeln!(err, "{error}");
        error.status()
    })
}

/// A stream whose reader may go away: one that has seen enough is not a failure, and changes neither what is done
/// nor the exit code.
struct UntilClosed<'a>(Option<&'a mut dyn Write>);

impl UntilClosed<'_> {
    fn or_closed<T>(&mut self, done: std::io::Result<T>, closed: T) -> std::io::Result<T> {
        match done {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                self.0 = None;
                Ok(closed)
            }
            done => done,
        }
    }
}

impl Write for UntilClosed<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let Some(stream) = &mut self.0 else { return Ok(bytes.len()) };
        let done = stream.write(bytes);
        self.or_closed(done, bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let Some(stream) = &mut self.0 else { return Ok(()) };
        let done = stream.flush();
        self.or_closed(done, ())
    }
}
