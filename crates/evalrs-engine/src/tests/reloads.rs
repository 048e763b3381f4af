//! Edits one after the other in a session that lives through them: good ones, broken ones, and those that mend them.

use super::*;

#[test]
fn edits_one_after_the_other_ask_for_what_is_new() {
    let mut living = Evaluation::stored();
    for (what, edit, expected) in [
        ("three votes: the first is there", right_with("votes: 3"), "2 right *"),
        ("their mean", right_with("votes: {n: 3, combine: mean}"), ""),
        ("two of them", right_with("votes: 2"), ""),
        ("five: two more", right_with("votes: 5"), "2 right *"),
        ("extra_body", right_with("extra_body: {a: 1, b: {c: 2, d: 3}}"), "right *"),
        ("its order", right_with("extra_body: {b: {d: 3, c: 2}, a: 1}"), ""),
        ("another row", replaced("answer 3", "another answer"), "kind s3, right s3"),
        ("back to the first suite", ("suite.yaml", SUITE.to_owned()), "right s3"),
        ("back to the first rows", ("data.jsonl", rows()), ""),
    ] {
        living.system.set(edit.0, edit.1);
        living.reload(what);
        assert_eq!(living.asked(), expanded(expected), "{what}");
    }
}

#[test]
fn a_broken_file_asks_nothing_and_mending_it_asks_for_what_the_edit_before_did() {
    let mut living = Evaluation::stored();
    living.system.set("suite.yaml", SUITE.replace("kind?", "kinder?"));
    living.system.set("data.jsonl", "{\"input\": ");
    for _ in 0..2 {
        let reloaded = living.session.reload(&living.system, &ChangedPaths::Any, None);
        assert!(matches!(reloaded, ReloadResult::Broken { .. }), "{reloaded:?}");
        assert_eq!(living.asked(), Vec::<String>::new());
    }
    living.system.set("data.jsonl", rows());
    living.reload("mended");
    assert_eq!(living.asked(), expanded("kind *"));
}

#[test]
fn a_rubric_that_comes_to_name_what_no_row_has_asks_nothing() {
    let toned = |at: usize| row(at).replacen('{', "{\"rubric_vars\": {\"tone\": \"warm\"}, ", 1);
    let all = || (0..ROWS).map(toned).collect::<String>();
    let one = || (0..ROWS).map(|at| if at == 3 { toned(at) } else { row(at) }).collect::<String>();
    let mut living = Evaluation::stored();
    for (what, edit, is_good) in [
        ("no row has a tone", ("suite.yaml", SUITE.replace("kind?", "{tone}?")), false),
        ("all have", ("data.jsonl", all()), true),
        ("one has", ("data.jsonl", one()), true),
        ("none has again", ("data.jsonl", rows()), false),
        ("one has again", ("data.jsonl", one()), true),
        ("another name", ("suite.yaml", SUITE.replace("kind?", "{tune}?")), false),
        ("back", ("suite.yaml", SUITE.to_owned()), true),
    ] {
        living.system.set(edit.0, edit.1);
        let reloaded = living.session.reload(&living.system, &ChangedPaths::Any, None);
        assert_eq!(
            matches!(reloaded, ReloadResult::Broken { .. }),
            !is_good,
            "{what}: {reloaded:?}"
        );
    }
}

#[test]
fn a_row_that_comes_to_name_an_unknown_grader_is_refused() {
    let mut living = Evaluation::stored();
    for (named, is_good) in [("kind", true), ("nobody", false), ("right", true)] {
        let graders = format!("{{\"graders\": [\"{named}\"], ");
        living.system.set("data.jsonl", rows().replacen('{', &graders, 1));
        let reloaded = living.session.reload(&living.system, &ChangedPaths::Any, None);
        assert_eq!(
            matches!(reloaded, ReloadResult::Broken { .. }),
            !is_good,
            "{named}: {reloaded:?}"
        );
    }
}
