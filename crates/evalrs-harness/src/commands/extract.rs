//! `evalrs extract`: what an agent wrote, as output and trajectory.

use super::grading::checked;
use super::views::{piped_or_file, write_lines};
use crate::args::views::ExtractArgs;
use crate::extract::extracted;
use crate::json::to_json;
use crate::lines::object;
use evalrs_base::text::{count, sanitize};
use evalrs_eval::adapter::{Adapter, BUILT_IN};
use evalrs_system::System;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// Reads the raw output in every record by the adapter. Nothing is written unless all of them can be read.
pub(crate) fn extract(args: &ExtractArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let schema = args.schema.as_deref();
    let schema = schema.ok_or_else(|| Error::harness_usage("--schema is required"))?;
    let bytes = piped_or_file(&args.view, "raw output", console)?;
    let adapter = adapter(schema, console.system)?.adapter;
    let records = checked(&bytes, "JSON", object)?;
    let mut lines = Vec::with_capacity(records.len());
    for (line, record) in &records {
        let record = extracted(record, &adapter).map_err(|problem| {
            Error::harness_usage(format!("Invalid raw output at line {}: {problem}", line.number))
        })?;
        lines.push(to_json(&record));
    }
    write_lines(&lines, &args.view, console)?;
    if args.progress {
        writeln!(console.err, "extracted {}", count(lines.len(), "record"))?;
    }
    Ok(ExitStatus::Success)
}

pub(super) struct AdapterText {
    pub adapter: Adapter,
    /// What it was read from.
    pub text: String,
}

/// The adapter in a file, else the one of this name.
pub(super) fn adapter(name: &str, system: &dyn System) -> Result<AdapterText, Error> {
    let wrong = |problem: String| Error::harness_usage(sanitize(&problem));
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    let text = match (system.read(name).into_bytes(), built_in) {
        (Ok(bytes), _) => String::from_utf8(bytes)
            .map_err(|_| wrong("Invalid schema: this is not UTF-8".to_owned()))?,
        (Err(_), Some(text)) => text.to_owned(),
        (Err(_), None) => {
            let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            return Err(wrong(format!(
                "Schema file not found: {name} (expected a file, or one of {names})"
            )));
        }
    };
    let adapter =
        Adapter::read(&text).map_err(|problem| wrong(format!("Invalid schema: {problem}")))?;
    Ok(AdapterText { adapter, text })
}
