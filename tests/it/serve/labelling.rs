//! Labels that are given on a page.

use serde_json::{Value, json};

use super::{Server, shop};
use crate::judge::{Answer, Judge};
use crate::space::Space;

/// The labels of the file without their times.
fn file(server: &Server) -> Vec<String> {
    let text = server.space.read("suite.labels.jsonl");
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        assert!(line["at"].as_str().unwrap().ends_with('Z'));
        line.as_object_mut().unwrap().remove("at");
        line.to_string()
    });
    lines.collect()
}

#[test]
fn a_label_is_written_and_agreement_follows() {
    let server = Server::new(shop(), &["suite.yaml"]);
    let put = |sample: &str, body: &Value| {
        server.put(&format!("/api/suites/shop/labels/{sample}"), body).data()
    };
    let first = put("rome", &json!({"grader": "right", "label": true}));
    assert_eq!(first["label"], json!({"label": true, "passes": true, "agrees": false}));
    assert_eq!(first["agreement"]["right"]["false_fail"], 1);
    assert!(first["agreement"].get("short").is_none(), "{first}");
    let all = put("paris", &json!({"label": 1.0}));
    assert_eq!(all["agreement"]["right"]["n"], 2);
    assert_eq!(
        file(&server),
        [
            r#"{"id":"paris","label":1,"picked":"chosen"}"#,
            r#"{"id":"rome","grader":"right","submission_digest":"738c7778f68655db","label":true,"picked":"chosen"}"#,
        ]
    );
    let row = server.get("/api/runs/latest/samples?state=disagrees&grader=right").data();
    assert_eq!((&row["total"], &row["samples"][0]["sample_id"]), (&json!(1), &json!("rome")));
    // It is what `run` reads.
    let run = server.space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(run.code(), 0, "{}", run.shown());
    let summary: Value = serde_json::from_str(&server.space.record("summary.json")).unwrap();
    assert_eq!(summary["label_agreement"]["right"]["n"], 2, "{summary}");
    let gone = put("rome", &json!({"grader": "right", "label": null}));
    assert!(gone["label"].is_null());
    assert_eq!(file(&server), [r#"{"id":"paris","label":1,"picked":"chosen"}"#]);
}

#[test]
fn the_last_label_is_taken_back_and_the_suite_is_as_before() {
    let server = Server::new(shop(), &["suite.yaml"]);
    for label in [json!(true), Value::Null] {
        let body = json!({"grader": "right", "label": label});
        server.put("/api/suites/shop/labels/rome", &body).data();
    }
    assert_eq!(file(&server), [""; 0]);
    let case = server.get("/api/runs/latest/samples/a%2Fb%20%C3%BC%3F%23").data();
    assert!(case["conversation"].is_array(), "{case}");
    assert_eq!(server.get("/api/suites/shop").data()["problems"], json!([]));
    let run = server.space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!((run.code(), run.stderr().as_str()), (0, ""));
}

#[test]
fn labels_that_are_none_change_nothing() {
    let server = Server::new(shop(), &["suite.yaml"]);
    for (path, body, expected) in [
        ("shop/labels/nobody", json!({"label": true}), "404 NOT_FOUND"),
        ("other/labels/rome", json!({"label": true}), "404 NOT_FOUND"),
        ("shop/labels/rome", json!({"label": 2}), "422 UNPROCESSABLE"),
        ("shop/labels/rome", json!({"label": "good"}), "422 UNPROCESSABLE"),
        ("shop/labels/rome", json!({"label": true, "grader": "nope"}), "404 NOT_FOUND"),
        ("shop/labels/rome", json!({"label": true, "trial": 3}), "404 NOT_FOUND"),
        ("shop/labels/rome", json!({"label": true, "trial": 3.0}), "404 NOT_FOUND"),
        ("shop/labels/rome", json!({"label": true, "trial": 0.5}), "422 UNPROCESSABLE"),
        ("shop/labels/rome", json!({"labels": true}), "422 UNPROCESSABLE"),
        ("shop/labels/rome", json!([]), "422 UNPROCESSABLE"),
    ] {
        let reply = server.put(&format!("/api/suites/{path}"), &body);
        assert_eq!(reply.refusal(), expected, "{path} {body}");
    }
    assert!(!server.space.path("suite.labels.jsonl").exists());
    let csv = shop();
    csv.write("people.csv", "id,label\nrome,fail\n");
    let server = Server::new(csv, &["suite.yaml", "--labels", "people.csv"]);
    let reply = server.put("/api/suites/shop/labels/rome", &json!({"label": true}));
    assert_eq!(reply.refusal(), "409 CONFLICT");
    let agreement = server.get("/api/runs/latest").data()["agreement"].take();
    assert_eq!(agreement["right"]["both_fail"], 1);
}

#[test]
fn two_pages_at_once_lose_no_label() {
    let server = Server::new(shop(), &["suite.yaml", "--labellers"]);
    let samples = ["paris", "rome", "a%2Fb%20%C3%BC%3F%23"];
    std::thread::scope(|scope| {
        for at in 0..12 {
            let server = &server;
            let grader = if at % 2 == 0 { "right" } else { "short" };
            let path = format!("/api/suites/shop/labels/{}", samples[at / 4]);
            let who = if at / 2 % 2 == 0 { "ann" } else { "bob" };
            let body = json!({"grader": grader, "trial": 0, "label": true, "who": who});
            scope.spawn(move || server.put(&path, &body).data());
        }
    });
    assert_eq!(file(&server).len(), 12);
}

#[test]
fn a_criterion_is_shown_and_labelled_by_itself() {
    let suite = "name: shop\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    model: m\n    criteria: {polite: Is it polite?, short: {question: Is it short?, expect: no}}\n";
    let row = r#"{"id": "a", "input": "Q", "output": "It is so."}"#;
    let space = Space::new(&[("suite.yaml", suite), ("d.jsonl", row)]);
    let judge = Judge::new(|_, _| Answer::text(r#"{"reason": "so it is", "verdict": "yes"}"#));
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml", "--quiet"]).code(), 0);
    let server = Server::new(space, &["suite.yaml"]);
    let row = server.get("/api/runs/latest/samples").data()["samples"][0]["grades"].clone();
    let shown = |name: &str| (row[name]["score"].clone(), row[name]["state"].clone());
    assert_eq!(shown("q"), (json!(0.5), json!("failed")));
    assert_eq!(shown("q.polite"), (json!(1.0), json!("passed")));
    assert_eq!(shown("q.short"), (json!(0.0), json!("failed")));
    let case = server.get("/api/runs/latest/samples/a").data();
    assert_eq!(case["grades"]["q.short"]["rationale"], "so it is", "{case}");
    assert_eq!(case["grades"]["q"]["rationale"], "short: so it is");
    let body = json!({"grader": "q.short", "label": true});
    let label = server.put("/api/suites/shop/labels/a", &body).data();
    assert_eq!(label["agreement"]["q.short"]["false_fail"], 1, "{label}");
    // Who labels the whole answer says nothing of one criterion.
    let label = server.put("/api/suites/shop/labels/a", &json!({"label": false})).data();
    assert_eq!(label["agreement"]["q"]["n"], 1, "{label}");
    assert!(label["agreement"].get("q.polite").is_none(), "{label}");
    let kinds = server.get("/api/suites/shop").data()["graders"].clone();
    assert!(kinds.as_array().unwrap().iter().all(|grader| grader["kind"] == "rubric"), "{kinds}");
}
