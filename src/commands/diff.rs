//! `evalrs diff`: what moved between two recorded evaluations. Reads records and nothing else.

use std::io::Write;

use super::Console;
use super::place::Surroundings;
use super::plan::json;
use crate::cli::{DiffArgs, DiffFormat};
use crate::error::{Error, ExitStatus};
use crate::record::read::Past;
use crate::record::reference::{NotFound, Reference, SaveAt, find};
use crate::record::runs_of;
use crate::record::saves::read_saves;
use crate::record::side::{NoSide, add_rationales, read_side};
use crate::report::diff::{Diff, Side, compare, unlike, write, write_markdown};
use crate::report::text::sanitize;

/// Compares two recorded evaluations. That something moved is no failure.
pub fn diff(args: &DiffArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let suite = args.suite.as_deref().unwrap_or_default();
    let home = Surroundings::find(suite, None, console.system)?.records();
    let [before, now] = evaluations(args, &home, console)?;
    let [old, new] = [side(&before, console)?, side(&now, console)?];
    only_known_grader(args, [&old, &new])?;
    let mut diff = compare(&old, &new, args.grader.as_deref());
    drop((old, new));
    let reasons = unlike(&diff);
    if !args.force && !reasons.is_empty() {
        return Err(Error::plain(
            sanitize(&format!("the two are not alike: {}", reasons.join("; "))),
            "`--force` compares them all the same",
        ));
    }
    let format = if args.json { DiffFormat::Json } else { args.format };
    let shown = if format == DiffFormat::Json { diff.moved.len() } else { args.moved };
    say_why(&mut diff, shown, [&before.0, &now.0], console);
    let mut out = std::io::BufWriter::new(&mut *console.out);
    match format {
        DiffFormat::Text => write(&diff, args.moved, console.width, &mut out)?,
        DiffFormat::Json => writeln!(out, "{}", json(&diff)?)?,
        DiffFormat::Markdown => write_markdown(&diff, args.moved, &mut out)?,
    }
    out.flush()?;
    Ok(ExitStatus::Success)
}

/// A record, and which of its saves.
type Evaluation = (Past, Option<SaveAt>);

/// The two that are compared; of one session alone, its last two saves.
fn evaluations(
    args: &DiffArgs,
    home: &str,
    console: &Console<'_>,
) -> Result<[Evaluation; 2], Error> {
    let old = Reference::parse(&args.old);
    let before = (record(&old.run, home, console)?, old.save);
    if let Some(new) = &args.new {
        let new = Reference::parse(new);
        return Ok([before, (record(&new.run, home, console)?, new.save)]);
    }
    let saves = read_saves(console.system, &before.0.folder).records.len();
    if old.save.is_some() || saves < 2 {
        return Err(Error::plain(
            format!("`{}` is compared with nothing", sanitize(&args.old)),
            "name two runs, `evalrs diff RUN latest`, or one `watch` session with two saves or more",
        ));
    }
    let past = before.0;
    Ok([(past.clone(), Some(SaveAt::FromEnd(2))), (past, Some(SaveAt::FromEnd(1)))])
}

fn record(run: &str, home: &str, console: &Console<'_>) -> Result<Past, Error> {
    let runs = runs_of(home);
    find(console.system, home, run).map_err(|error| match error {
        NotFound::Nothing => Error::plain(
            format!("there is no record of a run at `{}`", sanitize(run)),
            format!(
                "name a run of `{runs}`, `latest`, or the folder of a record; `--suite SUITE` looks beside a suite"
            ),
        ),
        NotFound::Several(ids) => {
            let first: Vec<&str> = ids.iter().take(5).map(String::as_str).collect();
            let more = if ids.len() > first.len() { ", …" } else { "" };
            Error::plain(
                format!("`{}` is the beginning of {} runs", sanitize(run), ids.len()),
                format!("there is `{}`{more}", first.join("`, `")),
            )
        }
    })
}

/// Reads a side, and says what could not be read.
fn side((past, save): &Evaluation, console: &mut Console<'_>) -> Result<Side, Error> {
    let read = read_side(console.system, past, *save).map_err(|error| {
        let run = sanitize(&past.id);
        match error {
            NoSide::NoResults => Error::plain(
                format!("the record `{run}` has no results"),
                format!("the run did not end; see `{}`", sanitize(&past.folder)),
            ),
            NoSide::NoSession => Error::plain(
                format!("`{run}` is no session of `watch`: it has no saves"),
                "name it without `@`",
            ),
            NoSide::NoSave(numbers) => {
                let [first, last] = [numbers.first(), numbers.last()]
                    .map(|number| number.copied().unwrap_or_default());
                Error::plain(
                    format!("the session `{run}` has no such save"),
                    format!("there are {first} to {last}; -1 is the last"),
                )
            }
        }
    })?;
    for warning in &read.warnings {
        writeln!(console.err, "warning: {}", sanitize(warning))?;
    }
    Ok(read.side)
}

fn only_known_grader(args: &DiffArgs, sides: [&Side; 2]) -> Result<(), Error> {
    let Some(wanted) = &args.grader else { return Ok(()) };
    if sides.iter().any(|side| side.graders.contains(wanted)) {
        return Ok(());
    }
    let known: Vec<&str> =
        sides.iter().flat_map(|side| &side.graders).map(String::as_str).collect();
    let mut unique: Vec<&str> = Vec::new();
    for name in known {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    Err(Error::plain(
        sanitize(&format!("`--grader {wanted}` names no grader of the two")),
        sanitize(&format!("there is `{}`", unique.join("`, `"))),
    ))
}

/// Adds the words of the judges to the verdicts that are shown.
fn say_why(diff: &mut Diff, most: usize, pasts: [&Past; 2], console: &Console<'_>) {
    let [before, now] = pasts;
    let shown = diff.moved.len().min(most);
    let moved = &mut diff.moved[..shown];
    if !moved.is_empty() {
        add_rationales(console.system, before, &diff.before, moved, |moved| &mut moved.before);
        add_rationales(console.system, now, &diff.now, moved, |moved| &mut moved.now);
    }
}
