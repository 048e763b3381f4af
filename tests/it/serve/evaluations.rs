//! Evaluations that are begun, followed and stopped on a page.

use serde_json::{Value, json};

use super::Server;
use crate::judge::{Answer, Judge};
use crate::space::Space;

const SUITE: &str = "
name: polite
dataset: data.jsonl
max_concurrent: 1
graders:
  kind: {kind: rubric, prompt: 'Is it kind? {submission}', model: judge-1, endpoint: test, max_retries: 0}
";

fn space() -> Space {
    let row =
        |at: usize| format!("{{\"id\": {at}, \"input\": \"q\", \"output\": \"answer {at}\"}}\n");
    let rows: Vec<String> = (0..4).map(row).collect();
    let rows = rows.concat();
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows)])
}

fn server(judge: &Judge) -> Server {
    server_of(space(), judge)
}

/// A server over the suite of a workspace, whose judge is this one.
pub(super) fn server_of(space: Space, judge: &Judge) -> Server {
    Server::with(
        space,
        &["suite.yaml"],
        &[("OPENAI_BASE_URL", judge.url().as_str()), ("OPENAI_API_KEY", "key")],
    )
}

pub(super) fn verdict() -> Answer {
    Answer::text(&json!({"score": 1.0, "rationale": "kind"}).to_string())
}

/// The names and the data of events.
pub(super) fn events(text: &str) -> Vec<(String, Value)> {
    let field = |event: &str, name: &str| {
        let line = event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_default().to_owned()
    };
    let all = text.split("\n\n").filter(|event| event.contains("event: "));
    all.map(|event| (field(event, "event"), serde_json::from_str(&field(event, "data")).unwrap()))
        .collect()
}

#[test]
fn an_evaluation_is_begun_followed_and_recorded() {
    let judge = Judge::new(|_, _| verdict());
    let server = server(&judge);
    let begun = server.post("/api/runs", &json!({"suite": "polite", "max_cost": null}));
    assert_eq!(begun.status, 202, "{}", begun.body);
    let id = begun.data()["id"].as_str().unwrap().to_owned();
    assert!(begun.headers.contains(&format!("location: /api/runs/{id}")), "{}", begun.headers);
    let told = events(&server.get(&format!("/api/runs/{id}/events")).body);
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.last(), Some(&"ended"), "{told:?}");
    let of = |name: &str| &told.iter().rev().find(|(told, _)| told == name).unwrap().1;
    assert_eq!((&of("planned")["to_ask"], &of("progress")["done"]), (&json!(4), &json!(4)));
    assert_eq!(of("evaluated")["metrics"]["kind"]["mean"], 1.0);
    let verdict = of("verdict");
    assert_eq!((&verdict["grader"], &verdict["movement"]), (&json!("kind"), &json!("new")));
    assert_eq!(verdict["now"], json!({"score": 1.0, "state": "passed"}));
    assert_eq!(verdict["rationale"], "kind");
    let at = |name: &str| names.iter().position(|told| *told == name);
    assert!(at("recorded") < at("verdict"), "rows come before what becomes of them: {names:?}");
    assert_eq!(names.iter().filter(|name| **name == "verdict").count(), 4, "{names:?}");
    assert_eq!((&of("ended")["exit_code"], judge.count()), (&json!(0), 4));
    let run = server.get(&format!("/api/runs/{id}")).data();
    assert_eq!((&run["actions"]["asked"], &run["under_way"]), (&json!(4), &json!(false)));
    // Who comes back is told what came since, and that nothing more comes.
    let last = (told.len() - 1).to_string();
    let headers = [("last-event-id", last.as_str())];
    assert_eq!(server.send("GET", &format!("/api/runs/{id}/events"), &headers, "").status, 204);
    let before = (told.len() - 2).to_string();
    let rest =
        server.send("GET", &format!("/api/runs/{id}/events"), &[("last-event-id", &before)], "");
    assert_eq!(events(&rest.body).len(), 1);
    // A judgment shows what was asked and what was replied.
    let case = server.get(&format!("/api/runs/{id}/samples/2")).data();
    let judgment = &case["judgments"]["kind"][0];
    let user = crate::judge::plain(judgment["user"].as_str().unwrap());
    assert!(user.starts_with("Is it kind? answer 2\n"), "{judgment}");
    assert!(judgment["reply"].as_str().unwrap().contains("kind"), "{judgment}");
    // What is stored is replayed.
    let again = server.post("/api/runs", &json!({"suite": "polite", "frozen": true}));
    let id = again.data()["id"].as_str().unwrap().to_owned();
    let told = events(&server.get(&format!("/api/runs/{id}/events")).body);
    assert_eq!((told.last().unwrap().1["exit_code"].clone(), judge.count()), (json!(0), 4));
}

#[test]
fn one_evaluation_at_a_time_which_can_be_stopped() {
    let judge = Judge::new(|number, _| if number == 0 { verdict() } else { Answer::Silence });
    let server = server(&judge);
    let id = server.post("/api/runs", &json!({"suite": "polite"})).data()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let second = server.post("/api/runs", &json!({"suite": "polite"}));
    assert_eq!(second.refusal(), "409 CONFLICT");
    judge.wait_asked(2);
    assert_eq!(server.get("/api/meta").data()["live"]["run"], id.as_str());
    assert_eq!(server.get(&format!("/api/runs/{id}")).data()["under_way"], true);
    // What is asked for is listed before it is answered.
    assert_eq!(server.get(&format!("/api/runs/{id}/samples?state=pending")).data()["total"], 4);
    let stopped = server.send("DELETE", &format!("/api/runs/{id}"), &[], "").data();
    assert_eq!(stopped, json!({"id": id, "stopped": true}));
    let told = events(&server.get(&format!("/api/runs/{id}/events")).body);
    assert_eq!(told.last().unwrap().1["exit_code"], 130, "{told:?}");
    let run = server.get(&format!("/api/runs/{id}")).data();
    assert_eq!((&run["interrupted"], &run["actions"]["pending"]), (&json!(true), &json!(3)));
    let again = server.send("DELETE", &format!("/api/runs/{id}"), &[], "").data();
    assert_eq!(again["stopped"], false, "a record is never deleted");
}

#[test]
fn what_cannot_be_evaluated_is_refused_or_told() {
    let judge = Judge::new(|_, _| verdict());
    let server = server(&judge);
    for (body, expected) in [
        (json!({"suite": "nope"}), "404 NOT_FOUND"),
        (json!({}), "422 UNPROCESSABLE"),
        (json!({"suite": "polite", "max_cost": "much"}), "422 UNPROCESSABLE"),
        (json!({"suite": "polite", "max_cost": -1}), "422 UNPROCESSABLE"),
        (json!({"suite": "polite", "fast": true}), "422 UNPROCESSABLE"),
        (json!({"suite": "polite", "graders": ["kinder"]}), "404 NOT_FOUND"),
        (json!({"suite": "polite", "samples": ["--frozen"]}), "404 NOT_FOUND"),
    ] {
        assert_eq!(server.post("/api/runs", &body).refusal(), expected, "{body}");
    }
    server.space.write("suite.yaml", SUITE.replace("rubric", "rubrik"));
    let begun = server.post("/api/runs", &json!({"suite": "polite"}));
    let id = begun.data()["id"].as_str().unwrap().to_owned();
    let told = events(&server.get(&format!("/api/runs/{id}/events")).body);
    let ended = &told.last().unwrap().1;
    assert!(ended["error"].as_str().unwrap().contains("rubrik"), "{ended}");
    assert_eq!(judge.count(), 0);
    // It has no record, and can be looked at all the same.
    let run = server.get(&format!("/api/runs/{id}")).data();
    assert_eq!((&run["suite"], &run["warnings"][0]), (&json!("polite"), &ended["error"]));
    assert_eq!(server.get(&format!("/api/runs/{id}/samples")).data()["total"], 0);
}
