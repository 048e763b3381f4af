//! `evalrs calibrate --suite`: how far the graders of a suite agree with people, written beside its judgments; and what runs
//! read of that.

use std::io::Write;

use super::args::{LimitArgs, StoreArgs};
use super::committed_names::{file_name, with_path};
use super::context::SuiteContext;
use super::header::header;
use super::holdout;
use super::open::loaded_session;
use super::settling::settle_on_console;
use crate::console::Console;
use crate::error::{Error, ExitStatus};
use evalrs_base::file_path::join;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::{count, sanitize};
use evalrs_engine::resolve::settings::{AskPolicy, Settings};
use evalrs_engine::session::Session;
use evalrs_graph::inputs::Overrides;
use evalrs_metrics::calibration::{CalibrationFile, uncalibrated};
use evalrs_metrics::results::calibration::ReportedCalibration;
use evalrs_metrics::results::{ReportHeader, Summary};
use evalrs_model::spec::{CalibrationBounds, GraderKind};
use evalrs_report::human;
use evalrs_system::{FileBytes, System};

/// How the names of such files end.
const CALIBRATION: &str = ".calibration.json";

/// How a suite is calibrated.
#[derive(Clone, Debug, Default)]
pub struct CalibrationOptions {
    /// Human labels, instead of those of the suite.
    pub labels: Option<String>,
    /// Where outcomes are kept.
    pub store: StoreArgs,
    /// How many calls are made.
    pub limits: LimitArgs,
    /// Whether only cached outcomes are used, without any call.
    pub frozen: bool,
    /// How far judges have to agree with people.
    pub bounds: CalibrationBounds,
}

/// Evaluates the suite, as `run` does, and writes how far its graders agree with labels.
pub fn calibrate_suite(
    suite: &str,
    options: &CalibrationOptions,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let overrides = Overrides { labels: options.labels.clone(), ..Overrides::default() };
    let (surroundings, mut session) = loaded_session(suite, &options.store, overrides, console)?;
    let settings = surroundings.settings(&options.limits, session.suite());
    let ask = if options.frozen { AskPolicy::Frozen } else { AskPolicy::Ask };
    let settings = Settings { ask, ..settings };
    let store = surroundings.store(console)?;
    let settled = settle_on_console(&mut session, store, &settings, console)?;
    if settled.interrupted {
        return Ok(ExitStatus::Interrupted);
    }
    let header = header(&session);
    let missing: u64 = settled.tallies.iter().map(|(_, tally)| tally.pending).sum();
    if missing > 0 || settled.out_of_budget || settled.write_error.is_some() {
        let why = count(missing, "action");
        writeln!(console.err, "error: {why} of the suite are missing: nothing is written")?;
        return Ok(ExitStatus::Incomplete);
    }
    let mut warnings = Vec::new();
    let mut summary = holdout::summary(&session, &surroundings, console.system, &mut warnings);
    console.warn(&warnings)?;
    // Bounds that were set stay where nobody sets others, also when it is written anew.
    let asked = options.bounds;
    let before = own_calibration(suite, &surroundings, &session, console.system);
    // One that cannot be read is written anew.
    let bounds = before.file.ok().flatten().map(|file| file.bounds);
    let bounds = asked.or(bounds.unwrap_or_default());
    let own = path_of(&session, &surroundings, console.system);
    let file = CalibrationFile::of(&header, &summary, own, bounds);
    if file.graders.0.is_empty() {
        return Err(Error::plain(
            format!("no grader of `{}` has a verdict with a label", sanitize(suite)),
            "write human labels beside the suite, or name their file by `labels` or `--labels \
             FILE`",
        ));
    }
    let path = before.path;
    console.system.write(&path, &mut |to| to.write_all(file.text().as_bytes()))?;
    let of_suite = session.suite().map(|suite| suite.calibration).unwrap_or_default();
    summary.calibration = file.reported(&header, asked.or(of_suite));
    for line in human::calibration_lines(&summary) {
        writeln!(console.out, "{line}")?;
    }
    writeln!(console.out, "written to {}", sanitize(&path))?;
    say_below(&judges(&session, &header), &summary, console.err)
}

/// Reports which judges agree too little with human labels; how the command ends.
fn say_below(judges: &[&str], summary: &Summary, err: &mut dyn Write) -> Result<ExitStatus, Error> {
    let mut status = ExitStatus::Success;
    for name in judges {
        let below = summary.calibration.get(name).map_or(&[][..], |found| &found.below);
        if !below.is_empty() {
            status = ExitStatus::Incomplete;
            writeln!(err, "error: `{}`: {}", sanitize(name), sanitize(&below.join(", ")))?;
        }
    }
    Ok(status)
}

struct OwnCalibration {
    /// Where it is, or is to be written.
    path: String,
    /// The content there, if it exists and can be read.
    file: Result<Option<CalibrationFile>, Error>,
}

/// The path of a suite from the root of its workspace.
fn path_of(session: &Session, surroundings: &SuiteContext, system: &dyn System) -> String {
    surroundings.in_workspace(session.root.suite(&session.db).path(&session.db), system)
}

/// What was found of the graders of a suite, where somebody calibrated them. A file that cannot be read stops the run.
pub(super) fn read_calibration(
    suite: &str,
    surroundings: &SuiteContext,
    session: &Session,
    system: &dyn System,
) -> Result<Option<CalibrationFile>, Error> {
    own_calibration(suite, surroundings, session, system).file
}

/// The written calibration of the graders of a suite, beside these graders as they are now. Asks nothing.
pub fn present_calibration(
    suite: &str,
    surroundings: &SuiteContext,
    session: &Session,
    system: &dyn System,
) -> Result<OrderedMap<ReportedCalibration>, Error> {
    let bounds = session.suite().map(|suite| suite.calibration).unwrap_or_default();
    let file = read_calibration(suite, surroundings, session, system)?;
    Ok(file.map(|file| file.reported(&header(session), bounds)).unwrap_or_default())
}

/// A suite's file is called as the suite; where that is another suite's, it has the digest of the suite's path in its name.
fn own_calibration(
    suite: &str,
    surroundings: &SuiteContext,
    session: &Session,
    system: &dyn System,
) -> OwnCalibration {
    let name = session.suite().map(|suite| file_name(&suite.name)).unwrap_or_default();
    let of = path_of(session, surroundings, system);
    let at = |name: &str| join(&surroundings.committed_dir, &format!("{name}{CALIBRATION}"));
    let own = at(&with_path(&name, &of));
    let file = calibration_at(&own, suite, surroundings, system);
    if !matches!(file, Ok(None)) {
        return OwnCalibration { path: own, file };
    }
    let shared = at(&name);
    let file = calibration_at(&shared, suite, surroundings, system);
    let is_another = |file: &CalibrationFile| surroundings.is_of_another(&file.path, &of, system);
    match file {
        Ok(Some(file)) if is_another(&file) => OwnCalibration { path: own, file: Ok(None) },
        file => OwnCalibration { path: shared, file },
    }
}

fn calibration_at(
    path: &str,
    suite: &str,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> Result<Option<CalibrationFile>, Error> {
    let shown = surroundings.in_workspace(path, system);
    match system.read(path) {
        FileBytes::Missing => Ok(None),
        // Where there is no folder there is no file in it; that nothing can be kept there is said when something is.
        FileBytes::Unreadable(_) if system.list(&surroundings.committed_dir).is_none() => Ok(None),
        FileBytes::Bytes(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            Ok(Some(CalibrationFile::read(&shown, &text, suite)?))
        }
        FileBytes::Folder => Err(Error::plain(format!("`{shown}` is a folder"), "remove it")),
        FileBytes::Unreadable(why) => Err(Error::plain(
            format!("cannot read `{shown}`: {why}"),
            "make it readable, or remove it",
        )),
    }
}

/// Puts what was found into a summary. Gives what keeps the judges of the suite from being relied on.
pub(super) fn add_calibration(
    file: Option<&CalibrationFile>,
    header: &ReportHeader,
    session: &Session,
    summary: &mut Summary,
) -> Vec<String> {
    let bounds = session.suite().map(|suite| suite.calibration).unwrap_or_default();
    summary.calibration = file.map(|file| file.reported(header, bounds)).unwrap_or_default();
    uncalibrated(&judges(session, header), &summary.calibration)
}

/// The graders of a run that ask a judge.
fn judges<'a>(session: &'a Session, header: &ReportHeader) -> Vec<&'a str> {
    let graders = session.suite().into_iter().flat_map(|suite| &suite.graders);
    let judges = graders.filter(
        |grader| matches!(&grader.kind, GraderKind::Rubric(rubric) if rubric.embedding.is_none()),
    );
    let names = judges.map(|grader| grader.name.as_str());
    names.filter(|name| header.graders().any(|(graded, _)| graded == *name)).collect()
}

/// Reports why the judges of a suite may not be relied on, and a fix.
pub(super) fn say_uncalibrated(
    doubts: &[String],
    suite: &str,
    err: &mut dyn Write,
) -> std::io::Result<()> {
    for doubt in doubts {
        writeln!(err, "error: {}", sanitize(doubt))?;
    }
    let suite = sanitize(suite);
    writeln!(err, "help: `evalrs calibrate --suite {suite}` compares them with human labels")
}
