//! `evalrs report`: what `run --format` would have written, of a run that is recorded. Asks nothing.

use std::io::{BufWriter, Write};

use anstream::adapter::strip_str;
use jiff::Timestamp;

use super::Console;
use super::records::{home, record};
#[cfg(feature = "serve")]
use super::report_page::write_page;
use super::reporting::{Reports, process_facts, report_origin};
use crate::cli::{ReportArgs, ReportKind};
use crate::error::{Error, ExitStatus};
use evalrs_base::file_path::{folder_of, join};
use evalrs_base::text::sanitize;
use evalrs_report::{ReportFormat, ReportOptions, ReportedRun};
use evalrs_store::record::RunFacts;
use evalrs_store::record::read::PastRun;
use evalrs_store::record::recorded::{RecordError, WholeRecord};
use evalrs_store::record::reference::{Reference, SaveAt};
use evalrs_store::record::saves::read_saves;
use evalrs_system::System;

/// Writes the report of a recorded run. Whatever its gate says, writing it is a success.
pub(crate) fn report(args: &ReportArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let home = home(args.suite.as_deref(), console.system)?;
    let named = Reference::parse(&args.run);
    let past = record(&named.run, &home, console)?;
    check_save(&past, named.save, console.system)?;
    let run = WholeRecord::open(console.system, &past.folder)
        .map_err(|error| unreadable(&past, &error))?;
    let report = RecordedReport {
        past: &past,
        run: &run,
        root: home.strip_suffix(".evalrs").unwrap_or_default(),
        options: ReportOptions { width: console.width, failures: args.failures, rolls_up: false },
        suite: args.suite.clone().or_else(|| suite_of(&run, &home)),
        labels: None,
        cache_dir: args.store.cache_dir.clone(),
    };
    let system = console.system;
    let mut warnings = Vec::new();
    match &args.output {
        Some(path) => system.write(path, &mut |file| {
            let mut screen = Vec::new();
            let out: &mut dyn Write = if args.format.is_data() { &mut *file } else { &mut screen };
            warnings = report.write(args.format, out, system)?;
            write!(file, "{}", strip_str(&String::from_utf8_lossy(&screen)))
        })?,
        None => {
            let mut out = BufWriter::new(&mut *console.out);
            warnings = report.write(args.format, &mut out, system)?;
            out.flush()?;
        }
    }
    for warning in &warnings {
        writeln!(console.err, "warning: {}: {}", sanitize(&past.id), sanitize(warning))?;
    }
    Ok(ExitStatus::Success)
}

/// A recorded run and what belongs to it.
pub(super) struct RecordedReport<'a> {
    /// Its header.
    pub past: &'a PastRun,
    /// Its record.
    pub run: &'a WholeRecord,
    /// The root of the workspace.
    pub root: &'a str,
    /// How much is shown.
    pub options: ReportOptions,
    /// The suite file; none where nobody knows.
    pub suite: Option<String>,
    /// The file of labels, where that is not the one beside the suite.
    pub labels: Option<String>,
    /// The folder of the store, where that was said.
    pub(super) cache_dir: Option<String>,
}

impl RecordedReport<'_> {
    /// Writes it, and says what could not be read, a sentence each.
    pub(super) fn write(
        &self,
        kind: ReportKind,
        out: &mut dyn Write,
        system: &dyn System,
    ) -> std::io::Result<Vec<String>> {
        match kind {
            ReportKind::OfRun(format) => self.write_as(format, out, system),
            ReportKind::Page => {
                let left_out = write_page(self, out, system)?;
                let unread = self.run.report(system, |report| (report.results)().count()).1;
                Ok(unread.into_iter().chain(left_out).collect())
            }
        }
    }

    fn write_as(
        &self,
        format: &'static ReportFormat,
        out: &mut dyn Write,
        system: &dyn System,
    ) -> std::io::Result<Vec<String>> {
        let run = self.run;
        let facts = process_facts(&run.facts, seconds(&run.facts), Some(run.folder.clone()));
        let origin = report_origin(&run.facts.origin, format.audience, self.root, system);
        let (written, warnings) = run.report(system, |report| {
            let mut reports = Reports::new(format, self.options, system);
            reports.add(&ReportedRun { report, facts: &facts, origin: &origin }, out, system)?;
            reports.finish(out)
        });
        written.map(|()| warnings)
    }
}

#[cfg(not(feature = "serve"))]
fn write_page(
    _: &RecordedReport<'_>,
    _: &mut dyn Write,
    _: &dyn System,
) -> std::io::Result<Option<String>> {
    Err(std::io::Error::other(
        "this evalrs was built without its feature `serve`, and has no pages",
    ))
}

/// The suite of a run, where its record says which.
pub(super) fn suite_of(run: &WholeRecord, home: &str) -> Option<String> {
    let suite = &run.facts.origin.suite;
    (!suite.is_empty()).then(|| join(folder_of(home), suite))
}

/// How long the run took, if its record says so.
fn seconds(facts: &RunFacts) -> Option<f64> {
    let [started, finished] = [&facts.started, &facts.finished].map(|at| at.parse::<Timestamp>());
    let seconds = finished.ok()?.duration_since(started.ok()?).as_secs_f64();
    (seconds >= 0.0).then_some(seconds)
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
            "a save in the middle of a session has verdicts and no results to report",
            "name the session without `@` for its end, or compare saves: `evalrs diff`",
        )),
    }
}

fn unreadable(past: &PastRun, error: &RecordError) -> Error {
    let folder = sanitize(&past.folder);
    let hint = match error {
        RecordError::Missing(_) => "the run did not end; name another one, or run the suite again",
        _ => "run the suite again, with this version of evalrs",
    };
    Error::plain(
        format!("cannot report the record in `{folder}`: {}", sanitize(&error.shown())),
        hint,
    )
}
