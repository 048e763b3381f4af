//! Each event of a made-up board as the line that a script reads, and as the documents describe it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{JsonDisplay, MOST_MOVED};
use crate::board::{Activity, Board, Display, VerdictFilter, WatchEvent};
use crate::list_query::ListQuery;
use crate::plain::tests::fixtures;
use crate::plain::tests::fixtures::BoardFixture;

fn told(event: &WatchEvent, board: &BoardFixture) -> String {
    let mut out = Vec::new();
    JsonDisplay::new(&mut out).event(event, board).unwrap();
    String::from_utf8(out).unwrap()
}

/// A board on which everything has something to say.
fn everything() -> BoardFixture {
    let mut made = fixtures::labelled();
    made.overview.problems = fixtures::broken().overview.problems;
    made.overview.notes = vec!["a note".to_owned()];
    made
}

fn every_line() -> Vec<Value> {
    let made = everything();
    let mut out = Vec::new();
    let mut json = JsonDisplay::new(&mut out);
    let first = made.rows(&ListQuery::of(VerdictFilter::All))[0];
    for event in [
        WatchEvent::Saved,
        WatchEvent::Broken,
        WatchEvent::Restored,
        WatchEvent::Planned,
        WatchEvent::Verdict(first),
        WatchEvent::Paused,
        WatchEvent::Evaluated,
        WatchEvent::Waiting("rate limited by a (429); retrying in 2.0 s".to_owned()),
        WatchEvent::Note("a note".to_owned()),
        WatchEvent::Ended,
    ] {
        json.event(&event, &made).unwrap();
    }
    let text = String::from_utf8(out).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn small_events_are_small_lines() {
    let check = |event: WatchEvent, made: &BoardFixture| told(&event, made).trim_end().to_owned();
    insta::assert_snapshot!(check(WatchEvent::Saved, &fixtures::moved()), @r#"{"format":2,"event":"saved","save":3,"files":["rubric.txt","house-rules.txt"]}"#);
    insta::assert_snapshot!(check(WatchEvent::Broken, &fixtures::broken()), @r#"{"format":2,"event":"broken_files","save":3,"problems":[{"path":"suite.yaml","line":2,"column":1,"severity":"error","message":"unknown key `gatee`","label":null,"hint":"did you mean `gate`?"},{"path":"rubric.txt","line":0,"column":0,"severity":"error","message":"cannot read the rubric","label":null,"hint":null}]}"#);
    insta::assert_snapshot!(check(WatchEvent::Restored, &fixtures::moved()), @r#"{"format":2,"event":"fixed_files","save":3}"#);
    insta::assert_snapshot!(check(WatchEvent::Planned, &fixtures::held()), @r#"{"format":2,"event":"planned","save":1,"total":1000,"cached":0,"to_ask":1000}"#);
    insta::assert_snapshot!(check(WatchEvent::Paused, &fixtures::held()), @r#"{"format":2,"event":"paused","save":1,"asked":20,"waiting":980,"expected_cost":0.12}"#);
    insta::assert_snapshot!(check(WatchEvent::Note("a\nb\u{1b}".to_owned()), &fixtures::moved()), @r#"{"format":2,"event":"note","save":3,"text":"a\nb\u001b"}"#);
    insta::assert_snapshot!(check(WatchEvent::Ended, &fixtures::moved()), @r#"{"format":2,"event":"ended","save":3,"newest":3,"spent":{"save":{"input_tokens":50000,"output_tokens":5000,"cost":0.06},"session":{"input_tokens":51000,"output_tokens":5100,"cost":0.0612},"saved":{"input_tokens":99000,"output_tokens":9900,"cost":0.12},"calls":102,"budget":1.0,"max_calls":500}}"#);
}

#[test]
fn a_verdict_is_told_as_it_comes_in() {
    let made = fixtures::labelled();
    let ids = made.rows(&ListQuery::of(VerdictFilter::All));
    let lines: Vec<String> =
        [1, 6].map(|at: usize| told(&WatchEvent::Verdict(ids[at]), &made)).into();
    insta::assert_snapshot!(lines.concat(), @r#"
    {"format":2,"event":"verdict","save":3,"sample_id":"refund","model":null,"trial":0,"grader":"tone","before":{"score":0.9,"state":"passed"},"now":{"score":null,"state":"errored"},"movement":"errored","label":null,"disagrees":false,"disputed":false,"agreement":null,"rationale":"no answer in time\n(30 s)","rationale_before":"Friendly."}
    {"format":2,"event":"verdict","save":3,"sample_id":"d","model":null,"trial":0,"grader":"quality","before":{"score":0.9,"state":"passed"},"now":{"score":0.9,"state":"passed"},"movement":"unchanged","label":false,"disagrees":true,"disputed":false,"agreement":null,"rationale":"It says all that is asked for, in good order, and in the words of the one who asks.","rationale_before":"Fine."}
    "#);
    let gone = crate::board::VerdictId { case: 1000, grader: 0 };
    assert_eq!(told(&WatchEvent::Verdict(gone), &made), "");
}

#[test]
fn an_evaluation_is_one_line() {
    let mut made = fixtures::held();
    made.overview.state = Activity::Stopped("the budget is used up".to_owned());
    made.overview.notes = vec!["a note".to_owned()];
    insta::assert_snapshot!(told(&WatchEvent::Evaluated, &made), @r#"{"format":2,"event":"evaluated","save":1,"newest":1,"suite":"support-bot","files":["rubric.txt"],"metrics":{"quality":{"label":"Is good","mean":0.79,"interval":{"low":0.75,"high":0.83,"level":0.95,"method":"student_t"},"pass_rate":0.7,"pass_rate_interval":{"low":0.6,"high":0.78,"level":0.95,"method":"student_t"},"judged":20,"errors":0,"total":1000,"not_applicable":0,"since_last":-0.04,"since_start":null,"labels":null,"disputed":0,"labels_since_last":null,"labels_since_start":null,"held_out":null}},"declared":{"by_subject":{"kind":"macro mean","value":0.8,"interval":{"low":0.7,"high":0.9,"level":0.95,"method":"student_t"},"n":98,"errors":2,"problem":null,"since_last":-0.01,"since_start":null}},"gate":{"status":"undecided","value":0.1,"op":"gte","threshold":0.8,"lowest":0.1,"highest":0.1,"rule":"quality avg_score >= 0.8"},"gate_before":{"status":null,"value":null,"op":null,"threshold":null,"lowest":null,"highest":null,"rule":null},"counts":{"broken":1,"errored":0,"fixed":0,"error_to_fail":0,"lowered":0,"raised":0,"new":0,"unchanged":19,"pending":980,"not_applicable":0,"now_agrees":0,"no_longer_agrees":0},"moved":[{"sample_id":"gift-card","model":null,"trial":0,"grader":"quality","before":{"score":0.9,"state":"passed"},"now":{"score":0.1,"state":"failed"},"movement":"broken","label":null,"disagrees":false,"disputed":false,"agreement":null,"rationale":"Wrong.","rationale_before":"Right."}],"moved_not_listed":0,"actions":{"total":1000,"cached":0,"asked":20,"in_flight":0,"failed":0,"waiting":980,"superseded":0},"spent":{"save":{"input_tokens":1000,"output_tokens":100,"cost":0.0012},"session":{"input_tokens":1000,"output_tokens":100,"cost":0.0012},"saved":{"input_tokens":99000,"output_tokens":9900,"cost":0.12},"calls":2,"budget":null,"max_calls":null},"notes":["a note"],"stopped":"the budget is used up"}"#);
    let line: Value =
        serde_json::from_str(&told(&WatchEvent::Evaluated, &fixtures::labelled())).unwrap();
    insta::assert_snapshot!(line["metrics"]["quality"]["labels"], @r#"{"n":40,"without_verdict":1,"stale":0,"both_pass":23,"false_pass":1,"false_fail":0,"both_fail":16,"accuracy":0.975,"kappa":0.9482,"kappa_interval":[0.8478,1.0],"mean_distance":null}"#);
    assert_eq!(line["moved"].as_array().map(Vec::len), Some(6));
    assert_eq!(line["stopped"], Value::Null);
}

#[test]
fn a_line_lists_so_many_verdicts_and_says_how_many_it_does_not() {
    let mut made = fixtures::start();
    for at in 0..MOST_MOVED + 3 {
        made = made.with((&at.to_string(), 0), (0.9, 0.1), ["", ""]);
    }
    let line: Value = serde_json::from_str(&told(&WatchEvent::Evaluated, &made)).unwrap();
    assert_eq!(line["moved"].as_array().map(Vec::len), Some(MOST_MOVED));
    assert_eq!((&line["moved_not_listed"], &line["counts"]["broken"]), (&3.into(), &1003.into()));
}

#[test]
fn every_line_has_its_head() {
    let lines = every_line();
    let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    let expected = [
        "saved",
        "broken_files",
        "fixed_files",
        "planned",
        "verdict",
        "paused",
        "evaluated",
        "waiting",
        "note",
        "ended",
    ];
    assert_eq!(events, expected);
    for line in lines {
        assert_eq!((&line["format"], &line["save"]), (&2.into(), &3.into()), "{line}");
    }
}

/// The names in backticks of one cell.
fn names(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn the_documents_list_every_field() {
    let text = include_str!("../../../../docs/watch.md");
    let documented = |first: &str| {
        let row = text.lines().find(|line| line.starts_with(&format!("| `{first}` |")));
        let row = row.unwrap_or_else(|| panic!("docs/watch.md has no row `{first}`"));
        names(row.split('|').nth(2).unwrap())
    };
    for line in every_line() {
        let event = line["event"].as_str().unwrap();
        let mut fields = keys(&line);
        fields.retain(|field| !["format", "event", "save"].contains(&field.as_str()));
        assert_eq!(documented(event), fields, "{event}");
        let first = |list: &Value| list.as_array().map(|list| list[0].clone());
        match event {
            "broken_files" => {
                assert_eq!(documented("problems"), keys(&first(&line["problems"]).unwrap()));
            }
            "verdict" => assert_eq!(documented("before`, `now"), keys(&line["now"])),
            "evaluated" => {
                let verdict = documented("verdict");
                assert_eq!(verdict, keys(&first(&line["moved"]).unwrap()));
                assert_eq!(documented("metrics"), keys(&line["metrics"]["quality"]));
                assert_eq!(documented("declared"), keys(&line["declared"]["by_subject"]));
                let metric = &line["metrics"]["quality"];
                assert_eq!(documented("labels"), keys(&metric["labels"]));
                assert_eq!(documented("labels_since_last"), keys(&metric["labels_since_last"]));
                for part in ["counts", "actions", "spent"] {
                    assert_eq!(documented(part), keys(&line[part]), "{part}");
                }
                assert_eq!(documented("spent.save"), keys(&line["spent"]["save"]));
            }
            _ => {}
        }
    }
}
