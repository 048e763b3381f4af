//! Files of labels: what is read of them, and what is said of those that are wrong.

use super::{LabelLine, LabelReading, beside, read};
use crate::dataset::label_value::LabelValue;
use crate::dataset::people::{label_of, opinions};
use evalrs_model::spec::{LabelMeaning, LabelsSpec, Scale};

fn scales() -> [(String, Scale); 2] {
    [("exact".to_owned(), Scale::UNIT), ("helpful".to_owned(), Scale { min: 1.0, max: 5.0 })]
}

fn problems(path: &str, text: &str) -> String {
    let reading = read(path, text, &scales(), &LabelsSpec::default());
    let rendered = reading.problems.iter().map(|problem| problem.render(false));
    rendered.collect::<Vec<_>>().join("\n\n")
}

#[test]
fn labels_are_beside_the_suite_under_its_name() {
    for (suite, labels) in [
        ("bot.yaml", "bot.labels.jsonl"),
        ("a.b/bot.suite.yaml", "a.b/bot.suite.labels.jsonl"),
        ("/bot", "/bot.labels.jsonl"),
    ] {
        assert_eq!(beside(suite), labels);
    }
}

#[test]
fn every_format_says_the_same() {
    let jsonl = "{\"id\": 1, \"label\": 0.5, \"grader\": \"exact\"}\n\n{\"id\": \"b\", \"trial\": 2, \"label\": \"pass\", \"note\": [1]}\n{\"sample_id\": \"c\", \"label\": null}\n{\"id\": \"b\", \"label\": false, \"model\": \"m\"}\n";
    let array = format!("[{}]", jsonl.trim().replace("\n\n", "\n").replace('\n', ", "));
    let csv = "\u{feff}sample_id,grader,trial,model,label\n1,exact,,,0.5\nb,,2,,Passed\nc,,,,\nb,,,m,false\n";
    let expected = read("l.jsonl", jsonl, &scales(), &LabelsSpec::default());
    assert_eq!(expected.problems, []);
    let table = &expected.table.samples;
    assert_eq!(table.keys().collect::<Vec<_>>(), ["1", "b"]);
    let own: Vec<_> = table["b"].iter().map(|line| (line.trial, line.said.clone())).collect();
    assert_eq!(own, [(Some(2), LabelValue::Pass(true)), (None, LabelValue::Pass(false))]);
    for (path, text) in [("l.json", array.as_str()), ("l", &array), ("l.csv", csv), ("l", csv)] {
        assert_eq!(read(path, text, &scales(), &LabelsSpec::default()), expected, "{path}");
    }
}

#[test]
fn lines_that_say_more_come_first() {
    let lines = [
        r#"{"id": "a", "label": true}"#,
        r#"{"id": "a", "model": "m", "label": true}"#,
        r#"{"id": "a", "trial": 1, "label": {"exact": 1, "helpful": 2}}"#,
        r#"{"id": "a", "trial": 1, "label": true}"#,
        r#"{"id": "a", "grader": "exact", "model": "m", "label": 0}"#,
        r#"{"id": "a", "label": true}"#,
    ];
    let reading = read("l.jsonl", &lines.join("\n"), &scales(), &LabelsSpec::default());
    assert_eq!(reading.problems, []);
    let of = reading.table.samples["a"].iter().map(|line| {
        let grader = line.grader.as_deref();
        let model = line.model.as_deref();
        (grader.unwrap_or("-"), line.trial, model.unwrap_or("-"))
    });
    assert_eq!(
        of.collect::<Vec<_>>(),
        [
            ("exact", Some(1), "-"),
            ("helpful", Some(1), "-"),
            ("exact", None, "m"),
            ("-", Some(1), "-"),
            ("-", None, "m"),
            ("-", None, "-"),
        ]
    );
    let line = &reading.table.samples["a"][2];
    assert!(line.is_of(Some("m"), 7) && !line.is_of(None, 0));
}

#[test]
fn problems_are_shown_where_they_stand() {
    let lines = [
        r#"{"id": "a", "label": 6}"#,
        r#"{"id": "a", "label": 1"#,
        r#"{"id": "a"}"#,
        r#"{"label": 1}"#,
        r#"{"id": "a", "label": 0.5, "grader": "helpful"}"#,
        r#"{"id": "a", "label": {"exact": 1}, "grader": "exact"}"#,
        r#"{"id": "a", "label": 1, "trial": "x"}"#,
        r#"{"id": "b", "label": 1}"#,
        r#"{"id": "b", "label": 0}"#,
        r#"{"id": "b", "label": "cat", "grader": "other"}"#,
    ];
    insta::assert_snapshot!(problems("l.jsonl", &lines.join("\n")), @r#"
    error: `label` is neither a score from 0 to 1 or 1 to 5 nor pass or fail
     --> l.jsonl:1:22
      |
    1 | {"id": "a", "label": 6}
      |                      ^ expected a score, true, false, "pass" or "fail"
      |
      = help: for other words, set `labels: {map: {good: pass, bad: fail}}` in the suite

    error: bad JSON: the text ends inside an object
     --> l.jsonl:2:22
      |
    2 | {"id": "a", "label": 1
      |                      ^
      |
      = help: the text is cut off, or a bracket or quote is never closed

    error: the line has no `label`, only `id`
     --> l.jsonl:3:1
      |
    3 | {"id": "a"}
      | ^^^^^^^^^^^
      |
      = help: a line of labels is {"id": …, "label": 0.5} or {"id": …, "label": "pass"}; `model`, `trial` and `grader` narrow it, `who` names the reviewer

    error: the line has no `id`, only `label`
     --> l.jsonl:4:1
      |
    4 | {"label": 1}
      | ^^^^^^^^^^^^
      |
      = help: a line of labels is {"id": …, "label": 0.5} or {"id": …, "label": "pass"}; `model`, `trial` and `grader` narrow it, `who` names the reviewer

    error: `label` is neither a score from 1 to 5 nor pass or fail
     --> l.jsonl:5:22
      |
    5 | {"id": "a", "label": 0.5, "grader": "helpful"}
      |                      ^^^ expected a score, true, false, "pass" or "fail"
      |
      = help: for other words, set `labels: {map: {good: pass, bad: fail}}` in the suite

    error: `label` is neither a score from 0 to 1 nor pass or fail
     --> l.jsonl:6:22
      |
    6 | {"id": "a", "label": {"exact": 1}, "grader": "exact"}
      |                      ^^^^^^^^^^^^ expected a score, true, false, "pass" or "fail"
      |
      = help: for other words, set `labels: {map: {good: pass, bad: fail}}` in the suite

    error: `trial` is a string
     --> l.jsonl:7:34
      |
    7 | {"id": "a", "label": 1, "trial": "x"}
      |                                  ^^^ expected a whole number from 0

    error: `b` has another label on line 8
     --> l.jsonl:9:1
      |
    9 | {"id": "b", "label": 0}
      | ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: remove one of the lines, or distinguish them by `model`, `trial`, `grader` or `who`

    warning: 1 label is for graders that the suite does not have: `other`
     --> l.jsonl
    "#);
}

#[test]
fn an_empty_file_has_no_labels_and_nothing_is_wrong_with_it() {
    for text in ["", "\n", "\u{feff}  \r\n"] {
        let reading = read("l.jsonl", text, &scales(), &LabelsSpec::default());
        assert_eq!((reading.table.samples.len(), reading.problems.len()), (0, 0));
    }
}

#[test]
fn files_that_hold_no_labels_say_what_is_expected() {
    let found = [
        problems("l.json", "[]"),
        problems("l.csv", "id,score\na,1\n"),
        problems("l.jsonl", "[{\"id\": 1, \"label\": 1}]"),
        problems("l.csv", "id,label\na,1\nb,7\n"),
        problems("l.jsonl", &format!("{{\"id\": 1, \"label\": {}", "[".repeat(150))),
    ];
    insta::assert_snapshot!(found.join("\n\n"), @r#"
    error: the file of labels has no records
     --> l.json
      = help: a line of labels is {"id": …, "label": 0.5} or {"id": …, "label": "pass"}; `model`, `trial` and `grader` narrow it, `who` names the reviewer; an array of them is named .json, a table .csv

    error: the file of labels has no column `label`
     --> l.csv:1:1
      |
    1 | id,score
      | ^^^^^^^^
      |
      = help: its header is `id,label`, and `model`, `trial`, `grader`, `who` if needed; for other names, set `labels: {path: …, fields: {label: NAME}}` in the suite

    error: the file of labels is one JSON array, not one object per line
     --> l.jsonl:1:1
      |
    1 | [{"id": 1, "label": 1}]
      | ^
      |
      = help: a line of labels is {"id": …, "label": 0.5} or {"id": …, "label": "pass"}; `model`, `trial` and `grader` narrow it, `who` names the reviewer; an array of them is named .json, a table .csv

    error: `label` is neither a score from 0 to 1 or 1 to 5 nor pass or fail
     --> l.csv:3:1
      |
    3 | b,7
      | ^^^ expected a score, true, false, "pass" or "fail"
      |
      = help: for other words, set `labels: {map: {good: pass, bad: fail}}` in the suite

    error: the JSON is nested more than 128 deep
     --> l.jsonl:1:147
      |
    1 | …[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
      |                                                              ^ level 129 opens here
    "#);
}

fn layout(fields: &[(&str, &str)], map: &[(&str, LabelMeaning)], graders: &[&str]) -> LabelsSpec {
    LabelsSpec {
        holdout: None,
        path: Some("l".to_owned()),
        graders: graders.iter().map(|name| (*name).to_owned()).collect(),
        fields: fields
            .iter()
            .map(|(ours, path)| ((*ours).to_owned(), (*path).to_owned()))
            .collect(),
        columns: Vec::new(),
        map: map.iter().map(|(written, meaning)| ((*written).to_owned(), *meaning)).collect(),
    }
}

#[test]
fn files_of_others_are_read_as_the_suite_says() {
    let map = [
        ("1", LabelMeaning::Pass(true)),
        ("0", LabelMeaning::Pass(false)),
        ("good", LabelMeaning::Score(4.0)),
    ];
    let fields = [("id", "q.id"), ("label", "human"), ("model", "system"), ("grader", "dimension")];
    let nested = r#"{"q": {"id": 7}, "human": 1.0, "system": "m", "dimension": "exact", "label": "x"}
{"q": {"id": "b"}, "human": "good", "dimension": "helpful"}
{"q": {"id": "b"}, "human": null, "dimension": "exact"}
{"q": {"id": "c"}, "dimension": "exact"}
{"q": {"id": "d"}, "human": "0", "dimension": "exact"}"#;
    let table = "q.id,human,system,dimension\n7,1.0,m,exact\nb,good,,helpful\nb,,,exact\nc,,,exact\nd,0,,exact\n";
    let layout = layout(&fields, &map, &[]);
    let found = read("l.jsonl", nested, &scales(), &layout);
    assert_eq!(found.problems, []);
    let lines = &found.table.samples;
    assert_eq!(lines.keys().collect::<Vec<_>>(), ["7", "b", "d"]);
    assert_eq!(
        (&lines["7"][0].said, lines["7"][0].model.as_deref()),
        (&LabelValue::Pass(true), Some("m"))
    );
    assert_eq!(lines["b"][0].said, LabelValue::Number(4.0));
    assert_eq!(lines["d"][0].said, LabelValue::Pass(false));
    assert_eq!(read("l.csv", table, &scales(), &layout), found);
}

#[test]
fn labels_without_a_grader_are_for_those_that_the_suite_names() {
    let text = "id,label,grader\na,4,\nb,1,exact\n";
    let found = read("l.csv", text, &scales(), &layout(&[], &[], &["helpful"]));
    assert_eq!(found.problems, []);
    let grader = |id: &str| found.table.samples[id][0].grader.clone();
    assert_eq!((grader("a").as_deref(), grader("b").as_deref()), (Some("helpful"), Some("exact")));
    // 4 is no label from 0 to 1, which is said where that is the scale of all it is for.
    let wrong = read("l.csv", text, &scales(), &layout(&[], &[], &["exact"]));
    assert_eq!(wrong.problems.len(), 1);
}

#[test]
fn several_people_give_one_label() {
    let text = "id,who,label\na,ann,pass\na,bob,fail\na,cem,pass\nb,ann,pass\nb,bob,fail\nc,ann,0\nc,bob,1\nc,bob,1\nd,ann,0.5\nd,ann,1\ne,ann,pass\ne,bob,1\n";
    let found = read("l.csv", text, &scales(), &LabelsSpec::default());
    let said = |id: &str| joined(&found, id);
    assert_eq!(said("a"), Some(LabelValue::Pass(true)));
    assert_eq!(said("b"), None);
    assert_eq!(said("c"), Some(LabelValue::Number(0.5)));
    let told = found.problems.iter().map(|problem| problem.message.as_str());
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "`d` has another label on line 10",
            "one reviewer gave `e` a score, another a pass or fail on line 12",
            "1 tie: as many reviewers pass the answer as fail it, so it has no label",
        ]
    );
}

/// One opinion of each person.
fn said_of<'a>(reading: &'a LabelReading, id: &str) -> Vec<&'a LabelLine> {
    opinions(reading.table.samples.get(id).into_iter().flatten())
}

/// What all of them say.
fn joined(reading: &LabelReading, id: &str) -> Option<LabelValue> {
    label_of(&said_of(reading, id))
}

/// `who=label` of each person, and the label of all.
fn people(reading: &LabelReading, id: &str) -> Vec<(String, Option<LabelValue>)> {
    let label = joined(reading, id);
    let all = said_of(reading, id).into_iter();
    all.map(|one| (format!("{}={:?}", one.who.as_deref().unwrap_or("-"), one.said), label.clone()))
        .collect()
}

#[test]
fn what_each_person_says_is_kept_and_ties_too() {
    let text =
        "id,who,label\na,ann,pass\na,bob,pass\nb,ann,pass\nb,bob,fail\nc,ann,fail\nd,,pass\n";
    let found = read("l.csv", text, &scales(), &LabelsSpec::default());
    let [pass, fail] = [true, false].map(LabelValue::Pass);
    let said = |who: &str, said: &LabelValue, label: Option<&LabelValue>| {
        (format!("{who}={said:?}"), label.cloned())
    };
    assert_eq!(
        people(&found, "a"),
        [said("ann", &pass, Some(&pass)), said("bob", &pass, Some(&pass))]
    );
    // A tie is no label, and what people disagree on all the same.
    assert_eq!(people(&found, "b"), [said("ann", &pass, None), said("bob", &fail, None)]);
    assert_eq!(people(&found, "c"), [said("ann", &fail, Some(&fail))]);
    assert_eq!(people(&found, "d"), [said("-", &pass, Some(&pass))]);
}

#[test]
fn each_person_has_one_opinion_of_a_verdict() {
    let table = "id,grader,who,at,label\n";
    let named = |who: &str| format!("{who}=Pass(true)");
    for (lines, expected, label) in [
        // The later of two lines of one person counts, on whichever line it stands.
        ("a,exact,ann,1,fail\na,exact,ann,2,pass\n", vec![named("ann")], Some(true)),
        ("a,exact,ann,2,pass\na,exact,ann,1,fail\n", vec![named("ann")], Some(true)),
        // Lines without a name are of one person, who may be called so.
        ("a,exact,,1,fail\na,exact,unknown,2,pass\n", vec![named("-")], Some(true)),
        ("a,exact,,2,pass\na,exact,ann,1,pass\n", vec![named("-"), named("ann")], Some(true)),
        // The line that says more about the verdict counts, of this person, and takes nothing from others.
        ("a,,ann,2,fail\na,exact,ann,1,pass\n", vec![named("ann")], Some(true)),
        ("a,,bob,,pass\na,exact,ann,1,pass\n", vec![named("ann"), named("bob")], Some(true)),
        (
            "a,,bob,,fail\na,exact,ann,1,pass\n",
            vec![named("ann"), "bob=Pass(false)".to_owned()],
            None,
        ),
        // A score and a pass are no mean: that of the line that says more counts.
        (
            "a,,bob,,0.5\na,exact,ann,1,pass\n",
            vec![named("ann"), "bob=Number(0.5)".to_owned()],
            Some(true),
        ),
    ] {
        let found = read("l.csv", &format!("{table}{lines}"), &scales(), &LabelsSpec::default());
        assert_eq!(found.problems, [], "{lines}");
        let told: Vec<String> = people(&found, "a").into_iter().map(|(told, _)| told).collect();
        assert_eq!(told, expected, "{lines}");
        assert_eq!(joined(&found, "a"), label.map(LabelValue::Pass), "{lines}");
    }
}

#[test]
fn several_people_may_stand_in_one_line() {
    let map = [("1", LabelMeaning::Pass(true)), ("2", LabelMeaning::Pass(false))];
    let columns = LabelsSpec {
        columns: ["first", "second", "by.third"].map(str::to_owned).to_vec(),
        ..layout(&[("id", "idx")], &map, &["exact"])
    };
    let json = r#"[{"idx": 0, "first": 1, "second": 1, "by": {"third": 2}},
        {"idx": 1, "first": 2, "second": null, "by": {"third": 2}},
        {"idx": 2, "first": 1, "second": 2}]"#;
    let csv = "idx,first,second,by.third\n0,1,1,2\n1,2,,2\n2,1,2,\n";
    let found = read("l.json", json, &scales(), &columns);
    let told: Vec<&str> = found.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(told, ["1 tie: as many reviewers pass the answer as fail it, so it has no label"]);
    let label = |id: &str| joined(&found, id);
    assert_eq!(
        ["0", "1", "2"].map(label),
        [Some(LabelValue::Pass(true)), Some(LabelValue::Pass(false)), None]
    );
    let names: Vec<String> = people(&found, "0").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["first=Pass(true)", "second=Pass(true)", "by.third=Pass(false)"]);
    assert_eq!(read("l.csv", csv, &scales(), &columns).table, found.table);
    for (path, text, said) in [
        ("l.csv", "idx,first,by.third\n0,1,2\n", "the file of labels has no column `second`"),
        ("l.json", "[{\"idx\": 0}]", "no line of the file of labels has `first`"),
        (
            "l.json",
            "[{\"idx\": 0, \"second\": \"x\"}]",
            "`second` is neither a score from 0 to 1 nor pass or fail",
        ),
    ] {
        let found = read(path, text, &scales(), &columns);
        assert_eq!(found.problems[0].message, said);
    }
}

#[test]
fn fields_that_no_line_has_are_an_error() {
    let layout = layout(&[("label", "human")], &[], &[]);
    let found = [
        read("l.csv", "id,label\na,1\n", &scales(), &layout),
        read("l.jsonl", "{\"id\": \"a\", \"label\": 1}", &scales(), &layout),
    ];
    let told = found.map(|reading| reading.problems[0].message.clone());
    assert_eq!(
        told,
        ["the file of labels has no column `human`", "no line of the file of labels has `human`"]
    );
}

#[test]
fn what_the_map_lacks_and_is_no_label_is_said_with_what_it_has() {
    let map = [("good", LabelMeaning::Pass(true)), ("fair", LabelMeaning::Score(7.0))];
    let layout = layout(&[("label", "human")], &map, &[]);
    let found = read("l.csv", "id,human\na,bad\nb,fair\nc,good\n", &scales(), &layout);
    let rendered: Vec<String> =
        found.problems.iter().map(|problem| problem.render(false)).collect();
    insta::assert_snapshot!(rendered.join("\n\n"), @r#"
    error: `human` is neither a score from 0 to 1 or 1 to 5 nor pass or fail
     --> l.csv:2:1
      |
    2 | a,bad
      | ^^^^^ expected a score, true, false, "pass" or "fail"
      |
      = help: `map` of `labels` in the suite has `good: pass`, `fair: 7`

    error: `human` is neither a score from 0 to 1 or 1 to 5 nor pass or fail
     --> l.csv:3:1
      |
    3 | b,fair
      | ^^^^^^ expected a score, true, false, "pass" or "fail"
      |
      = help: `map` of `labels` in the suite has `good: pass`, `fair: 7`
    "#);
}
