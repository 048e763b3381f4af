//! JUnit XML: a test suite a grader, a test case a result.
//!
//! Neither time nor host is written, for the same inputs give the same bytes. A grade that did not pass is a
//! `failure`, one that could not be made an `error`. Counts stand before the cases they count, so results are
//! read once to count and once more for every grader; nothing is held.

use std::borrow::Cow;
use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::digest::{label, reason};
use super::text::{cut, sanitize, score};
use super::{GradeLine, Report, ResultLine};

/// The columns of an error message in an attribute; the whole of it is in the text.
const MESSAGE: usize = 200;

/// Writes the report as JUnit XML.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (counts, trials) = counted(report);
    let all = counts.iter().fold(Counts::default(), |sum, (_, counts)| sum.plus(counts));
    let mut xml = Writer::new_with_indent(out, b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let suite = clean(&report.header.suite);
    xml.create_element("testsuites")
        .with_attribute(("name", suite.as_ref()))
        .with_attributes(all.attributes().iter().map(|(key, count)| (*key, count.as_str())))
        .write_inner_content(|xml| {
            counts.iter().try_for_each(|(grader, counts)| {
                let name = clean(grader);
                let class = format!("{suite}.{name}");
                xml.create_element("testsuite")
                    .with_attribute(("name", name.as_ref()))
                    .with_attributes(
                        counts.attributes().iter().map(|(key, count)| (*key, count.as_str())),
                    )
                    .write_inner_content(|xml| {
                        write_usage(xml, report, grader)?;
                        write_cases(xml, report, grader, &class, trials)
                    })?;
                Ok(())
            })
        })?;
    xml.get_mut().write_all(b"\n")
}

/// Test cases and what became of them.
#[derive(Clone, Copy, Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
}

impl Counts {
    fn add(&mut self, grade: &GradeLine) {
        self.tests += 1;
        self.failures += usize::from(grade.error.is_none() && !grade.pass);
        self.errors += usize::from(grade.error.is_some());
    }

    fn plus(self, other: &Self) -> Self {
        Self {
            tests: self.tests + other.tests,
            failures: self.failures + other.failures,
            errors: self.errors + other.errors,
        }
    }

    fn attributes(&self) -> [(&'static str, String); 3] {
        [
            ("tests", self.tests.to_string()),
            ("failures", self.failures.to_string()),
            ("errors", self.errors.to_string()),
        ]
    }
}

/// The counts of every grader, and whether there are several trials.
fn counted(report: &Report<'_>) -> (Vec<(String, Counts)>, bool) {
    let graders = report.summary.metrics.0.iter();
    let mut all: Vec<_> = graders.map(|(name, _)| (name.clone(), Counts::default())).collect();
    let mut trials = false;
    for result in (report.results)() {
        trials |= result.trial > 0;
        for (name, counts) in &mut all {
            if let Some(grade) = result.grades.get(name) {
                counts.add(grade);
            }
        }
    }
    (all, trials)
}

/// What the judgments of a grader used, as properties: CI systems chart those.
fn write_usage<W: Write>(xml: &mut Writer<W>, report: &Report<'_>, grader: &str) -> io::Result<()> {
    let Some(usage) = report.summary.usage.get(grader) else { return Ok(()) };
    let cost = usage.cost.map(|cost| cost.dollars().to_string());
    let properties = [
        ("judgments", Some(usage.judgments.to_string())),
        ("input_tokens", Some(usage.input_tokens.to_string())),
        ("output_tokens", Some(usage.output_tokens.to_string())),
        ("cost", cost),
    ];
    let element = xml.create_element("properties").write_inner_content(|xml| {
        let known = properties.iter().filter_map(|(name, value)| Some((*name, value.as_ref()?)));
        for (name, value) in known {
            xml.create_element("property")
                .with_attribute(("name", name))
                .with_attribute(("value", value.as_str()))
                .write_empty()?;
        }
        Ok(())
    });
    element.map(|_| ())
}

fn write_cases<W: Write>(
    xml: &mut Writer<W>,
    report: &Report<'_>,
    grader: &str,
    class: &str,
    trials: bool,
) -> io::Result<()> {
    (report.results)().try_for_each(|result| match result.grades.get(grader) {
        Some(grade) => write_case(xml, &result, (grader, grade), class, trials),
        None => Ok(()),
    })
}

fn write_case<W: Write>(
    xml: &mut Writer<W>,
    result: &ResultLine,
    (grader, grade): (&str, &GradeLine),
    class: &str,
    trials: bool,
) -> io::Result<()> {
    let trial = trials.then_some(result.trial);
    let name = label(&result.sample_id, result.model.as_deref(), trial);
    let case = xml
        .create_element("testcase")
        .with_attribute(("name", clean(&name).as_ref()))
        .with_attribute(("classname", class));
    let (element, message, kind) = match &grade.error {
        Some(error) => ("error", cut(&sanitize(&error.message), MESSAGE), error.kind.as_str()),
        None if grade.pass => return case.write_empty().map(drop),
        None => ("failure", format!("score {}", score(grade.score)), "grade"),
    };
    case.write_inner_content(|xml| {
        xml.create_element(element)
            .with_attribute(("message", clean(&message).as_ref()))
            .with_attribute(("type", clean(kind).as_ref()))
            .write_text_content(BytesText::new(&clean(&reason(result, grader, grade))))?;
        Ok(())
    })
    .map(drop)
}

/// The text with every character that XML 1.0 (§2.2) does not allow replaced: not even as a reference may
/// they stand in a document.
fn clean(text: &str) -> Cow<'_, str> {
    let illegal = |char: char| matches!(char, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    if text.contains(illegal) { text.replace(illegal, "\u{fffd}").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use quick_xml::Reader;

    use super::*;
    use crate::report::made_up;

    type Tag = (String, Vec<(String, String)>);

    /// Every start tag of the document, with its attributes, and every text, unescaped.
    fn parsed(xml: &str) -> (Vec<Tag>, Vec<String>) {
        let mut reader = Reader::from_str(xml);
        reader.config_mut().check_end_names = true;
        let (mut tags, mut texts, mut text) = (Vec::new(), Vec::new(), String::new());
        loop {
            match reader.read_event().unwrap() {
                Event::Start(tag) | Event::Empty(tag) => {
                    let name = String::from_utf8(tag.name().as_ref().to_vec()).unwrap();
                    let attributes = tag.attributes().map(|attribute| {
                        let attribute = attribute.unwrap();
                        let key = String::from_utf8(attribute.key.as_ref().to_vec()).unwrap();
                        let value = std::str::from_utf8(&attribute.value).unwrap();
                        (key, quick_xml::escape::unescape(value).unwrap().into_owned())
                    });
                    tags.push((name, attributes.collect()));
                    text.clear();
                }
                Event::Text(part) => text.push_str(&part.decode().unwrap()),
                Event::GeneralRef(part) => {
                    let reference = format!("&{};", part.decode().unwrap());
                    text.push_str(&quick_xml::escape::unescape(&reference).unwrap());
                }
                Event::End(_) if !text.trim().is_empty() => texts.push(std::mem::take(&mut text)),
                Event::Eof => return (tags, texts),
                _ => {}
            }
        }
    }

    #[test]
    fn hostile_texts_stay_texts() {
        let run = made_up::hostile();
        let xml = run.written(write);
        let (tags, texts) = parsed(&xml);
        let count = |name: &str| tags.iter().filter(|(tag, _)| tag == name).count();
        let counts = ["testsuites", "testsuite", "testcase", "failure", "error"].map(count);
        assert_eq!(counts, [1, 2, 8, 3, 2]);
        assert_eq!(tags.len(), 16 + 5, "and five of properties");
        let rationale = &run.results[0].grades.get("quality|x").unwrap().rationale;
        assert!(texts.contains(&rationale.replace(['\0', '\u{1b}'], "\u{fffd}")), "{texts:#?}");
        let name = |name: &str| ("name".to_owned(), name.to_owned());
        assert!(
            tags.iter().any(|(_, said)| said.first() == Some(&name("<s|2> [m:1,x] [trial 1]")))
        );
        insta::assert_snapshot!(xml.replace('\u{202e}', "<override>"), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="support-bot" tests="8" failures="3" errors="2">
          <testsuite name="accuracy" tests="4" failures="2" errors="0">
            <testcase name="s1 [m:1,x] [trial 0]" classname="support-bot.accuracy"/>
            <testcase name="s1 [m:1,x] [trial 1]" classname="support-bot.accuracy">
              <failure message="score 0.000" type="grade">expected `a`
        found `b`</failure>
            </testcase>
            <testcase name="&lt;s|2&gt; [m:1,x] [trial 0]" classname="support-bot.accuracy"/>
            <testcase name="&lt;s|2&gt; [m:1,x] [trial 1]" classname="support-bot.accuracy">
              <failure message="score 0.000" type="grade">@everyone</failure>
            </testcase>
          </testsuite>
          <testsuite name="quality|x" tests="4" failures="1" errors="2">
            <properties>
              <property name="judgments" value="4"/>
              <property name="input_tokens" value="1234"/>
              <property name="output_tokens" value="56"/>
              <property name="cost" value="0.0123"/>
            </properties>
            <testcase name="s1 [m:1,x] [trial 0]" classname="support-bot.quality|x">
              <failure message="score 0.250" type="grade">&lt;/testcase&gt; ]]&gt;��[31m|
        ::error::@team `code` &lt;img src=x&gt;<override>##[error]%0A</failure>
            </testcase>
            <testcase name="s1 [m:1,x] [trial 1]" classname="support-bot.quality|x">
              <error message="no answer ::warning::" type="timeout">Error during grading: no answer
        ::warning::</error>
            </testcase>
            <testcase name="&lt;s|2&gt; [m:1,x] [trial 0]" classname="support-bot.quality|x"/>
            <testcase name="&lt;s|2&gt; [m:1,x] [trial 1]" classname="support-bot.quality|x">
              <error message="no answer ::warning::" type="timeout">Error during grading: no answer
        ::warning::</error>
            </testcase>
          </testsuite>
        </testsuites>
        "#);
    }

    #[test]
    fn nothing_is_a_document_too() {
        let (tags, _) = parsed(&made_up::empty().written(write));
        assert_eq!(tags.len(), 1);
        assert_eq!(tags[0].1[1], ("tests".to_owned(), "0".to_owned()));
    }
}
