//! `--format csv`: one row a grade, for spreadsheets and data frames.
//!
//! RFC 4180: a header, rows that end with CR LF, cells in quotes where they must be. A spreadsheet takes a cell for a
//! formula that begins with certain signs, and texts of agents and judges may begin with any: those get an apostrophe in
//! front. Control characters are replaced, and marks that reorder text are shown.

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::Value;

use super::format::{Audience, ReportFormat, ReportSink, ReportWriter, ReportedRun};
use evalrs_base::text::shown;
use evalrs_metrics::results::report::Report;
use evalrs_metrics::results::{GradeLine, ResultLine};

/// The rows of all suites, under one header.
pub(super) static FORMAT: ReportFormat = ReportFormat {
    name: "csv",
    help: "One grade a row, for spreadsheets",
    audience: Audience::Programs,
    joins_suites: true,
    start: |_| Box::<CsvWriter>::default(),
};

const HEADER: [&str; 14] = [
    "suite",
    "sample_id",
    "model",
    "trial",
    "grader",
    "score",
    "pass",
    "error",
    "error_message",
    "rationale",
    "submission",
    "input",
    "ground_truth",
    "key",
];

/// Writes rows of texts under a header, each cell made harmless for spreadsheets.
pub fn write_text_rows(
    header: &[&str],
    all: impl Iterator<Item = Vec<String>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut rows = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    rows.write_record(header)?;
    for cells in all {
        rows.write_record(cells.iter().map(|cell| text(cell).into_owned()))?;
    }
    rows.flush()
}

#[derive(Default)]
struct CsvWriter {
    has_header: bool,
}

impl ReportWriter for CsvWriter {
    fn add(&mut self, run: &ReportedRun<'_, '_>, sink: &mut ReportSink<'_>) -> io::Result<()> {
        let with_header = !std::mem::replace(&mut self.has_header, true);
        write_rows(run.report, with_header, sink.out)
    }
}

fn write_rows(report: &Report<'_>, with_header: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    if with_header {
        rows.write_record(HEADER)?;
    }
    for result in (report.results)() {
        for (grader, grade) in &result.grades.0 {
            let cells = cells(&report.header.suite, &result, grader, grade);
            rows.write_record(cells.iter().map(|cell| cell.as_bytes()))?;
        }
    }
    rows.flush()
}

fn cells<'a>(
    suite: &'a str,
    result: &'a ResultLine,
    grader: &'a str,
    grade: &'a GradeLine,
) -> [Cow<'a, str>; HEADER.len()] {
    let error = grade.error.as_ref();
    // A grade that could not be made has no score.
    let verdict = |text: String| if error.is_some() { "".into() } else { text.into() };
    [
        text(suite),
        text(&result.sample_id),
        text(result.model.as_deref().unwrap_or_default()),
        result.trial.to_string().into(),
        text(grader),
        verdict(grade.score.to_string()),
        verdict(grade.pass.to_string()),
        text(error.map_or("", |error| &error.kind)),
        text(error.map_or("", |error| &error.message)),
        text(&grade.rationale),
        text(result.submission_of(grader).unwrap_or_default()),
        value(&result.input),
        value(&result.ground_truth),
        text(grade.key.as_deref().unwrap_or_default()),
    ]
}

/// A value of a row: a text as it is, anything else as JSON.
fn value(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => "".into(),
        Value::String(string) => text(string),
        other => Cow::Owned(text(&other.to_string()).into_owned()),
    }
}

/// A text that is data and nothing else.
fn text(text: &str) -> Cow<'_, str> {
    let harmless = harmless(text);
    if harmless.starts_with(begins_formula) { format!("'{harmless}").into() } else { harmless }
}

/// Whether spreadsheets take a cell that begins with it for a formula, the wide signs of East Asian scripts among them.
fn begins_formula(char: char) -> bool {
    matches!(char, '=' | '+' | '-' | '@' | '\t' | '\r' | '\n' | '＝' | '＋' | '－' | '＠')
}

fn harmless(text: &str) -> Cow<'_, str> {
    let harmful = |char: char| char.is_control() && !matches!(char, '\t' | '\r' | '\n');
    let shown = shown(text);
    if shown.contains(harmful) { shown.replace(harmful, "\u{fffd}").into() } else { shown }
}

#[cfg(test)]
mod tests {
    use super::{HEADER, text, write_rows};
    use evalrs_test_runs as fixtures;
    use evalrs_test_runs::Run;

    fn rows_of(run: &Run) -> String {
        run.written(|report, out| write_rows(report, false, out))
    }

    fn parsed(text: &str) -> Vec<csv::StringRecord> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        reader.records().map(Result::unwrap).collect()
    }

    #[test]
    fn texts_are_data() {
        for (given, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("=HYPERLINK(\"x\")", "'=HYPERLINK(\"x\")"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("\n=1", "'\n=1"),
            ("＝1", "'＝1"),
            ("\u{1b}=1", "\u{fffd}=1"),
            ("\u{202e}a\u{9b}", "⟨U+202E⟩a⟨U+009B⟩"),
            ("a=1", "a=1"),
            (" =1", " =1"),
        ] {
            assert_eq!(text(given), expected);
        }
    }

    #[test]
    fn hostile_texts_stay_in_their_cells() {
        let run = fixtures::hostile();
        let written = rows_of(&run);
        let rows = parsed(&written);
        assert_eq!((rows.len(), rows[0].len()), (8, HEADER.len()));
        let rationale = &run.results[0].grades.get("quality|x").unwrap().rationale;
        let rationale = rationale.replace(['\0', '\u{1b}'], "\u{fffd}");
        assert_eq!(rows[1][9], rationale.replace('\u{202e}', "⟨U+202E⟩"));
        assert_eq!(
            rows[5].iter().take(8).collect::<Vec<_>>(),
            ["support-bot", "<s|2>", "m:1,x", "0", "quality|x", "1", "true", ""]
        );
        assert_eq!(
            rows[3].iter().skip(5).take(4).collect::<Vec<_>>(),
            ["", "", "timeout", "no answer\n::warning::"]
        );
        assert!(!written.contains(['\0', '\u{1b}']));
        assert!(written.ends_with("\r\n") && rows_of(&fixtures::empty()).is_empty());
    }
}
