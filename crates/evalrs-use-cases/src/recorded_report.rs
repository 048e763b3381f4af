//! The report of a run that is recorded: what `run --format` would have written.

use std::collections::HashSet;
use std::io::Write;

use jiff::Timestamp;

use super::reports::{Reports, process_facts, report_origin};
use evalrs_base::file_path::{folder_of, join};
use evalrs_metrics::diff::CaseName;
use evalrs_metrics::diff::since::RunMoves;
use evalrs_metrics::results::ResultLine;
use evalrs_metrics::results::report::{Report, Results};
use evalrs_model::spec::rubric_of;
use evalrs_report::{ProcessFacts, ReportFormat, ReportOptions, ReportedRun};
use evalrs_store::record::RunFacts;
use evalrs_store::record::read::PastRun;
use evalrs_store::record::recorded::WholeRecord;
use evalrs_system::System;

/// A recorded run and what belongs to it.
pub struct RecordedReport<'a> {
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
    /// What its reader calls the record: the folder, or the file that it is in.
    pub place: &'a str,
    /// The folder of the store, if set.
    pub cache_dir: Option<String>,
    /// What moved since a run that somebody named; else what moved since the one that the record names.
    pub moved: Option<RunMoves>,
    /// The cases whose results are written; none writes those of all.
    pub only: Option<&'a HashSet<CaseName>>,
    /// The grader whose grades these have; none has those of all.
    pub grader: Option<&'a str>,
}

impl RecordedReport<'_> {
    /// Writes it, and reports what could not be read, a sentence each.
    pub fn write(
        &self,
        format: &'static ReportFormat,
        out: &mut dyn Write,
        system: &dyn System,
    ) -> std::io::Result<Vec<String>> {
        let run = self.run;
        let facts = process_facts(&run.facts, seconds(&run.facts), Some(self.place.to_owned()));
        let moved = self.moved.clone().or(facts.moved);
        let facts = ProcessFacts { moved, ..facts };
        let origin = report_origin(&run.facts.origin, format.audience, self.root, system);
        let (written, warnings) = run.report(system, |report| {
            let mut reports = Reports::new(format, self.options, system);
            if self.only.is_none() {
                reports.add(
                    &ReportedRun { report, facts: &facts, origin: &origin },
                    out,
                    system,
                )?;
            } else {
                let results = || self.selected(report);
                let Report { header, summary, .. } = *report;
                let report = &Report { header, summary, results: &results, briefs: None };
                reports.add(
                    &ReportedRun { report, facts: &facts, origin: &origin },
                    out,
                    system,
                )?;
            }
            reports.finish(out)
        });
        written.map(|()| warnings)
    }

    fn selected<'r>(&'r self, report: &'r Report<'_>) -> Results<'r> {
        let is_wanted = |result: &ResultLine| {
            self.only.is_none_or(|only| {
                only.contains(&CaseName {
                    sample_id: result.sample_id.clone(),
                    model: result.model.clone(),
                    trial: result.trial,
                })
            })
        };
        let of_grader = |mut result: ResultLine| {
            if let Some(grader) = self.grader {
                // That of a criterion is part of its rubric's.
                let rubric = rubric_of(grader).map_or(grader, |(rubric, _)| rubric);
                let is_it = |name: &str| name == grader || name == rubric;
                result.grades.0.retain(|(name, _)| is_it(name));
                result.not_applicable.0.retain(|(name, _)| is_it(name));
            }
            result
        };
        Box::new((report.results)().filter(is_wanted).map(of_grader))
    }
}

/// The suite of a run, where its record says which.
pub fn suite_of(run: &WholeRecord, home: &str) -> Option<String> {
    let suite = &run.facts.origin.suite;
    (!suite.is_empty()).then(|| join(folder_of(home), suite))
}

/// How long the run took, if its record says so.
fn seconds(facts: &RunFacts) -> Option<f64> {
    let [started, finished] = [&facts.started, &facts.finished].map(|at| at.parse::<Timestamp>());
    let seconds = finished.ok()?.duration_since(started.ok()?).as_secs_f64();
    (seconds >= 0.0).then_some(seconds)
}
