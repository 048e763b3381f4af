//! Files of JUnit, whole.

use quick_xml::Reader;

use super::*;
use crate::ProcessFacts;
use evalrs_test_runs as fixtures;
use evalrs_test_runs::Run;

type Tag = (String, Vec<(String, String)>);

/// Every start tag of the document, with its attributes, and every text, unescaped.
fn parsed(xml: &str) -> (Vec<Tag>, Vec<String>) {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let mut tags = Vec::new();
    let mut texts = Vec::new();
    let mut text = String::new();
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

fn origin(gated: &[&str]) -> ReportOrigin {
    let gated: Vec<String> = gated.iter().map(|name| (*name).to_owned()).collect();
    ReportOrigin {
        suite: Some("suite.yaml".to_owned()),
        dataset: Some("data<.jsonl".to_owned()),
        lines: vec![2, 3, 4, 5],
        gated: (!gated.is_empty()).then_some(gated),
        ..ReportOrigin::default()
    }
}

fn written(runs: &[(&Run, ReportOrigin, u8)]) -> String {
    let mut document = Box::<Document>::default();
    for (run, origin, code) in runs {
        let ending = RunEnding { code: *code, ..RunEnding::default() };
        run.written(|report, out| {
            let facts = ProcessFacts { ending, ..ProcessFacts::default() };
            let evaluation = ReportedRun { report, facts: &facts, origin };
            document.add(&evaluation, &mut ReportSink { out, page: None })
        });
    }
    let mut out = Vec::new();
    document.finish(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn hostile_texts_stay_texts() {
    let run = fixtures::hostile();
    let xml = written(&[(&run, origin(&["quality|x"]), 3)]);
    let (tags, texts) = parsed(&xml);
    let count = |name: &str| tags.iter().filter(|(tag, _)| tag == name).count();
    let counts = ["testsuites", "testsuite", "testcase", "failure", "error"].map(count);
    assert_eq!(counts, [1, 3, 9, 1, 3]);
    let rationale = &run.results[0].grades.get("quality|x").unwrap().rationale;
    let text = rationale.replace(['\0', '\u{1b}'], "\u{fffd}").replace('\u{202e}', "⟨U+202E⟩");
    let text = text + "\n\ndata<.jsonl:2";
    assert!(texts.contains(&text), "{texts:#?}");
    let name = |name: &str| ("name".to_owned(), name.to_owned());
    assert!(tags.iter().any(|(_, said)| said.first() == Some(&name("<s|2> [m:1,x] [trial 1]"))));
    insta::assert_snapshot!(xml, @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="support-bot" tests="9" failures="1" errors="3" time="0">
          <testsuite name="support-bot.gate" file="suite.yaml" tests="1" failures="0" errors="1" skipped="0" time="0">
            <testcase name="quality|x avg_score &gt;= 0.8" classname="support-bot.gate" time="0">
              <error message="quality|x avg_score &gt;= 0.8: 0.312 (0.312 to 0.812 depending on missing grades)" type="gate">quality|x avg_score &gt;= 0.8: 0.312 (0.312 to 0.812 depending on missing grades)</error>
            </testcase>
          </testsuite>
          <testsuite name="support-bot.accuracy" file="data&lt;.jsonl" tests="4" failures="0" errors="0" skipped="0" time="0">
            <properties>
              <property name="mean" value="0.5"/>
              <property name="pass_rate" value="0.5"/>
            </properties>
            <testcase name="s1 [m:1,x] [trial 0]" classname="support-bot.accuracy" time="0"/>
            <testcase name="s1 [m:1,x] [trial 1]" classname="support-bot.accuracy" time="0">
              <system-out>score 0.000: expected `a`
        found `b`

        data&lt;.jsonl:3</system-out>
            </testcase>
            <testcase name="&lt;s|2&gt; [m:1,x] [trial 0]" classname="support-bot.accuracy" time="0"/>
            <testcase name="&lt;s|2&gt; [m:1,x] [trial 1]" classname="support-bot.accuracy" time="0">
              <system-out>score 0.000: @everyone

        data&lt;.jsonl:5</system-out>
            </testcase>
          </testsuite>
          <testsuite name="support-bot.quality|x" file="data&lt;.jsonl" tests="4" failures="1" errors="2" skipped="0" time="0">
            <properties>
              <property name="mean" value="0.625"/>
              <property name="pass_rate" value="0.5"/>
              <property name="judgments" value="4"/>
              <property name="input_tokens" value="1234"/>
              <property name="output_tokens" value="56"/>
              <property name="cost" value="0.0123"/>
            </properties>
            <testcase name="s1 [m:1,x] [trial 0]" classname="support-bot.quality|x" time="0">
              <failure message="score 0.250: &lt;/testcase&gt; ]]&gt;| ::error::@team `code` &lt;img src=x&gt;##[error]%0A" type="grade">&lt;/testcase&gt; ]]&gt;��[31m|
        ::error::@team `code` &lt;img src=x&gt;⟨U+202E⟩##[error]%0A

        data&lt;.jsonl:2</failure>
            </testcase>
            <testcase name="s1 [m:1,x] [trial 1]" classname="support-bot.quality|x" time="0">
              <error message="no answer ::warning::" type="timeout">Error during grading: no answer
        ::warning::

        data&lt;.jsonl:3</error>
            </testcase>
            <testcase name="&lt;s|2&gt; [m:1,x] [trial 0]" classname="support-bot.quality|x" time="0"/>
            <testcase name="&lt;s|2&gt; [m:1,x] [trial 1]" classname="support-bot.quality|x" time="0">
              <error message="no answer ::warning::" type="timeout">Error during grading: no answer
        ::warning::

        data&lt;.jsonl:5</error>
            </testcase>
          </testsuite>
        </testsuites>
        "#);
}

/// The attributes of the root and how many elements of each kind there are.
fn counted(xml: &str) -> (String, [usize; 4]) {
    let (tags, _) = parsed(xml);
    let count = |name: &str| tags.iter().filter(|(tag, _)| tag == name).count();
    let root: Vec<&str> = tags[0].1.iter().map(|(_, value)| value.as_str()).collect();
    (root.join(" "), ["failure", "error", "skipped", "system-out"].map(count))
}

#[test]
fn a_test_fails_only_where_the_run_does() {
    let mut run = fixtures::hostile();
    let mut of = |status, gated: &[&str], code| {
        run.summary.gate.status = status;
        counted(&written(&[(&run, origin(gated), code)])).1
    };
    let cases = [
        of(Some(GateStatus::Passed), &["accuracy"], 0),
        of(Some(GateStatus::Failed), &["accuracy"], 1),
        of(Some(GateStatus::Failed), &["quality|x"], 1),
        of(Some(GateStatus::Undecided), &["quality|x"], 3),
        of(None, &[], 3),
    ];
    // failure, error, skipped, passed with output; a gate is one case of its own.
    let expected = [[0, 0, 2, 3], [3, 0, 2, 1], [2, 2, 0, 2], [1, 3, 0, 2], [3, 2, 0, 0]];
    assert_eq!(cases, expected);
}

/// What the schema of the Jenkins plugin xUnit (junit-10) takes of what is written here. GitLab reads the same.
#[test]
fn elements_have_the_attributes_that_readers_take() {
    let known: &[(&str, &[&str])] = &[
        ("testsuites", &["name", "tests", "failures", "errors", "time"]),
        ("testsuite", &["name", "file", "tests", "failures", "errors", "skipped", "time"]),
        ("properties", &[]),
        ("property", &["name", "value"]),
        ("testcase", &["name", "classname", "time"]),
        ("failure", &["message", "type"]),
        ("error", &["message", "type"]),
        ("skipped", &["message", "type"]),
        ("system-out", &[]),
    ];
    let run = fixtures::hostile();
    for (gated, code) in [("accuracy", 1), ("quality|x", 3)] {
        for (tag, attributes) in parsed(&written(&[(&run, origin(&[gated]), code)])).0 {
            let (_, names) = known.iter().find(|(name, _)| *name == tag).unwrap();
            assert!(attributes.iter().all(|(name, _)| names.contains(&name.as_str())), "{tag}");
        }
    }
}

#[test]
fn several_suites_are_one_document() {
    let run = fixtures::hostile();
    let all = written(&[(&run, origin(&["accuracy"]), 3), (&run, origin(&["accuracy"]), 3)]);
    let (root, counts) = counted(&all);
    assert_eq!((root.as_str(), counts), ("evalrs 18 4 6 0", [4, 6, 0, 2]));
    assert_eq!(parsed(&all).0.iter().filter(|(tag, _)| tag == "testsuite").count(), 6);
}

#[test]
fn nothing_is_a_document_too() {
    let (tags, _) = parsed(&written(&[(&fixtures::empty(), ReportOrigin::default(), 0)]));
    assert_eq!(tags.len(), 1);
    assert_eq!(tags[0].1[1], ("tests".to_owned(), "0".to_owned()));
}
