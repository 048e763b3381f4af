//! What to label next on a page, what is said beside a label, and labels that are taken back.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Server, shop};
use crate::space::Space;

const SUITE: &str = "
name: unit
dataset: data.jsonl
graders:
  u: {kind: tool, function: recorded_score, config: {path: u}, pass_threshold: 0.5}
";

/// Twelve answers; the scores of two are near the threshold.
fn space() -> Space {
    let score = |at: usize| {
        if at == 3 {
            0.45
        } else if at == 7 {
            0.5
        } else {
            1.0
        }
    };
    let row = |at: usize| {
        format!(
            "{{\"id\": \"r{at}\", \"input\": \"q\", \"output\": \"a{at}\", \"u\": {}}}\n",
            score(at)
        )
    };
    let rows: String = (0..12).map(row).collect();
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows)]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    space
}

const QUEUE: &str = "grader=u&state=unlabelled&sort=queue";

/// The samples that are to be labelled, in order, with why each.
fn queue(server: &Server) -> Vec<(String, String)> {
    let list = server.get(&format!("/api/runs/latest/samples?{QUEUE}")).data();
    let samples = list["samples"].as_array().unwrap().iter();
    let told = samples.map(|row| {
        let id = row["sample_id"].as_str().unwrap();
        let case = server.get(&format!("/api/runs/latest/samples/{id}?{QUEUE}")).data();
        (id.to_owned(), case["list"]["picked"].as_str().unwrap().to_owned())
    });
    told.collect()
}

#[test]
fn random_and_doubtful_answers_take_turns_and_labels_say_which_they_were() {
    let server = Server::new(space(), &["suite.yaml"]);
    let all = queue(&server);
    let ids: BTreeSet<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!((all.len(), ids.len()), (12, 12));
    let why: Vec<&str> = all.iter().map(|(_, why)| why.as_str()).collect();
    assert_eq!(why[0], "random");
    let doubtful: BTreeSet<&str> =
        all.iter().filter(|(_, why)| why == "threshold").map(|(id, _)| id.as_str()).collect();
    // One that is next in the random order anyway is a random one.
    assert!(!doubtful.is_empty() && doubtful.is_subset(&BTreeSet::from(["r3", "r7"])), "{all:?}");
    let case = server.get(&format!("/api/runs/latest/samples/{}?{QUEUE}", all[1].0)).data();
    assert_eq!((&case["list"]["at"], &case["list"]["total"]), (&json!(1), &json!(12)));
    assert_eq!(case["next"]["sample_id"], all[2].0.as_str());

    for ((id, why), queued) in all.iter().take(3).zip([true, true, false]) {
        let body = json!({"grader": "u", "label": true, "queued": queued});
        server.put(&format!("/api/suites/unit/labels/{id}"), &body).data();
        let line = server.space.read("suite.labels.jsonl");
        let line = line.lines().find(|line| line.contains(&format!("\"{id}\""))).unwrap();
        let picked = if queued { why } else { "chosen" };
        assert!(line.contains(&format!("\"picked\":\"{picked}\"")), "{line}");
    }
    // Labels take answers out, and change nothing of the order.
    assert_eq!(queue(&server), all[3..]);
    // What was labelled has left the list: the first of it comes next.
    let labelled = server.get(&format!("/api/runs/latest/samples/{}?{QUEUE}", all[0].0)).data();
    assert_eq!(labelled["next"]["sample_id"], all[3].0.as_str());
    assert!(labelled["list"].is_null());
}

#[test]
fn comments_and_categories_stand_beside_labels_and_are_counted() {
    let server = Server::new(space(), &["suite.yaml"]);
    let put = |id: &str, body: Value| server.put(&format!("/api/suites/unit/labels/{id}"), &body);
    let said = put(
        "r1",
        json!({"grader": "u", "label": false, "category": "facts", "comment": " No period. "}),
    );
    let said = said.data();
    assert_eq!(
        (&said["people"][0]["category"], &said["people"][0]["comment"]),
        (&json!("facts"), &json!("No period."))
    );
    put("r2", json!({"grader": "u", "label": false, "category": "facts"})).data();
    put("r3", json!({"grader": "u", "label": false, "category": "tone"})).data();
    let run = server.get("/api/runs/latest").data();
    assert_eq!(run["categories"], json!({"facts": 2, "tone": 1}));
    let list = server.get("/api/runs/latest/samples?category=facts").data();
    assert_eq!(list["total"], 2);
    // Another label keeps what was said; an empty text removes it.
    let again = put("r1", json!({"grader": "u", "label": true, "comment": ""})).data();
    assert_eq!(
        (&again["people"][0]["category"], &again["people"][0]["comment"]),
        (&json!("facts"), &Value::Null)
    );
    let long = put("r1", json!({"label": true, "category": "x".repeat(101)}));
    assert_eq!(long.refusal(), "422 UNPROCESSABLE");
    // Every other reader passes over them.
    let run = server.space.run(&["run", "suite.yaml", "--quiet"]);
    assert!(!run.stderr().contains("warning"), "{}", run.shown());
}

#[test]
fn the_last_label_is_taken_back_and_what_was_said_before_stands_again() {
    let server = Server::new(shop(), &["suite.yaml", "--labellers"]);
    let put = |id: &str, who: &str, label: Value| {
        let body = json!({"grader": "right", "label": label, "who": who, "trial": 0});
        server.put(&format!("/api/suites/shop/labels/{id}"), &body).data()
    };
    let undo = |who: &str| server.post("/api/suites/shop/labels/undo", &json!({"who": who}));
    let lines = || server.space.read("suite.labels.jsonl");
    put("rome", "ann", json!(true));
    let first = lines();
    put("rome", "bob", json!(false));
    put("rome", "ann", json!(false));
    put("paris", "ann", json!(true));
    assert_eq!(undo("ann").data()["sample_id"], "paris");
    assert_eq!(undo("ann").data()["sample_id"], "rome");
    let now = lines();
    assert!(now.contains(first.trim()) && now.contains("bob") && now.lines().count() == 2, "{now}");
    assert_eq!(undo("ann").data()["grader"], "right");
    assert_eq!(undo("ann").refusal(), "404 NOT_FOUND");
    assert_eq!(lines().lines().count(), 1, "labels of others stay");
    // What was changed since is not taken back.
    put("paris", "ann", json!(true));
    server.space.write("suite.labels.jsonl", lines().replace("\"label\":true", "\"label\":false"));
    assert_eq!(undo("ann").refusal(), "409 CONFLICT");
    // A sample may have this name.
    let body = json!({"label": true, "who": "ann"});
    assert_eq!(server.put("/api/suites/shop/labels/undo", &body).refusal(), "404 NOT_FOUND");
    let only_reads = Server::new(shop(), &["suite.yaml", "--read-only"]);
    assert_eq!(
        only_reads.post("/api/suites/shop/labels/undo", &json!({})).refusal(),
        "403 FORBIDDEN"
    );
}
