//! `evalrs cache`: works with the store of outcomes, one file a subcommand.

mod export;
mod verify;

use serde_json::{Value, json};

use super::Console;
use super::place::Surroundings;
use crate::action::ActionKey;
use crate::cli::{CacheArgs, CacheCommand, PlaceArgs};
use crate::db::queries;
use crate::driver::session::Session;
use crate::error::{Error, ExitStatus};
use crate::system::System;

/// Runs the subcommand.
pub fn cache(args: &CacheArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    match &args.command {
        CacheCommand::Export(args) => export::export(args, console),
        CacheCommand::Verify(place) => verify::verify(place, console),
        CacheCommand::Path(place) => path(place, console),
    }
}

fn path(place: &PlaceArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let dir = surroundings(place, console)?.cache_dir;
    if place.json {
        write_json(&json!({"path": dir}), console)?;
    } else {
        writeln!(console.out, "{dir}")?;
    }
    Ok(ExitStatus::Success)
}

/// Where the store that is meant lies, and what surrounds it.
fn surroundings(place: &PlaceArgs, console: &Console<'_>) -> Result<Surroundings, Error> {
    let suite = place.suite.as_deref().unwrap_or("suite.yaml");
    Surroundings::find(suite, place.store.cache_dir.as_deref(), console.system)
}

fn write_json(value: &Value, console: &mut Console<'_>) -> std::io::Result<()> {
    writeln!(console.out, "{value:#}")
}

/// The keys of everything that is planned, sorted. Plans wait for files that rows name until those are read.
fn planned_keys(session: &mut Session, system: &dyn System) -> Vec<ActionKey> {
    loop {
        let (db, root) = (&session.db, session.root);
        let mut keys = Vec::new();
        for chunk in root.chunks(db) {
            for grader in queries::graders(db, root) {
                for planned in queries::plans(db, *chunk, *grader).iter() {
                    planned.each_key(&mut |_, _, key| keys.push(key));
                }
            }
        }
        if !session.read_unread(system) {
            keys.sort_unstable();
            keys.dedup();
            return keys;
        }
    }
}
