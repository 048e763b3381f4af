//! `--format otlp`: logs for collectors of OpenTelemetry, one event `gen_ai.evaluation.result` a grade.
//!
//! Lines of OTLP in JSON, as collectors read them from files and take them over HTTP. They refuse lines that are very
//! long, so a run becomes several, each complete in itself. An event without a time is of no use to anybody: all have the
//! time at which the run ended.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::format::{Audience, ReportFormat, ReportedRun, RunWriter};
use evalrs_metrics::results::{GradeLine, ReportHeader, ResultLine};

/// The bytes of events after which a line ends: with one more event it stays below the mebibyte that collectors read.
const LINE: usize = 512 << 10;

/// The characters of an explanation, and of any other text; each may take six bytes.
const EXPLANATION: usize = 32 << 10;
const TEXT: usize = 4 << 10;

/// The numbers of severities: information, a warning, an error.
const INFO: u8 = 9;
const WARN: u8 = 13;
const ERROR: u8 = 17;

/// Lines, which may follow each other.
pub(super) static FORMAT: ReportFormat = ReportFormat {
    name: "otlp",
    help: "OpenTelemetry logs in JSON, one event a grade",
    audience: Audience::Programs,
    joins_suites: true,
    start: |_| Box::new(RunWriter(write)),
};

fn write(run: &ReportedRun<'_, '_>, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Vec::new();
    for result in (run.report.results)() {
        for (grader, grade) in &result.grades.0 {
            let separator: &[u8] = if events.is_empty() { b"" } else { b"," };
            events.extend(separator);
            serde_json::to_writer(&mut events, &event(run, &result, grader, grade))?;
            if events.len() >= LINE {
                write_line(run.report.header, &events, out)?;
                events.clear();
            }
        }
    }
    if events.is_empty() { Ok(()) } else { write_line(run.report.header, &events, out) }
}

fn write_line(header: &ReportHeader, events: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let resource = json!({"attributes": [
        attribute("service.name", &text("evalrs")),
        attribute("service.version", &text(&header.evalrs)),
    ]});
    let scope = json!({"name": "evalrs", "version": header.evalrs});
    write!(
        out,
        "{{\"resourceLogs\":[{{\"resource\":{resource},\"scopeLogs\":[{{\"scope\":{scope},\"logRecords\":["
    )?;
    out.write_all(events)?;
    out.write_all(b"]}]}]}\n")
}

/// The event of a grade. Times and whole numbers are texts: so says the encoding.
fn event(run: &ReportedRun<'_, '_>, result: &ResultLine, grader: &str, grade: &GradeLine) -> Value {
    let number = match (&grade.error, grade.pass) {
        (Some(_), _) => ERROR,
        (None, false) => WARN,
        (None, true) => INFO,
    };
    let mut event = json!({
        "severityNumber": number,
        "eventName": "gen_ai.evaluation.result",
        "attributes": attributes(&run.report.header.suite, result, grader, grade),
    });
    if let Some(ended) = run.facts.ended {
        event["timeUnixNano"] = Value::from(ended.to_string());
        event["observedTimeUnixNano"] = Value::from(ended.to_string());
    }
    event
}

fn attributes(suite: &str, result: &ResultLine, grader: &str, grade: &GradeLine) -> Vec<Value> {
    let mut all = vec![attribute("gen_ai.evaluation.name", &text(grader))];
    match &grade.error {
        None => all.extend([
            attribute("gen_ai.evaluation.score.value", &json!({"doubleValue": grade.score})),
            attribute(
                "gen_ai.evaluation.score.label",
                &text(if grade.pass { "pass" } else { "fail" }),
            ),
        ]),
        Some(error) => all.extend([
            attribute("error.type", &text(&error.kind)),
            attribute("error.message", &text(&error.message)),
        ]),
    }
    let explanation = text_within(&grade.rationale, EXPLANATION);
    all.push(attribute("gen_ai.evaluation.explanation", &explanation));
    all.extend([
        attribute("evalrs.suite", &text(suite)),
        attribute("evalrs.sample.id", &text(&result.sample_id)),
        attribute("evalrs.trial", &json!({"intValue": result.trial.to_string()})),
    ]);
    for (name, value) in [("gen_ai.request.model", &result.model), ("evalrs.key", &grade.key)] {
        all.extend(value.as_deref().map(|value| attribute(name, &text(value))));
    }
    all
}

fn attribute(key: &str, value: &Value) -> Value {
    json!({"key": key, "value": value})
}

fn text(text: &str) -> Value {
    text_within(text, TEXT)
}

fn text_within(text: &str, most: usize) -> Value {
    let short = match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    json!({"stringValue": short})
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{EXPLANATION, LINE, write};
    use crate::origin::ReportOrigin;
    use crate::{ProcessFacts, ReportedRun};
    use evalrs_test_runs::{self as fixtures, Run};

    fn lines(run: &Run) -> Vec<String> {
        let facts =
            ProcessFacts { ended: Some(1_700_000_000_000_000_000), ..ProcessFacts::default() };
        let origin = ReportOrigin::default();
        let text = run.written(|report, out| {
            write(&ReportedRun { report, facts: &facts, origin: &origin }, out)
        });
        text.lines().map(str::to_owned).collect()
    }

    fn events(line: &str) -> Vec<Value> {
        let value: Value = serde_json::from_str(line).unwrap();
        value["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap().clone()
    }

    #[test]
    fn a_grade_is_an_event() {
        let lines = lines(&fixtures::hostile());
        assert_eq!(lines.len(), 1);
        let (head, _) = lines[0].split_once("\"logRecords\":").unwrap();
        insta::assert_snapshot!(head, @r#"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"evalrs"}},{"key":"service.version","value":{"stringValue":"0.1.0"}}]},"scopeLogs":[{"scope":{"name":"evalrs","version":"0.1.0"},"#);
        let events = events(&lines[0]);
        insta::assert_snapshot!(events[0], @r#"{"severityNumber":9,"eventName":"gen_ai.evaluation.result","attributes":[{"key":"gen_ai.evaluation.name","value":{"stringValue":"accuracy"}},{"key":"gen_ai.evaluation.score.value","value":{"doubleValue":1.0}},{"key":"gen_ai.evaluation.score.label","value":{"stringValue":"pass"}},{"key":"gen_ai.evaluation.explanation","value":{"stringValue":"fine"}},{"key":"evalrs.suite","value":{"stringValue":"support-bot"}},{"key":"evalrs.sample.id","value":{"stringValue":"s1"}},{"key":"evalrs.trial","value":{"intValue":"0"}},{"key":"gen_ai.request.model","value":{"stringValue":"m:1,x"}}],"timeUnixNano":"1700000000000000000","observedTimeUnixNano":"1700000000000000000"}"#);
        assert_eq!(events.len(), 8);
        let keys = events[3]["attributes"].as_array().unwrap().iter();
        let keys: Vec<&str> = keys.map(|one| one["key"].as_str().unwrap()).collect();
        assert_eq!(
            keys[..4],
            [
                "gen_ai.evaluation.name",
                "error.type",
                "error.message",
                "gen_ai.evaluation.explanation"
            ]
        );
        assert_eq!(events[3]["severityNumber"], 17);
        assert!(self::lines(&fixtures::empty()).is_empty());
    }

    #[test]
    fn no_line_is_longer_than_collectors_read() {
        let large = lines(&fixtures::large());
        let read: usize = large.iter().map(|line| events(line).len()).sum();
        assert_eq!(read, 4000 * 3);
        assert!(large.len() > 1 && large.iter().all(|line| line.len() < LINE + (8 << 10)));
        let mut run = fixtures::hostile();
        for result in &mut run.results {
            result.grades.0[0].1.rationale = "\u{1}".repeat(1 << 20);
        }
        let long = lines(&run);
        assert!(long.iter().all(|line| line.len() < 1 << 20), "{}", long[0].len());
        assert!(long[0].contains(&format!("{}…", "\\u0001".repeat(EXPLANATION))));
    }
}
