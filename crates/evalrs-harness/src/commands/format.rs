//! `evalrs format`: results as a table, a report or lines.

use serde_json::{Map, Value};

use super::grading::checked;
use super::views::{piped_or_file, write_lines};
use crate::args::views::FormatArgs;
use crate::lines::object;
use crate::table::{csv, jsonl, markdown};
use evalrs_base::text::{count, sanitize};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// Writes results in the style that is asked for.
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
    let records: Vec<Map<String, Value>> = lines.into_iter().map(|(_, record)| record).collect();
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
