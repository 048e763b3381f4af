//! Reads the whole record of a run back, to report it once more: a result at a time, for it may have a hundred thousand.
//!
//! A header or a summary that cannot be read leaves nothing to report. Of the results, what cannot be read is passed over
//! and counted.

use std::cell::Cell;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::RunFacts;
use super::brief::BriefReader;
use super::damage::edited_files;
use super::lines::{LineReader, MAX_RESULT, VersionedLine};
use super::read::RESULTS;
use super::result_files::{LIST, ResultsReader, has_list, open_results};
use evalrs_base::file_path::join;
use evalrs_base::json_exact;
use evalrs_base::text::count;
use evalrs_metrics::results::report::{BriefResults, Report, Results};
use evalrs_metrics::results::{ReportHeader, ResultLine, Summary};
use evalrs_model::record_format::{FORMAT, reads_line};
use evalrs_system::{FileBytes, System};

/// What a record holds, but its results.
#[derive(Debug)]
pub struct WholeRecord {
    /// Its folder.
    pub folder: String,
    /// What was evaluated.
    pub header: ReportHeader,
    /// The aggregates.
    pub summary: Summary,
    /// What belongs to the process; defaults where that cannot be read.
    pub facts: RunFacts,
    /// Why it cannot.
    pub warning: Option<String>,
    lines_read: Cell<LinesRead>,
}

/// Why a record cannot be reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// The run did not end: this file is missing.
    Missing(&'static str),
    /// This file cannot be read: why.
    Unreadable(&'static str, String),
    /// This file is of another version of evalrs.
    OtherVersion(&'static str, u64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LinesRead {
    read: usize,
    broken: usize,
    of_other_version: usize,
    /// The number of the first line that cannot be used, from 1.
    first: Option<usize>,
    /// Whether reading stopped before the end.
    stopped: bool,
}

impl WholeRecord {
    /// Reads the record in `folder`.
    pub fn open(system: &dyn System, folder: &str) -> Result<Self, RecordError> {
        let header = read_part(system, folder, "header.json")?;
        if open_results(system, folder).is_err() {
            return Err(if has_list(system, folder) {
                let reason = "it is damaged, or the first of its files is gone".to_owned();
                RecordError::Unreadable(LIST, reason)
            } else {
                RecordError::Missing(RESULTS)
            });
        }
        let mut summary: Summary = read_part(system, folder, "summary.json")?;
        let facts = read_part::<RunFacts>(system, folder, "run.json");
        let warning = facts
            .as_ref()
            .err()
            .map(|error| format!("the report has no process facts: {}", error.shown()));
        let facts = facts.unwrap_or_default();
        summary.all_usage = facts.usage;
        let folder = folder.to_owned();
        Ok(Self { folder, header, summary, facts, warning, lines_read: Cell::default() })
    }

    /// Has `write` write the report, and reports what could not be read of it, a sentence each.
    pub fn report<T>(
        &self,
        system: &dyn System,
        write: impl FnOnce(&Report<'_>) -> T,
    ) -> (T, Vec<String>) {
        let results = || -> Results<'_> {
            let mut lines = RecordedResults::open(self, system);
            Box::new(std::iter::from_fn(move || lines.next(&mut whole)))
        };
        let Self { header, summary, .. } = self;
        let briefs = |keep: usize| -> BriefResults<'_> {
            let mut lines = RecordedResults::open(self, system);
            let mut reader = BriefReader::new(summary, keep);
            Box::new(std::iter::from_fn(move || lines.next(&mut |line| reader.read(line))))
        };
        let written = write(&Report { header, summary, results: &results, briefs: Some(&briefs) });
        let edited = edited_files(system, &self.folder);
        let warnings = self.warning.clone().into_iter().chain(edited);
        let warnings = warnings.chain(self.lines_read.get().warnings(self.summary.results));
        (written, warnings.collect())
    }
}

impl RecordError {
    /// What is wrong, a clause.
    pub fn shown(&self) -> String {
        match self {
            Self::Missing(file) => format!("`{file}` is missing"),
            Self::Unreadable(file, reason) => format!("`{file}` cannot be read: {reason}"),
            Self::OtherVersion(file, format) => {
                format!("`{file}` has the format {format}, and this version reads {FORMAT}")
            }
        }
    }
}

/// What is wrong with the header of the record in `folder`; nothing where there is none.
pub fn header_problem(system: &dyn System, folder: &str) -> Option<RecordError> {
    let problem = read_part::<ReportHeader>(system, folder, "header.json").err()?;
    (!matches!(problem, RecordError::Missing(_))).then_some(problem)
}

/// Reads a file of a record that says which version it is of.
fn read_part<T: DeserializeOwned>(
    system: &dyn System,
    folder: &str,
    file: &'static str,
) -> Result<T, RecordError> {
    let unreadable = |reason: String| RecordError::Unreadable(file, reason);
    let bytes = match system.read(&join(folder, file)) {
        FileBytes::Missing => return Err(RecordError::Missing(file)),
        bytes => bytes.into_bytes().map_err(unreadable)?,
    };
    let of_json = |error: serde_json::Error| unreadable(error.to_string());
    let whole: Value = serde_json::from_slice(&bytes).map_err(of_json)?;
    let Some(format) = whole.get("format").and_then(Value::as_u64) else {
        return Err(unreadable("it has no `format`".to_owned()));
    };
    if format != u64::from(FORMAT) {
        return Err(RecordError::OtherVersion(file, format));
    }
    json_exact::from_slice(&bytes).map_err(of_json)
}

struct RecordedResults<'a> {
    /// None where the file cannot be opened.
    lines: Option<LineReader<ResultsReader<'a>>>,
    so_far: LinesRead,
    at_end: &'a Cell<LinesRead>,
}

impl<'a> RecordedResults<'a> {
    fn open(run: &'a WholeRecord, system: &'a dyn System) -> Self {
        let file = open_results(system, &run.folder).ok();
        let so_far = LinesRead { stopped: file.is_none(), ..LinesRead::default() };
        let lines = file.map(|file| LineReader::new(file, MAX_RESULT));
        Self { lines, so_far, at_end: &run.lines_read }
    }
}

impl RecordedResults<'_> {
    /// What `read` makes of the next line that it can read.
    fn next<T>(&mut self, read: &mut dyn FnMut(&[u8]) -> Option<VersionedLine<T>>) -> Option<T> {
        while let Some(lines) = &mut self.lines {
            match lines.next_line() {
                Ok(Some(line)) => {
                    if let Some(result) = self.so_far.add(line.bytes().and_then(&mut *read)) {
                        return Some(result);
                    }
                    continue;
                }
                Ok(None) => {}
                Err(_) => self.so_far.stopped = true,
            }
            self.lines = None;
        }
        self.at_end.set(self.so_far);
        None
    }
}

/// All of a line.
fn whole(line: &[u8]) -> Option<VersionedLine<ResultLine>> {
    let line = json_exact::from_slice::<ResultLine>(line).ok()?;
    Some(VersionedLine { format: line.format, line: line.in_newest_format() })
}

impl LinesRead {
    /// Counts a line, which is none if it cannot be read.
    fn add<T>(&mut self, line: Option<VersionedLine<T>>) -> Option<T> {
        let known = line.as_ref().map(|line| reads_line(line.format));
        let counted = match known {
            Some(true) => &mut self.read,
            Some(false) => &mut self.of_other_version,
            None => &mut self.broken,
        };
        *counted += 1;
        if known == Some(true) {
            return line.map(|line| line.line);
        }
        self.first = self.first.or(Some(self.read + self.broken + self.of_other_version));
        None
    }

    fn warnings(&self, expected: usize) -> Vec<String> {
        let mut warnings = Vec::new();
        let first = self.first.unwrap_or_default();
        for (number, what) in [
            (self.broken, "cannot be read"),
            (self.of_other_version, "skipped: another version of evalrs wrote it"),
        ] {
            if number > 0 {
                let lines = count(number, "line");
                warnings.push(format!("{lines} of `{RESULTS}` {what} (the first is line {first})"));
            }
        }
        if self.stopped {
            warnings.push(format!("`{RESULTS}` cannot be read to its end"));
        }
        if self.read != expected {
            warnings.push(format!(
                "the record has {}, and its summary is of {expected}: means and pass rates are those of the summary",
                count(self.read, "result")
            ));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::{RecordError, WholeRecord};
    use evalrs_system::memory::MemorySystem;

    const HEADER: &str = r#"{"format": 1, "suite": "s"}"#;
    const SUMMARY: &str = r#"{"format": 1, "suite": "s", "samples": 2, "results": 2, "metrics": {"g": {"n": 2, "avg_score_attempted": 0.28867513459481287}}}"#;
    const LINES: &str = "{\"format\":1,\"sample_id\":\"a\",\"grades\":{\"g\":{\"score\":1,\"pass\":true}}}\n\
        {\"format\":1,\"sample_id\":\"b\",\"grades\":{\"g\":{\"score\":0.28867513459481287,\"pass\":false}}}\n";

    fn with(changes: &[(&str, &str)]) -> MemorySystem {
        let system = MemorySystem::with(&[
            ("r/header.json", HEADER),
            ("r/summary.json", SUMMARY),
            ("r/results.jsonl", LINES),
            ("r/run.json", r#"{"format": 1, "exit_code": 1}"#),
        ]);
        for (path, text) in changes {
            system.set(path, text);
        }
        system
    }

    #[test]
    fn a_record_is_read_to_the_last_bit() {
        let system = with(&[]);
        let run = WholeRecord::open(&system, "r").unwrap();
        assert_eq!((run.facts.exit_code, run.header.suite.as_str()), (1, "s"));
        let mean = run.summary.metrics.get("g").unwrap().avg_score_attempted;
        assert_eq!(mean, Some(0.288_675_134_594_812_87));
        let (scores, warnings) = run.report(&system, |report| {
            (report.results)().map(|line| line.grades.0[0].1.score).collect::<Vec<_>>()
        });
        assert_eq!((scores, warnings), (vec![1.0, 0.288_675_134_594_812_87], vec![]));
    }

    #[test]
    fn broken_records_say_what_is_wrong() {
        let missing = with(&[]);
        missing.remove("r/summary.json");
        let errors = [
            (missing, RecordError::Missing("summary.json").shown()),
            (
                with(&[("r/summary.json", "{}")]),
                "`summary.json` cannot be read: it has no `format`".to_owned(),
            ),
            (
                with(&[("r/summary.json", r#"{"format": 2}"#)]),
                "`summary.json` has the format 2, and this version reads 1".to_owned(),
            ),
            (
                with(&[("r/header.json", "\u{0}")]),
                "`header.json` cannot be read: expected value at line 1 column 1".to_owned(),
            ),
        ];
        for (system, expected) in errors {
            assert_eq!(WholeRecord::open(&system, "r").unwrap_err().shown(), expected);
        }
    }

    #[test]
    fn lines_of_earlier_formats_are_told_in_the_newest() {
        let line = |submissions: &str| {
            format!(
                "{{\"format\":1,\"sample_id\":\"a\",\"submissions\":{submissions},\"grades\":{{\"g\":{{\"score\":1,\"pass\":true}},\"h\":{{\"score\":1,\"pass\":true}}}}}}\n"
            )
        };
        for (submissions, submission, others) in [
            (r#"{"f":"","g":"x","h":"x"}"#, "x", r#"{"f":""}"#),
            (r#"{"g":"x","h":"y"}"#, "x", r#"{"h":"y"}"#),
            (r#"{"g":"","h":""}"#, "", "{}"),
            ("{}", "", "{}"),
        ] {
            let system = with(&[("r/results.jsonl", &line(submissions))]);
            let run = WholeRecord::open(&system, "r").unwrap();
            let (told, _) =
                run.report(&system, |report| (report.results)().collect::<Vec<_>>().remove(0));
            let told_others = serde_json::to_string(&told.submissions).unwrap();
            assert_eq!(
                (told.format, told.submission.as_str(), told_others.as_str()),
                (2, submission, others)
            );
        }
    }

    fn warnings(changes: &[(&str, &str)]) -> Vec<String> {
        let system = with(changes);
        let run = WholeRecord::open(&system, "r").unwrap();
        run.report(&system, |report| (report.results)().count()).1
    }

    #[test]
    fn lines_that_cannot_be_used_are_counted() {
        let cut = &LINES[..LINES.len() - 20];
        let old = LINES.replacen("\"format\":1", "\"format\":0", 1);
        assert_eq!(
            warnings(&[("r/results.jsonl", cut)]),
            [
                "1 line of `results.jsonl` cannot be read (the first is line 2)",
                "the record has 1 result, and its summary is of 2: means and pass rates are those of the summary"
            ]
        );
        assert_eq!(
            warnings(&[("r/results.jsonl", &old)])[0],
            "1 line of `results.jsonl` skipped: another version of evalrs wrote it (the first is line 1)"
        );
        assert_eq!(
            warnings(&[("r/run.json", "[]")]),
            ["the report has no process facts: `run.json` cannot be read: it has no `format`"]
        );
    }
}
