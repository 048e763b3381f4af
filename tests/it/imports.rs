//! Judgments made elsewhere, bound to a suite's actions: `evalrs cache import --as`.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};

const SUITE: &str = "\
name: tutor
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt: 'Rate {submission}.', model: judge-1, endpoint: lab, scale: {min: 1, max: 5}, votes: 2}
  short: {kind: tool, function: ascii_printable_only}
";

fn space() -> Space {
    let rows = ["a", "b", ""].map(|id| json!({"id": format!("s{id}"), "input": "q", "output": id}));
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &jsonl(rows))])
}

fn import(space: &Space, rows: &[Value], more: &[&str]) -> String {
    space.write("made.jsonl", jsonl(rows.iter().cloned()));
    let args = ["cache", "import", "--as", "suite.yaml", "quality", "made.jsonl"];
    space.run(&[&args, more].concat()).shown()
}

#[test]
fn judgments_made_elsewhere_are_replayed_like_our_own() {
    let space = space();
    let rows = [
        json!({"id": "sa", "score": [5, 4], "rationale": ["good", "fair"]}),
        json!({"id": "sb", "score": 1, "feedback": "bad"}),
        json!({"id": "sb", "score": 2}),
        json!({"id": "sb", "score": 3}),
        json!({"id": "s", "score": 3}),
        json!({"id": "nobody", "score": 3}),
    ];
    let shown = import(&space, &rows, &[]);
    let said = "made.jsonl: 7 judgments, 4 new, 0 already there, 3 not bound
  1 not bound: the suite evaluates no such sample (`nobody` line 6)
  1 not bound: the grader asks for 2 votes of a judge (`sb` line 4)
  1 not bound: the submission is empty, and no judge is asked about it (`s` line 5)";
    assert!(shown.starts_with(&format!("exit: 0\n--- stdout\n{said}\n")), "{shown}");
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let results = space.record("results.jsonl");
    let grades: Vec<Value> = results
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["grades"]["quality"].clone())
        .collect();
    assert_eq!(grades[0]["metadata"]["votes"], json!([5.0, 4.0]));
    assert_eq!((&grades[0]["score"], &grades[1]["score"]), (&json!(0.875), &json!(0.125)));
    assert_eq!(grades[1]["rationale"], "bad");
    for line in space.stored_lines() {
        let entry: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(entry["v"]["origin"], json!({"imported": "made.jsonl"}));
    }
    let again = import(&space, &rows, &["--json"]);
    assert!(again.contains("\"new\": 0") && again.contains("\"already_there\": 4"), "{again}");
    assert_eq!(space.stored_lines().len(), 4);
}

#[test]
fn fields_may_stand_anywhere() {
    let space = space();
    let row = json!({"who": {"id": "sa"}, "gpt": {"n": 1, "s": "4", "why": "w"}});
    let fields = "id=who.id,vote=gpt.n,score=gpt.s,rationale=gpt.why";
    let shown = import(&space, &[row], &["--fields", fields]);
    assert!(shown.contains("1 judgment, 1 new"), "{shown}");
    let entry: Value = serde_json::from_str(&space.stored_lines()[0]).unwrap();
    let vote = entry["v"]["ingredients"].as_array().unwrap().last().unwrap();
    assert_eq!((&vote["name"], &vote["preview"]), (&json!("vote"), &json!("1")));
}

#[test]
fn a_file_with_mistakes_imports_nothing_and_names_them() {
    let space = space();
    let rows = [
        json!({"id": "sa", "score": 4}),
        json!({"id": "sa", "score": 6}),
        json!({"id": "sb"}),
        json!({"id": "sb", "score": 2, "judge": "other"}),
    ];
    insta::assert_snapshot!(import(&space, &rows, &[]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `score` is 6, outside 1 to 5
     --> made.jsonl:2:1
      |
    2 | {"id":"sa","score":6}
      | ^^^^^^^^^^^^^^^^^^^^^

    error: the row has no score
     --> made.jsonl:3:1
      |
    3 | {"id":"sb"}
      | ^^^^^^^^^^^

    error: the grader has no judge `other`
     --> made.jsonl:4:1
      |
    4 | {"id":"sb","score":2,"judge":"other"}
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "#);
    assert!(space.stored_lines().is_empty());
    let strangers = import(&space, &[json!({"id": "x", "score": 1})], &[]);
    assert!(strangers.starts_with("exit: 2"), "{strangers}");
    assert!(strangers.contains("no judgment belongs to a sample of the suite"), "{strangers}");
    for (args, message) in [
        (["--as", "suite.yaml", "nobody", "made.jsonl"], "the suite has no grader `nobody`"),
        (["--as", "suite.yaml", "short", "made.jsonl"], "`short` asks no judge"),
        (["--as", "suite.yaml", "quality", "none.jsonl"], "cannot read `none.jsonl`"),
    ] {
        let ran = space.run(&[&["cache", "import"][..], &args].concat());
        assert_eq!(ran.code(), 2, "{}", ran.shown());
        assert!(ran.stderr().contains(message), "{}", ran.stderr());
    }
    let shown = import(&space, &[json!({"id": "sa", "score": 1})], &["--fields", "ID=x"]);
    assert!(shown.contains("`--fields` has `ID=x`, which is not NAME=PATH"), "{shown}");
}

#[test]
fn votes_may_stand_in_several_files_and_one_judgment_has_one_score() {
    let space = space();
    for (name, score) in [("one.jsonl", 5), ("two.jsonl", 3)] {
        space.write(name, jsonl([json!({"id": "sa", "score": score})]));
    }
    let args = ["cache", "import", "--as", "suite.yaml", "quality", "one.jsonl", "two.jsonl"];
    assert_eq!(space.run(&args).code(), 0);
    assert_eq!(space.stored_lines().len(), 2, "two votes");
    let rows =
        [json!({"id": "sb", "vote": 0, "score": 5}), json!({"id": "sb", "vote": 0, "score": 4})];
    let shown = import(&space, &rows, &[]);
    let said = "error: the same judgment has the score 5 in `made.jsonl:1`\n";
    assert!(shown.contains(said), "{shown}");
    let shown = import(&space, &[rows[0].clone(), rows[0].clone()], &[]);
    assert!(shown.contains("2 judgments, 1 new, 1 already there"), "{shown}");
}

#[test]
fn a_judgment_made_elsewhere_stands_over_a_stored_failure() {
    let space = space();
    let judge = Judge::new(|_, _| Answer::text("no verdict"));
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml", "--sample", "sa"]).code(), 3);
    let shown = import(&space, &[json!({"id": "sa", "score": [4, 4]})], &[]);
    assert!(shown.contains("2 judgments, 2 new"), "{shown}");
    assert_eq!(space.run(&["run", "suite.yaml", "--sample", "sa", "--frozen"]).code(), 0);
    assert!(
        space.record("results.jsonl").contains("\"score\":0.75"),
        "{}",
        space.record("results.jsonl")
    );
}

#[test]
fn rows_that_are_one_question_to_the_judge_are_named() {
    let space = space();
    let rows = ["a", "b"].map(|id| json!({"id": format!("s{id}"), "input": "q", "output": "same"}));
    space.write("data.jsonl", jsonl(rows));
    let rows =
        [json!({"id": "sa", "vote": 0, "score": 5}), json!({"id": "sb", "vote": 0, "score": 4})];
    let shown = import(&space, &rows, &[]);
    let said = "error: the same judgment has the score 5 in `made.jsonl:1`: `sa` and `sb` are one question to the judge, because the rubric has nothing that tells them apart";
    assert!(shown.contains(said), "{shown}");
}

#[test]
fn a_judgment_of_another_score_is_refused_until_it_is_to_replace_the_first() {
    let space = space();
    let one = [json!({"id": "sa", "score": [1, 1]}), json!({"id": "sb", "score": [2, 2]})];
    assert!(import(&space, &one, &[]).contains("4 judgments, 4 new"));
    let corrected = [json!({"id": "sa", "score": [5, 1]}), json!({"id": "sb", "score": [2, 2]})];
    insta::assert_snapshot!(import(&space, &corrected, &[]), @r"
    exit: 3
    --- stdout
    made.jsonl: 4 judgments, 0 new, 3 already there, 1 of another score, 0 not bound
    --- stderr
    error: 1 judgment has another score in the store, which stands (`sa` in made.jsonl:1: 1 in the store, 5 in the file)
      help: `--replace` takes the scores of the files
    ");
    let score = || {
        assert_eq!(space.run(&["run", "suite.yaml", "--frozen", "--sample", "sa"]).code(), 0);
        let line: Value = serde_json::from_str(space.record("results.jsonl").trim()).unwrap();
        line["grades"]["quality"]["metadata"]["votes"].clone()
    };
    assert_eq!(score(), json!([1.0, 1.0]));
    let shown = import(&space, &corrected, &["--replace"]);
    assert!(shown.starts_with("exit: 0") && shown.contains("1 new, 3 already there"), "{shown}");
    assert_eq!(score(), json!([5.0, 1.0]));
    let shown = import(&space, &corrected, &["--replace"]);
    assert!(shown.contains("0 new, 4 already there"), "{shown}");
}

#[test]
fn columns_are_votes_and_values_are_mapped() {
    let space = space();
    let rows = "idx,ann,bob,note\nsa,Tie,4,n\nsb,garbage,\"  5 \",\n";
    space.write("made.csv", rows);
    let args = ["cache", "import", "--as", "suite.yaml", "quality", "made.csv"];
    let fields = ["--fields", "id=idx,score=[ann,bob],rationale=[note,none],judge=judge-1"];
    let map = ["--map", "Tie=3", "--map", "garbage=error"];
    let shown = space.run(&[&args[..], &fields, &map].concat()).shown();
    let said = "made.csv: 4 judgments, 4 new, 0 already there, 1 without a score, 0 not bound\n";
    assert!(shown.contains(said), "{shown}");
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 3, "a vote of two failed");
    let results = space.record("results.jsonl");
    let grades: Vec<Value> = results
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["grades"]["quality"].clone())
        .collect();
    assert_eq!(grades[0]["metadata"]["votes"], json!([3.0, 4.0]));
    let error =
        json!({"kind": "invalid_reply", "message": "the judgment that was imported has no score"});
    assert_eq!(grades[1]["error"], error);
    assert_eq!(grades[1]["metadata"]["reply"], "garbage");
    let again = space.run(&[&args[..], &fields, &map].concat()).shown();
    assert!(again.contains("4 judgments, 0 new, 4 already there"), "{again}");
    // A failure never stands over a score, and a score always over a failure.
    let all = ["--map", "Tie=error", "--map", "garbage=2"];
    let turned = space.run(&[&args[..], &fields, &all, &["--replace"]].concat()).shown();
    assert!(turned.contains("4 judgments, 1 new, 3 already there"), "{turned}");
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
    let results = space.record("results.jsonl");
    assert!(
        results.contains("\"votes\":[3.0,4.0]") && results.contains("\"votes\":[2.0,5.0]"),
        "{results}"
    );
}

#[test]
fn whoever_wants_all_bound_is_told_which_are_not() {
    let space = space();
    let suite = SUITE.replace("data.jsonl", "{path: data.jsonl, fields: {model: m, trial: t}}");
    space.write("suite.yaml", suite);
    let row = |id: &str, model: &str, trial: u32| json!({"id": id, "input": "q", "output": "x", "m": model, "t": trial});
    space.write("data.jsonl", jsonl([row("a", "one", 0), row("a", "two", 0), row("a", "two", 1)]));
    let judged =
        |model: &str, trial: u32| json!({"id": "a", "model": model, "trial": trial, "score": 3});
    let good = [judged("one", 0), judged("two", 1)];
    assert!(import(&space, &good, &["--complete"]).starts_with("exit: 0"));
    let shown = import(
        &space,
        &[good.as_slice(), &[judged("three", 0), judged("one", 1)]].concat(),
        &["--complete"],
    );
    insta::assert_snapshot!(shown, @r"
    exit: 1
    --- stdout
    made.jsonl: 4 judgments, 0 new, 2 already there, 2 not bound
      1 not bound: the sample has no answer of the model `three` (`a` line 3)
      1 not bound: the sample has no trial 1 (`a` line 4)
    --- stderr
    error: 2 judgments belong to nothing that the grader asks for, and `--complete` wants all of them bound
    ");
    let shown = import(&space, &[json!({"id": "a", "score": 3})], &[]);
    assert!(
        shown.contains("`a` was run with several models; say which: `--fields model=PATH`"),
        "{shown}"
    );
    let shown = import(
        &space,
        &[json!({"id": "a", "score": 3})],
        &["--fields", "model=one,trial=0", "--json"],
    );
    assert!(shown.starts_with("exit: 0"), "{shown}");
}

#[test]
fn of_two_imports_at_once_one_is_refused() {
    let space = space();
    for (name, score) in [("one.jsonl", 5), ("two.jsonl", 3)] {
        space.write(name, jsonl([json!({"id": "sa", "vote": 0, "score": score})]));
    }
    let import = |file: &str| {
        space.command(&["cache", "import", "--as", "suite.yaml", "quality", file]).spawn().unwrap()
    };
    let both = ["one.jsonl", "two.jsonl"].map(import);
    let mut codes = both.map(|mut child| child.wait().unwrap().code().unwrap());
    codes.sort_unstable();
    assert_eq!(codes, [0, 3]);
    assert_eq!(space.stored_lines().len(), 1);
}
