//! What is reported of each suite, and of all of them together, now or later from a record.

use std::io::Write;

use jiff::Timestamp;

use super::args::EvaluateArgs;
use super::context::{SuiteContext, without_parents};
use crate::error::Error;
use evalrs_base::file_path::join;
use evalrs_engine::session::Session;
use evalrs_graph::exports::{self, ExportedResult};
use evalrs_graph::queries::{self, gate_rule};
use evalrs_model::outcome::{ActionTally, sum_of_known};
use evalrs_report::ending::RunEnding;
use evalrs_report::labels::labelled;
use evalrs_report::origin::ReportOrigin;
use evalrs_report::{
    Audience, ProcessFacts, ReportFormat, ReportOptions, ReportSink, ReportWriter, ReportedRollup,
    ReportedRun,
};
use evalrs_store::record::origin::{RecordedOrigin, RowLines};
use evalrs_store::record::{self, RunFacts};
use evalrs_suite::canonical;
use evalrs_system::System;

/// The file that GitHub shows as the summary of a step.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// What is written once all suites were evaluated.
pub(crate) struct Reports {
    format: &'static ReportFormat,
    writer: Box<dyn ReportWriter>,
    /// The file of the page for people.
    page: Option<String>,
    has_any: bool,
}

impl Reports {
    pub(crate) fn new(
        format: &'static ReportFormat,
        options: ReportOptions,
        system: &dyn System,
    ) -> Self {
        let page = match format.audience {
            Audience::GitHub => system.environment().remove(STEP_SUMMARY),
            _ => None,
        };
        Self {
            format,
            writer: (format.start)(options),
            page: page.filter(|path| !path.is_empty()),
            has_any: false,
        }
    }

    /// Writes what is reported of one evaluation, or keeps it for the end.
    pub(crate) fn add(
        &mut self,
        run: &ReportedRun<'_, '_>,
        out: &mut dyn Write,
        system: &dyn System,
    ) -> std::io::Result<()> {
        self.has_any = true;
        let audience = self.format.audience;
        self.write(out, system, |writer, sink| match audience {
            Audience::Programs => writer.add(run, sink),
            _ => labelled(run.report, |report| {
                let origin = run.origin.renamed(&report.summary.labels);
                writer.add(&ReportedRun { report, facts: run.facts, origin: &origin }, sink)
            }),
        })
    }

    /// Writes what several suites came to together, or keeps it for the end.
    pub(super) fn add_rollup(
        &mut self,
        rollup: &ReportedRollup<'_>,
        out: &mut dyn Write,
        system: &dyn System,
    ) -> std::io::Result<()> {
        self.write(out, system, |writer, sink| writer.add_rollup(rollup, sink))
    }

    fn write(
        &mut self,
        out: &mut dyn Write,
        system: &dyn System,
        add: impl FnOnce(&mut dyn ReportWriter, &mut ReportSink<'_>) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let Some(path) = &self.page else {
            return add(self.writer.as_mut(), &mut ReportSink { out, page: None });
        };
        let mut page = Vec::new();
        add(self.writer.as_mut(), &mut ReportSink { out, page: Some(&mut page) })?;
        system.append(path, &page)
    }

    pub(crate) fn audience(&self) -> Audience {
        self.format.audience
    }

    /// Writes what was kept.
    pub(crate) fn finish(self, out: &mut dyn Write) -> std::io::Result<()> {
        if self.has_any { self.writer.finish(out) } else { Ok(()) }
    }
}

/// The files that an evaluation came from, as its record keeps them.
pub fn recorded_origin(
    suite: &str,
    surroundings: &SuiteContext,
    session: &Session,
    system: &dyn System,
) -> RecordedOrigin {
    let place = |path: &str| surroundings.in_workspace(path, system);
    let gate = gate_rule(&session.db, session.root).as_ref();
    let gated = gate.map(|gate| evalrs_metrics::gate::graders(gate).into_iter());
    let (dataset, lines) = session.rows();
    let rubrics = queries::suite(&session.db, session.root).rubric_files.iter();
    RecordedOrigin {
        command: suite.to_owned(),
        suite: place(suite),
        dataset: dataset.map(place),
        lines: RowLines::new(&lines),
        gated: gated.map(|graders| graders.map(str::to_owned).collect()),
        rubrics: rubrics.map(|(grader, path)| (grader.clone(), place(path))).collect(),
    }
}

/// The same for reports that point into files. `root` is the root of the workspace.
pub(crate) fn report_origin(
    recorded: &RecordedOrigin,
    audience: Audience,
    root: &str,
    system: &dyn System,
) -> ReportOrigin {
    let roots = Roots::of(audience, system);
    let shown = |path: &str| roots.shown(&join(root, path), system);
    let rubrics = recorded.rubrics.iter();
    ReportOrigin {
        command: recorded.command.clone(),
        suite: shown(&recorded.suite),
        dataset: recorded.dataset.as_deref().and_then(shown),
        lines: recorded.lines.all(),
        gated: recorded.gated.clone(),
        rubrics: rubrics.filter_map(|(of, path)| Some((of.clone(), shown(path)?))).collect(),
    }
}

/// A file as a report that points into files names it.
pub(super) fn reported_path(path: &str, audience: Audience, system: &dyn System) -> Option<String> {
    Roots::of(audience, system).shown(path, system)
}

/// The folders that paths are written from, the first that holds a file.
struct Roots(Vec<String>);

impl Roots {
    /// GitHub wants paths from the root of the repository; others get them from the working directory.
    fn of(audience: Audience, system: &dyn System) -> Self {
        let repository = match audience {
            Audience::GitHub => system.environment().remove("GITHUB_WORKSPACE"),
            _ => None,
        };
        let working = system.absolute(".");
        let folders = repository.into_iter().chain([working]);
        Self(folders.map(|folder| without_parents(&folder)).collect())
    }

    /// The path from the first folder that holds it.
    fn shown(&self, path: &str, system: &dyn System) -> Option<String> {
        let path = without_parents(&system.absolute(path));
        let inside =
            |root: &String| path.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/');
        self.0.iter().find_map(inside).map(str::to_owned)
    }
}

/// Writes the results of a session as Letta Evals does.
pub(crate) fn write_letta(
    session: &Session,
    output: &str,
    system: &dyn System,
) -> std::io::Result<()> {
    let Some(suite) = session.suite() else { return Ok(()) };
    let path = session.root.suite(&session.db).path(&session.db);
    let rows = session.row_numbers();
    let results = |take: record::letta::TakeResult<'_>| {
        let mut all = exports::results(&session.db, session.root, rows.as_deref());
        all.try_for_each(|ExportedResult { line, case }| take(&line, &case))
    };
    let record = record::letta::LettaRecord {
        suite: &suite.name,
        config: &canonical::config(suite, path),
        gate: gate_rule(&session.db, session.root).as_ref(),
        results: &results,
    };
    record::letta::write(system, output, &record)
}

/// The report of the process about its run; `report` is the place of all results.
pub(crate) fn process_facts(
    facts: &RunFacts,
    seconds: Option<f64>,
    report: Option<String>,
) -> ProcessFacts {
    let sum = |of: fn(&ActionTally) -> u64| {
        facts.actions.0.iter().map(|(_, tally)| of(tally)).fold(0, u64::saturating_add)
    };
    let has_actions = sum(|tally| tally.total) > 0;
    ProcessFacts {
        asked: has_actions.then(|| sum(|tally| tally.asked)),
        cached: has_actions.then(|| sum(|tally| tally.cached)),
        failed: has_actions.then(|| sum(|tally| tally.failed)),
        spent: facts.spent,
        list_cost: facts
            .actions
            .0
            .iter()
            .map(|(_, tally)| tally.list_cost)
            .fold(None, sum_of_known),
        saved: facts.saved,
        target: facts.target,
        writers: facts.writers.clone(),
        seconds,
        ended: ended(&facts.finished),
        report,
        moved: facts.moved.clone(),
        ending: RunEnding {
            code: facts.exit_code,
            out_of_budget: facts.out_of_budget,
            store_failed: facts.store_failed,
            in_vain: facts.in_vain,
            out: facts.out,
            uncalibrated: facts.uncalibrated.clone(),
        },
    }
}

/// A time in nanoseconds since 1970.
fn ended(at: &str) -> Option<u64> {
    u64::try_from(at.parse::<Timestamp>().ok()?.as_nanosecond()).ok()
}
/// Some results hold one suite and no more.
pub(super) fn check_one_document(args: &EvaluateArgs, several: bool) -> Result<(), Error> {
    let message = match (&args.output, args.format) {
        _ if !several => return Ok(()),
        (Some(output), _) => {
            format!("`--output {output}` would keep the record of the last suite only")
        }
        (None, format) if !format.joins_suites && args.rollup.is_none() => {
            format!("`--format {}` is one document, for one suite", format.name)
        }
        _ => return Ok(()),
    };
    let hint = "run the suites one by one; every record is also under `.evalrs/runs`";
    Err(Error::plain(message, hint))
}
