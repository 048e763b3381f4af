//! `evalrs cache`: works with the store of outcomes, one file a subcommand.

mod amounts;
mod audit;
mod audit_report;
mod bind;
mod binder;
mod cases_by_id;
mod costs;
mod digest;
pub(super) mod export;
mod fields_args;
mod gc;
pub(super) mod import;
mod import_tally;
mod judgments_file;
mod place;
mod shared;
mod stats;
mod verify;
mod vote_import;

use serde_json::json;

use self::place::surroundings_of;
use crate::cli::{CacheArgs, CacheCommand, PlaceArgs};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

pub(crate) fn cache(args: &CacheArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    match &args.command {
        CacheCommand::Export(args) => export::export(args, console),
        CacheCommand::Push(args) => shared::push(args, console),
        CacheCommand::Pull(args) => shared::pull(args, console),
        CacheCommand::Audit(args) => audit::audit(args, console),
        CacheCommand::Status(args) => shared::status(args, console),
        CacheCommand::Key(args) => shared::key(args, console),
        CacheCommand::Remote(args) => shared::remote(args, console),
        CacheCommand::Verify(place) => verify::verify(place, console),
        CacheCommand::Gc(args) => gc::gc(args, console),
        CacheCommand::Import(args) if args.bind.is_empty() => import::import(args, console),
        CacheCommand::Import(args) => bind::bind(args, console),
        CacheCommand::Stats(place) => stats::stats(place, console),
        CacheCommand::Path(place) => path(place, console),
    }
}

fn path(place: &PlaceArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let dir = surroundings_of(place, console)?.cache_dir;
    if place.json {
        console.write_json(&json!({"path": dir}))?;
    } else {
        writeln!(console.out, "{dir}")?;
    }
    Ok(ExitStatus::Success)
}
