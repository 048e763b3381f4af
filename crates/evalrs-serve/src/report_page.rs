//! A report that is a page: the record of a run, and what its suite knows beyond it as it is now.

use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::case_contexts::{CurrentSuite, only_note};
use super::label_file::label_file;
use crate::view::case::{CaseContext, case};
use crate::view::columns::RowColumns;
use crate::view::labels::{LabelFile, RunLabels};
use crate::view::lines::each_result;
use crate::view::rows::{IndexedRow, RunRows};
use crate::view::run::{RunDetails, labelled_graders};
use crate::view::single_file::{FileRow, FileWriter};
use evalrs_store::record::read::PastRun;
use evalrs_system::System;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::recorded_report::RecordedReport;

/// Writes the page of a run, and reports what is not in it or could not be read, a sentence each.
pub fn write_page(
    report: &RecordedReport<'_>,
    out: &mut dyn Write,
    system: &dyn System,
) -> io::Result<Vec<String>> {
    let left_out = write_cases(report, out, system)?;
    let unread = report.run.report(system, |report| (report.results)().count()).1;
    Ok(unread.into_iter().chain(left_out).collect())
}

fn write_cases(
    report: &RecordedReport<'_>,
    out: &mut dyn Write,
    system: &dyn System,
) -> io::Result<Option<String>> {
    let run = report.past;
    let rows = Arc::new(RunRows::read(system, run, labelled_graders(&run.header)));
    let mut labels = labels_of(report, &rows, system);
    let problems = std::mem::take(&mut labels.problems);
    let mut details = RunDetails::read(system, run, &rows, problems);
    details.agreement = rows.agreement(&labels);
    details.categories = rows.categories(&labels);
    if let Some(moved) = &report.moved {
        details.moved = serde_json::to_value(moved)?;
    }
    let mut suite = suite_of(report, system);
    let facts = suite.as_ref().ok().map(|suite| Arc::new(suite.facts()));
    let columns = RowColumns { rows: Arc::clone(&rows), facts };
    let names = columns.names();
    let shown = rows.rows.iter().map(|row| {
        let mut view = rows.view(row, &labels);
        view.columns = columns.values(row, &names);
        FileRow { row: view, tags: suite.as_ref().map_or(&[], |suite| suite.tags(&rows, row)) }
    });
    let mut file = FileWriter::begin(&details, shown, out)?;
    let source = CaseSource { run, rows: &rows, labels: &labels, system };
    let warning = match &mut suite {
        Ok(suite) => {
            suite.with_cases(|cases| {
                source.write(&mut file, &mut |row, line| cases.context(&rows, row, line))
            })?;
            None
        }
        Err(reason) => {
            source.write(&mut file, &mut |_, _| only_note(reason))?;
            Some(format!("the page has no conversations: {}", lower_case(reason)))
        }
    };
    file.finish()?;
    Ok(warning)
}

/// The suite of a run as it is now, or why there is none.
fn suite_of(
    report: &RecordedReport<'_>,
    system: &dyn System,
) -> Result<CurrentSuite, &'static str> {
    let path = report.suite.as_ref().filter(|path| system.open(path).is_ok());
    let path = path.ok_or("The suite was not found when this report was written")?;
    let surroundings = SuiteContext::find(path, report.cache_dir.as_deref(), system)
        .map_err(|_| "The settings of the workspace could not be read")?;
    let suite = CurrentSuite::read(path, &surroundings, Vec::new(), system)
        .ok_or("The suite had errors when this report was written")?;
    let is_it = suite.name() == report.past.header.suite;
    is_it.then_some(suite).ok_or("The suite had another name when this report was written")
}

fn labels_of(report: &RecordedReport<'_>, rows: &RunRows, system: &dyn System) -> RunLabels {
    let named = report.labels.as_deref();
    let file = match (&report.suite, named) {
        (Some(suite), _) => label_file(named, suite, report.cache_dir.as_deref(), system),
        (None, Some(path)) => LabelFile { path: path.to_owned(), ..LabelFile::default() },
        (None, None) => return RunLabels::default(),
    };
    RunLabels::read_file(&file, &rows.graders, system)
}

/// What is known of a case beyond its record.
type ContextOf<'a> = &'a mut dyn FnMut(&IndexedRow, &Map<String, Value>) -> CaseContext;

struct CaseSource<'a> {
    run: &'a PastRun,
    rows: &'a RunRows,
    labels: &'a RunLabels,
    system: &'a dyn System,
}

impl CaseSource<'_> {
    fn write(&self, file: &mut FileWriter<'_>, context_of: ContextOf<'_>) -> io::Result<()> {
        let Self { run, rows, labels, system } = self;
        let mut left = rows.rows.iter().peekable();
        let mut written = Ok(());
        each_result(*system, run, &mut |at, bytes| {
            let Some(row) = left.next_if(|row| row.at == at && written.is_ok()) else { return };
            let line = serde_json::from_slice(bytes).unwrap_or_else(|_| Map::new());
            let context = context_of(row, &line);
            written = file.case(&case(rows, row, &line, labels, context));
        });
        written
    }
}

/// A sentence as a part of another.
fn lower_case(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
