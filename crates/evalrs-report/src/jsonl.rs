//! `results.jsonl` and `--format jsonl`: one result a line.
//!
//! Each line is put together before it is written, so that a reader of a growing file sees whole lines.

use std::io;

use super::format::{Audience, ReportFormat, ReportSink, ReportWriter, ReportedRun};
use evalrs_metrics::results::report::write_lines;

/// Lines, which may follow each other.
pub(super) static FORMAT: ReportFormat = ReportFormat {
    name: "jsonl",
    help: "One result a line",
    audience: Audience::Programs,
    joins_suites: true,
    start: |_| Box::new(JsonLinesWriter),
};

struct JsonLinesWriter;

impl ReportWriter for JsonLinesWriter {
    fn add(&mut self, run: &ReportedRun<'_, '_>, sink: &mut ReportSink<'_>) -> io::Result<()> {
        write_lines(run.report, sink.out)
    }
}

#[cfg(test)]
mod tests {
    use evalrs_test_runs as fixtures;

    #[test]
    fn a_line_a_result() {
        let text = fixtures::hostile().written(super::write_lines);
        assert_eq!(text.lines().count(), 4);
        let first = text.lines().next().unwrap().replace('\u{202e}', "<override>");
        insta::assert_snapshot!(first, @r#"{"format":2,"sample_id":"s1","input":"question","ground_truth":null,"model":"m:1,x","trial":0,"submission":"","grades":{"accuracy":{"score":1.0,"pass":true,"rationale":"fine","error":null,"key":null,"metadata":{}},"quality|x":{"score":0.25,"pass":false,"rationale":"</testcase> ]]>\u0000\u001b[31m|\n::error::@team `code` <img src=x><override>##[error]%0A","error":null,"key":null,"metadata":{}}}}"#);
        for line in text.lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(value["format"], 2);
        }
    }
}
