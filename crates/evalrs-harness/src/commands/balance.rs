//! `evalrs balance`: how the cases of a test set are spread over categories.

use serde_json::{Map, Value};

use super::grading::checked;
use super::views::{file, write_report};
use crate::args::views::BalanceArgs;
use crate::balance::{balance as spread, chart};
use crate::check;
use evalrs_base::text::sanitize;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// Counts the cases of every category and says what is out of balance.
pub(crate) fn balance(args: &BalanceArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let bytes = file(&args.view, "prompts.jsonl", console)?;
    let cases = checked(&bytes, "prompt", check::prompt)?;
    let cases: Vec<Map<String, Value>> = cases.into_iter().map(|(_, case)| case).collect();
    let analysis = spread(&cases, &args.key, args.threshold);
    for line in chart(&analysis).lines() {
        writeln!(console.err, "{}", sanitize(line))?;
    }
    for suggestion in &analysis.suggestions {
        writeln!(console.err, "- {}", sanitize(suggestion))?;
    }
    let text = serde_json::to_string_pretty(&analysis).map_err(std::io::Error::from)?;
    write_report(&text, &args.view, console)?;
    Ok(ExitStatus::Success)
}
