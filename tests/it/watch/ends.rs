//! How sessions end: interrupted, killed, two at once; and what is left of them for `evalrs diff`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{POLITE, Session, TERSE, judge, mean, questions, save, space, telling};
use crate::judge::{Judge, Order};
use crate::space::Space;

#[test]
fn ctrl_c_keeps_what_is_finished() {
    let (space, judge) = (space(6), judge());
    judge.hold();
    let mut session = Session::begin(space, judge, &[]);
    session.judge.wait_asked(6);
    session.judge.release("answer 1.");
    session.judge.release("answer 4.");
    let verdicts = [(); 2].map(|()| session.telling.wait_event("verdict")["sample_id"].clone());
    assert_eq!(BTreeSet::from(verdicts.map(|id| id.to_string())).len(), 2);
    session.telling.interrupt();
    let Session { space, judge, telling } = session;
    let (events, ran) = telling.finish();
    assert_eq!((ran.code(), events.last().unwrap()["event"].as_str()), (130, Some("ended")));
    assert_eq!(space.stored(), questions("polite", [1, 4]));
    judge.wait_hung_up(4);
    let run: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    assert_eq!(run["interrupted"], true);
    judge.order(Order::AtOnce);
    let mut session = Session::begin(space, judge, &[]);
    let told = session.telling.wait_event("evaluated");
    assert_eq!((&told["actions"]["cached"], &told["actions"]["asked"]), (&json!(2), &json!(4)));
    session.end();
}

#[test]
fn a_killed_session_asks_nothing_twice_when_it_is_started_again() {
    let (space, judge) = (space(12), judge().in_order(Order::UpTo(5)));
    let session = telling(&space, &judge, &["--max-concurrent", "3"]);
    judge.wait_given(5);
    space.wait_stored(5);
    judge.wait_asked(8);
    session.kill();
    let (stored, mark) = (space.stored(), judge.count());
    judge.order(Order::AtOnce);
    let mut session = Session::begin(space, judge, &[]);
    session.telling.wait_event("evaluated");
    let asked: BTreeSet<String> = session.judge.asked_since(mark).into_iter().collect();
    assert_eq!(asked, questions("polite", 0..12).difference(&stored).cloned().collect());
    assert_eq!(session.judge.count(), mark + 7);
    session.end();
}

#[test]
fn two_sessions_on_one_suite_show_the_same() {
    let mut session = Session::new(6, &[]);
    let mut other = telling(&session.space, &session.judge, &[]);
    assert_eq!(other.wait_event("evaluated")["actions"]["cached"], 6);
    assert_eq!(session.judge.count(), 6);
    let mark = session.judge.count();
    save(&session.space, "rubric.txt", TERSE);
    let told = [&mut session.telling, &mut other].map(|telling| telling.wait_event("evaluated"));
    assert_eq!(told.each_ref().map(mean), [json!(0.5), json!(0.5)]);
    let asked = session.judge.asked_since(mark);
    let distinct: BTreeSet<String> = asked.iter().cloned().collect();
    assert_eq!(distinct, questions("terse", 0..6));
    assert!(asked.len() <= 12, "{asked:?}");
    other.interrupt();
    other.finish();
    assert_eq!(session.space.run(&["cache", "verify", "suite.yaml"]).code(), 0);
    // What both have stored is found by either.
    let edited = session.edit(|space| save(space, "rubric.txt", POLITE));
    assert_eq!((edited.asked.len(), mean(edited.told())), (0, json!(1.0)));
    session.end();
}

/// Results of a session that ends where a run ended stand on disk once, and so do those of the next run.
#[cfg(unix)]
#[test]
fn a_session_that_found_the_same_shares_the_results_of_the_run_before() {
    use std::os::unix::fs::MetadataExt;
    let (space, judge) = (space(3), judge());
    let run = |space: &Space, judge: &Judge| {
        assert_eq!(space.run_with(judge, &["run", "suite.yaml", "-q"]).code(), 0);
    };
    let file = |space: &Space| space.latest().join("results.jsonl").metadata().unwrap().ino();
    run(&space, &judge);
    let first = file(&space);
    let mut session = Session::begin(space, judge, &[]);
    session.telling.wait_event("evaluated");
    session.telling.say("q");
    let Session { space, judge, telling } = session;
    assert_eq!(telling.finish().1.code(), 0);
    assert_eq!(file(&space), first);
    let facts: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    assert!(facts["results"]["made_of"].is_string(), "{facts}");
    run(&space, &judge);
    assert_eq!(file(&space), first);
}

#[test]
fn the_saves_of_a_session_can_be_compared_afterwards() {
    let mut session = Session::new(4, &[]);
    session.edit(|space| save(space, "rubric.txt", TERSE));
    session.telling.say("q");
    let Session { space, telling, .. } = session;
    assert_eq!(telling.finish().1.code(), 0);
    let saves: Vec<Value> = space
        .record("saves.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(saves.len(), 2);
    for (number, (save, mean)) in saves.iter().zip([1.0, 0.5]).enumerate() {
        assert_eq!((&save["save"], &save["complete"]), (&json!(number), &json!(true)), "{save}");
        assert_eq!(save["metrics"]["quality"]["mean"], json!(mean));
        assert_eq!(save["asked"], 4);
    }
    let texts: Vec<&Value> = saves.iter().map(|save| &save["rubric_texts"]["quality"]).collect();
    assert_eq!(texts, [POLITE, TERSE]);
    let run: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    assert_eq!(run["session"], json!({"asked": 8, "cached": 0, "failed": 0}));
    let digest = |save: &Value| save["rubrics"]["quality"].as_str().unwrap().to_owned();
    assert_ne!(digest(&saves[0]), digest(&saves[1]));
    assert_eq!(saves[1]["files"], json!(["rubric.txt"]));
    let id = space.read(".evalrs/latest").trim().to_owned();
    let ran = space.run(&["diff", &format!("{id}@0"), &format!("{id}@1")]);
    let shown = ran.stdout().replace(&id, "SESSION");
    let time = regex::Regex::new(r"\d{4}-\d\d-\d\dT[\d:]+Z|\d{4}-\d\d-\d\d [\d:]+( UTC)?").unwrap();
    insta::assert_snapshot!(time.replace_all(&shown, "TIME"), @r#"
    diff  support: 2 broken

    old  SESSION@0  TIME  passed
      quality avg_score >= 0.75: 1.000
    new  SESSION@1  TIME  failed, after an edit of rubric.txt
      quality avg_score >= 0.75: 0.500

    2 verdicts moved
            sample  grader
    broken  s1      quality
      new: Is it terse? answer 1.
    broken  s3      quality
      new: Is it terse? answer 3.

    quality.prompt: "Is it polite? {submission}" → "Is it terse? {submission}"

    grader   n       pass rate  change [95 %]  broken
    quality  4  100.0% → 50.0%          -50.0       2
    "#);
    assert_eq!(ran.code(), 0);
}

#[test]
fn samples_of_an_evaluation_that_was_superseded_keep_their_names() {
    let mut session = Session::begin(super::space(3), super::judge(), &["--preview", "1"]);
    session.telling.wait_event("paused");
    for ats in [&[9, 0, 1, 2][..], &[0, 1, 2]] {
        save(&session.space, "data.jsonl", &super::rows(ats.iter().copied()));
        session.telling.wait_event("paused");
    }
    session.telling.say("q");
    let Session { space, telling, .. } = session;
    assert_eq!(telling.finish().1.code(), 0);
    let saves = space.record("saves.jsonl");
    let saves = saves.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let moved = |save: Value| {
        let verdicts = save["verdicts"].as_array().unwrap().clone();
        let named = verdicts.into_iter().map(|verdict| {
            let state = if verdict["now"].is_null() { "gone" } else { "known" };
            format!("{} {state}", verdict["sample_id"].as_str().unwrap())
        });
        named.collect::<Vec<_>>()
    };
    let moved: Vec<Vec<String>> = saves.map(moved).collect();
    assert_eq!(moved, [vec!["s0 known"], vec!["s9 known"], vec!["s1 known", "s9 gone"]]);
}
