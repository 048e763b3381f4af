//! JUnit XML: one document for all suites of a command. Of each suite its gate is a test case, then a test suite a
//! grader holds a test case a result.
//!
//! A test fails only where the run does: a grade that did not pass is a `failure` where the gate looks at it and did not
//! pass, or where there is no gate; else the test passed and its output tells. A grade that could not be made is an
//! `error` where it decides the exit code, else the test was skipped. Times are always 0, for the same inputs give the
//! same bytes. Counts stand before the cases they count, so results are read once to count and once more for every
//! grader; the document alone is held.

use std::borrow::Cow;
use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesStart, BytesText, Event};
use quick_xml::writer::ElementWriter;

use super::digest::{label, reason};
use super::ending::RunEnding;
use super::format::{
    Audience, ReportFormat, ReportSink, ReportWriter, ReportedRollup, ReportedRun,
};
use super::origin::ReportOrigin;
use super::verdict;
use evalrs_base::price::Cost;
use evalrs_base::text::{cut, sanitize, score, shown};
use evalrs_metrics::gate::{GateReport, GateStatus};
use evalrs_metrics::results::report::Report;
use evalrs_metrics::results::{GradeLine, ResultLine};

/// The columns of a message in an attribute; the whole of it is in the text.
const MESSAGE: usize = 200;

/// What opens the document, and what its parts are written in.
const ROOT: &str = "<testsuites>";

/// One document.
pub(super) static FORMAT: ReportFormat = ReportFormat {
    name: "junit",
    help: "JUnit XML, for CI systems",
    audience: Audience::People,
    joins_suites: true,
    start: |_| Box::<Document>::default(),
};

/// A document that grows by a suite at a time.
#[derive(Debug, Default)]
struct Document {
    suites: Vec<String>,
    counts: JunitCounts,
    body: Vec<u8>,
}

impl ReportWriter for Document {
    fn add(&mut self, run: &ReportedRun<'_, '_>, _: &mut ReportSink<'_>) -> io::Result<()> {
        let ReportedRun { report, facts, origin } = *run;
        let ending = &facts.ending;
        let suite = clean(&report.header.suite).into_owned();
        let part = JunitPart { report, origin, ending, suite };
        let (counts, trials) = part.counted();
        let mut xml = opened()?;
        let gate = &report.summary.gate;
        let of_gate = write_gate(&mut xml, &part.suite, gate, origin.suite.as_deref())?;
        self.counts = self.counts.plus(&of_gate);
        for (grader, counts) in &counts {
            part.write_grader(&mut xml, grader, counts, trials)?;
            self.counts = self.counts.plus(counts);
        }
        self.push(xml);
        self.suites.push(part.suite);
        Ok(())
    }

    fn add_rollup(
        &mut self,
        reported: &ReportedRollup<'_>,
        _: &mut ReportSink<'_>,
    ) -> io::Result<()> {
        let mut xml = opened()?;
        let name = clean(&reported.rollup.name);
        let of_gate = write_gate(&mut xml, &name, &reported.rollup.gate, reported.path)?;
        self.counts = self.counts.plus(&of_gate);
        self.push(xml);
        Ok(())
    }

    fn finish(self: Box<Self>, out: &mut dyn Write) -> io::Result<()> {
        let name = match self.suites.as_slice() {
            [suite] => suite,
            _ => "evalrs",
        };
        let mut xml = Writer::new(&mut *out);
        xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        xml.get_mut().write_all(b"\n")?;
        // The schema of Jenkins lets only single suites say how many were skipped.
        let attributes = self.counts.attributes();
        let attributes = attributes.iter().filter(|(key, _)| *key != "skipped");
        let mut root = BytesStart::new("testsuites").with_attributes([("name", name)]);
        root.extend_attributes(attributes.map(|(key, count)| (*key, count.as_str())));
        if self.body.is_empty() {
            xml.write_event(Event::Empty(root))?;
        } else {
            xml.write_event(Event::Start(root))?;
            xml.get_mut().write_all(&self.body)?;
            xml.get_mut().write_all(b"\n</testsuites>")?;
        }
        out.write_all(b"\n")
    }
}

impl Document {
    /// Adds what was written behind [`ROOT`].
    fn push(&mut self, xml: Writer<Vec<u8>>) {
        let written = xml.into_inner();
        self.body.extend(written.strip_prefix(ROOT.as_bytes()).unwrap_or(&written));
    }
}

/// A writer that stands behind [`ROOT`].
fn opened() -> io::Result<Writer<Vec<u8>>> {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Start(BytesStart::new("testsuites")))?;
    Ok(xml)
}

/// Test cases and what became of them.
#[derive(Clone, Copy, Debug, Default)]
struct JunitCounts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl JunitCounts {
    fn add(&mut self, case: JunitCase) {
        self.tests += 1;
        self.failures += usize::from(case == JunitCase::Failure);
        self.errors += usize::from(case == JunitCase::Error);
        self.skipped += usize::from(case == JunitCase::Skipped);
    }

    fn plus(self, other: &Self) -> Self {
        Self {
            tests: self.tests + other.tests,
            failures: self.failures + other.failures,
            errors: self.errors + other.errors,
            skipped: self.skipped + other.skipped,
        }
    }

    fn attributes(&self) -> [(&'static str, String); 5] {
        [
            ("tests", self.tests.to_string()),
            ("failures", self.failures.to_string()),
            ("errors", self.errors.to_string()),
            ("skipped", self.skipped.to_string()),
            ("time", "0".to_owned()),
        ]
    }
}

/// What becomes of a test case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JunitCase {
    Passed,
    /// It did not pass, and the run does not mind.
    Tolerated,
    Failure,
    Error,
    Skipped,
}

impl JunitCase {
    /// The element that says what became of it; none where it passed.
    fn element(self) -> Option<&'static str> {
        match self {
            Self::Passed => None,
            Self::Tolerated => Some("system-out"),
            Self::Failure => Some("failure"),
            Self::Error => Some("error"),
            Self::Skipped => Some("skipped"),
        }
    }
}

/// One evaluation of a document.
struct JunitPart<'a, 'r> {
    report: &'a Report<'r>,
    origin: &'a ReportOrigin,
    ending: &'a RunEnding,
    suite: String,
}

impl JunitPart<'_, '_> {
    fn case(&self, grader: &str, grade: &GradeLine) -> JunitCase {
        let blamed = self.origin.blames(grader, self.report.summary.gate.status);
        match &grade.error {
            Some(_) if self.ending.is_in_batch() => JunitCase::Skipped,
            Some(_) if blamed || self.ending.is_incomplete() => JunitCase::Error,
            Some(_) => JunitCase::Skipped,
            None if grade.pass => JunitCase::Passed,
            None if blamed => JunitCase::Failure,
            None => JunitCase::Tolerated,
        }
    }

    /// The counts of every grader, and whether there are several trials.
    fn counted(&self) -> (Vec<(String, JunitCounts)>, bool) {
        let graders = self.report.summary.metrics.0.iter();
        // The case of a rubric says which criteria are not met.
        let rubrics = graders.filter(|(name, _)| !self.report.summary.is_of_rubric(name));
        let mut all: Vec<_> =
            rubrics.map(|(name, _)| (name.clone(), JunitCounts::default())).collect();
        let mut trials = false;
        for result in (self.report.results)() {
            trials |= result.trial > 0;
            for (name, counts) in &mut all {
                if let Some(grade) = result.grades.get(name) {
                    counts.add(self.case(name, grade));
                }
            }
        }
        (all, trials)
    }

    fn write_grader<W: Write>(
        &self,
        xml: &mut Writer<W>,
        grader: &str,
        counts: &JunitCounts,
        trials: bool,
    ) -> io::Result<()> {
        let name = format!("{}.{}", self.suite, clean(grader));
        suite_element(xml, &name, counts, self.origin.dataset.as_deref())
            .write_inner_content(|xml| {
                self.write_properties(xml, grader)?;
                for (at, result) in (self.report.results)().enumerate() {
                    if let Some(grade) = result.grades.get(grader) {
                        let trial = trials.then_some(result.trial);
                        let label = label(&result.sample_id, result.model.as_deref(), trial);
                        let told = || self.told(at, &result, grader, grade);
                        write_case(xml, [&label, &name], self.case(grader, grade), told)?;
                    }
                }
                Ok(())
            })
            .map(drop)
    }

    /// Writes the aggregates of a grader and what its judgments used as properties: CI systems chart those.
    fn write_properties<W: Write>(&self, xml: &mut Writer<W>, grader: &str) -> io::Result<()> {
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        let metric = self.report.summary.metrics.get(grader);
        let usage = self.report.summary.usage.get(grader);
        let properties = [
            ("mean", metric.and_then(|metric| number(metric.avg_score_attempted))),
            ("pass_rate", metric.and_then(|metric| number(metric.accuracy))),
            ("judgments", usage.map(|usage| usage.judgments.to_string())),
            ("input_tokens", usage.map(|usage| usage.input_tokens.to_string())),
            ("output_tokens", usage.map(|usage| usage.output_tokens.to_string())),
            ("cost", usage.and_then(|usage| number(usage.cost.map(Cost::dollars)))),
        ];
        let element = xml.create_element("properties").write_inner_content(|xml| {
            for (name, value) in properties {
                let Some(value) = value else { continue };
                xml.create_element("property")
                    .with_attribute(("name", name))
                    .with_attribute(("value", value.as_str()))
                    .write_empty()?;
            }
            Ok(())
        });
        element.map(drop)
    }

    /// What the test case of a grade says; nothing where it passed.
    fn told(&self, at: usize, result: &ResultLine, grader: &str, grade: &GradeLine) -> CaseText {
        let text = reason(result, grader, grade);
        // No attribute of a test case that all readers take says where it stands.
        let place = self.origin.row(at).map(|(file, line)| format!("\n\n{file}:{line}"));
        let message = match &grade.error {
            Some(error) => error.message.clone(),
            None => format!("score {}: {text}", score(grade.score)),
        };
        let kind = grade.error.as_ref().map_or("grade", |error| error.kind.as_str()).to_owned();
        CaseText { message, kind, text, place: place.unwrap_or_default() }
    }
}

/// Writes the gate of what is called `suite` as a test suite of one case, if there is one.
fn write_gate<W: Write>(
    xml: &mut Writer<W>,
    suite: &str,
    gate: &GateReport,
    file: Option<&str>,
) -> io::Result<JunitCounts> {
    let mut counts = JunitCounts::default();
    let case = match gate.status {
        None => return Ok(counts),
        Some(GateStatus::Passed) => JunitCase::Passed,
        Some(GateStatus::Failed) => JunitCase::Failure,
        Some(GateStatus::Undecided) => JunitCase::Error,
    };
    counts.add(case);
    let name = format!("{suite}.gate");
    let finding = verdict::finding(gate);
    let rule = gate.rule.as_deref().map_or_else(|| finding.clone(), sanitize);
    let told = || CaseText {
        message: finding.clone(),
        kind: "gate".to_owned(),
        text: finding,
        place: String::new(),
    };
    suite_element(xml, &name, &counts, file)
        .write_inner_content(|xml| write_case(xml, [&rule, &name], case, told))
        .map(|_| counts)
}

/// What a test case says that did not pass.
struct CaseText {
    message: String,
    kind: String,
    text: String,
    /// The file and line of its row, after a blank line.
    place: String,
}

/// Writes the test case `name` of `class`. What it says is made only where it did not pass.
fn write_case<W: Write>(
    xml: &mut Writer<W>,
    [name, class]: [&str; 2],
    case: JunitCase,
    told: impl FnOnce() -> CaseText,
) -> io::Result<()> {
    let test = xml
        .create_element("testcase")
        .with_attribute(("name", clean(name).as_ref()))
        .with_attribute(("classname", class))
        .with_attribute(("time", "0"));
    let Some(element) = case.element() else { return test.write_empty().map(drop) };
    let CaseText { message, kind, text, place } = told();
    let written = test.write_inner_content(|xml| {
        let inner = xml.create_element(element);
        let whole = if case == JunitCase::Tolerated { &message } else { &text };
        let whole = format!("{whole}{place}");
        let whole = BytesText::new(&clean(&whole)).into_owned();
        let inner = match case {
            JunitCase::Tolerated => inner,
            _ => inner
                .with_attribute(("message", clean(&cut(&message, MESSAGE)).as_ref()))
                .with_attribute(("type", clean(&kind).as_ref())),
        };
        inner.write_text_content(whole).map(drop)
    });
    written.map(drop)
}

fn suite_element<'w, W: Write>(
    xml: &'w mut Writer<W>,
    name: &str,
    counts: &JunitCounts,
    file: Option<&str>,
) -> ElementWriter<'w, W> {
    let attributes = counts.attributes();
    let file = file.map(clean);
    xml.create_element("testsuite")
        .with_attribute(("name", name))
        .with_attributes(file.iter().map(|file| ("file", file.as_ref())))
        .with_attributes(attributes.iter().map(|(key, count)| (*key, count.as_str())))
}

/// The text with every character that XML 1.0 (§2.2) does not allow replaced: not even as a reference may
/// they stand in a document. Marks that reorder text are shown.
fn clean(text: &str) -> Cow<'_, str> {
    let illegal = |char: char| matches!(char, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    let shown = shown(text);
    if shown.contains(illegal) { shown.replace(illegal, "\u{fffd}").into() } else { shown }
}

#[cfg(test)]
mod tests;
