//! Evaluates suites: load, settle, report, record, and exit by the gate.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Notify;

use super::args::EvaluateArgs;
use super::batch_settings::batch_settings;
use super::calibration::{add_calibration, read_calibration, say_uncalibrated};
use super::command_progress::{CommandProgress, SpentLimits};
use super::context::SuiteContext;
use super::header::header;
use super::known_chunks::{KnownDataset, KnownRun};
use super::open::{check_refreshed, overrides, refresh, refresh_target, session_with_known};
use super::records::record;
use super::remembered::CopiedStream;
use super::reports::{Reports, check_one_document, process_facts, recorded_origin, report_origin};
use super::rollup::{RollupFile, samples_of};
use super::run_end::{
    facts_of, only_targets, say_left_out, status_of, status_of_part, sum_up, warn,
};
use super::run_history::{HistoryEntry, Questions};
use super::run_record::{KeptRun, RunBefore, begin_record, update_records, write_record};
use super::settling::{SettledBy, settle_session};
use super::shared_pull::{CacheNeed, pull_missing};
use super::suites::suite_files;
use super::unchanged::{PrintedRun, RepeatNotes, RepeatableRun, can_be_repeated};
use super::usage::{outcome_writers, pack_store};
use crate::console::Console;
use crate::error::{Error, ExitStatus};
use crate::progress::bar::RunBar;
use crate::progress::plain::PlainProgress;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::sanitize;
use evalrs_engine::lines_ahead::lines_ahead;
use evalrs_engine::progress::{Progress, Quiet};
use evalrs_engine::resolve::resolver::GradeFollower;
use evalrs_engine::resolve::settings::{AskPolicy, BatchSettings, Settings};
use evalrs_engine::resolve::settle::Settlement;
use evalrs_engine::session::Session;
use evalrs_graph::briefs::briefs;
use evalrs_graph::inputs::Overrides;
use evalrs_metrics::results::report::{BriefResults, Report};
use evalrs_model::record_format::FORMAT;
use evalrs_report::{Audience, ProcessFacts, ReportedRun};
use evalrs_store::record::read::PastRun;
use evalrs_store::record::{self, RunFacts};
use evalrs_system::System;
use evalrs_system::traced::TracedSystem;

/// Who follows an evaluation, and may stop it.
pub struct EvaluationFollower {
    /// The id of its record.
    pub id: String,
    /// The graders whose rubrics are tried: no file has them.
    pub tried: Vec<String>,
    /// Shows what happens.
    pub progress: RefCell<Box<dyn Progress>>,
    /// Follows the grades as they are made.
    pub grades: RefCell<Box<dyn GradeFollower>>,
    /// Stops it.
    pub stop: Arc<Notify>,
}

/// Evaluates every suite in turn. Nothing runs unless all of them are valid. With `watched`, that takes the place of Ctrl-C and
/// the terminal.
pub fn evaluate(
    args: &EvaluateArgs,
    watched: Option<&EvaluationFollower>,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let run = if watched.is_none() { RepeatableRun::of(args, console) } else { None };
    let Some(run) = run else {
        return evaluate_all(
            &CommandToRun { args, watched, used: &Cell::default(), notes: None },
            console,
        );
    };
    if let Some(status) = run.repeat(console)? {
        return Ok(status);
    }
    let system = console.system;
    let traced = TracedSystem::new(system);
    let notes = RepeatNotes::default();
    let is_paused = &notes.is_progress;
    let mut err = CopiedStream { below: &mut *console.err, kept: Vec::new(), is_paused };
    let mut inner = Console { system: &traced, out: &mut *console.out, err: &mut err, ..*console };
    let command = CommandToRun { args, watched, used: &Cell::default(), notes: Some(&notes) };
    let ended = evaluate_all(&command, &mut inner);
    let err = err.text();
    if let Some(printed) = notes.printed.take().filter(|_| ended.is_ok()) {
        let plans = notes.plans.take();
        let is_unlabelled = notes.is_unlabelled.get();
        run.keep(&traced, PrintedRun { err, plans, is_unlabelled, ..printed }, system);
    }
    ended
}

/// The same where earlier evaluations have `used` a part of the limits, which is updated.
pub fn evaluate_within(
    args: &EvaluateArgs,
    watched: Option<&EvaluationFollower>,
    used: &Cell<SpentLimits>,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    evaluate_all(&CommandToRun { args, watched, used, notes: None }, console)
}

struct CommandToRun<'a> {
    args: &'a EvaluateArgs,
    watched: Option<&'a EvaluationFollower>,
    /// What is used of its limits.
    used: &'a Cell<SpentLimits>,
    /// What a run would print if it was repeated goes here.
    notes: Option<&'a RepeatNotes>,
}

fn evaluate_all(
    command: &CommandToRun<'_>,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let args = command.args;
    let suites = suite_files(&args.suites, console.system)?;
    check_one_document(args, suites.len() > 1)?;
    let partition = args.part.read(false, console)?;
    args.part.refuse(&[
        ("--rollup", args.rollup.is_some()),
        ("--require-calibration", args.require_calibration),
        ("--labels", args.labels.is_some()),
        ("--cached", args.select.cached.is_some()),
    ])?;
    let mut loaded = Vec::new();
    for suite in &suites {
        let of_select = overrides(&args.select);
        let overrides =
            Overrides { labels: args.labels.clone(), partition: partition.clone(), ..of_select };
        let system = console.system;
        let bring_in = |session: &Session, surroundings: &SuiteContext| {
            let known = KnownDataset::of(args, suite, surroundings, system);
            let known = known.filter(|_| command.watched.is_none());
            if let Some(known) = known {
                known.bring_in(session);
            }
        };
        let mut opened = session_with_known(&bring_in, suite, &args.store, overrides, console)?;
        opened.0.believe(&args.trust.believe)?;
        args.part.check(suite, &opened.1)?;
        loaded.push(opened);
    }
    check_refreshed(&args.refresh, loaded.iter().filter_map(|(_, session)| session.suite()))?;
    let rollup = args.rollup.as_ref().map(|path| RollupFile::read(path, &loaded, console));
    let rollup = rollup.transpose()?;
    let options = args.report_options(console.screen(), rollup.is_some());
    let mut reports = Reports::new(args.format, options, console.system);
    let command = RunCommand { of: command, suites: &suites, rollup: rollup.as_ref() };
    let cache_dirs: BTreeSet<String> =
        loaded.iter().map(|(surroundings, _)| surroundings.cache_dir.clone()).collect();
    let ended = run_all(&command, &mut reports, loaded, console);
    // What was evaluated is reported whatever stopped the rest.
    let mut out = BufWriter::new(&mut *console.out);
    reports.finish(&mut out)?;
    out.flush()?;
    drop(out);
    if !args.frozen && ended.is_ok() {
        console.warn(cache_dirs.iter().filter_map(|dir| pack_store(dir)))?;
    }
    ended
}

struct RunCommand<'a> {
    of: &'a CommandToRun<'a>,
    suites: &'a [String],
    rollup: Option<&'a RollupFile>,
}

fn run_all(
    command: &RunCommand<'_>,
    reports: &mut Reports,
    loaded: Vec<(SuiteContext, Session)>,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let mut status = ExitStatus::Success;
    let CommandToRun { args, watched, used, notes } = *command.of;
    let mut done = CommandProgress { used: used.get(), ..CommandProgress::default() };
    let last = loaded.len().saturating_sub(1);
    for (at, ((surroundings, mut session), suite)) in
        loaded.into_iter().zip(command.suites).enumerate()
    {
        say_left_out(&session, console.err)?;
        let one = SuiteRun { args, watched, suite, surroundings: &surroundings, notes };
        let ended = run_one(&one, &mut session, &mut done, reports, console);
        used.set(done.used);
        let ended = ended?;
        status = status.and(ended);
        if at == last && watched.is_none() {
            session.end_with_process();
        }
        if ended == ExitStatus::Interrupted {
            break;
        }
    }
    if let Some(rollup) = command.rollup {
        status = status.and(rollup.report(&done.evaluated, reports, args.quiet, console)?);
    }
    Ok(status)
}

struct SuiteRun<'a> {
    args: &'a EvaluateArgs,
    watched: Option<&'a EvaluationFollower>,
    /// As it was named.
    suite: &'a str,
    surroundings: &'a SuiteContext,
    notes: Option<&'a RepeatNotes>,
}

impl<'a> SuiteRun<'a> {
    /// Reads the shared cache, where an outcome is missing.
    fn pull(
        &self,
        session: &mut Session,
        settings: &Settings,
        console: &mut Console<'_>,
    ) -> Result<(), Error> {
        self.say_progress(true);
        let needed = CacheNeed { is_required: self.args.cache_remote_only };
        let pulled = pull_missing(session, self.surroundings, settings, needed, console);
        self.say_progress(false);
        pulled
    }

    /// Whether what is printed from here on is progress, which a run that repeats this one has not.
    fn say_progress(&self, is_progress: bool) {
        self.notes.into_iter().for_each(|notes| notes.is_progress.set(is_progress));
    }

    /// What of `run.json` its settlement decides, and who follows it.
    fn facts_of(&self, settled: &Settlement) -> RunFacts {
        let tried = self.watched.map(|watched| watched.tried.clone()).unwrap_or_default();
        RunFacts { tried, ..facts_of(settled) }
    }

    /// What earlier runs found of its dataset, if it is not displayed.
    fn known(&self, system: &'a dyn System) -> Option<KnownDataset<'a>> {
        let known = KnownDataset::of(self.args, self.suite, self.surroundings, system);
        known.filter(|_| self.watched.is_none())
    }
}

fn run_one(
    one: &SuiteRun<'_>,
    session: &mut Session,
    done: &mut CommandProgress,
    reports: &mut Reports,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let SuiteRun { args, watched, suite, surroundings, .. } = *one;
    let against = against(args, surroundings, session, console)?;
    let started = console.system.now();
    let clock = console.system.elapsed();
    let batches = batch_settings(&args.batches, surroundings, session, console.system)?;
    let settings = settings(one, session, done.used, batches);
    one.pull(session, &settings, console)?;
    let id = run_id(one, started, console.system);
    if watched.is_some() {
        begin_record(session, surroundings, &id, console.system)?;
    }
    let calibration = read_calibration(suite, surroundings, session, console.system)?;
    let known = one.known(console.system);
    let store_seen = known.as_ref().and_then(|known| known.trust(session));
    let SettledSuite { mut settled, writers } = settle_here(one, session, &settings, console)?;
    done.used.add(&settled);
    if args.only_targets {
        return only_targets(&settled, console);
    }
    let mut summary = sum_up(session, surroundings, console.system, &id, &mut settled.warnings);
    let header = header(session);
    let doubts = add_calibration(calibration.as_ref(), &header, session, &mut summary);
    let found = status_of_part(status_of(&settled, &summary), &settled, session, console.system);
    let status = calibrated(one, found, &doubts, console.err)?;
    let session = &*session;
    let questions = Questions::new(!args.frozen && !args.no_record);
    let lines = || questions.of(result_lines(session));
    let briefs = |keep: usize| brief_results(session, keep);
    let report =
        Report { header: &header, summary: &summary, results: &lines, briefs: Some(&briefs) };
    let facts = RunFacts {
        format: FORMAT,
        id,
        suite: header.suite.clone(),
        started: started.to_string(),
        finished: console.system.now().to_string(),
        evalrs: env!("CARGO_PKG_VERSION").to_owned(),
        exit_code: status.code(),
        uncalibrated: if status == found { Vec::new() } else { doubts },
        origin: recorded_origin(suite, surroundings, session, console.system),
        usage: summary.all_usage,
        ..RunFacts { writers, ..one.facts_of(&settled) }
    };
    // A record that cannot be written takes the report on the screen with it no more than the judgments.
    let ended = HistoryEntry { suite, surroundings, session, report: &report, facts: &facts };
    let last = known.as_ref().and_then(KnownDataset::last_results);
    let before = RunBefore { against: against.as_ref(), last: last.as_ref() };
    let recorded = write_record(args, &ended, before, &questions, console.system);
    let is_quiet = warn_of_all(&settled, recorded.as_ref().ok(), console)?;
    if recorded.is_ok() {
        update_records(args, &ended, &questions, console)?;
    }
    // What is not stored is known to nobody else.
    if let Some((known, seen)) = known.zip(store_seen).filter(|_| settled.is_stored()) {
        let run = recorded.as_ref().ok().and_then(|kept| KnownRun::of(&facts.id, kept));
        known.keep(session, seen, &questions.in_order(), run);
    }
    let seconds = console.system.elapsed().saturating_sub(clock).as_secs_f64();
    let shown = shown_facts(&facts, seconds, recorded.as_ref().ok());
    let origin =
        report_origin(&facts.origin, args.format.audience, &surroundings.root, console.system);
    let run = ReportedRun { report: &report, facts: &shown, origin: &origin };
    add_report(args, &run, reports, console)?;
    recorded?;
    if let Some(notes) = one.notes.filter(|_| is_quiet && can_be_repeated(&settled, session)) {
        notes.print(args, &facts, &run, console)?;
        notes.print_plans(&settled, session, console)?;
    }
    if status != ExitStatus::Interrupted {
        done.add_suite(suite, &facts, samples_of(session, &header, console.system), summary);
    }
    Ok(status)
}

/// Warns of what went wrong, and of earlier records that are damaged. False if there are any: a run that repeats this one compares
/// with another record.
fn warn_of_all(
    settled: &Settlement,
    kept: Option<&KeptRun>,
    console: &mut Console<'_>,
) -> std::io::Result<bool> {
    warn(settled, console.err)?;
    let damaged = kept.map_or(&[][..], |kept| &kept.damaged);
    console.warn(damaged.iter().map(|damage| sanitize(damage)))?;
    Ok(damaged.is_empty())
}

/// What is reported of the process, and of its record if that was written.
fn shown_facts(facts: &RunFacts, seconds: f64, kept: Option<&KeptRun>) -> ProcessFacts {
    let folder = kept.and_then(|kept| kept.folder.clone());
    let moved = kept.and_then(|kept| kept.moved.clone());
    ProcessFacts { moved, ..process_facts(facts, Some(seconds), folder) }
}

/// The run that the command line names to compare with.
fn against(
    args: &EvaluateArgs,
    surroundings: &SuiteContext,
    session: &Session,
    console: &Console<'_>,
) -> Result<Option<PastRun>, Error> {
    let Some(run) = &args.against else { return Ok(None) };
    let past = record(run, &surroundings.records(), console)?;
    let suite = session.suite().map_or("", |suite| suite.name.as_str());
    if past.header.suite != suite {
        let other = sanitize(&past.header.suite);
        return Err(Error::plain(
            format!("`{}` is a run of `{other}`, not of `{}`", sanitize(run), sanitize(suite)),
            "name a run of this suite",
        ));
    }
    Ok(Some(past))
}

fn add_report(
    args: &EvaluateArgs,
    run: &ReportedRun<'_, '_>,
    reports: &mut Reports,
    console: &mut Console<'_>,
) -> Result<(), Error> {
    if args.quiet && args.format.audience == Audience::Terminal {
        return Ok(());
    }
    let mut out = BufWriter::new(&mut *console.out);
    reports.add(run, &mut out, console.system)?;
    out.flush()?;
    Ok(())
}

fn result_lines(session: &Session) -> evalrs_metrics::results::report::Results<'_> {
    lines_ahead(&session.db, session.root)
}

fn brief_results(session: &Session, keep: usize) -> BriefResults<'_> {
    Box::new(briefs(&session.db, session.root, keep))
}

/// How a run ends that may want its judges to be calibrated: what judges decide who are not is not decided.
fn calibrated(
    one: &SuiteRun<'_>,
    status: ExitStatus,
    doubts: &[String],
    err: &mut dyn Write,
) -> std::io::Result<ExitStatus> {
    let is_open = matches!(status, ExitStatus::Interrupted | ExitStatus::InBatch);
    if !one.args.require_calibration || doubts.is_empty() || is_open {
        return Ok(status);
    }
    say_uncalibrated(doubts, one.suite, err)?;
    Ok(ExitStatus::Incomplete)
}

fn run_id(one: &SuiteRun<'_>, started: Timestamp, system: &dyn System) -> String {
    if let Some(watched) = one.watched {
        return watched.id.clone();
    }
    record::run_id(system, &one.surroundings.records(), started)
}

/// The limits of a suite, within the rest of those of the command.
fn settings(
    one: &SuiteRun<'_>,
    session: &Session,
    used: SpentLimits,
    batches: BatchSettings,
) -> Settings {
    let args = one.args;
    let settings = one.surroundings.settings(&args.limits, session.suite());
    Settings {
        limits: used.left(settings.limits),
        ask: match (args.frozen, args.offline, args.only_targets) {
            (true, _, _) => AskPolicy::Frozen,
            (_, true, _) => AskPolicy::Offline,
            (_, _, true) => AskPolicy::OnlyTargets,
            (false, false, false) => AskPolicy::Ask,
        },
        refresh: refresh(&args.refresh),
        refresh_target: refresh_target(&args.refresh),
        retry_errors: args.retry_errors,
        batches,
        ..settings
    }
}

fn settle_here(
    one: &SuiteRun<'_>,
    session: &mut Session,
    settings: &Settings,
    console: &mut Console<'_>,
) -> Result<SettledSuite, Error> {
    let SuiteRun { args, watched, surroundings, .. } = *one;
    let store = surroundings.store(console)?;
    let stored = Arc::clone(&store);
    one.say_progress(true);
    let mut followed = watched.map(|watched| watched.progress.borrow_mut());
    let mut grades = watched.map(|watched| watched.grades.borrow_mut());
    let mut progress: Box<dyn Progress + '_> = match (args.quiet, console.is_terminal) {
        (true, _) => Box::new(Quiet),
        (false, true) => Box::new(RunBar::default()),
        (false, false) => Box::new(PlainProgress::new(&mut *console.err)),
    };
    let by = SettledBy {
        system: console.system,
        verbosity: console.verbosity,
        progress: match &mut followed {
            Some(progress) => progress.as_mut(),
            None => progress.as_mut(),
        },
        grades: match &mut grades {
            Some(grades) => grades.as_mut(),
            None => &mut Quiet,
        },
        stop: watched.map(|watched| Box::pin(watched.stop.notified()) as Pin<Box<_>>),
    };
    let settled = settle_session(session, store, settings, by);
    one.say_progress(false);
    let settled = settled?;
    let writers = outcome_writers(session, surroundings, stored.as_ref(), console.system);
    Ok(SettledSuite { settled, writers })
}

/// What a suite has come to, and whose outcomes of a shared cache that rests on.
struct SettledSuite {
    settled: Settlement,
    /// Writer → how many.
    writers: OrderedMap<u64>,
}
