//! `--format json`: one object {header, results, summary}; with a roll-up {suites, rollup}, the suites being such objects.
//! `--format jsonl`, as `results.jsonl`: one result a line.
//!
//! Written as it goes, a result at a time and each on its own line: the whole may not fit in memory.

use std::io::{self, Write};

use super::format::{
    Audience, ReportFormat, ReportSink, ReportWriter, ReportedRollup, ReportedRun, RunWriter,
};
use evalrs_metrics::results::report::{Report, write_lines};

/// One object for one evaluation.
pub(super) static FORMAT: ReportFormat = ReportFormat {
    name: "json",
    help: "One object: header, results, summary",
    audience: Audience::Programs,
    joins_suites: false,
    start: |options| {
        if options.rolls_up {
            Box::<RollupWriter>::default()
        } else {
            Box::new(RunWriter(|run, out| write(run.report, out)))
        }
    },
};

/// Lines, which may follow each other.
pub(super) static LINES: ReportFormat = ReportFormat {
    name: "jsonl",
    help: "One result a line",
    audience: Audience::Programs,
    joins_suites: true,
    start: |_| Box::new(RunWriter(|run, out| write_lines(run.report, out))),
};

/// Writes several suites and what they come to together as one object.
#[derive(Default)]
struct RollupWriter {
    has_any: bool,
    /// JSON; empty until it is known.
    rollup: Vec<u8>,
}

impl ReportWriter for RollupWriter {
    fn add(&mut self, run: &ReportedRun<'_, '_>, sink: &mut ReportSink<'_>) -> io::Result<()> {
        let is_first = !std::mem::replace(&mut self.has_any, true);
        let before: &[u8] = if is_first { b"{\"suites\":[\n" } else { b",\n" };
        sink.out.write_all(before)?;
        write(run.report, sink.out)
    }

    fn add_rollup(
        &mut self,
        rollup: &ReportedRollup<'_>,
        _: &mut ReportSink<'_>,
    ) -> io::Result<()> {
        self.rollup = serde_json::to_vec(rollup.rollup)?;
        Ok(())
    }

    /// An evaluation that was stopped came to nothing together.
    fn finish(self: Box<Self>, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(b"],\n\"rollup\":")?;
        out.write_all(if self.rollup.is_empty() { b"null" } else { &self.rollup })?;
        out.write_all(b"}\n")
    }
}

fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"header\":")?;
    out.write_all(&serde_json::to_vec(report.header)?)?;
    out.write_all(b",\n\"results\":[")?;
    let mut separator: &[u8] = b"\n";
    for result in (report.results)() {
        out.write_all(separator)?;
        out.write_all(&serde_json::to_vec(&result)?)?;
        separator = b",\n";
    }
    out.write_all(b"],\n\"summary\":")?;
    out.write_all(&serde_json::to_vec(report.summary)?)?;
    out.write_all(b"}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use evalrs_test_runs as fixtures;

    #[test]
    fn a_line_a_result() {
        let text = fixtures::hostile().written(evalrs_metrics::results::report::write_lines);
        assert_eq!(text.lines().count(), 4);
        let first = text.lines().next().unwrap().replace('\u{202e}', "<override>");
        insta::assert_snapshot!(first, @r#"{"format":2,"sample_id":"s1","input":"question","ground_truth":null,"model":"m:1,x","trial":0,"submission":"","grades":{"accuracy":{"score":1.0,"pass":true,"rationale":"fine","error":null,"key":null,"metadata":{}},"quality|x":{"score":0.25,"pass":false,"rationale":"</testcase> ]]>\u0000\u001b[31m|\n::error::@team `code` <img src=x><override>##[error]%0A","error":null,"key":null,"metadata":{}}}}"#);
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).unwrap();
            assert_eq!(value["format"], 2);
        }
    }

    #[test]
    fn one_object_of_three_parts() {
        for report in [fixtures::hostile(), fixtures::empty()] {
            let value: Value = serde_json::from_str(&report.written(super::write)).unwrap();
            let parts = ["header", "results", "summary"];
            assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), parts);
            assert_eq!(value["results"].as_array().unwrap().len(), report.results.len());
            assert_eq!(value["header"]["suite"], "support-bot");
        }
    }

    #[test]
    fn the_schema_takes_what_is_written() {
        let schema = evalrs_harness::schemas::schema("RunReport").unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        for report in [fixtures::hostile(), fixtures::empty(), fixtures::large()] {
            let mut value: Value = serde_json::from_str(&report.written(super::write)).unwrap();
            let errors: Vec<_> = validator.iter_errors(&value).map(|one| one.to_string()).collect();
            assert!(errors.is_empty(), "{errors:?}");
            value["summary"]["more"] = Value::Null;
            assert!(!validator.is_valid(&value));
        }
    }

    #[test]
    fn numbers_keep_every_digit() {
        let text = fixtures::hostile().written(super::write);
        insta::assert_snapshot!(text.lines().last().unwrap(), @r#""summary":{"format":1,"suite":"support-bot","samples":2,"results":4,"metrics":{"accuracy":{"n":4,"attempted":4,"errors":0,"avg_score_attempted":0.5,"avg_score_total":0.5,"stderr":0.0,"stderr_naive":0.28867513459481287,"interval":{"low":0.012579117,"high":0.987420883,"level":0.95,"method":"clopper_pearson_clustered"},"accuracy":0.5,"accuracy_interval":{"low":0.012579117,"high":0.987420883,"level":0.95,"method":"clopper_pearson_clustered"},"min":0.0,"max":1.0,"median":0.5,"p95":1.0,"p99":1.0,"pass_at":{"1":0.5,"2":1.0},"pass_hat":{"1":0.5,"2":0.0}},"quality|x":{"n":4,"attempted":2,"errors":2,"avg_score_attempted":0.625,"avg_score_total":0.3125,"stderr":0.37499999999999994,"stderr_naive":0.37499999999999994,"interval":{"low":0.0,"high":1.0,"level":0.95,"method":"student_t"},"accuracy":0.5,"accuracy_interval":{"low":0.012579117,"high":0.987420883,"level":0.95,"method":"clopper_pearson"},"min":0.25,"max":1.0,"median":0.625,"p95":0.9625,"p99":0.9925}},"by_model":null,"by_tag":null,"gate":{"status":"undecided","value":0.3125,"op":"gte","threshold":0.8,"lowest":0.3125,"highest":0.8125,"rule":"quality|x avg_score >= 0.8"},"trials":{"accuracy":{"samples":2,"fewest":2,"most":2,"flaky":[{"sample_id":"s1","model":"m:1,x","passes":1,"trials":2},{"sample_id":"<s|2>","model":"m:1,x","passes":1,"trials":2}],"variance":{"between":0.0,"within":0.5,"icc":-1.0,"stderr":0.3535533905932738}}},"usage":{"quality|x":{"judgments":4,"input_tokens":1234,"output_tokens":56,"cost":0.0123,"by_model":{"judge-1":{"judgments":4,"input_tokens":1234,"output_tokens":56,"cost":0.0123}}}},"cost":0.0123}}"#);
    }
}
