//! `evalrs summarize`: what results come to, record by record.

use super::grading::checked;
use super::views::{file, write_report};
use crate::args::views::SummarizeArgs;
use crate::check;
use crate::summary::{markdown, summary};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

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
