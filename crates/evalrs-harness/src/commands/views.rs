//! The commands that derive views of records: `evalrs format`, `summarize` and `balance`; and what they share with `extract`: their
//! input, and how a view is written.

use super::grading::{checked, file_or_stdin, read, say_ignored, write_text};
use crate::args::views::{BalanceArgs, FormatArgs, SummarizeArgs, ViewArgs};
use crate::balance::{balance as spread, chart};
use crate::check;
use crate::lines::{JsonRecord, object};
use crate::summary::{self, summary};
use crate::table::{csv, jsonl, markdown};
use evalrs_base::text::{count, sanitize};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// Writes results in the chosen style.
pub(crate) fn format(args: &FormatArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let style = args.style.as_str();
    if !["jsonl", "markdown", "csv"].contains(&style) {
        return Err(Error::harness_usage(sanitize(&format!(
            "Invalid format style '{style}'. Must be: jsonl, markdown, csv"
        ))));
    }
    let bytes = piped_or_file(&args.view, "results", console)?;
    let lines = checked(&bytes, "JSON", object)?;
    let numbers: Vec<usize> = lines.iter().map(|(line, _)| line.number).collect();
    let records: Vec<JsonRecord> = lines.into_iter().map(|(_, record)| record).collect();
    let text = match style {
        "csv" => csv(&records).map_err(|(at, problem)| {
            Error::harness_usage(format!("Invalid result at line {}: {problem}", numbers[at]))
        })?,
        "markdown" => markdown(&records, &console.system.now().to_string()),
        _ => jsonl(&records),
    };
    write_lines(&[text], &args.view, console)?;
    if args.progress {
        writeln!(console.err, "formatted {}", count(records.len(), "record"))?;
    }
    Ok(ExitStatus::Success)
}

pub(crate) fn summarize(
    args: &SummarizeArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let bytes = file(&args.view, "results.jsonl", console)?;
    let mut summaries = Vec::new();
    for (line, record) in checked(&bytes, "result", check::result)? {
        let wrong = |problem: String| {
            Error::harness_usage(format!("Invalid result at line {}: {problem}", line.number))
        };
        let summary = if args.markdown {
            summary::markdown(&record)
        } else {
            summary(&record).map_err(wrong)?
        };
        summaries.push(summary);
    }
    write_text(&summaries.join("\n"), args.view.output.as_deref(), console)?;
    Ok(ExitStatus::Success)
}

/// Counts the cases of every category and reports what is out of balance.
pub(crate) fn balance(args: &BalanceArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let bytes = file(&args.view, "prompts.jsonl", console)?;
    let cases = checked(&bytes, "prompt", check::prompt)?;
    let cases: Vec<JsonRecord> = cases.into_iter().map(|(_, case)| case).collect();
    let analysis = spread(&cases, &args.key, args.threshold);
    for line in chart(&analysis).lines() {
        writeln!(console.err, "{}", sanitize(line))?;
    }
    for suggestion in &analysis.suggestions {
        writeln!(console.err, "- {}", sanitize(suggestion))?;
    }
    let text = serde_json::to_string_pretty(&analysis).map_err(std::io::Error::from)?;
    write_text(&text, args.view.output.as_deref(), console)?;
    Ok(ExitStatus::Success)
}

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
