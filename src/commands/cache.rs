//! `evalrs cache`: works with the store of outcomes.

use std::collections::BTreeSet;
use std::path::Path;

use super::Console;
use super::place::{Surroundings, committed_files};
use super::run::{loaded_session, overrides};
use crate::action::ActionKey;
use crate::cli::{CacheArgs, CacheCommand, ExportArgs};
use crate::db::queries;
use crate::driver::session::Session;
use crate::error::{Error, ExitStatus};
use crate::store::{self, Committed};
use crate::system::{System, join};

/// Runs the subcommand.
pub fn cache(args: &CacheArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    match &args.command {
        CacheCommand::Export(args) => export(args, console),
        CacheCommand::Verify { suite, store } => {
            let surroundings = surroundings(suite.as_deref(), store.cache_dir.as_deref(), console)?;
            verify(&surroundings.cache_dir, console)
        }
        CacheCommand::Path { suite, store } => {
            let surroundings = surroundings(suite.as_deref(), store.cache_dir.as_deref(), console)?;
            writeln!(console.out, "{}", surroundings.cache_dir)?;
            Ok(ExitStatus::Success)
        }
    }
}

fn surroundings(
    suite: Option<&str>,
    cache_dir: Option<&str>,
    console: &Console<'_>,
) -> Result<Surroundings, Error> {
    Surroundings::find(suite.unwrap_or("suite.yaml"), cache_dir, console.system)
}

fn verify(dir: &str, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let report = store::verify(Path::new(dir));
    writeln!(
        console.out,
        "{dir}: {} entries, {} bytes, {} bad lines",
        report.entries,
        report.bytes,
        report.problems.len()
    )?;
    for bad in &report.problems {
        writeln!(console.err, "  {bad}")?;
    }
    let committed_is_right = verify_committed(dir, console)?;
    let is_right = report.problems.is_empty() && committed_is_right;
    Ok(if is_right { ExitStatus::Success } else { ExitStatus::Incomplete })
}

/// Checks every file of committed judgments beside the store; false if a line of one is bad.
fn verify_committed(dir: &str, console: &mut Console<'_>) -> Result<bool, Error> {
    let mut is_right = true;
    for path in committed_files(dir, console.system) {
        let mut committed = Committed::default();
        match console.system.read(&path).into_bytes() {
            Ok(bytes) => committed.add(&path, &bytes),
            Err(reason) => {
                writeln!(console.err, "  cannot read `{path}`: {reason}")?;
                is_right = false;
                continue;
            }
        }
        let (judgments, bad) = (committed.keys().count(), committed.take_warnings());
        writeln!(console.out, "{path}: {judgments} judgments, {} bad lines", bad.len())?;
        for line in &bad {
            writeln!(console.err, "  {line}")?;
        }
        is_right &= bad.is_empty();
    }
    Ok(is_right)
}

fn export(args: &ExportArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let surroundings =
        Surroundings::find(&args.suite, args.store.cache_dir.as_deref(), console.system)?;
    let mut session = loaded_session(&args.suite, &surroundings, overrides(&args.select), console)?;
    let mut store = surroundings.store(console)?;
    let keys = planned_keys(&mut session, console.system);
    let found: Vec<_> = store.get_many(&keys).into_iter().flatten().collect();
    let missing = keys.len() - found.len();
    let text = store::render(&found)
        .map_err(|error| Error::Plain { message: error.to_string(), hint: None })?;
    let name = session.suite().map(|suite| file_name(&suite.name)).unwrap_or_default();
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| join(&surroundings.cache_dir, &format!("{name}.judgments.jsonl")));
    console.system.write(&path, &mut |file| file.write_all(text.as_bytes()))?;
    writeln!(console.err, "{path}: {} judgments", found.len())?;
    if missing > 0 {
        writeln!(
            console.err,
            "warning: {missing} judgments are not stored yet: run the suite first"
        )?;
        return Ok(ExitStatus::Incomplete);
    }
    Ok(ExitStatus::Success)
}

/// The keys of everything that is planned, sorted. Plans wait for files that rows name until those are read.
fn planned_keys(session: &mut Session, system: &dyn System) -> Vec<ActionKey> {
    loop {
        let (db, root) = (&session.db, session.root);
        let mut keys = BTreeSet::new();
        for chunk in root.chunks(db) {
            for grader in queries::graders(db, root) {
                for planned in queries::plans(db, *chunk, *grader).iter() {
                    planned.each_key(&mut |_, _, key| _ = keys.insert(key));
                }
            }
        }
        if !session.read_unread(system) {
            return keys.into_iter().collect();
        }
    }
}

/// A suite's name as the name of a file.
fn file_name(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .collect()
}
