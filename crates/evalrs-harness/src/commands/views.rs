//! What the commands share that derive views of records: their input, and how a view is written.

use super::grading::{file_or_stdin, read, say_ignored, write_text};
use crate::args::views::ViewArgs;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::Error;

/// The records of a file, or those that are piped in. `what` says what they are where there are none.
pub(super) fn piped_or_file(
    args: &ViewArgs,
    what: &str,
    console: &mut Console<'_>,
) -> Result<Vec<u8>, Error> {
    say_ignored(&args.ignored, console.err)?;
    file_or_stdin(args.file.as_deref(), what, console.system)
}

/// The records of a file that must be named, as `name`.
pub(super) fn file(
    args: &ViewArgs,
    name: &str,
    console: &mut Console<'_>,
) -> Result<Vec<u8>, Error> {
    say_ignored(&args.ignored, console.err)?;
    let path = args.file.as_deref();
    let path = path.ok_or_else(|| Error::harness_usage(format!("{name} path is required")))?;
    read(path, console.system)
}

/// Writes lines, each with a line break at its end.
pub(super) fn write_lines(
    lines: &[String],
    args: &ViewArgs,
    console: &mut Console<'_>,
) -> std::io::Result<()> {
    let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
    match &args.output {
        Some(path) => console.system.write(path, &mut |to| to.write_all(text.as_bytes())),
        None => console.out.write_all(text.as_bytes()),
    }
}

/// Writes a report; where it goes into a file, without a line break at its end.
pub(super) fn write_report(
    text: &str,
    args: &ViewArgs,
    console: &mut Console<'_>,
) -> std::io::Result<()> {
    write_text(text, args.output.as_deref(), console)
}
