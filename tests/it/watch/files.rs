//! Files that are broken, gone, or swapped, and all the ways in which editors save.

use serde_json::json;

use super::{POLITE, SUITE, Session, TERSE, mean, questions, replace, save};
use crate::space::Space;

/// Writes a text over the rubric.
type Write = fn(&Space, &str);

#[test]
fn a_broken_suite_says_why_and_goes_on_once_it_is_mended() {
    let mut session = Session::new(3, &[]);
    replace(&session.space, "suite.yaml", "kind: rubric", "kind: rubrik");
    let broken = session.telling.wait_event("broken_files");
    assert_eq!(broken["save"], 0, "the last good results stay");
    let problem = &broken["problems"][0];
    assert!(problem["message"].as_str().unwrap().contains("`rubrik`"), "{broken}");
    assert_eq!((&problem["path"], &problem["line"]), (&json!("suite.yaml"), &json!(4)));
    replace(&session.space, "suite.yaml", "kind: rubrik", "kind: rubric");
    assert_eq!(session.telling.next_event()["event"], "fixed_files", "it is as it was");
    replace(&session.space, "suite.yaml", "kind: rubric", "kind: [");
    assert_eq!(session.telling.next_event()["event"], "broken_files");
    save(&session.space, "rubric.txt", TERSE);
    let mended = SUITE.replace("value: 0.75", "value: 0.25");
    let edited = session.edit(|space| save(space, "suite.yaml", &mended));
    assert_eq!(edited.asked, questions("terse", 0..3));
    let told = edited.told();
    assert_eq!((&told["save"], mean(told)), (&json!(1), json!(2.0 / 3.0)));
    assert_eq!(told["files"], json!(["rubric.txt", "suite.yaml"]));
    session.end();
}

#[test]
fn a_session_may_begin_with_what_is_broken() {
    let space = super::space(3);
    save(&space, "suite.yaml", &SUITE.replace("kind: rubric", "kind: ["));
    let mut session = Session::begin(space, super::judge(), &[]);
    assert_eq!(session.telling.next_event()["event"], "broken_files");
    assert_eq!(session.judge.count(), 0);
    let edited = session.edit(|space| save(space, "suite.yaml", SUITE));
    assert_eq!(edited.asked, questions("polite", 0..3));
    assert_eq!((&edited.told()["save"], mean(edited.told())), (&json!(0), json!(1.0)));
    session.end();
}

#[test]
fn a_file_that_is_deleted_and_restored_asks_nothing() {
    for path in ["data.jsonl", "rubric.txt", "suite.yaml"] {
        let mut session = Session::new(3, &[]);
        let text = session.space.read(path);
        std::fs::remove_file(session.space.path(path)).unwrap();
        let broken = session.telling.next_event();
        assert_eq!(broken["event"], "broken_files", "{path}: {broken}");
        assert!(broken["problems"].to_string().contains(path), "{broken}");
        save(&session.space, path, &text);
        assert_eq!(session.telling.next_event()["event"], "fixed_files", "{path}");
        // What comes after that is the first save.
        let edited =
            session.edit(|space| replace(space, "suite.yaml", "value: 0.75", "value: 0.25"));
        assert_eq!((edited.asked.len(), &edited.told()["save"]), (0, &json!(1)), "{path}");
        assert_eq!(session.judge.count(), 3, "{path}");
        session.end();
    }
}

/// Saves the rubric three times as `write` does, with events of the system and by looking every so often.
fn check_way(write: Write) {
    for flag in ["--preview=20", "--poll=10"] {
        let mut session = Session::new(3, &[flag]);
        for (what, number) in [("terse", 1), ("very polite", 2), ("so very terse", 3)] {
            let text = format!("Is it {what}? {{submission}}");
            let edited = session.edit(|space| write(space, &text));
            assert_eq!(edited.asked, questions(what, 0..3), "{flag}");
            assert_eq!(edited.told()["save"], number, "{flag}");
        }
        session.end();
    }
}

#[test]
fn a_rubric_that_is_renamed_over_is_followed() {
    check_way(|space, text| save(space, "rubric.txt", text));
}

/// A reader may see it empty or half written for a moment, which is no save.
#[test]
fn a_rubric_that_is_moved_away_and_created_anew_is_followed() {
    check_way(|space, text| {
        std::fs::rename(space.path("rubric.txt"), space.path("rubric.txt~")).unwrap();
        save(space, "rubric.txt", text);
        std::fs::remove_file(space.path("rubric.txt~")).unwrap();
    });
}

/// Editors write in place: the last thing that is read is the whole of it, whatever was seen before.
#[test]
fn a_rubric_that_is_written_in_place_is_followed() {
    for flag in ["--preview=20", "--poll=10"] {
        let mut session = Session::new(3, &[flag]);
        session.space.write("rubric.txt", TERSE);
        session.judge.wait_asked(6);
        while mean(&session.telling.wait_event("evaluated")) != json!(2.0 / 3.0) {}
        let asked = session.judge.asked_since(3).into_iter().collect();
        assert_eq!(questions("terse", 0..3), asked, "{flag}");
        session.end();
    }
}

#[cfg(unix)]
#[test]
fn a_rubric_that_is_a_link_is_followed_to_where_it_leads() {
    use std::os::unix::fs::symlink;
    check_way(|space, text| {
        let version = format!("versions/{}", text.len());
        space.write(&version, text);
        symlink(version, space.path(".link")).unwrap();
        std::fs::rename(space.path(".link"), space.path("rubric.txt")).unwrap();
    });
    // What the link leads to is saved, and a folder on the way is swapped.
    let space = super::space(3);
    std::fs::remove_file(space.path("rubric.txt")).unwrap();
    space.write("one/rubric.txt", POLITE);
    space.write("two/rubric.txt", "Is it kind? {submission}");
    symlink("one", space.path("now")).unwrap();
    symlink("now/rubric.txt", space.path("rubric.txt")).unwrap();
    let mut session = Session::begin(space, super::judge(), &[]);
    session.telling.wait_event("evaluated");
    let edited = session.edit(|space| save(space, "one/rubric.txt", TERSE));
    assert_eq!(edited.asked, questions("terse", 0..3));
    let edited = session.edit(|space| {
        symlink("two", space.path(".link")).unwrap();
        std::fs::rename(space.path(".link"), space.path("now")).unwrap();
    });
    assert_eq!(edited.asked, questions("kind", 0..3));
    session.end();
}

#[test]
fn a_selection_of_nothing_is_an_error_at_the_start() {
    let space = super::space(3);
    for (args, said) in [
        (&["--max-samples", "0"][..], "none of the 3 samples is selected"),
        (&["--tags", "unknown"], "none of the 3 samples is selected"),
        (&["--sample", "nobody"], "no sample has the id `nobody`"),
    ] {
        let ran = space.run(&[&["watch", "suite.yaml", "--plain"], args].concat());
        assert_eq!((ran.code(), ran.stderr().contains(said)), (2, true), "{}", ran.shown());
    }
}
