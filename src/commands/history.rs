//! `evalrs history`: the runs of a suite over time.

use std::io::{BufWriter, Write};

use crate::cli::HistoryArgs;
use evalrs_base::text::sanitize;
use evalrs_report::history::page;
use evalrs_report::page::terminal::write;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::run_history::history_of;

pub(crate) fn history(args: &HistoryArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let surroundings = SuiteContext::find(&args.suite, None, console.system)?;
    let mut found = history_of(&args.suite, &surroundings, console.system)?;
    for warning in &found.warnings {
        writeln!(console.err, "warning: {}", sanitize(warning))?;
    }
    let runs = &mut found.report.runs;
    runs.drain(..runs.len().saturating_sub(args.limit.unwrap_or(usize::MAX)));
    if args.json {
        console.write_json(&found.report)?;
        return Ok(ExitStatus::Success);
    }
    let screen = console.screen();
    let mut out = BufWriter::new(&mut *console.out);
    write(&page(&found.report, &found.name), screen, &mut out)?;
    out.flush()?;
    if found.report.runs.is_empty() {
        writeln!(
            console.err,
            "note: runs of the whole suite without `--frozen` are added to its history"
        )?;
    }
    Ok(ExitStatus::Success)
}
