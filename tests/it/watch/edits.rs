//! What one save asks: exactly what it changed, and nothing that the store has.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    Edit, POLITE, SUITE, Session, TERSE, judge, mean, means, questions, replace, row, rows, save,
    space,
};
use crate::space::jsonl;

#[test]
fn an_edited_word_of_a_rubric_asks_every_sample_once() {
    let mut session = Session::new(6, &[]);
    let edited = session.edit(|space| save(space, "rubric.txt", TERSE));
    assert_eq!(edited.asked, questions("terse", 0..6));
    let names: Vec<&str> =
        edited.events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["saved", "planned"]);
    assert!(names[2..8].iter().all(|name| *name == "verdict"), "{names:?}");
    assert_eq!(edited.events[0]["files"], json!(["rubric.txt"]));
    let planned = &edited.events[1];
    assert_eq!((&planned["cached"], &planned["to_ask"]), (&json!(0), &json!(6)));
    for verdict in edited.all("verdict") {
        let at = verdict["sample_id"].as_str().unwrap().trim_start_matches('s');
        assert_eq!(verdict["rationale"], format!("Is it terse? answer {at}."));
        assert_eq!(verdict["rationale_before"], format!("Is it polite? answer {at}."));
    }
    let told = edited.told();
    assert_eq!((&told["save"], &told["newest"]), (&json!(1), &json!(1)));
    assert_eq!(means(told), [json!(0.5), json!(-0.5), json!(-0.5)]);
    let gates = (&told["gate"]["status"], &told["gate_before"]["status"]);
    assert_eq!(gates, (&json!("failed"), &json!("passed")));
    assert_eq!((&told["counts"]["broken"], &told["counts"]["unchanged"]), (&json!(3), &json!(3)));
    let moved = told["moved"].as_array().unwrap();
    let moved: Vec<&str> = moved.iter().map(|row| row["sample_id"].as_str().unwrap()).collect();
    assert_eq!(moved, ["s1", "s3", "s5"]);
    session.end();
}

#[test]
fn an_edit_asks_exactly_what_it_changed() {
    let edits: [(&str, Edit, &[usize]); 6] = [
        ("a sample", |space| replace(space, "data.jsonl", "answer 2.", "answer 22."), &[22]),
        (
            "a row in the middle",
            |space| save(space, "data.jsonl", &rows([0, 1, 2, 9, 3, 4, 5])),
            &[9],
        ),
        ("a row less", |space| save(space, "data.jsonl", &rows([0, 1, 3, 4, 5])), &[]),
        ("another order", |space| save(space, "data.jsonl", &rows([5, 3, 1, 0, 2, 4])), &[]),
        ("a threshold", |space| replace(space, "suite.yaml", "value: 0.75", "value: 0.25"), &[]),
        (
            "a comment",
            |space| replace(space, "suite.yaml", "dataset:", "# A comment.\ndataset:"),
            &[],
        ),
    ];
    for (what, edit, expected) in edits {
        let mut session = Session::new(6, &[]);
        let edited = session.edit(edit);
        assert_eq!(edited.asked, questions("polite", expected.iter().copied()), "{what}");
        let told = edited.told();
        assert_eq!((&told["save"], mean(told)), (&json!(1), json!(1.0)), "{what}");
        assert_eq!(told["stopped"], json!(null), "{what}");
        session.end();
    }
}

#[test]
fn a_threshold_that_is_edited_turns_the_gate_and_asks_nothing() {
    let mut session = Session::new(4, &[]);
    let edited = session.edit(|space| save(space, "rubric.txt", TERSE));
    let told = edited.told();
    assert_eq!((mean(told), &told["gate"]["status"]), (json!(0.5), &json!("failed")));
    let edited = session.edit(|space| replace(space, "suite.yaml", "value: 0.75", "value: 0.5"));
    let told = edited.told();
    assert_eq!((edited.asked.len(), &told["gate"]["status"]), (0, &json!("passed")));
    assert_eq!(told["gate_before"]["status"], "failed");
    assert_eq!(told["files"], json!(["suite.yaml"]));
    session.end();
}

/// The next save that means something is the first, and tells of itself alone.
#[test]
fn a_save_that_changes_nothing_is_none() {
    let edits: [(&str, Edit); 4] = [
        ("touched", |space| {
            let file = std::fs::File::options().append(true).open(space.path("rubric.txt"));
            file.unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        }),
        ("written as it was", |space| space.write("rubric.txt", POLITE)),
        ("saved as it was", |space| save(space, "data.jsonl", &rows(0..4))),
        ("another file", |space| space.write("other.txt", "Nobody reads it.")),
    ];
    for (what, edit) in edits {
        let mut session = Session::new(4, &[]);
        let edited = session.edit(|space| {
            edit(space);
            replace(space, "data.jsonl", "answer 3.", "answer 33.");
        });
        assert_eq!(edited.asked, questions("polite", [33]), "{what}");
        let saved = edited.all("saved");
        assert_eq!((saved.len(), &saved[0]["files"]), (1, &json!(["data.jsonl"])), "{what}");
        assert_eq!(edited.told()["save"], 1, "{what}");
        session.end();
    }
}

#[test]
fn a_rubric_that_is_reverted_asks_nothing_and_is_judged_as_before() {
    let mut session = Session::new(6, &[]);
    session.edit(|space| save(space, "rubric.txt", TERSE));
    let edited = session.edit(|space| save(space, "rubric.txt", POLITE));
    let told = edited.told();
    assert_eq!((edited.asked.len(), &told["counts"]["fixed"]), (0, &json!(3)));
    assert_eq!(means(told), [json!(1.0), json!(0.5), json!(0.0)]);
    assert_eq!(told["actions"]["cached"], 6);
    session.end();
}

#[test]
fn many_files_that_are_saved_at_once_are_asked_once_each() {
    const FILES: usize = 200;
    let rubric = |what: &str, at: usize| format!("Is it {what}? {{submission}} {at}");
    let own = |at: usize| {
        let mut row = row(at);
        row["rubric_path"] = json!(format!("r/{at}.txt"));
        row
    };
    let space = space(0);
    save(&space, "data.jsonl", &jsonl((0..FILES).map(own)));
    (0..FILES).for_each(|at| space.write(&format!("r/{at}.txt"), rubric("polite", at)));
    let mut session = Session::begin(space, judge(), &["--yes"]);
    session.telling.wait_event("evaluated");
    let mark = session.judge.count();
    assert_eq!(mark, FILES);
    (0..FILES).for_each(|at| save(&session.space, &format!("r/{at}.txt"), &rubric("terse", at)));
    // However many saves that were: the last evaluation has all of them, and each was asked once.
    while session.telling.wait_event("evaluated")["metrics"]["quality"]["mean"] != 0.5 {}
    let asked = session.judge.asked_since(mark);
    assert_eq!((asked.len(), asked.iter().collect::<BTreeSet<_>>().len()), (FILES, FILES));
    session.end();
}

#[test]
fn declared_metrics_tell_how_they_moved_and_their_edits_ask_nothing() {
    let space = space(6);
    let declaring = |kind: &str| format!("{SUITE}metrics:\n  half: {{kind: {kind}}}\n");
    space.write("suite.yaml", declaring("mean"));
    let mut session = Session::begin(space, judge(), &[]);
    let first = session.telling.wait_event("evaluated")["declared"]["half"].clone();
    assert_eq!((&first["value"], &first["n"]), (&json!(1.0), &json!(6)));
    assert_eq!((&first["since_last"], &first["since_start"]), (&json!(null), &json!(null)));
    assert!(first["interval"]["low"].as_f64().unwrap() < 1.0, "{first}");
    let told = session.edit(|space| save(space, "rubric.txt", TERSE)).told().clone();
    let half = &told["declared"]["half"];
    assert_eq!((&half["value"], &half["since_last"]), (&json!(0.5), &json!(-0.5)));
    assert!(told["metrics"]["quality"]["pass_rate_interval"]["method"].is_string(), "{told}");
    let edited = session.edit(|space| save(space, "suite.yaml", &declaring("max")));
    assert!(edited.asked.is_empty());
    let half = &edited.told()["declared"]["half"];
    assert_eq!((&half["value"], &half["since_last"]), (&json!(1.0), &json!(null)));
    assert_eq!((&half["kind"], &half["since_start"]), (&json!("max"), &json!(null)));
    let space = session.leave();
    let saves = space.run(&["diff", "latest@0", "latest@1"]).stdout();
    assert!(saves.contains("half    mean  1.000 → 0.500         -0.500\n"), "{saves}");
    let redefined = space.run(&["diff", "latest@1", "latest@2"]).stdout();
    assert!(redefined.contains("half: its definition changed:"), "{redefined}");
}
