//! `evalrs summarize`: what results come to, record by record.

use super::Console;
use super::grading::checked;
use super::views::{file, write_report};
use crate::cli::SummarizeArgs;
use crate::error::{Error, ExitStatus};
use evalrs_harness::check;
use evalrs_harness::summary::{markdown, summary};

/// Summarizes every result.
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
        let summary =
            if args.markdown { markdown(&record) } else { summary(&record).map_err(wrong)? };
        summaries.push(summary);
    }
    write_report(&summaries.join("\n"), &args.view, console)?;
    Ok(ExitStatus::Success)
}
