//! A save while an earlier one is judged: what waited is dropped, what was sent is kept under its own key, and nothing
//! wrong is shown.

use std::collections::BTreeSet;

use serde_json::json;

use super::{POLITE, Session, TERSE, judge, labelled, mean, question, questions, save, space};
use crate::judge::Order;

#[test]
fn a_second_save_drops_what_waits_and_keeps_what_was_sent() {
    let (space, judge) = (space(6), judge());
    judge.hold();
    let mut session = Session::begin(space, judge, &["--max-concurrent", "2"]);
    session.judge.wait_asked(2);
    let sent = session.judge.asked_since(0);
    save(&session.space, "rubric.txt", TERSE);
    // Both places are taken by what nobody wants any more: the younger one makes room.
    session.judge.wait_hung_up(1);
    session.judge.wait_asked(3);
    assert!(session.judge.asked_since(2)[0].contains("terse"));
    let dropped = session.judge.hung_up();
    let kept: Vec<&String> = sent.iter().filter(|question| !dropped.contains(question)).collect();
    assert_eq!((dropped.len(), kept.len()), (1, 1), "{sent:?}");
    session.judge.order(Order::AtOnce);
    let events = session.telling.events_until("evaluated");
    let told = events.last().unwrap();
    assert_eq!((&told["save"], mean(told)), (&json!(1), json!(0.5)));
    for verdict in events.iter().filter(|event| event["event"] == "verdict") {
        assert!(!verdict.to_string().contains("polite"), "of the rubric before: {verdict}");
    }
    let asked: BTreeSet<String> = session.judge.asked_since(2).into_iter().collect();
    assert_eq!((asked, session.judge.count()), (questions("terse", 0..6), 8));
    session.space.wait_stored(7);
    assert!(session.space.stored().contains(kept[0]), "paid for and stored");
    let edited = session.edit(|space| save(space, "rubric.txt", POLITE));
    let mut rest = questions("polite", 0..6);
    rest.remove(kept[0]);
    assert_eq!((&edited.asked, mean(edited.told())), (&rest, json!(1.0)));
    assert_eq!(session.judge.hung_up().len(), 1);
    session.end();
}

#[test]
fn a_second_save_drops_nothing_that_was_sent_while_there_is_room() {
    let (space, judge) = (space(2), judge());
    judge.hold();
    let mut session = Session::begin(space, judge, &["--max-concurrent", "4"]);
    session.judge.wait_asked(2);
    save(&session.space, "rubric.txt", TERSE);
    session.judge.wait_asked(4);
    session.judge.release("terse");
    let told = session.telling.wait_event("evaluated");
    assert_eq!((&told["save"], &told["actions"]["superseded"]), (&json!(1), &json!(2)));
    assert!(session.judge.hung_up().is_empty());
    session.judge.release("polite");
    session.space.wait_stored(4);
    let edited = session.edit(|space| save(space, "rubric.txt", POLITE));
    assert_eq!(edited.asked, BTreeSet::new(), "they were kept for the day the edit is taken back");
    session.end();
}

#[test]
fn what_is_under_way_is_waited_for_again_where_the_edit_is_taken_back() {
    let (space, judge) = (space(3), judge());
    judge.hold();
    let mut session = Session::begin(space, judge, &[]);
    session.judge.wait_asked(3);
    save(&session.space, "rubric.txt", TERSE);
    session.judge.wait_asked(6);
    save(&session.space, "rubric.txt", POLITE);
    while session.telling.wait_event("planned")["save"] != 2 {}
    session.judge.release("polite");
    let told = session.telling.wait_event("evaluated");
    assert_eq!((&told["save"], mean(&told)), (&json!(2), json!(1.0)));
    assert_eq!(session.judge.count(), 6, "nothing is asked that is under way");
    session.end();
}

#[test]
fn what_failed_or_disagreed_is_asked_first_then_what_is_pinned() {
    let (space, judge) = (space(0), judge());
    save(&space, "data.jsonl", &labelled(&[true, true, true, true, false, true, true, true]));
    let mut session = Session::begin(space, judge, &["--max-concurrent", "1"]);
    session.telling.wait_event("evaluated");
    session.edit(|space| save(space, "rubric.txt", TERSE));
    session.telling.say(r#"{"command": "pin", "sample_id": "s6"}"#);
    // Lines are heard in order.
    session.telling.say(r#"{"command": "undo", "grader": "none"}"#);
    session.telling.wait_event("note");
    let mark = session.judge.count();
    session.edit(|space| save(space, "rubric.txt", "Is it kind? {submission}"));
    let expected = [1, 3, 4, 5, 7, 6, 0, 2].map(|at| question("kind", at));
    assert_eq!(session.judge.asked_since(mark), expected);
    session.end();
}
