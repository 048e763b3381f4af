//! Rubrics that are read, written and tried on a page.

use serde_json::{Value, json};

use super::Server;
use super::evaluations::{events, server_of, verdict};
use crate::judge::{Judge, plain};
use crate::space::Space;

const SUITE: &str = "
name: polite
dataset: data.jsonl
graders:
  # how it talks
  kind:
    kind: rubric
    prompt: 'Is it kind? {submission}' # short
    model: judge-1
    endpoint: test
    max_retries: 0
  filed: {kind: rubric, prompt_path: filed.txt, model: judge-1, endpoint: test, max_retries: 0}
  exact: {kind: tool, function: contains}
";

const KIND: &str = "/api/suites/polite/graders/kind/rubric";

/// So many rows.
fn rows(count: usize) -> String {
    let row = |at: usize| {
        format!(
            "{{\"id\": {at}, \"input\": \"q\", \"output\": \"answer {at}\", \"ground_truth\": \"a\"}}\n"
        )
    };
    (0..count).map(row).collect::<Vec<_>>().concat()
}

fn space() -> Space {
    let filed = "---\npass_threshold: 0.5 # half\n---\nIs it filed? {submission}\n";
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows(4)), ("filed.txt", filed)])
}

fn put(server: &Server, path: &str, version: &Value, text: &str) -> super::Reply {
    let tag = format!("\"{}\"", version.as_str().unwrap());
    let body = json!({"text": text}).to_string();
    server.send("PUT", path, &[("if-match", &tag)], &body)
}

#[test]
fn a_rubric_is_written_where_it_stands() {
    let judge = Judge::new(|_, _| verdict());
    let server = server_of(space(), &judge);
    let read = server.get(KIND);
    let seen = read.data();
    assert_eq!(
        (&seen["text"], &seen["inline"]),
        (&json!("Is it kind? {submission}"), &json!(true))
    );
    assert!(read.headers.contains(&format!("etag: \"{}\"", seen["version"].as_str().unwrap())));
    let written = put(&server, KIND, &seen["version"], "Is it very kind? {submission}");
    assert_eq!(written.data()["text"], "Is it very kind? {submission}");
    let expected = SUITE.replace("'Is it kind? {submission}'", "\"Is it very kind? {submission}\"");
    assert_eq!(server.space.read("suite.yaml"), expected);
    // Who read it before overwrites nothing.
    let late = put(&server, KIND, &seen["version"], "Is it rude?");
    assert_eq!(late.refusal(), "412 PRECONDITION_FAILED");
    assert_eq!(server.space.read("suite.yaml"), expected);
    let filed = "/api/suites/polite/graders/filed/rubric";
    let seen = server.get(filed).data();
    assert_eq!(
        (&seen["text"], &seen["inline"]),
        (&json!("Is it filed? {submission}\n"), &json!(false))
    );
    put(&server, filed, &seen["version"], "Is it?\n").data();
    assert_eq!(server.space.read("filed.txt"), "---\npass_threshold: 0.5 # half\n---\nIs it?\n");
    assert_eq!(judge.count(), 0);
}

#[test]
fn what_is_no_rubric_is_refused() {
    let judge = Judge::new(|_, _| verdict());
    let server = server_of(space(), &judge);
    let body = json!({"text": "Is it?"}).to_string();
    assert_eq!(server.send("PUT", KIND, &[], &body).refusal(), "400 BAD_REQUEST");
    for (grader, headers, body, expected) in [
        ("exact", "*", json!({"text": "a"}), "404 NOT_FOUND"),
        ("none", "*", json!({"text": "a"}), "404 NOT_FOUND"),
        ("..%2F..%2Fsuite.yaml", "*", json!({"text": "a"}), "404 NOT_FOUND"),
        ("kind", "*", json!({"text": " "}), "422 UNPROCESSABLE"),
        ("kind", "*", json!({"text": "a", "path": "/tmp/a"}), "422 UNPROCESSABLE"),
        ("kind", "W/\"1\"", json!({"text": "a"}), "412 PRECONDITION_FAILED"),
        ("filed", "*", json!({"text": "\nno"}), "422 UNPROCESSABLE"),
    ] {
        let path = format!("/api/suites/polite/graders/{grader}/rubric");
        let reply = server.send("PUT", &path, &[("if-match", headers)], &body.to_string());
        assert_eq!(reply.refusal(), expected, "{grader} {body}");
    }
    assert_eq!(server.space.read("suite.yaml"), SUITE);
    let wanted = json!({"suite": "polite", "overrides": {"exact": "a"}});
    assert_eq!(server.post("/api/runs", &wanted).refusal(), "404 NOT_FOUND");
    let only_reads = Server::new(space(), &["suite.yaml", "--read-only"]);
    assert_eq!(
        only_reads.send("PUT", KIND, &[("if-match", "*")], &body).refusal(),
        "403 FORBIDDEN"
    );
    assert_eq!(only_reads.post("/api/runs", &wanted).refusal(), "403 FORBIDDEN");
}

/// Runs what is wanted to its end, and returns the run.
fn ran(server: &Server, wanted: &Value) -> Value {
    let id = server.post("/api/runs", wanted).data()["id"].as_str().unwrap().to_owned();
    let told = events(&server.get(&format!("/api/runs/{id}/events")).body);
    assert_eq!(told.last().unwrap().1["error"], Value::Null, "{told:?}");
    server.get(&format!("/api/runs/{id}")).data()
}

#[test]
fn a_rubric_is_tried_on_chosen_cases_and_then_saved() {
    let judge = Judge::new(|_, _| verdict());
    let server = server_of(space(), &judge);
    let text = "Is it very kind? {submission}";
    let wanted = json!({"suite": "polite", "graders": ["kind"], "samples": ["1", "2"], "overrides": {"kind": text}});
    let mut previewed = wanted.clone();
    previewed["preview"] = json!(true);
    let price = server.post("/api/runs", &previewed);
    assert_eq!(price.status, 200);
    let price = price.data();
    assert_eq!((&price["total"], &price["to_ask"]), (&json!(2), &json!(2)));
    assert!(price["input_tokens"].as_u64() > Some(0) && price["cost"].is_null(), "{price}");
    assert_eq!((judge.count(), server.get("/api/runs").data()["total"].clone()), (0, json!(0)));

    let run = ran(&server, &wanted);
    assert_eq!((&run["tried"], &run["actions"]["asked"]), (&json!(["kind"]), &json!(2)));
    assert_eq!(run["graders"][0]["prompt"], text);
    let sent = plain(judge.asked()[0].prompt());
    assert!(sent.starts_with("Is it very kind? answer "), "{sent}");
    assert_eq!(server.space.read("suite.yaml"), SUITE, "a trial writes no file");
    // A trial is of no history: no file has its rubric.
    let history = server.get("/api/history?suite=polite");
    assert!(!history.body.contains(run["id"].as_str().unwrap()), "{}", history.body);
    assert_eq!(
        (&run["trial"], server.get("/api/runs").data()["total"].clone()),
        (&json!(true), json!(0))
    );
    assert_eq!(server.get("/api/runs/latest").status, 404);
    assert_eq!(server.post("/api/runs", &previewed).data()["to_ask"], 0);

    // What was tried costs nothing once it is saved.
    let seen = server.get(KIND).data();
    put(&server, KIND, &seen["version"], text).data();
    let run = ran(&server, &json!({"suite": "polite", "graders": ["kind"], "samples": ["1", "2"]}));
    assert_eq!((&run["actions"]["cached"], judge.count()), (&json!(2), 2));
    assert_eq!(run["tried"], Value::Null);
}

#[test]
fn a_judgment_is_repeated_where_that_is_wanted() {
    let judge = Judge::new(|_, _| verdict());
    let server = server_of(space(), &judge);
    let mut wanted = json!({"suite": "polite", "graders": ["kind"], "samples": ["3"]});
    ran(&server, &wanted);
    wanted["refresh"] = json!(true);
    wanted["preview"] = json!(true);
    assert_eq!(server.post("/api/runs", &wanted).data()["to_ask"], 1);
    wanted["preview"] = json!(false);
    assert_eq!(ran(&server, &wanted)["actions"]["asked"], 1);
    assert_eq!(judge.count(), 2);
    wanted["frozen"] = json!(true);
    assert_eq!(server.post("/api/runs", &wanted).refusal(), "422 UNPROCESSABLE");
}

#[test]
fn rubrics_of_files_and_criteria_are_tried_too() {
    let judge = Judge::new(|_, asked| {
        let is_criterion = asked.sent().contains("\"verdict\"");
        let yes = r#"{"reason": "so", "verdict": "yes"}"#;
        if is_criterion { crate::judge::Answer::text(yes) } else { verdict() }
    });
    let suite = format!(
        "{SUITE}  parts: {{kind: rubric, criteria: parts.yaml, model: judge-1, endpoint: test, max_retries: 0}}\n"
    );
    let space = space();
    space.write("suite.yaml", &suite);
    space.write("parts.yaml", "# all\nshort: Is it short?\n");
    let server = server_of(space, &judge);
    for (grader, text) in [("filed", "Is it new? {submission}\n"), ("parts.short", "Is it long?")] {
        let before = judge.count();
        let wanted = json!({"suite": "polite", "graders": [grader], "samples": ["1"], "overrides": {grader: text}});
        ran(&server, &wanted);
        let sent = plain(judge.asked()[before].prompt());
        assert!(sent.contains(text.trim_end_matches(" {submission}\n")), "{sent}");
    }
    assert_eq!(server.space.read("parts.yaml"), "# all\nshort: Is it short?\n");
    assert!(server.space.read("filed.txt").contains("Is it filed?"));
}

#[test]
fn a_trial_of_all_cases_spends_no_query_of_held_out_labels() {
    let judge = Judge::new(|_, _| verdict());
    let space = space();
    space.write("suite.yaml", format!("{SUITE}labels: {{holdout: 0.5}}\n"));
    space.write("data.jsonl", rows(30));
    let label =
        |at: usize| format!("{{\"id\": \"{at}\", \"grader\": \"kind\", \"label\": true}}\n");
    space.write("suite.labels.jsonl", (0..30).map(label).collect::<Vec<_>>().concat());
    let server = server_of(space, &judge);
    let wanted = json!({"suite": "polite", "overrides": {"kind": "Is it very kind? {submission}"}});
    let run = ran(&server, &wanted);
    assert!(run["summary"]["held_out"].get("kind").is_none(), "{}", run["summary"]["held_out"]);
    assert!(!server.space.path("cache/polite.holdout.jsonl").exists());
    ran(&server, &json!({"suite": "polite"}));
    assert_eq!(server.space.read("cache/polite.holdout.jsonl").lines().count(), 1);
    // What is held out is no answer without a label.
    let left = server.get("/api/runs/latest/samples?grader=kind&state=unlabelled&sort=queue");
    assert_eq!(left.data()["total"], 0);
    assert!(!server.space.run(&["runs", "list"]).stdout().contains("-try"));
}
