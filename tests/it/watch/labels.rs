//! Labels of people beside the verdicts, and what moves when either is edited.

use serde_json::{Value, json};

use super::{Session, TERSE, judge, labelled, save, space, telling};
use crate::space::Space;

fn labels(told: &Value) -> &Value {
    &told["metrics"]["quality"]["labels"]
}

#[test]
fn labels_of_rows_are_compared_with_the_verdicts() {
    let space = space(0);
    save(&space, "data.jsonl", &labelled(&[true, false, true, true]));
    let mut session = Session::begin(space, judge(), &[]);
    let told = session.telling.wait_event("evaluated");
    assert_eq!(
        (&labels(&told)["accuracy"], &labels(&told)["false_pass"]),
        (&json!(0.75), &json!(1))
    );
    let edited = session.edit(|space| save(space, "rubric.txt", TERSE));
    let now = labels(edited.told());
    assert_eq!(
        (&now["n"], &now["accuracy"], &now["kappa"]),
        (&json!(4), &json!(0.75), &json!(0.5))
    );
    assert_eq!((&now["false_pass"], &now["false_fail"]), (&json!(0), &json!(1)));
    let disagrees = |event: &&&Value| event["disagrees"] == true;
    let disagreeing: Vec<&Value> =
        edited.all("verdict").iter().filter(disagrees).map(|event| &event["sample_id"]).collect();
    assert_eq!(disagreeing, [&json!("s3")]);
    // Another label is another comparison, and asks nobody.
    let edited = session.edit(|space| {
        save(space, "data.jsonl", &labelled(&[true, false, true, false]));
    });
    assert_eq!((edited.asked.len(), &labels(edited.told())["accuracy"]), (0, &json!(1.0)));
    session.end();
}

#[test]
fn labels_of_a_file_of_their_own_are_watched() {
    let space = space(4);
    space.write("people.csv", "id,label\ns0,pass\ns1,fail\n");
    let mut session = Session::begin(space, judge(), &["--labels", "people.csv"]);
    let told = session.telling.wait_event("evaluated");
    assert_eq!((&labels(&told)["n"], &labels(&told)["accuracy"]), (&json!(2), &json!(0.5)));
    save(&session.space, "people.csv", "id,label\ns0,pass\ns1,pass\ns2,pass\n");
    let told = session.telling.wait_event("evaluated");
    let now = labels(&told);
    assert_eq!((&now["n"], &now["accuracy"]), (&json!(3), &json!(1.0)));
    // Labels are no save, so that what changed since the last one is still told, and ask nobody.
    assert_eq!((&told["save"], session.judge.count()), (&json!(0), 4));
    session.end();
}

fn give(sample_id: &str, label: &Value) -> String {
    json!({"command": "label", "sample_id": sample_id, "grader": "quality", "label": label})
        .to_string()
}

/// The lines of the file that labels are written to, without when they were given.
fn written(space: &Space) -> Vec<Value> {
    let text = space.read("suite.labels.jsonl");
    let read = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        assert!(line["at"].as_str().unwrap().ends_with('Z'), "{line}");
        line.as_object_mut().unwrap().remove("at");
        line
    };
    text.lines().map(read).collect()
}

#[test]
fn labels_are_given_changed_and_taken_back() {
    let mut session = Session::new(4, &[]);
    session.telling.say(&give("s1", &json!(true)));
    let told = session.telling.wait_event("evaluated");
    assert_eq!((&labels(&told)["n"], &labels(&told)["accuracy"]), (&json!(1), &json!(1.0)));
    session.telling.say(&give("s0", &json!(false)));
    let told = session.telling.wait_event("evaluated");
    assert_eq!((&labels(&told)["n"], &labels(&told)["false_pass"]), (&json!(2), &json!(1)));
    let lines = written(&session.space);
    assert_eq!(lines.iter().map(|line| &line["id"]).collect::<Vec<_>>(), ["s0", "s1"]);
    assert_eq!(lines[0]["submission_digest"].as_str().unwrap().len(), 16);
    session.telling.say(&give("s0", &json!(true)));
    let told = session.telling.wait_event("evaluated");
    assert_eq!((&labels(&told)["n"], &labels(&told)["false_pass"]), (&json!(2), &json!(0)));
    session.telling.say(&give("s0", &json!(null)));
    let told = session.telling.wait_event("evaluated");
    assert_eq!(labels(&told)["n"], json!(1));
    // None of it is a save, and none asked anybody.
    assert_eq!((&told["save"], session.judge.count()), (&json!(0), 4));
    for (label, problem) in [(json!("good"), "true, false"), (json!(10), "true, false")] {
        session.telling.say(&give("s0", &label));
        let note = session.telling.wait_event("note");
        assert!(note["text"].as_str().unwrap().contains(problem), "{note}");
    }
    assert_eq!(written(&session.space).len(), 1);
    session.end();
}

#[test]
fn the_label_of_an_answer_that_changed_is_stale_and_does_not_count() {
    let mut session = Session::new(3, &[]);
    for (at, sample) in ["s0", "s1"].into_iter().enumerate() {
        session.telling.say(&give(sample, &json!(true)));
        let told = session.telling.wait_event("evaluated");
        assert_eq!(labels(&told)["n"], json!(at + 1));
    }
    let edited = session.edit(|space| {
        let text = space.read("data.jsonl");
        save(space, "data.jsonl", &text.replace("answer 1.", "answer 11."));
    });
    let now = labels(edited.told());
    assert_eq!((&now["n"], &now["stale"]), (&json!(1), &json!(1)));
    // Whoever labels the new answer replaces what was said of the old one.
    session.telling.say(&give("s1", &json!(false)));
    let told = session.telling.wait_event("evaluated");
    let now = labels(&told);
    assert_eq!((&now["n"], &now["stale"], &now["false_pass"]), (&json!(2), &json!(0), &json!(1)));
    assert_eq!(written(&session.space).len(), 2);
    session.end();
}

#[test]
fn two_sessions_and_an_editor_lose_no_label() {
    let mut one = Session::new(40, &["--yes"]);
    let mut two = telling(&one.space, &one.judge, &["--yes"]);
    two.wait_event("evaluated");
    for at in 0..20 {
        one.telling.say(&give(&format!("s{at}"), &json!(at % 2 == 0)));
        two.say(&give(&format!("s{}", at + 20), &json!(true)));
    }
    let has = |told: &Value, n: usize| labels(told)["n"] == json!(n);
    while !has(&one.telling.wait_event("evaluated"), 40) {}
    while !has(&two.wait_event("evaluated"), 40) {}
    assert_eq!(written(&one.space).len(), 40);
    // By hand, meanwhile: a line goes, and one comes that says more.
    let text = one.space.read("suite.labels.jsonl");
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains("\"s7\"")).collect();
    save(&one.space, "suite.labels.jsonl", &(kept.join("\n") + "\n"));
    one.telling.say(&give("s8", &json!(false)));
    while !has(&one.telling.wait_event("evaluated"), 39) {}
    let lines = written(&one.space);
    assert_eq!(lines.len(), 39);
    let of_s8: Vec<_> = lines.iter().filter(|line| line["id"] == "s8").collect();
    assert_eq!(of_s8[0]["label"], json!(false));
    two.kill();
    one.end();
}

/// What was told is in the file, whenever the session is killed, and the file can always be read.
#[test]
fn a_killed_session_leaves_every_label_that_was_told() {
    let space = space(30);
    let judge = judge();
    let mut session = telling(&space, &judge, &["--yes"]);
    session.wait_event("evaluated");
    for at in 0..30 {
        session.say(&give(&format!("s{at}"), &json!(true)));
    }
    let mut told = 0;
    while told < 9 {
        told += usize::from(session.next_event()["event"] == "note");
    }
    session.kill();
    let lines = written(&space);
    assert!(lines.len() >= 9, "{lines:?}");
    let mut again = telling(&space, &judge, &["--yes"]);
    let first = again.wait_event("evaluated");
    assert_eq!(labels(&first)["n"], json!(lines.len()));
    again.kill();
}

#[test]
fn labels_are_not_written_to_files_of_others() {
    let space = space(2);
    space.write("people.csv", "id,label\ns0,pass\n");
    let mut session = Session::begin(space, judge(), &["--labels", "people.csv"]);
    session.telling.wait_event("evaluated");
    session.telling.say(&give("s1", &json!(true)));
    let note = session.telling.wait_event("note");
    assert!(note["text"].as_str().unwrap().contains("not JSON Lines"), "{note}");
    assert_eq!(session.space.read("people.csv"), "id,label\ns0,pass\n");
    session.end();
}

#[test]
fn held_out_labels_are_asked_about_once_a_save() {
    let space = space(0);
    save(&space, "data.jsonl", &labelled(&[true; 40]));
    let suite = space.read("suite.yaml") + "labels: {holdout: 0.5}\n";
    save(&space, "suite.yaml", &suite);
    let mut session = Session::begin(space, judge(), &["--yes"]);
    let told = session.telling.wait_event("evaluated");
    let held_out = |told: &Value| told["metrics"]["quality"]["held_out"].clone();
    let first = held_out(&told);
    let counted = [&first["n"], &labels(&told)["n"]].map(|n| n.as_u64().unwrap());
    assert_eq!((counted.iter().sum::<u64>(), &first["query"]), (40, &json!(1)));
    // A label that is given is no query, on whichever side it is.
    for sample in ["s0", "s3"] {
        session.telling.say(&give(sample, &json!(false)));
        session.telling.wait_event("evaluated");
    }
    assert_eq!(session.space.read("cache/support.holdout.jsonl").lines().count(), 1);
    let edited = session.edit(|space| save(space, "rubric.txt", TERSE));
    assert_eq!(held_out(edited.told())["query"], json!(2));
    session.end();
}
