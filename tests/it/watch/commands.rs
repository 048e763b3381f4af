//! What whoever sits at the other end of standard input wishes for, and what becomes of a session without anybody there.

use serde_json::json;

use super::{POLITE, SUITE, Session, TERSE, mean, question, questions, save};

fn refresh(sample_id: &str) -> String {
    json!({"command": "refresh", "sample_id": sample_id, "grader": "quality"}).to_string()
}

#[test]
fn a_refreshed_verdict_asks_exactly_one() {
    let mut session = Session::new(4, &[]);
    session.telling.say(&refresh("s2"));
    let told = session.telling.wait_event("evaluated");
    assert_eq!((&told["save"], mean(&told)), (&json!(0), json!(1.0)));
    assert_eq!(session.judge.asked_since(4), [question("polite", 2)]);
    assert_eq!(told["spent"]["calls"], 5);
    assert_eq!(session.space.stored_lines().len(), 5, "both judgments are kept");
    session.telling.say(&refresh("nobody"));
    let note = session.telling.wait_event("note");
    assert!(note["text"].as_str().unwrap().contains("`nobody`"), "{note}");
    let edited = session.edit(|space| save(space, "rubric.txt", TERSE));
    assert_eq!(edited.asked, questions("terse", 0..4));
    session.end();
}

#[test]
fn a_look_back_shows_the_evaluation_before_and_asks_nothing() {
    let mut session = Session::new(4, &[]);
    session.edit(|space| save(space, "rubric.txt", TERSE));
    session.telling.say("u");
    session.telling.say(r#"{"command": "undo"}"#);
    session.telling.say("nothing that is known");
    session.telling.wait_event("note");
    assert_eq!(session.judge.count(), 8);
    let edited = session.edit(|space| save(space, "rubric.txt", POLITE));
    assert_eq!((edited.asked.len(), &edited.told()["newest"]), (0, &json!(2)));
    session.end();
}

#[test]
fn saves_are_looked_at_and_taken_back_by_their_number() {
    let mut session = Session::new(4, &[]);
    session.edit(|space| save(space, "rubric.txt", TERSE));
    session.edit(|space| save(space, "rubric.txt", "Is it brief? {submission}"));
    let mut look = |line: &str| {
        session.telling.say(line);
        let told = session.telling.wait_event("evaluated");
        assert_eq!(told["newest"], json!(2), "{line}");
        (told["save"].clone(), mean(&told))
    };
    assert_eq!(look(r#"{"command": "look", "save": 1}"#), (json!(1), json!(0.5)));
    assert_eq!(look("["), (json!(0), json!(1.0)));
    assert_eq!(look("]"), (json!(1), json!(0.5)));
    assert_eq!(look("u"), (json!(2), json!(1.0)));
    for (line, problem) in [
        (r#"{"command": "look", "save": 7}"#, "no save 7"),
        (r#"{"command": "take_back", "save": 2}"#, "nothing is written"),
        (r#"{"command": "take_back"}"#, "need `save`"),
    ] {
        session.telling.say(line);
        let note = session.telling.wait_event("note");
        assert!(note["text"].as_str().unwrap().contains(problem), "{note}");
    }
    session.telling.say(r#"{"command": "take_back", "save": 1}"#);
    let told = session.telling.wait_event("evaluated");
    assert_eq!((&told["save"], &told["actions"]["asked"]), (&json!(3), &json!(0)));
    assert_eq!((mean(&told), session.judge.count()), (json!(0.5), 12));
    assert_eq!(session.space.read("rubric.txt"), TERSE);
    session.end();
}

/// A long session holds the verdicts of its last saves alone; of the others there are the numbers, and all their texts.
#[test]
fn old_saves_keep_their_numbers_and_can_be_taken_back() {
    let mut session = Session::new(2, &[]);
    session.edit(|space| save(space, "rubric.txt", TERSE));
    for at in 0..22 {
        let value = format!("value: 0.{}", 10 + at);
        session.edit(|space| save(space, "suite.yaml", &SUITE.replace("value: 0.75", &value)));
    }
    let mut look = |save: u32| {
        session.telling.say(&json!({"command": "look", "save": save}).to_string());
        session.telling.wait_event("evaluated")
    };
    let kept = look(4);
    assert_eq!((mean(&kept), &kept["notes"]), (json!(0.5), &json!([])));
    assert_eq!(kept["counts"]["unchanged"], 2);
    let dropped = look(1);
    assert_eq!((mean(&dropped), &dropped["counts"]["broken"]), (json!(0.5), &json!(1)));
    assert_eq!(dropped["moved"], json!([]));
    let note = "its verdicts are not kept; `evalrs diff latest@1 latest@2` compares them";
    assert_eq!(dropped["notes"], json!([note]));
    session.telling.say(r#"{"command": "take_back", "save": 0}"#);
    let told = session.telling.wait_event("evaluated");
    assert_eq!((mean(&told), session.judge.count()), (json!(1.0), 4));
    assert_eq!(session.space.read("suite.yaml"), SUITE);
    assert_eq!(session.space.read("rubric.txt"), POLITE);
    session.end();
}

#[test]
fn a_session_that_is_quit_ends_well() {
    for word in ["q", r#"{"command": "quit"}"#] {
        let mut session = Session::new(3, &[]);
        session.telling.say(word);
        let (events, ran) = session.telling.finish();
        assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""), "{word}");
        assert_eq!(events.last().unwrap()["event"], "ended", "{word}");
        assert_eq!(events.last().unwrap()["spent"]["calls"], 3, "{word}");
    }
}

#[test]
fn a_session_goes_on_without_its_input() {
    let mut session = Session::new(3, &[]);
    session.telling.hush();
    let edited = session.edit(|space| save(space, "rubric.txt", TERSE));
    assert_eq!(edited.asked, questions("terse", 0..3));
    session.end();
}
