//! `evalrs cache export`: the judgments a suite needs, as a file to commit.

use serde_json::json;

use super::write_json;
use crate::cli::ExportArgs;
use crate::commands::Console;
use crate::commands::place::Surroundings;
use crate::commands::run::{loaded_session, overrides};
use crate::driver::wanted::wanted;
use crate::error::{Error, ExitStatus};
use crate::report::text::count;
use crate::store;
use crate::system::join;

/// Writes the file; incomplete where judgments are missing.
pub(super) fn export(args: &ExportArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let surroundings =
        Surroundings::find(&args.suite, args.store.cache_dir.as_deref(), console.system)?;
    let mut session = loaded_session(&args.suite, &surroundings, overrides(&args.select), console)?;
    let mut store = surroundings.store(console)?;
    let wanted = wanted(&mut session, console.system, store.as_mut());
    let all = wanted.len();
    let found: Vec<_> = wanted.into_iter().filter_map(|(_, entry)| entry).collect();
    let missing = all - found.len();
    let text = store::render(&found)
        .map_err(|error| Error::Plain { message: error.to_string(), hint: None })?;
    let name = session.suite().map(|suite| file_name(&suite.name)).unwrap_or_default();
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| join(&surroundings.cache_dir, &format!("{name}.judgments.jsonl")));
    console.system.write(&path, &mut |file| file.write_all(text.as_bytes()))?;
    if args.json {
        let said = json!({"path": path, "judgments": found.len(), "missing": missing});
        write_json(&said, console)?;
    } else {
        writeln!(console.err, "{path}: {}", count(found.len(), "judgment"))?;
    }
    if missing > 0 {
        let are = if missing == 1 { "is" } else { "are" };
        let missing = count(missing, "judgment");
        writeln!(console.err, "warning: {missing} {are} not stored yet: run the suite first")?;
        return Ok(ExitStatus::Incomplete);
    }
    Ok(ExitStatus::Success)
}

/// A suite's name as the name of a file.
fn file_name(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .collect()
}
