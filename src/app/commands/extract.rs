//! `evalrs extract`: what an agent wrote, as output and trajectory.

use super::Console;
use super::grading::checked;
use super::views::{piped_or_file, write_lines};
use crate::app::cli::ExtractArgs;
use crate::app::error::{Error, ExitStatus};
use crate::base::system::System;
use crate::base::text::{count, sanitize};
use crate::pipeline::adapter::{Adapter, BUILT_IN};
use crate::pipeline::inline::extract::extracted;
use crate::pipeline::inline::json::to_json;
use crate::pipeline::inline::lines::object;

/// Reads the raw output in every record by the adapter. Nothing is written unless all of them can be read.
pub(crate) fn extract(args: &ExtractArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let schema = args.schema.as_deref();
    let schema = schema.ok_or_else(|| Error::harness_usage("--schema is required"))?;
    let bytes = piped_or_file(&args.view, "raw output", console)?;
    let adapter = adapter(schema, console.system)?;
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

/// The adapter in a file, else the one of this name.
fn adapter(name: &str, system: &dyn System) -> Result<Adapter, Error> {
    let read = system.read(name).into_bytes();
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    let text = match (&read, built_in) {
        (Ok(bytes), _) => std::str::from_utf8(bytes)
            .map_err(|_| Error::harness_usage("Invalid schema: this is not UTF-8"))?,
        (Err(_), Some(text)) => text,
        (Err(_), None) => {
            let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
            return Err(Error::harness_usage(sanitize(&format!(
                "Schema file not found: {name} (expected a file, or one of {})",
                names.join(", ")
            ))));
        }
    };
    Adapter::read(text)
        .map_err(|problem| Error::harness_usage(sanitize(&format!("Invalid schema: {problem}"))))
}
