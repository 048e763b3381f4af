//! What is no part of the suite and is watched all the same: `.env` and `evalrs.toml`.

use serde_json::json;

use super::{SUITE, Session, TERSE, judge, mean, questions, save, space};

#[test]
fn a_key_that_appears_in_dot_env_is_asked_with() {
    let space = space(3);
    save(&space, "suite.yaml", &SUITE.replace("endpoint: test", "api_key_env: TEAM_KEY"));
    let mut session = Session::begin(space, judge(), &[]);
    session.telling.wait_event("evaluated");
    assert!(session.judge.asked().iter().all(|asked| asked.header("authorization").is_none()));
    save(&session.space, ".env", "TEAM_KEY=sk-one\n");
    session.telling.wait_event("evaluated");
    session.edit(|space| save(space, "data.jsonl", &super::rows(0..4)));
    assert_eq!(session.judge.asked()[3].header("authorization"), Some("Bearer sk-one"));
    // Another key asks nothing, and is asked with from then on.
    save(&session.space, ".env", "TEAM_KEY=sk-two\n");
    session.telling.wait_event("evaluated");
    assert_eq!(session.judge.count(), 4);
    session.edit(|space| save(space, "data.jsonl", &super::rows(0..5)));
    assert_eq!(session.judge.asked()[4].header("authorization"), Some("Bearer sk-two"));
    session.end();
}

#[test]
fn settings_that_are_edited_hold_from_then_on() {
    let space = space(6);
    space.write("evalrs.toml", "[run]\nmax_calls = 2\n");
    let mut session = Session::begin(space, judge(), &[]);
    let told = session.telling.wait_event("evaluated");
    assert_eq!((session.judge.count(), &told["stopped"]), (2, &json!("no more calls are allowed")));
    session.judge.wait_given(2);
    let edited = session.edit(|space| save(space, "evalrs.toml", "[run]\nmax_calls = 5\n"));
    assert_eq!((session.judge.count(), &edited.told()["spent"]["max_calls"]), (5, &json!(5)));
    save(&session.space, "evalrs.toml", "[run]\nmax_calls = many\n");
    let broken = session.telling.wait_event("broken_files");
    assert!(broken["problems"].to_string().contains("evalrs.toml"), "{broken}");
    let prices = "[prices.\"judge-1\"]\ninput = 0.0\noutput = 5000.0\n";
    let edited = session.edit(|space| save(space, "evalrs.toml", prices));
    assert_eq!((session.judge.count(), mean(edited.told())), (6, json!(1.0)));
    assert_eq!(edited.told()["spent"]["save"]["cost"], json!(1.0));
    session.end();
}

#[test]
fn what_is_saved_while_the_settings_are_broken_is_read_once_they_are_mended() {
    let space = space(3);
    space.write("evalrs.toml", "[run]\nmax_calls = 50\n");
    let mut session = Session::begin(space, judge(), &[]);
    session.telling.wait_event("evaluated");
    save(&session.space, "evalrs.toml", "[run]\nmax_calls = many\n");
    session.telling.wait_event("broken_files");
    save(&session.space, "rubric.txt", TERSE);
    // What is broken in another way is told: by then the rubric, which was saved before it, was heard of.
    save(&session.space, "evalrs.toml", "[run]\nmax_calls = few\n");
    session.telling.wait_event("broken_files");
    let edited = session.edit(|space| save(space, "evalrs.toml", "[run]\nmax_calls = 60\n"));
    assert_eq!(edited.asked, questions("terse", 0..3));
    assert_eq!(edited.told()["files"], json!(["rubric.txt"]));
    session.end();
}
