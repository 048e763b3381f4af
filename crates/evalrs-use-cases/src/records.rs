//! Finds the records that a user names: what `diff`, `report` and `history` have in common.

use super::context::SuiteContext;
use crate::console::Console;
use crate::error::Error;
use evalrs_base::file_path::{join, non_empty};
use evalrs_base::text::sanitize;
use evalrs_store::record::read::PastRun;
use evalrs_store::record::recorded::header_problem;
use evalrs_store::record::reference::{LATEST, NotFound, find};
use evalrs_store::record::{last_named, runs_of};
use evalrs_system::System;

/// How deep the working directory is searched for records.
const DEEPEST: usize = 3;
/// The most folders that are looked into.
const MOST_FOLDERS: usize = 2_000;

/// Where the records are: beside the suite that is named, else in the working directory or its workspace, else in the
/// only workspace below it that has some.
pub fn home(suite: Option<&str>, system: &dyn System) -> Result<String, Error> {
    let home = SuiteContext::find(suite.unwrap_or_default(), None, system)?.records();
    if suite.is_some() || system.list(&runs_of(&home)).is_some() {
        return Ok(home);
    }
    let mut found = homes_below(system);
    match found.len() {
        0 => Ok(home),
        1 => Ok(found.swap_remove(0)),
        several => {
            let first: Vec<&str> = found.iter().take(5).map(String::as_str).collect();
            Err(Error::plain(
                format!("{several} folders have records of runs: `{}`", first.join("`, `")),
                "choose one with `--suite SUITE`",
            ))
        }
    }
}

fn homes_below(system: &dyn System) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), 0)];
    let mut looked_into = 0;
    while let Some((folder, depth)) = open.pop() {
        looked_into += 1;
        if looked_into > MOST_FOLDERS {
            break;
        }
        let home = join(&folder, ".evalrs");
        if system.list(&runs_of(&home)).is_some() {
            found.push(home);
        }
        if depth < DEEPEST {
            let names = system.list(non_empty(&folder)).unwrap_or_default();
            let names = names.iter().filter(|name| !name.contains('.') && *name != "node_modules");
            open.extend(names.map(|name| (join(&folder, name), depth + 1)));
        }
    }
    found.sort();
    found
}

/// The record that a user names.
pub fn record(run: &str, home: &str, console: &Console<'_>) -> Result<PastRun, Error> {
    find(console.system, home, run).map_err(|error| match error {
        NotFound::Nothing => no_record(run, home, console.system),
        NotFound::Several(ids) => {
            let first: Vec<&str> = ids.iter().take(5).map(String::as_str).collect();
            let more = if ids.len() > first.len() { ", …" } else { "" };
            Error::plain(
                format!("`{}` is a prefix of {} runs", sanitize(run), ids.len()),
                format!("known: `{}`{more}", first.join("`, `")),
            )
        }
    })
}

/// Why this name has no record: there is none, or its header cannot be read.
fn no_record(run: &str, home: &str, system: &dyn System) -> Error {
    let runs = runs_of(home);
    let id = if run == LATEST { last_named(system, home) } else { None };
    let id = id.as_deref().unwrap_or(run);
    for folder in [join(&runs, id), run.to_owned()] {
        if let Some(problem) = header_problem(system, &folder) {
            return Error::plain(
                sanitize(&format!("cannot read the record in `{folder}`: {}", problem.shown())),
                "run the suite again, with this version of evalrs",
            );
        }
    }
    let folder = join(&runs, id);
    if !id.is_empty() && !id.contains('/') && system.list(&folder).is_some() {
        return Error::plain(
            sanitize(&format!("cannot read the record in `{folder}`: `header.json` is missing")),
            "the run did not finish, or somebody removed the file; name another run",
        );
    }
    Error::plain(
        format!("no record of a run at `{}`", sanitize(run)),
        format!(
            "name a run of `{runs}`, `latest`, or the folder of a record; `--suite SUITE` looks beside a suite"
        ),
    )
}
