//! The record of `evalrs run`: written, and not put together again where it is what the last run has
//! recorded.

use super::args::{EvaluateArgs, RecordLayout};
use super::context::SuiteContext;
use super::diff_labels::all_labels;
use super::header::header;
use super::reports::write_letta;
use super::run_history::{HistoryEntry, Questions, remember};
use super::run_moves::{LaterRun, moves_since};
use super::spliced_results::{EarlierResults, ResultsSplice};
use crate::console::Console;
use evalrs_base::file_path::join;
use evalrs_engine::session::Session;
use evalrs_metrics::diff::since::RunMoves;
use evalrs_metrics::results::report::Report;
use evalrs_model::spec::GraderSpec;
use evalrs_store::record::damage::{damage_of, passed_over};
use evalrs_store::record::keep::{DEFAULT, RunLimit, remove_old, remove_old_trials};
use evalrs_store::record::parts::ResultsPart;
use evalrs_store::record::read::{PastRun, open};
use evalrs_store::record::reference::base_of;
use evalrs_store::record::result_files::results_stamp;
use evalrs_store::record::run_names::is_trial;
use evalrs_store::record::{self, ResultsOrigin, ResultsSource, RunFacts, WrittenResults};
use evalrs_system::System;

/// Writes what is known of a run when it begins: what goes on can be looked at.
pub(super) fn begin_record(
    session: &Session,
    surroundings: &SuiteContext,
    id: &str,
    system: &dyn System,
) -> std::io::Result<()> {
    let folder = join(&record::runs_of(&surroundings.records()), id);
    record::write_header(system, &folder, &header(session))
}

/// The record of a run, once it is written.
#[derive(Debug, Default)]
pub(super) struct KeptRun {
    /// Its folder, or the one that the command line names.
    pub folder: Option<String>,
    /// What moved since an earlier run.
    pub moved: Option<RunMoves>,
    /// The digest of its results, and where those of each chunk stand, if that is known.
    pub results: Option<(String, Vec<ResultsPart>)>,
    /// What is damaged of that run, and of the last one.
    pub damaged: Vec<String>,
}

/// What a run is compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunBefore<'a> {
    /// The run that the command line names.
    pub against: Option<&'a PastRun>,
    /// The results of the last run, if it is known what they have in common with those of this one.
    pub last: Option<&'a EarlierResults>,
}

/// Writes the record of a run. It reports what moved since the run that the command line names, else since the last one.
pub(super) fn write_record(
    args: &EvaluateArgs,
    ended: &HistoryEntry<'_, '_>,
    earlier: RunBefore<'_>,
    questions: &Questions,
    system: &dyn System,
) -> std::io::Result<KeptRun> {
    let HistoryEntry { surroundings, session, report, facts, .. } = *ended;
    let home = surroundings.records();
    let RunBefore { against, last } = earlier;
    let splicing = last.and_then(|last| ResultsSplice::of(session, last));
    let recorded = (!args.no_record)
        .then(|| {
            let results = ResultsToWrite { session, report, splicing: splicing.as_ref() };
            results.write(&home, &facts.id, system)
        })
        .transpose()?;
    let folder = join(&record::runs_of(&home), &facts.id);
    let mut damaged = Vec::new();
    let moved = recorded.as_ref().and_then(|written| {
        let past = open(system, &folder, &facts.id)?;
        damaged.extend(passed_over(system, &home, &facts.id));
        // Parts have other samples than the run before.
        let last =
            || if report.header.part().is_some() { None } else { base_of(system, &home, &past) };
        let before = against.cloned().or_else(last)?;
        damaged.extend(damage_of(system, &before));
        let agreement = &report.summary.label_agreement;
        let common = splicing.as_ref().and_then(|it| it.common(&before.id, &written.parts));
        let now = LaterRun { past: &past, digest: Some(&written.digest), agreement, common };
        moves_since(&before, now, || all_labels(session), system)
    });
    let facts = &RunFacts { moved: moved.clone(), ..facts.clone() };
    match (&args.output, args.layout) {
        (None, _) => {}
        (Some(output), RecordLayout::Evalrs) => record::write(system, output, report, facts)?,
        (Some(output), RecordLayout::Letta) => write_letta(session, output, system)?,
    }
    let Some(written) = recorded else {
        return Ok(KeptRun { folder: args.output.clone(), moved, damaged, results: None });
    };
    let results = written.origin.map(|mut results| {
        if let Some(digest) = results.questions.take() {
            questions.know(digest);
        }
        ResultsOrigin { questions: questions.digest_if_wanted(session), ..results }
    });
    let results_digest = Some(written.digest.clone());
    record::write_facts(system, &folder, &RunFacts { results, results_digest, ..facts.clone() })?;
    if !is_trial(&facts.id) {
        record::set_latest(system, &home, &facts.id)?;
    }
    let results = Some((written.digest, written.parts));
    Ok(KeptRun { folder: Some(args.output.clone().unwrap_or(folder)), moved, damaged, results })
}

/// What the results of a record were made of, if that is known, and their digest.
pub struct KeptResults {
    pub origin: Option<ResultsOrigin>,
    pub digest: String,
    /// Where those of each chunk stand, if that is known.
    pub parts: Vec<ResultsPart>,
}

/// Writes the report of a run or of a session under `home`, and reports what its results were made of. Those that the run
/// before has recorded get another name.
pub fn write_or_share_report(
    session: &Session,
    report: &Report<'_>,
    home: &str,
    id: &str,
    system: &dyn System,
) -> std::io::Result<KeptResults> {
    ResultsToWrite { session, report, splicing: None }.write(home, id, system)
}

/// What is to be recorded of a session.
struct ResultsToWrite<'a, 'r> {
    session: &'a Session,
    report: &'a Report<'r>,
    /// What is in the record of the last run.
    splicing: Option<&'a ResultsSplice<'a>>,
}

impl ResultsToWrite<'_, '_> {
    #[tracing::instrument(level = "debug", name = "write_results", skip_all, fields(copied = self.splicing.map_or(0, ResultsSplice::copied)))]
    fn write(&self, home: &str, id: &str, system: &dyn System) -> std::io::Result<KeptResults> {
        let Self { session, report, splicing } = *self;
        let made_of = session.results_digest(env!("EVALRS_BUILD"));
        let counts = session.results_of_chunks();
        let parts =
            || splicing.map_or_else(|| Box::new(std::iter::empty()) as _, ResultsSplice::parts);
        let spliced = splicing.map(|splicing| splicing.results(&parts));
        let source = ResultsSource { made_of: made_of.as_deref(), counts: &counts, spliced };
        let WrittenResults { shared, digest, parts } =
            record::write_run_report(system, home, id, report, source)?;
        let file = results_stamp(system, &join(&record::runs_of(home), id));
        let questions = shared.and_then(|shared| shared.questions);
        let origin = made_of.zip(file);
        let origin = origin.map(|(made_of, file)| ResultsOrigin { made_of, file, questions });
        Ok(KeptResults { origin, digest, parts })
    }
}

/// Adds the run to the history of its suite, and removes the records beyond those that are kept. It is none the worse for a
/// history that cannot be written.
pub(super) fn update_records(
    args: &EvaluateArgs,
    ended: &HistoryEntry<'_, '_>,
    questions: &Questions,
    console: &mut Console<'_>,
) -> std::io::Result<()> {
    if !args.frozen && !args.no_record && !is_trial(&ended.facts.id) {
        remember(ended, questions, console.system).or_else(|error| {
            writeln!(console.err, "warning: cannot add the run to its history: {error}")
        })?;
    }
    // Before the states of files are noted: a file that two records share has another one once one of them is gone.
    remove_old_records(ended.session, ended.surroundings, console)
}

/// Removes the records beyond those that are to be kept. That one stays is not a failure of the run.
pub(super) fn remove_old_records(
    session: &Session,
    surroundings: &SuiteContext,
    console: &mut Console<'_>,
) -> std::io::Result<()> {
    let suite = session.suite().map_or("", |suite| suite.name.as_str());
    let graders = session.suite().into_iter().flat_map(|suite| &suite.graders);
    let named: Vec<&str> = graders.filter_map(GraderSpec::compared_run).collect();
    remove_records(suite, &named, surroundings, console)
}

/// The same for a suite whose graders compare with runs in folders that are `named`.
pub(super) fn remove_records(
    suite: &str,
    named: &[&str],
    surroundings: &SuiteContext,
    console: &mut Console<'_>,
) -> std::io::Result<()> {
    let said = surroundings.workspace.keep_runs.map(|most| RunLimit::OfAll(most as usize));
    let most = said.unwrap_or(RunLimit::OfSuite(DEFAULT, suite));
    let home = surroundings.records();
    let removed = remove_old(console.system, &home, most, named)
        .and_then(|()| remove_old_trials(console.system, &home));
    removed.or_else(|error| writeln!(console.err, "warning: cannot remove an old record: {error}"))
}
