//! What a save may ask without a word of the user, and what a session may ask at all.

use std::collections::BTreeSet;

use serde_json::json;

use super::{POLITE, Session, TERSE, judge, mean, questions, save, space};

/// A dollar a judgment, for the tokens of its reply.
const PRICES: &str = "[prices.\"judge-1\"]\ninput = 0.0\noutput = 5000.0\n";

/// What asks for the judgments that were held back.
const REST: &str = "";

#[test]
fn a_preview_is_asked_and_the_rest_waits_for_a_word() {
    let space = space(30);
    space.write("evalrs.toml", PRICES);
    let mut session = Session::begin(space, judge(), &[]);
    let held = session.telling.wait_event("paused");
    assert_eq!((&held["asked"], &held["waiting"]), (&json!(20), &json!(10)));
    assert_eq!((session.judge.count(), &held["expected_cost"]), (20, &json!(10.0)));
    session.telling.say(REST);
    let told = session.telling.wait_event("evaluated");
    assert_eq!((session.judge.count(), &told["save"]), (30, &json!(0)));
    assert_eq!(told["spent"]["session"]["cost"], json!(30.0));
    // The rest of a save that is held is gone with the next one.
    save(&session.space, "rubric.txt", TERSE);
    session.telling.wait_event("paused");
    let edited = session.edit(|space| save(space, "rubric.txt", POLITE));
    assert_eq!((edited.asked.len(), mean(edited.told())), (0, json!(1.0)));
    assert_eq!(session.judge.count(), 50);
    let edited = session.edit(|space| save(space, "rubric.txt", TERSE));
    assert_eq!(edited.asked.len(), 10, "what is left is no more than a preview");
    session.end();
}

#[test]
fn as_many_of_the_rest_are_asked_as_a_command_says() {
    let mut session = Session::begin(space(12), judge(), &["--preview", "2"]);
    let asked_then = |session: &mut Session, line: &str| {
        session.telling.say(line);
        let held = session.telling.wait_event("paused");
        (session.judge.count(), held["asked"].clone(), held["waiting"].clone())
    };
    session.telling.wait_event("paused");
    let more = r#"{"command": "resume", "count": 3}"#;
    assert_eq!(asked_then(&mut session, more), (5, json!(5), json!(7)));
    assert_eq!(asked_then(&mut session, more), (8, json!(8), json!(4)));
    // What is asked first is the same as without a preview, and the next save waits anew.
    save(&session.space, "rubric.txt", TERSE);
    session.telling.wait_event("paused");
    assert_eq!(session.judge.count(), 10);
    assert_eq!(asked_then(&mut session, more), (13, json!(5), json!(7)));
    session.telling.say("n");
    session.telling.wait_event("evaluated");
    assert_eq!(session.judge.count(), 20, "there are no more than these");
    session.telling.say(r#"{"command": "undo", "count": 3}"#);
    let note = session.telling.wait_event("note");
    assert!(note["text"].as_str().unwrap().contains("only `resume` takes `count`"), "{note}");
    session.end();
}

#[test]
fn as_many_are_asked_at_once_as_a_preview_says() {
    let mut session = Session::begin(space(6), judge(), &["--preview", "2"]);
    let held = session.telling.wait_event("paused");
    assert_eq!((session.judge.count(), &held["waiting"]), (2, &json!(4)));
    let edited = session.edit(|space| save(space, "data.jsonl", &super::rows([0, 1])));
    assert_eq!(edited.asked, BTreeSet::new(), "those are there");
    session.telling.say(r#"{"command": "quit"}"#);
    let (_, ran) = session.telling.finish();
    assert_eq!((ran.code(), session.judge.count()), (0, 2));
    let mut session = Session::begin(space(3), judge(), &["--preview", "0"]);
    let held = session.telling.wait_event("paused");
    assert_eq!((session.judge.count(), &held["waiting"]), (0, &json!(3)));
    session.telling.say(REST);
    session.telling.wait_event("evaluated");
    assert_eq!(session.judge.count(), 3);
    session.end();
}

#[test]
fn yes_waits_for_nothing() {
    let mut session = Session::begin(space(30), judge(), &["--yes"]);
    let events = session.telling.events_until("evaluated");
    assert!(events.iter().all(|event| event["event"] != "paused"), "{events:?}");
    assert_eq!(session.judge.count(), 30);
    let edited = session.edit(|space| save(space, "rubric.txt", TERSE));
    assert_eq!(edited.asked, questions("terse", 0..30));
    assert_eq!(edited.all("paused").len(), 0);
    session.end();
}

#[test]
fn limits_hold_for_the_session_and_the_store_is_shown_all_the_same() {
    for (args, most, stopped) in [
        (&["--yes", "--max-calls", "7"][..], 7, json!("no more calls are allowed")),
        (&["--yes", "--budget", "5"], 5, json!("the budget does not allow another call")),
        (&["--frozen"], 0, json!(null)),
    ] {
        let space = space(30);
        space.write("evalrs.toml", PRICES);
        let mut session = Session::begin(space, judge(), args);
        let first = session.telling.wait_event("evaluated");
        assert_eq!((session.judge.count(), &first["stopped"]), (most, &stopped), "{args:?}");
        assert_eq!(first["spent"]["calls"], json!(most), "{args:?}");
        let edited = session.edit(|space| save(space, "rubric.txt", TERSE));
        assert_eq!(edited.asked, BTreeSet::new(), "{args:?}");
        assert_eq!(edited.told()["counts"]["pending"], 30, "{args:?}");
        let edited = session.edit(|space| save(space, "rubric.txt", POLITE));
        assert_eq!(edited.asked, BTreeSet::new(), "{args:?}");
        assert_eq!(edited.told()["actions"]["cached"], json!(most), "{args:?}");
        session.end();
    }
}

#[test]
fn a_frozen_session_shows_what_the_store_has() {
    let (space, judge) = (space(4), judge());
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    let mut session = Session::begin(space, judge, &["--frozen"]);
    let told = session.telling.wait_event("evaluated");
    assert_eq!((mean(&told), &told["actions"]["cached"]), (json!(1.0), &json!(4)));
    let edited = session.edit(|space| save(space, "data.jsonl", &super::rows(0..6)));
    assert_eq!(edited.told()["metrics"]["quality"]["judged"], 4);
    assert_eq!(session.judge.count(), 4);
    session.end();
}
