//! A run that repeats the last one: nothing that it would read has changed since, so it is not evaluated again.
//!
//! A run that leaves no call to make keeps what it would print if it ran again (`remembered`). The next run of the same
//! command line prints that, and gives the files of the last record another name.

use std::cell::{Cell, RefCell};

use super::args::{EvaluateArgs, SelectArgs};
use super::console::Console;
use super::known_chunks::note_linked_results;
use super::remembered::{CommandQuestion, LABELS, PrintedAnswer, RecordFiles, is_of_files};
use super::reports::{Reports, process_facts};
use super::run_end::all_tallies;
use super::run_history::history_files;
use super::run_record::remove_records;
use super::settled_plan::{PlanQuestion, label_counts, printed_plans};
use crate::error::{Error, ExitStatus};
use evalrs_base::file_path::join;
use evalrs_engine::resolve::settle::Settlement;
use evalrs_engine::session::Session;
use evalrs_metrics::diff::since::RunMoves;
use evalrs_report::{Audience, ReportedRun};
use evalrs_store::record::read::{open, read_json};
use evalrs_store::record::reference::base_of;
use evalrs_store::record::result_files::{link_results, result_paths};
use evalrs_store::record::{self, RunFacts};
use evalrs_system::traced::TracedSystem;
use evalrs_system::{FileBytes, System};

/// The files of a record that a later one has copies of.
const COPIED: [&str; 3] = ["header.json", "summary.json", "replicates.json"];

/// The time that the printed text says.
pub(super) const NO_TIME: &str = " in 0.0 s";

/// Takes what a run would print if it was repeated.
#[derive(Debug, Default)]
pub(super) struct RepeatNotes {
    /// None where it cannot be repeated.
    pub printed: RefCell<Option<PrintedRun>>,
    /// What `plan` prints.
    pub plans: RefCell<Option<[String; 2]>>,
    /// Whether nobody has labelled any of the cases.
    pub is_unlabelled: Cell<bool>,
    /// Whether messages are progress, which a repeated run has not.
    pub is_progress: Cell<bool>,
}

/// What a run that repeats this one prints, and the id that the text has.
#[derive(Clone, Debug, Default)]
pub(super) struct PrintedRun {
    pub id: String,
    pub out: String,
    pub err: String,
    /// What `plan` prints after it, as text and as JSON, if it has no messages.
    pub plans: Option<[String; 2]>,
    /// Whether none of its cases is labelled.
    pub is_unlabelled: bool,
}

impl RepeatNotes {
    /// Notes what a plan prints after this run.
    pub(super) fn print_plans(
        &self,
        settled: &Settlement,
        session: &Session,
        console: &Console<'_>,
    ) -> std::io::Result<()> {
        self.plans.replace(printed_plans(settled, session, console)?);
        self.is_unlabelled.set(label_counts(session).0.iter().all(|(_, count)| count.labels == 0));
        Ok(())
    }

    /// Notes what a run that repeats this one prints.
    pub(super) fn print(
        &self,
        args: &EvaluateArgs,
        facts: &RunFacts,
        run: &ReportedRun<'_, '_>,
        console: &Console<'_>,
    ) -> std::io::Result<()> {
        let RunFacts { id, .. } = facts;
        let moved = Some(RunMoves::none(id));
        let again = facts.clone().repeated(RunFacts { moved, ..RunFacts::default() });
        let again = process_facts(&again, Some(0.0), run.facts.report.clone());
        let mut out = Vec::new();
        if !args.quiet {
            let options = args.report_options(console.screen(), false);
            let mut reports = Reports::new(args.format, options, console.system);
            reports.add(&ReportedRun { facts: &again, ..*run }, &mut out, console.system)?;
            reports.finish(&mut out)?;
        }
        let out = String::from_utf8_lossy(&out).into_owned();
        self.printed.replace(Some(PrintedRun { id: id.clone(), out, ..PrintedRun::default() }));
        Ok(())
    }
}

/// A command line of a run of which the answer may be known.
pub(super) struct RepeatableRun {
    question: CommandQuestion,
    /// The questions of a plan, as text and as JSON.
    plans: [String; 2],
    /// The question whether there are labels; none of a run that does not look at all of them.
    labels: Option<String>,
    home: String,
}

impl RepeatableRun {
    /// None where a run of this command line is not to be repeated.
    pub(super) fn of(args: &EvaluateArgs, console: &Console<'_>) -> Option<Self> {
        let writes_more = args.output.is_some() || args.rollup.is_some() || args.no_record;
        let repeats_calls = args.retry_errors || !args.refresh.is_empty();
        let is_plain = args.format.audience == Audience::Terminal && args.against.is_none();
        let is_other = args.only_targets || args.raw || args.part.partition.is_some();
        let is_other = is_other || !args.trust.believe.is_empty();
        if writes_more || repeats_calls || !is_plain || is_other {
            return None;
        }
        let EvaluateArgs { suites, select, store, limits, labels, failures, .. } = args;
        let plans = [false, true].map(|json| format!("{:?}", PlanQuestion::after(args, json)));
        let EvaluateArgs { frozen, offline, require_calibration, quiet, details, .. } = args;
        let flags = [frozen, offline, require_calibration, quiet, details];
        let words = format!("run {:?}", (select, store, limits, labels, failures, flags));
        let cache_dir = store.cache_dir.as_deref();
        let question = CommandQuestion::of(suites, cache_dir, &words, args.verify, console)?;
        let home = question.surroundings.records();
        let plans = plans.map(|words| question.question_of(&words));
        let is_whole = *select == SelectArgs::default() && labels.is_none();
        let labels = is_whole.then(|| question.fact_of(LABELS));
        Some(Self { question, plans, labels, home })
    }

    /// Repeats the last run, if nothing has changed since.
    pub(super) fn repeat(&self, console: &mut Console<'_>) -> Result<Option<ExitStatus>, Error> {
        let system = console.system;
        let begun = system.elapsed();
        let Some(answer) = self.question.answer(system) else { return Ok(None) };
        let Some(last) = &answer.run else { return Ok(None) };
        let Some(facts) = self.write_record(last, system) else { return Ok(None) };
        let seconds = system.elapsed().saturating_sub(begun).as_secs_f64();
        let out = answer.out.replace(&last.id, &facts.id);
        let time = format!(" in {seconds:.1} s");
        let shown = match out.rsplit_once(NO_TIME) {
            Some((before, after)) => format!("{before}{time}{after}"),
            None => out.clone(),
        };
        console.err.write_all(answer.err.as_bytes())?;
        console.out.write_all(shown.as_bytes())?;
        console.out.flush()?;
        let CommandQuestion { suite, surroundings, .. } = &self.question;
        remove_records(&facts.suite, &[], surroundings, console)?;
        if let Some(run) = self.copied_files(last, &facts.id, system) {
            let answer = PrintedAnswer { out, err: answer.err, run: Some(run) };
            self.question.keep_again(answer, system);
            note_linked_results(suite, surroundings, [&last.id, &facts.id], system);
        }
        Ok(Some(ExitStatus::of_run(facts.exit_code)))
    }

    /// Writes the record of a run like the last one. None where it cannot be written, where that is not the last run of the
    /// suite any more, or where somebody has written to its files: then a whole run says so.
    fn write_record(&self, last: &RecordFiles, system: &dyn System) -> Option<RunFacts> {
        let facts: RunFacts = read_json(system, &join(&self.folder_of(&last.id), "run.json"))?;
        let now = self.files_of(&last.id, system)?;
        let is_noted = last.notes == now.notes && (last.notes.is_none() || last.day == now.day);
        let is_intact = match &now.contents {
            Some(contents) => last.contents.as_ref() == Some(contents),
            None => last.states == now.states,
        };
        let started = system.now();
        let id = record::run_id(system, &self.home, started);
        let facts = facts.repeated(RunFacts {
            id: id.clone(),
            started: started.to_string(),
            finished: system.now().to_string(),
            moved: Some(RunMoves::none(&last.id)),
            ..RunFacts::default()
        });
        let is_same = is_noted && is_intact;
        let written = is_same.then(|| self.write_files(&last.id, &facts, system));
        if written.and_then(Result::ok) == Some(true) {
            return Some(facts);
        }
        let _ = system.remove_folder(&self.folder_of(&id));
        None
    }

    /// False where the last run is not the one to compare with.
    fn write_files(
        &self,
        last: &str,
        facts: &RunFacts,
        system: &dyn System,
    ) -> std::io::Result<bool> {
        let from = self.folder_of(last);
        let folder = self.folder_of(&facts.id);
        for name in COPIED {
            if let FileBytes::Bytes(bytes) = system.read(&join(&from, name)) {
                system.write(&join(&folder, name), &mut |file| file.write_all(&bytes))?;
            }
        }
        let past = open(system, &folder, &facts.id);
        let base = past.and_then(|past| base_of(system, &self.home, &past));
        if base.is_none_or(|base| base.id != last) || !link_results(system, &from, &folder) {
            return Ok(false);
        }
        record::write_facts(system, &folder, facts)?;
        record::set_latest(system, &self.home, &facts.id)?;
        Ok(true)
    }

    /// Keeps what is to be known for the next run, if it can be known.
    pub(super) fn keep(&self, traced: &TracedSystem<'_>, printed: PrintedRun, system: &dyn System) {
        let PrintedRun { id, out, err, plans, is_unlabelled } = printed;
        let Some(files) = self.files_of(&id, system) else { return };
        let printed = |out| PrintedAnswer { out, err: String::new(), run: None };
        let plans = plans.filter(|_| err.is_empty()).into_iter().flatten().map(printed);
        let mut answers: Vec<_> = self.plans.iter().cloned().zip(plans).collect();
        let labels = self.labels.clone().filter(|_| is_unlabelled);
        answers.extend(labels.map(|question| (question, printed(String::new()))));
        let answer = PrintedAnswer { out, err, run: Some(files) };
        answers.push((self.question.question.clone(), answer));
        self.question.keep(traced, answers, system);
    }

    fn folder_of(&self, id: &str) -> String {
        join(&record::runs_of(&self.home), id)
    }

    /// The paths of the files of a record, and of the suite's history: where the line of the last run is gone, a whole run
    /// writes it again. That of which no later record has a copy is last.
    fn paths_of(&self, id: &str, system: &dyn System) -> Option<Vec<String>> {
        let folder = self.folder_of(id);
        let facts: RunFacts = read_json(system, &join(&folder, "run.json"))?;
        let history = history_files(&facts.suite, &self.question.surroundings, system);
        let copied = COPIED.map(|name| join(&folder, name));
        let results = result_paths(system, &folder);
        let facts = join(&folder, "run.json");
        Some(history.into_iter().chain(copied).chain(results).chain([facts]).collect())
    }

    fn files_of(&self, id: &str, system: &dyn System) -> Option<RecordFiles> {
        let paths = self.paths_of(id, system)?;
        let contents = || system.contents(&paths.iter().map(String::as_str).collect::<Vec<_>>());
        let contents = self.question.is_by_bytes.then(contents);
        Some(RecordFiles { contents, ..self.question.record_files(id, &paths, system)? })
    }

    /// The same of a record with copies of the `last` one. Another name of the results changes the state of that file, too,
    /// but not its bytes.
    fn copied_files(
        &self,
        last: &RecordFiles,
        id: &str,
        system: &dyn System,
    ) -> Option<RecordFiles> {
        let paths = self.paths_of(id, system)?;
        let mut contents = last.contents.clone();
        if let Some(of_facts) = contents.as_mut().and_then(|contents| contents.last_mut()) {
            *of_facts = system.contents(&[paths.last()?]).pop()?;
        }
        Some(RecordFiles { contents, ..self.question.record_files(id, &paths, system)? })
    }
}

/// Whether a run after this one, of which nothing has changed, would find all outcomes in the store and say the same.
pub(super) fn can_be_repeated(settled: &Settlement, session: &Session) -> bool {
    let is_whole = !settled.interrupted
        && !settled.out_of_budget
        && settled.write_error.is_none()
        && settled.in_vain.is_empty()
        && settled.stopped.is_empty()
        && all_tallies(settled).all(|tally| tally.pending + tally.failed == 0);
    let says_the_same = settled.asked.is_empty() || settled.warnings.is_empty();
    is_whole && says_the_same && settled.conversations.is_none() && is_of_files(session)
}
