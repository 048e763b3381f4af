//! `evalrs report`: what `run --format` would have written, of a run that is recorded. Asks nothing.

use std::io::{BufWriter, Write};

use anstream::adapter::strip_str;

use crate::cli::{ReportArgs, ReportKind};
use evalrs_base::text::sanitize;
use evalrs_metrics::diff::DiffLabels;
use evalrs_metrics::diff::since::RunMoves;
use evalrs_report::ReportOptions;
#[cfg(feature = "serve")]
use evalrs_serve::report_page::write_page;
use evalrs_store::record::read::PastRun;
use evalrs_store::record::recorded::{RecordError, WholeRecord};
use evalrs_store::record::reference::{Reference, SaveAt};
use evalrs_store::record::saves::read_saves;
use evalrs_system::System;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::diff_labels::LabelSource;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::recorded_report::{RecordedReport, suite_of};
use evalrs_use_cases::run_files::NamedRuns;
use evalrs_use_cases::run_moves::{LaterRun, moves_since};

/// Writes the report of a recorded run. Whatever its gate says, writing it is a success.
pub(crate) fn report(args: &ReportArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let named = Reference::parse(&args.run);
    let against = args.against.as_deref();
    let runs = NamedRuns::open([named.run.as_str()].into_iter().chain(against), console)?;
    let names = [named.run.as_str()].into_iter().chain(against);
    let own = runs.home(names, args.suite.as_deref(), console)?;
    let past = runs.record(&named.run, &own, console)?;
    let unpacked = runs.unpacked(&named.run);
    let home = unpacked.map_or(own.as_str(), |unpacked| &unpacked.home);
    let before = against.map(|named| runs.record(named, &own, console)).transpose()?;
    check_save(&past, named.save, console.system)?;
    let run = WholeRecord::open(console.system, &past.folder)
        .map_err(|error| unreadable(&past, &error))?;
    // The suite in a file may be a stranger's: it is not read.
    let is_strange = unpacked.is_some() && args.suite.is_none();
    let labels = match (&before, is_strange) {
        (Some(_), false) => labels(args, &past, home, console)?,
        _ => DiffLabels::default(),
    };
    let moved =
        before.and_then(|before| moved_since([&before, &past], &run, labels, console.system));
    let report = RecordedReport {
        past: &past,
        run: &run,
        place: unpacked.map_or(&run.folder, |_| &named.run),
        root: home.strip_suffix(".evalrs").unwrap_or_default(),
        options: ReportOptions {
            screen: console.screen(),
            failures: args.failures,
            details: args.details,
            against: args.against.is_some(),
            rolls_up: false,
        },
        suite: args.suite.clone().or_else(|| suite_of(&run, home).filter(|_| !is_strange)),
        labels: None,
        cache_dir: args.store.cache_dir.clone(),
        moved,
        only: None,
        grader: None,
    };
    let system = console.system;
    let mut warnings = Vec::new();
    match &args.output {
        Some(path) => system.write(path, &mut |file| {
            let mut screen = Vec::new();
            let out: &mut dyn Write = if args.format.is_data() { &mut *file } else { &mut screen };
            warnings = write(&report, args.format, out, system)?;
            write!(file, "{}", strip_str(&String::from_utf8_lossy(&screen)))
        })?,
        None => {
            let mut out = BufWriter::new(&mut *console.out);
            warnings = write(&report, args.format, &mut out, system)?;
            out.flush()?;
        }
    }
    for warning in &warnings {
        writeln!(console.err, "warning: {}: {}", sanitize(&past.id), sanitize(warning))?;
    }
    Ok(ExitStatus::Success)
}

/// The labels of a run, which a comparison reports agreement with.
fn labels(
    args: &ReportArgs,
    past: &PastRun,
    home: &str,
    console: &mut Console<'_>,
) -> Result<DiffLabels, Error> {
    let suite = args.suite.as_deref();
    LabelSource { past, suite, labels: None, home, cache_dir: args.store.cache_dir.as_deref() }
        .read(console)
}

/// What moved from one run to another, whose record is `run`.
fn moved_since(
    [before, past]: [&PastRun; 2],
    run: &WholeRecord,
    labels: DiffLabels,
    system: &dyn System,
) -> Option<RunMoves> {
    let digest = run.facts.results_digest.as_deref();
    let agreement = &run.summary.label_agreement;
    let now = LaterRun { past, digest, agreement, common: None };
    moves_since(before, now, || labels, system)
}

/// Writes it as `kind`, and reports what could not be read, a sentence each.
fn write(
    report: &RecordedReport<'_>,
    kind: ReportKind,
    out: &mut dyn Write,
    system: &dyn System,
) -> std::io::Result<Vec<String>> {
    match kind {
        ReportKind::OfRun(format) => report.write(format, out, system),
        ReportKind::Page => write_page(report, out, system),
    }
}

#[cfg(not(feature = "serve"))]
fn write_page(
    _: &RecordedReport<'_>,
    _: &mut dyn Write,
    _: &dyn System,
) -> std::io::Result<Vec<String>> {
    Err(std::io::Error::other(
        "this evalrs was built without its feature `serve`, so it has no pages",
    ))
}

/// A save holds verdicts alone; the last one is what the session ended with.
fn check_save(past: &PastRun, save: Option<SaveAt>, system: &dyn System) -> Result<(), Error> {
    let saves = read_saves(system, &past.folder).records;
    let last = saves.last().map(|record| record.save);
    match save {
        None | Some(SaveAt::FromEnd(1)) if save.is_none() || last.is_some() => Ok(()),
        Some(SaveAt::Number(number)) if last == Some(number) => Ok(()),
        _ if saves.is_empty() => Err(Error::plain(
            format!("`{}` is not a session of `watch`: it has no saves", sanitize(&past.id)),
            "name it without `@`",
        )),
        _ => Err(Error::plain(
            "a save in the middle of a session has verdicts, but no results to report",
            "name the session without `@` for its end, or compare saves: `evalrs diff`",
        )),
    }
}

fn unreadable(past: &PastRun, error: &RecordError) -> Error {
    let folder = sanitize(&past.folder);
    let hint = match error {
        RecordError::Missing(_) => "the run did not finish; name another run, or rerun the suite",
        _ => "run the suite again, with this version of evalrs",
    };
    Error::plain(
        format!("cannot report the record in `{folder}`: {}", sanitize(&error.shown())),
        hint,
    )
}
