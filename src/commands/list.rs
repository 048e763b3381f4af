//! `evalrs list`: what suites can use, from the registry.

use serde_json::{Value, json};

use super::Console;
use crate::cli::{ListArgs, Listed};
use crate::error::{Error, ExitStatus};
use crate::registry;

/// Prints the registry.
pub fn list(args: &ListArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let entries = match args.what {
        Listed::Graders => registry::graders(),
        Listed::Extractors => registry::extractors(),
        Listed::Targets => registry::targets(),
        Listed::Providers => registry::providers(),
    };
    if args.json {
        let objects: Vec<Value> = entries.iter().map(registry::Described::to_json).collect();
        writeln!(console.out, "{:#}", json!(objects))?;
        return Ok(ExitStatus::Success);
    }
    let width = entries.iter().map(|entry| entry.id.len()).max().unwrap_or_default();
    for entry in &entries {
        writeln!(console.out, "{:width$}  {}", entry.id, entry.description)?;
        let options = entry.option_names();
        if !options.is_empty() {
            writeln!(console.out, "{:width$}    options: {}", "", options.join(", "))?;
        }
    }
    Ok(ExitStatus::Success)
}
