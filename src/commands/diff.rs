//! `evalrs diff`: what moved between two recorded evaluations. Reads records, and of the suite as it is now only its labels.

use std::collections::BTreeSet;
use std::io::Write;

use crate::cli::{DiffArgs, DiffFormat};
use evalrs_base::text::sanitize;
use evalrs_metrics::diff::{DiffLabels, DiffSide, mark_regressions, unlike};
use evalrs_report::diff::{DiffView, page};
use evalrs_report::page::{markdown, terminal};
use evalrs_store::record::read::PastRun;
use evalrs_store::record::reference::{LATEST, Reference, SaveAt, base_of};
use evalrs_store::record::saves::read_saves;
use evalrs_store::record::side::{ReadSide, SideError, read_side};
use evalrs_use_cases::comparison::RunComparison;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::diff_labels::LabelSource;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::records::record;
use evalrs_use_cases::run_files::NamedRuns;

/// Compares two recorded evaluations. That something moved is not a failure, unless it was asked to be.
pub(crate) fn diff(args: &DiffArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let names = args.old.iter().chain(&args.new).map(|name| Reference::parse(name).run);
    let names: Vec<String> = names.collect();
    let runs = NamedRuns::open(names.iter().map(String::as_str), console)?;
    // Where fewer are named than are compared, others are looked for.
    let wanted = if args.models.is_empty() { 2 } else { 1 };
    let named = names.iter().map(String::as_str);
    let all = named.chain((names.len() < wanted).then_some(LATEST));
    let home = runs.home(all, args.suite.as_deref(), console)?;
    let [before, now] = evaluations(args, &runs, &home, console)?;
    let [old, new] = match args.models.as_slice() {
        [one, other] => models(&side(&before, None, console)?.side, [one, other])?,
        _ => {
            let before = side(&before, None, console)?;
            let now = side(&now, Some(&before), console)?;
            [before.side, now.side]
        }
    };
    only_known_grader(args, [&old, &new])?;
    // The suite in a file may be a stranger's: it is not read.
    let is_strange = names.last().is_some_and(|name| runs.unpacked(name).is_some());
    let labels = if is_strange && args.suite.is_none() {
        DiffLabels::default()
    } else {
        labels(args, &now.0, &home, console)?
    };
    let format = if args.json { DiffFormat::Json } else { args.format };
    let explained = if format == DiffFormat::Json { usize::MAX } else { args.moved };
    let grader = args.grader.as_deref();
    let comparison =
        RunComparison { pasts: [&before.0, &now.0], labels: &labels, grader, explained };
    let mut diff = comparison.of([old, new], console.system);
    let reasons = unlike(&diff);
    if !args.force && !reasons.is_empty() {
        return Err(Error::plain(
            sanitize(&format!("the runs are not comparable: {}", reasons.join("; "))),
            "`--force` compares them anyway",
        ));
    }
    let is_worse = args.fail_on_regression && mark_regressions(&mut diff, args.alpha);
    let view = DiffView { moved: args.moved, details: args.details };
    let screen = console.screen();
    let mut out = std::io::BufWriter::new(&mut *console.out);
    match format {
        DiffFormat::Text => terminal::write(&page(&diff, view), screen, &mut out)?,
        DiffFormat::Json => {
            serde_json::to_writer_pretty(&mut out, &diff).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        DiffFormat::Markdown => out.write_all(markdown::shown(&page(&diff, view)).as_bytes())?,
    }
    out.flush()?;
    Ok(if is_worse { ExitStatus::GateFailed } else { ExitStatus::Success })
}

/// The labels that both sides are compared with. Those of two models are of different answers: they are none of a judge that
/// changed.
fn labels(
    args: &DiffArgs,
    past: &PastRun,
    home: &str,
    console: &mut Console<'_>,
) -> Result<DiffLabels, Error> {
    if !args.models.is_empty() {
        return Ok(DiffLabels::default());
    }
    let suite = args.suite.as_deref();
    LabelSource { past, suite, labels: args.labels.as_deref(), home, cache_dir: None }.read(console)
}

fn models(side: &DiffSide, names: [&String; 2]) -> Result<[DiffSide; 2], Error> {
    let of_model = |name: &String| {
        side.of_model(name).ok_or_else(|| {
            let cases = side.cases.iter();
            let known: BTreeSet<&str> =
                cases.filter_map(|case| case.name.model.as_deref()).collect();
            let hint = match Vec::from_iter(known).as_slice() {
                [] => "its rows name no model".to_owned(),
                known => format!("known: `{}`", known.join("`, `")),
            };
            let run = &side.name.run;
            Error::plain(sanitize(&format!("`{run}` has no results of `{name}`")), sanitize(&hint))
        })
    };
    Ok([of_model(names[0])?, of_model(names[1])?])
}

/// A record, and which of its saves.
type Evaluation = (PastRun, Option<SaveAt>);

/// The two that are compared: those that are named; of one session alone, its last two saves; of one run alone, that run
/// and the last; of none, the last two runs of the suite.
fn evaluations(
    args: &DiffArgs,
    runs: &NamedRuns,
    home: &str,
    console: &Console<'_>,
) -> Result<[Evaluation; 2], Error> {
    if !args.models.is_empty() {
        let named = Reference::parse(args.old.as_deref().unwrap_or(LATEST));
        let one = (runs.record(&named.run, home, console)?, named.save);
        return Ok([one.clone(), one]);
    }
    let Some(named) = &args.old else {
        let now = record(LATEST, home, console)?;
        let before = before(&now, home, console)?;
        return Ok([(before, None), (now, None)]);
    };
    let old = Reference::parse(named);
    let before = (runs.record(&old.run, home, console)?, old.save);
    if let Some(new) = &args.new {
        let new = Reference::parse(new);
        return Ok([before, (runs.record(&new.run, home, console)?, new.save)]);
    }
    if old.save.is_none() {
        if read_saves(console.system, &before.0.folder).records.len() >= 2 {
            let at = |save| (before.0.clone(), Some(SaveAt::FromEnd(save)));
            return Ok([at(2), at(1)]);
        }
        let last = record(LATEST, home, console)?;
        if last.id != before.0.id {
            return Ok([before, (last, None)]);
        }
    }
    Err(Error::plain(
        format!("nothing to compare `{}` with", sanitize(named)),
        "name two runs, as in `evalrs diff latest~1 latest`; `evalrs diff` alone compares the last two runs of a suite",
    ))
}

/// The run of the same suite that `now` is compared with.
fn before(now: &PastRun, home: &str, console: &Console<'_>) -> Result<PastRun, Error> {
    base_of(console.system, home, now).ok_or_else(|| {
        let run = sanitize(&now.id);
        let suite = sanitize(&now.header.suite);
        Error::plain(
            format!("`{run}` is the only recorded run of the suite `{suite}`"),
            "rerun it after an edit, then compare",
        )
    })
}

/// Reads a side, and reports what could not be read.
fn side(
    evaluation: &Evaluation,
    other: Option<&ReadSide>,
    console: &mut Console<'_>,
) -> Result<ReadSide, Error> {
    let (past, save) = evaluation;
    let read = read_side(console.system, past, *save, other).map_err(|error| {
        let run = sanitize(&past.id);
        match error {
            SideError::WithoutResults => Error::plain(
                format!("the record `{run}` has no results"),
                format!(
                    "the run did not finish, or `results.jsonl` was removed; see `{}`",
                    sanitize(&past.folder)
                ),
            ),
            SideError::NotASession => Error::plain(
                format!("`{run}` is not a session of `watch`: it has no saves"),
                "name it without `@`",
            ),
            SideError::UnknownSave(numbers) => {
                let [first, last] = [numbers.first(), numbers.last()]
                    .map(|number| number.copied().unwrap_or_default());
                Error::plain(
                    format!("the session `{run}` has no such save"),
                    format!("saves are {first} to {last}; -1 is the last"),
                )
            }
        }
    })?;
    for warning in &read.warnings {
        writeln!(console.err, "warning: {}", sanitize(warning))?;
    }
    Ok(read)
}

fn only_known_grader(args: &DiffArgs, sides: [&DiffSide; 2]) -> Result<(), Error> {
    let Some(wanted) = &args.grader else { return Ok(()) };
    if sides.iter().any(|side| side.graders.contains(wanted)) {
        return Ok(());
    }
    let mut unique: Vec<&str> = Vec::new();
    for name in sides.iter().flat_map(|side| &side.graders) {
        if !unique.contains(&name.as_str()) {
            unique.push(name);
        }
    }
    Err(Error::plain(
        sanitize(&format!("neither run has a grader `{wanted}`")),
        sanitize(&format!("known: `{}`", unique.join("`, `"))),
    ))
}
