//! Votes that people or others gave: read from rows, from a file, or imported; combined, and never asked for.

use serde_json::{Value, json};

use crate::space::{Space, jsonl};

fn suite(grader: &str) -> String {
    format!(
        "name: s\ndataset: rows.jsonl\ngraders:\n  people: {{kind: recorded_votes, {grader}}}\n"
    )
}

fn space(grader: &str, rows: &str) -> Space {
    Space::new(&[("suite.yaml", &suite(grader)), ("rows.jsonl", rows)])
}

/// Score, votes and rationale of each result of a run; why it is not applicable, or its error.
fn told(space: &Space, args: &[&str]) -> Vec<String> {
    space.run(&[&["run", "suite.yaml", "--quiet"], args].concat());
    let grade = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(why) = line["not_applicable"]["people"].as_str() {
            return format!("- {why}");
        }
        let grade = &line["grades"]["people"];
        match grade["error"]["message"].as_str() {
            Some(message) => format!("! {message}"),
            None => format!(
                "{} {} {}",
                grade["score"],
                grade["metadata"]["votes"],
                grade["rationale"].as_str().unwrap()
            ),
        }
    };
    space.record("results.jsonl").lines().map(grade).collect()
}

#[test]
fn votes_in_fields_of_the_row_are_combined() {
    let row = |id: &str, one: Value, two: Value, three: Value| json!({"id": id, "input": "q", "output": if id == "e" { "" } else { "a" }, "n": {"one": one, "two": two}, "three": three});
    let rows = jsonl([
        row("a", json!(2), json!(2), json!(1)),
        row("b", json!("Tie"), json!(1), json!(null)),
        row("c", json!("garbage"), json!("2"), json!(0)),
        row("d", json!(null), json!(""), json!(null)),
        row("e", json!(1), json!(1), json!(1)),
        row("f", json!("garbage"), json!(7), json!(0)),
        row("g", json!("maybe"), json!(null), json!(null)),
        row("h", json!([0, 1, 1]), json!(null), json!(null)),
    ]);
    let grader = "votes: [row.n.one, n.two, row.three], scale: {min: 0, max: 2}, combine: majority, map: {Tie: 0, garbage: error}";
    let space = space(grader, &rows);
    assert_eq!(
        told(&space, &[]),
        [
            "1.0 [2.0,2.0,1.0] 3 votes: 2, 2, 1",
            "0.25 [0.0,1.0,null] 2 votes: 0, 1",
            "0.5 [null,2.0,0.0] 2 votes: 2, 0",
            "- nobody voted on it",
            "0.5 [1.0,1.0,1.0] 3 votes: 1, 1, 1",
            "! `n.one`: the vote is `garbage`",
            "! `n.one`: the score is \"maybe\", not a number, and none of `Tie`, `garbage`",
            "0.5 [0.0,1.0,1.0,null,null] 3 votes: 0, 1, 1",
        ]
    );
    let first: Value =
        serde_json::from_str(space.record("results.jsonl").lines().next().unwrap()).unwrap();
    let metadata = &first["grades"]["people"]["metadata"];
    assert_eq!((&metadata["native_score"], &metadata["spread"]), (&json!(2.0), &json!(1.0)));
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    let agreement = &summary["agreement"]["people"];
    assert_eq!((&agreement["items"], &agreement["raters"]), (&json!(5), &json!(5)), "{summary}");
    space.write("suite.yaml", suite(&format!("{grader}, missing: error")));
    assert_eq!(told(&space, &[])[3], "! nobody voted on it");
    assert_eq!(space.stored_lines().len(), 0);
}

#[test]
fn votes_of_a_file_count_for_the_answers_they_are_of() {
    let row = |id: &str, model: &str, trial: u32| json!({"id": id, "input": "q", "output": "a", "model": model, "trial": trial});
    let rows = jsonl([row("a", "m", 0), row("a", "m", 1), row("a", "n", 0), row("b", "m", 0)]);
    let space = space(
        "path: votes.csv, fields: {id: item, score: [ann, bob], rationale: [why, none]}",
        &rows,
    );
    space.write(
        "votes.csv",
        "item,model,trial,ann,bob,why\na,,,1,0,generic\na,n,,0,,\na,m,1,True,false,x\nz,,,1,1,\n",
    );
    assert_eq!(
        told(&space, &[]),
        [
            "0.5 [1.0,0.0] generic",
            "0.5 [1.0,0.0] x",
            "0.0 [0.0,0.0] 2 votes: 0, 0",
            "- nobody voted on it",
        ]
    );
    let shown = space.run(&["validate", "suite.yaml"]).shown();
    assert!(shown.contains("the votes on 1 sample match no row: `z`"), "{shown}");
    space.write("votes.csv", "item,ann,bob\na,1,high\nb,\"[1\",1\n");
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).shown(), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the score is "high", not a number
     --> votes.csv:2:1
      |
    2 | a,1,high
      | ^^^^^^^^

    error: the score is "[1", not a number
     --> votes.csv:3:1
      |
    3 | b,"[1",1
      | ^^^^^^^^

    2 errors
    "#);
    space.write("suite.yaml", suite("path: none.csv"));
    let shown = space.run(&["validate", "suite.yaml"]).shown();
    assert!(
        shown.contains("cannot read the votes in `none.csv`: there is no such file"),
        "{shown}"
    );
}

fn import(space: &Space, rows: &[Value], more: &[&str]) -> String {
    space.write("made.jsonl", jsonl(rows.iter().cloned()));
    let args = ["cache", "import", "--as", "suite.yaml", "people", "made.jsonl"];
    space.run(&[&args, more].concat()).shown()
}

#[test]
fn imported_votes_are_kept_beside_the_suite_and_not_of_other_answers() {
    let row = |id: &str, output: &str| json!({"id": id, "input": "q", "output": output});
    let rows = |a: &str| jsonl([row("a", a), row("b", "")]);
    let space = space("scale: {min: 1, max: 5}", &rows("first"));
    let voted = [
        json!({"id": "b", "who": "eve", "score": 2}),
        json!({"id": "a", "who": "eve", "score": 5, "feedback": "good"}),
        json!({"id": "a", "who": "bob", "score": "unreadable"}),
        json!({"id": "x", "who": "bob", "score": 1}),
    ];
    let map = ["--map", "unreadable=error"];
    insta::assert_snapshot!(import(&space, &voted, &map), @r"
    exit: 0
    --- stdout
    made.jsonl: 4 judgments, 3 new, 0 already there, 1 without a score, 1 not bound
      1 not bound: the suite evaluates no such sample (`x` line 4)
    votes: suite.people.votes.jsonl
    --- stderr
    ");
    insta::assert_snapshot!(space.read("suite.people.votes.jsonl"), @r#"
    {"id":"a","trial":0,"judge":"bob","error":"unreadable","of_answer":"22896bcbc3d1c76a"}
    {"id":"a","trial":0,"judge":"eve","score":5.0,"rationale":"good","of_answer":"22896bcbc3d1c76a"}
    {"id":"b","trial":0,"judge":"eve","score":2.0,"of_answer":"af1349b9f5f9a1a6"}
    "#);
    assert_eq!(told(&space, &[]), ["! the vote is `unreadable`", "0.25 [null,2.0] 1 vote: 2"]);
    assert!(import(&space, &voted, &map).contains("4 judgments, 0 new, 3 already there"));
    let corrected = [
        json!({"id": "a", "who": "eve", "score": 4}),
        json!({"id": "a", "who": "bob", "score": 5}),
    ];
    let shown = import(&space, &corrected, &["--complete"]);
    assert!(shown.starts_with("exit: 3"), "{shown}");
    assert!(shown.contains("1 new, 0 already there, 1 of another score"), "{shown}");
    assert!(shown.contains("`a` in made.jsonl:1: 5 in the store, 4 in the file"), "{shown}");
    assert!(import(&space, &corrected, &["--replace"]).contains("1 new, 1 already there"));
    assert_eq!(told(&space, &[])[0], "0.875 [5.0,4.0] 2 votes: 5, 4");
    space.write("rows.jsonl", rows("second"));
    assert_eq!(told(&space, &[])[0], "- 2 votes of another answer");
    space.write("rows.jsonl", rows("first"));
    assert_eq!(told(&space, &[])[0], "0.875 [5.0,4.0] 2 votes: 5, 4");
    let wrong = import(&space, &[json!({"id": "a", "score": 9})], &[]);
    assert!(
        wrong.starts_with("exit: 2") && wrong.contains("`score` is 9, outside 1 to 5"),
        "{wrong}"
    );
    assert_eq!(space.stored_lines().len(), 0, "nobody is asked");
}

#[test]
fn votes_that_stand_elsewhere_are_not_imported() {
    for (grader, message) in [
        ("votes: row.v", "`people` reads its votes from fields of the row"),
        (
            "path: votes.jsonl",
            "the suite says that `people` reads `votes.jsonl`: that file is yours to edit",
        ),
    ] {
        let space = space(grader, &jsonl([json!({"id": "a", "input": "q", "output": "a"})]));
        space.write("votes.jsonl", "");
        let shown = import(&space, &[json!({"id": "a", "score": 1})], &[]);
        assert!(shown.starts_with("exit: 2") && shown.contains(message), "{shown}");
    }
}

#[test]
fn what_is_wrong_with_the_grader_is_said_where_it_stands() {
    let grader = "votes: [row.a], path: v.jsonl, scale: {min: 2, max: 1}, map: {x: yes-please}, combine: mode, missing: zero";
    let space = space(grader, &jsonl([json!({"id": "a", "input": "q", "output": "a"})]));
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).shown(), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `combine` must be one of `median`, `mean`, `majority`
     --> suite.yaml:4:112
      |
    4 | …th: v.jsonl, scale: {min: 2, max: 1}, map: {x: yes-please}, combine: mode, missing: zero}
      |                                                              ^^^^^^^^^^^^^

    error: `missing` must be one of `not_applicable`, `error`
     --> suite.yaml:4:127
      |
    4 | …ale: {min: 2, max: 1}, map: {x: yes-please}, combine: mode, missing: zero}
      |                                                              ^^^^^^^^^^^^^

    2 errors
    "#);
    for (grader, message) in [
        (
            "votes: [row.a], path: v.jsonl",
            "`path` is of votes in a file, and `votes` of fields of the row",
        ),
        ("scale: {min: 2, max: 1}", "`max` must be greater than `min`"),
        ("map: {x: 3}", "the score is not within 0 to 1"),
        ("fields: {ID: x}", "a vote has no `ID`: it has id, model"),
        ("fields: {id: [x, y]}", "`id` is one field"),
    ] {
        space.write("suite.yaml", suite(grader));
        let shown = space.run(&["validate", "suite.yaml"]).shown();
        assert!(shown.contains(message), "{shown}");
    }
}
