//! `evalrs watch --serve`: a page follows a session.

use serde_json::{Value, json};

use super::{Reply, exchange};
use crate::events::Telling;
use crate::space::Space;

const SUITE: &str = "
name: session
dataset: data.jsonl
graders:
  right: {kind: tool, function: contains}
";

const ROWS: &str = r#"{"id": "a", "input": "q", "ground_truth": "yes", "output": "yes"}
{"id": "b", "input": "q", "ground_truth": "yes", "output": "no"}
"#;

fn get(host: &str, path: &str) -> Value {
    exchange(host, "GET", path, &[], "").data()
}

/// The states of the grades, case by case.
fn states(host: &str) -> Vec<Value> {
    let told = get(host, "/api/runs/latest/samples");
    let rows = told["samples"].as_array().unwrap().iter();
    rows.map(|row| row["grades"]["right"]["state"].clone()).collect()
}

/// The events that a page was told.
fn events(reply: &Reply) -> Vec<&str> {
    reply.body.lines().filter_map(|line| line.strip_prefix("event: ")).collect()
}

#[test]
fn a_page_follows_a_session() {
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", ROWS)]);
    let args = ["watch", "suite.yaml", "--json", "--serve", "--port", "0"];
    let mut session = Telling::new(space.command(&args));
    let note = session.wait_event("note");
    let url = note["text"].as_str().unwrap().strip_prefix("serving http://").unwrap();
    let host = url.trim_end_matches('/').to_owned();
    session.wait_event("evaluated");
    // What was evaluated is recorded before the session listens to anything else.
    session.say(r#"{"command": "unknown"}"#);
    session.wait_event("note");

    assert_eq!(states(&host), ["passed", "failed"]);
    let run = get(&host, "/api/runs/latest");
    assert_eq!((&run["under_way"], &run["session"]), (&json!(true), &json!(true)));
    let id = run["id"].as_str().unwrap().to_owned();
    assert_eq!(get(&host, "/api/meta")["live"], json!({ "run": id }));
    let path = format!("/api/runs/{id}");
    assert_eq!(exchange(&host, "DELETE", &path, &[], "").refusal(), "409 CONFLICT");
    let wanted = json!({"suite": "session"}).to_string();
    assert_eq!(exchange(&host, "POST", "/api/runs", &[], &wanted).refusal(), "409 CONFLICT");

    // A label of the page is one of the session.
    let label = json!({"grader": "right", "label": true}).to_string();
    let labelled = exchange(&host, "PUT", "/api/suites/session/labels/b", &[], &label).data();
    assert_eq!(labelled["label"]["agrees"], false);
    let told = session.wait_event("evaluated");
    assert_eq!(told["metrics"]["right"]["labels"]["false_fail"], 1, "{told}");

    space.write("data.jsonl", ROWS.replace(r#""no""#, r#""yes!""#));
    session.wait_event("evaluated");
    session.say(r#"{"command": "unknown"}"#);
    session.wait_event("note");
    assert_eq!(states(&host), ["passed", "passed"]);

    let follower = std::thread::spawn({
        let path = format!("/api/runs/{id}/events");
        move || exchange(&host, "GET", &path, &[], "")
    });
    session.say("q");
    let told = follower.join().unwrap();
    let told = events(&told);
    assert_eq!(told.iter().filter(|name| **name == "evaluated").count(), 3, "{told:?}");
    // A label changes no grade, and so no record.
    assert_eq!(told.iter().filter(|name| **name == "recorded").count(), 2, "{told:?}");
    assert_eq!(told.last(), Some(&"ended"), "{told:?}");
    assert_eq!(session.finish().1.code(), 0);
}

/// A list of runs counts what all saves of a session have asked, and not only what the last one has.
#[test]
fn a_session_counts_all_its_saves() {
    let suite = "name: session\ndataset: data.jsonl\ngraders:\n  q: {kind: rubric, prompt_path: r.txt, command: [cat, v.json], pass_threshold: 0.5}\n";
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", ROWS), ("r.txt", "Kind?")]);
    space.write("v.json", r#"{"score": 1, "rationale": "r"}"#);
    let mut session = Telling::new(space.command(&["watch", "suite.yaml", "--json"]));
    session.wait_event("evaluated");
    for rubric in ["Short?", "Kind?"] {
        space.write("r.txt", rubric);
        session.wait_event("evaluated");
    }
    session.say("q");
    assert_eq!(session.finish().1.code(), 0);
    let server = super::Server::new(space, &["suite.yaml"]);
    let runs = server.get("/api/runs").data();
    let actions = &runs["runs"][0]["actions"];
    assert_eq!((&actions["asked"], &actions["cached"]), (&json!(4), &json!(2)), "{actions}");
}
