//! Graders that embed: what is asked of the endpoint, what is kept, and what an edit asks again.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};

const SUITE: &str = "\
name: s
dataset: data.jsonl
graders:
  near: {kind: similarity, model: embed-1, endpoint: test, pass_threshold: 0.9, max_retries: 0}
";

fn rows(first: &str, reference: &str) -> String {
    let row = |id: &str, output: &str, truth: &str| json!({"id": id, "input": "q", "output": output, "ground_truth": truth});
    jsonl([row("a", first, reference), row("b", "north", "east"), row("c", "", "east")])
}

/// A direction for each text, of as many dimensions as are asked for.
fn embedding(text: &str, dimensions: usize) -> Answer {
    let mut vector = match text {
        "north" => vec![0.0, 2.0],
        "east" => vec![2.0, 0.0],
        "north-east" => vec![1.0, 1.0],
        "south" => vec![0.0, -1.0],
        _ => vec![0.0, 0.0],
    };
    vector.resize(dimensions, 0.0);
    let body = json!({
        "object": "list", "model": "embed-1-2026",
        "data": [{"object": "embedding", "index": 0, "embedding": vector}],
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
    });
    Answer::Http(200, Vec::new(), body.to_string())
}

fn endpoint() -> Judge {
    Judge::new(|_, asked| {
        let dimensions = asked.body["dimensions"].as_u64().unwrap_or(2) as usize;
        embedding(asked.body["input"].as_str().unwrap(), dimensions)
    })
}

fn grades(space: &Space) -> Vec<Value> {
    let text = space.record("results.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["grades"]["near"].clone()).collect()
}

/// Scores, and errors where there are none.
fn scores(space: &Space) -> Vec<String> {
    let shown = |grade: &Value| match grade["metadata"]["error"].as_str() {
        Some(error) => error.to_owned(),
        None => format!("{:.4} {}", grade["score"].as_f64().unwrap(), grade["pass"]),
    };
    grades(space).iter().map(shown).collect()
}

fn asked(judge: &Judge) -> Vec<String> {
    let texts = judge.asked();
    let mut texts: Vec<String> =
        texts.iter().map(|asked| asked.body["input"].as_str().unwrap().to_owned()).collect();
    texts.sort();
    texts
}

#[test]
fn each_text_is_embedded_once_and_an_edit_embeds_what_is_new() {
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows("north-east", "north"))]);
    let judge = endpoint();
    let planned = space.run(&["plan", "suite.yaml"]);
    assert!(planned.stdout().contains("3 to ask"), "{}", planned.shown());
    let run = |args: &[&str]| {
        let ran = space.run_with(&judge, &[&["run", "suite.yaml", "--quiet"], args].concat());
        assert_eq!(ran.code(), 0, "{}", ran.shown());
    };
    run(&[]);
    // The texts of submissions and references alike, the empty submission left out.
    assert_eq!(asked(&judge), ["east", "north", "north-east"]);
    assert_eq!(scores(&space), ["0.7071 false", "0.0000 false", "0.0000 false"]);
    assert_eq!(grades(&space)[0]["rationale"], "Cosine similarity: 0.7071");
    assert_eq!(grades(&space)[0]["metadata"]["model"], "embed-1-2026");
    let first = &judge.asked()[0];
    assert!(first.path.ends_with("/embeddings"), "{}", first.path);
    assert_eq!(first.body["encoding_format"], "float");
    assert!(first.body.get("dimensions").is_none() && first.body.get("messages").is_none());

    // What is kept is replayed, and a threshold asks nothing.
    run(&["--frozen"]);
    space.write("suite.yaml", SUITE.replace("0.9", "0.7"));
    run(&[]);
    assert_eq!((judge.count(), &*scores(&space)[0]), (3, "0.7071 true"));
    // Another submission is embedded, its reference is not embedded again; and the other way round.
    space.write("data.jsonl", rows("south", "north"));
    run(&[]);
    assert_eq!((judge.count(), &*scores(&space)[0]), (4, "0.0000 false"));
    assert_eq!(grades(&space)[0]["metadata"]["cosine"], json!(-1.0));
    space.write("data.jsonl", rows("south", "north-east"));
    run(&[]);
    assert_eq!(judge.count(), 4);
    // Other vectors are other actions.
    space.write("suite.yaml", SUITE.replace("near: {", "near: {dimensions: 3, "));
    run(&[]);
    assert_eq!(
        (judge.count(), judge.asked().last().unwrap().body["dimensions"].clone()),
        (8, json!(3))
    );
    // A reference of the suite is one text for all rows.
    space.write("suite.yaml", SUITE.replace("near: {", "near: {value: north, "));
    run(&[]);
    assert_eq!((judge.count(), &*scores(&space)[1]), (8, "1.0000 true"));
    for args in [&["explain", "suite.yaml", "b"][..], &["validate", "suite.yaml"]] {
        let ran = space.run(args);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        assert!(ran.stdout().len() < 6_000, "{}", ran.shown());
    }
}

#[test]
fn what_cannot_be_embedded_is_an_error_and_no_score() {
    for (answer, expected) in [
        (r#"{"data": [{"embedding": [1.0, "x"]}]}"#, "an embedding with items that are no numbers"),
        (r#"{"data": [{"embedding": []}]}"#, "invalid reply: the reply has no `embedding`"),
        (
            r#"{"data": [{"embedding": [0.0, 0.0]}]}"#,
            "an embedding is zero or not finite, and has no direction",
        ),
        (r#"{"data": []}"#, "no choices"),
        (r#"{"error": {"message": "no such model"}}"#, "no such model"),
    ] {
        let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows("x", "north"))]);
        let answer = answer.to_owned();
        let judge = Judge::new(move |_, _| Answer::Http(200, Vec::new(), answer.clone()));
        space.run_with(&judge, &["run", "suite.yaml", "--quiet"]);
        let scores = scores(&space);
        assert!(scores[0].contains(expected), "{expected}: {scores:?}");
        assert_eq!(
            (&grades(&space)[0]["score"], &grades(&space)[0]["pass"]),
            (&json!(0.0), &json!(false))
        );
    }
    let space = Space::new(&[
        ("suite.yaml", SUITE),
        ("data.jsonl", "{\"id\": \"a\", \"input\": \"q\", \"output\": \"x\"}\n"),
    ]);
    let judge = endpoint();
    space.run_with(&judge, &["run", "suite.yaml", "--quiet"]);
    assert_eq!(
        (scores(&space), judge.count()),
        (vec!["No ground_truth answer provided".to_owned()], 0)
    );
}

#[test]
fn what_a_suite_says_wrongly_of_embeddings_is_found() {
    let space = Space::new(&[("data.jsonl", &rows("x", "y"))]);
    let of = |more: &str| {
        space.write("suite.yaml", SUITE.replace("max_retries: 0", more));
        space.run(&["validate", "suite.yaml"]).stderr()
    };
    for (more, expected) in [
        ("dimensions: 0", "`dimensions` must be"),
        ("provider: anthropic", "provider"),
        ("temperature: 0", "a similarity grader has no field `temperature`"),
        ("prompt: x", "a similarity grader has no field `prompt`"),
        ("value: ''", "`value` is empty"),
    ] {
        let said = of(more);
        assert!(said.contains("error") && said.contains(expected), "{more}: {said}");
    }
    assert_eq!(of("max_retries: 1"), "");
}
