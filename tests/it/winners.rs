//! Which of several outcomes of one action stands: a reply over any failure, and what is reported is what the store holds.

use evalrs_model::key::ActionKey;
use evalrs_store::Entry;
use evalrs_store::render;
use serde_json::{Value, json};

use crate::judge::{Answer, Judge, Order};
use crate::space::{Space, lines};

const ROWS: usize = 5;

const SUITE: &str = "\
name: winners
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt: 'Is {submission} polite?', model: judge-1, endpoint: team, max_retries: 0}
";

fn space() -> Space {
    let rows =
        (0..ROWS).map(|at| json!({"id": at, "input": "q", "output": format!("answer {at}")}));
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &lines(rows))])
}

fn good() -> Judge {
    Judge::new(|_, _| Answer::score(0.75))
}

/// A judge that refuses every request for good.
fn bad() -> Judge {
    Judge::new(|_, _| Answer::error(400, "no"))
}

/// The scores of the last run, and how many of its grades are errors.
fn grades(space: &Space) -> (Vec<f64>, usize) {
    let results = space.record("results.jsonl");
    let grades: Vec<Value> = results
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["grades"]["quality"].clone())
        .collect();
    let scores = grades.iter().map(|grade| grade["score"].as_f64().unwrap()).collect();
    (scores, grades.iter().filter(|grade| !grade["error"].is_null()).count())
}

#[test]
fn a_paid_reply_stands_over_the_stored_failure_of_another_process() {
    let (space, slow) = (space(), good().in_order(Order::UpTo(0)));
    let first = space.start(&slow, &["run", "suite.yaml", "--output", "first"]);
    slow.wait_asked(ROWS);
    // Who repeats calls does not wait for those of others.
    let second = space.run_with(&bad(), &["run", "suite.yaml", "--refresh"]);
    assert_eq!((second.code(), grades(&space)), (3, (vec![0.0; ROWS], ROWS)), "{}", second.shown());
    slow.order(Order::AtOnce);
    let first = first.finish();
    assert_eq!(first.code(), 0, "{}", first.shown());
    assert_eq!((grades(&space), space.actions("quality")), ((vec![0.75; ROWS], 0), [5, 0, 0, 0]));
    let replayed = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!(
        (replayed.code(), grades(&space)),
        (0, (vec![0.75; ROWS], 0)),
        "{}",
        replayed.shown()
    );
}

#[test]
fn a_failure_that_lands_where_another_process_has_a_reply_is_none() {
    let (space, slow) = (space(), bad().in_order(Order::UpTo(0)));
    let first = space.start(&slow, &["run", "suite.yaml"]);
    slow.wait_asked(ROWS);
    assert_eq!(space.run_with(&good(), &["run", "suite.yaml", "--refresh"]).code(), 0);
    slow.order(Order::AtOnce);
    let first = first.finish();
    assert_eq!(first.code(), 0, "{}", first.shown());
    assert_eq!((grades(&space), space.actions("quality")), ((vec![0.75; ROWS], 0), [5, 0, 0, 0]));
}

/// Another process may write the same key after this one looked: at its end each looks once more.
#[test]
fn what_is_reported_is_what_the_store_holds_at_the_end() {
    let (space, judge) = (space(), good().in_order(Order::UpTo(1)));
    let running = space.start(&judge, &["run", "suite.yaml", "--max-concurrent", "1"]);
    space.wait_stored(1);
    let line: Value = serde_json::from_str(&space.stored_lines()[0]).unwrap();
    let key = ActionKey::parse(line["k"].as_str().unwrap()).unwrap();
    let body = line["v"].to_string().replace("0.75", "0.25");
    let theirs = render(&Entry { key, generation: 1, body }).unwrap();
    space.write("cache/v1/seg/00000000001-1-0000000000000000.jsonl", theirs);
    judge.order(Order::AtOnce);
    assert_eq!(running.finish().code(), 0);
    let reported = grades(&space);
    assert_eq!(reported.0, [0.25, 0.75, 0.75, 0.75, 0.75]);
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
    assert_eq!(grades(&space), reported);
}

#[test]
fn an_outcome_of_the_last_generation_is_not_asked_in_vain() {
    let space = space();
    assert_eq!(space.run_with(&good(), &["run", "suite.yaml"]).code(), 0);
    let last = |entry| render(&Entry { generation: u32::MAX, ..entry }).unwrap();
    let lines: String = space.stored_entries().into_iter().map(last).collect();
    space.write("cache/v1/seg/00000000001-1-0000000000000000.jsonl", lines);
    let judge = good();
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--refresh"]);
    assert_eq!((ran.code(), judge.count()), (0, 0), "{}", ran.shown());
    assert!(
        ran.stderr().contains("cannot be refreshed: it has the last generation"),
        "{}",
        ran.shown()
    );
}
