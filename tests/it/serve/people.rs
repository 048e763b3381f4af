//! Whose labels a page gives: one person is one wherever they label, and what several differ on is disputed.

use serde_json::{Value, json};

use super::{Server, exchange, shop};
use crate::events::Telling;
use crate::space::Space;

const SUITE: &str = "\
name: five
dataset: data.jsonl
graders:
  stars: {kind: tool, function: recorded_score, config: {path: s, scale: {min: 1, max: 5}}, pass_threshold: 0.5}
  unit: {kind: tool, function: recorded_score, config: {path: u}, pass_threshold: 0.5}
";

const ROWS: &str = r#"{"id": "p010", "input": "q", "output": "one", "s": 4, "u": 1}
{"id": "p011", "input": "q", "output": "two", "s": 2, "u": 0}
"#;

fn space() -> Space {
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", ROWS)]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    space
}

/// Gives a label in a session of `watch`, as `who`.
fn watched(space: &Space, who: &str, labels: &[(&str, &str, Value)]) {
    let mut command = space.command(&["watch", "suite.yaml", "--json"]);
    command.env("EVALRS_WHO", who);
    let mut session = Telling::new(command);
    session.wait_event("evaluated");
    for (sample, grader, label) in labels {
        let line =
            json!({"command": "label", "sample_id": sample, "grader": grader, "label": label});
        session.say(&line.to_string());
        session.wait_event("evaluated");
    }
    session.say("q");
    assert_eq!(session.finish().1.code(), 0);
}

/// What the page sends.
fn put(server: &Server, sample: &str, grader: &str, label: &Value) -> Value {
    let body = json!({"grader": grader, "model": null, "trial": 0, "label": label});
    server.put(&format!("/api/suites/five/labels/{sample}"), &body).data()
}

/// `who` and `label` of every line of the file.
fn lines(space: &Space) -> Vec<String> {
    let text = space.read("suite.labels.jsonl");
    let read = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        format!("{} {} {} {}", line["id"], line["grader"], line["who"], line["label"])
            .replace('"', "")
    };
    text.lines().map(read).collect()
}

fn summary(space: &Space) -> Value {
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert!(!ran.stdout().contains("reviewers agree"), "{}", ran.shown());
    serde_json::from_str(&space.record("summary.json")).unwrap()
}

#[test]
fn a_label_of_the_page_replaces_that_of_the_same_person_in_watch() {
    let space = space();
    watched(&space, "ann", &[("p010", "stars", json!(true))]);
    let server = Server::with(space, &["suite.yaml"], &[("EVALRS_WHO", "ann")]);
    let given = put(&server, "p010", "stars", &json!(false));
    assert_eq!(given["label"], json!({"label": false, "passes": false, "agrees": false}));
    assert_eq!(given["people"], json!([{"who": "ann", "label": false, "passes": false}]));
    assert_eq!((&given["disputed"], &given["agreement"]["stars"]["n"]), (&json!(false), &json!(1)));
    assert_eq!(lines(&server.space), ["p010 stars ann false"]);
    let summary = summary(&server.space);
    assert_eq!(summary["label_agreement"]["stars"]["n"], 1);
    assert_eq!((summary.get("annotators"), summary.get("disputed")), (None, None));
    // And the other way round.
    watched(&server.space, "ann", &[("p010", "stars", json!(4))]);
    assert_eq!(lines(&server.space), ["p010 stars ann 4"]);
    let gone = put(&server, "p010", "stars", &Value::Null);
    assert_eq!((&gone["label"], &gone["people"]), (&Value::Null, &json!([])));
    assert_eq!(lines(&server.space), [""; 0]);
}

/// A page that shows another label than there is by now writes nothing.
#[test]
fn what_a_page_has_not_seen_is_not_replaced() {
    let server = Server::with(space(), &["suite.yaml"], &[("EVALRS_WHO", "ann")]);
    let give = |label: Value, seen: Value| {
        let body = json!({"grader": "stars", "trial": 0, "label": label, "seen": {"label": seen}});
        server.put("/api/suites/five/labels/p010", &body)
    };
    give(json!(0.75), Value::Null).data();
    assert_eq!(give(json!(false), Value::Null).refusal(), "409 CONFLICT");
    assert_eq!(give(json!(false), json!(0.5)).refusal(), "409 CONFLICT");
    assert_eq!(give(Value::Null, json!(true)).refusal(), "409 CONFLICT");
    assert_eq!(lines(&server.space), ["p010 stars ann 4"]);
    give(json!(false), json!(0.75)).data();
    give(json!(true), json!(false)).data();
    assert_eq!(give(json!(0.5), json!(false)).refusal(), "409 CONFLICT");
    give(Value::Null, json!(true)).data();
    assert_eq!(lines(&server.space), [""; 0]);
}

#[test]
fn a_page_knows_why_labels_cannot_be_written() {
    let space = space();
    space.write("people.json", r#"[{"who": "p010", "verdict": true}]"#);
    space.write(
        "suite.yaml",
        format!("{SUITE}labels: {{path: people.json, fields: {{id: who, label: verdict}}}}\n"),
    );
    let server = Server::new(space, &["suite.yaml"]);
    let fixed = server.get("/api/runs/latest").data()["labels_fixed"].take();
    assert!(fixed.as_str().is_some_and(|why| why.contains("people.json")), "{fixed}");
    let refused = server.put("/api/suites/five/labels/p010", &json!({"label": true}));
    assert_eq!(refused.json()["error"]["message"], fixed);
    let other = Server::new(self::space(), &["suite.yaml"]);
    assert_eq!(other.get("/api/runs/latest").data()["labels_fixed"], Value::Null);
}

/// `.env` beside the suite says who labels, to `watch` and to `serve`.
#[test]
fn the_person_is_found_in_the_same_place() {
    let space = space();
    space.write(".env", "EVALRS_WHO=eve\n");
    let server = Server::new(space, &["suite.yaml"]);
    assert_eq!(server.get("/api/runs/latest").data()["labeller"], "eve");
    put(&server, "p010", "stars", &json!(true));
    let mut session = Telling::new(server.space.command(&[
        "watch",
        "suite.yaml",
        "--json",
        "--serve",
        "--port",
        "0",
    ]));
    let note = session.wait_event("note");
    let url = note["text"].as_str().unwrap().strip_prefix("serving http://").unwrap();
    let host = url.trim_end_matches('/').to_owned();
    session.wait_event("evaluated");
    session.say(r#"{"command": "label", "sample_id": "p010", "grader": "stars", "label": false}"#);
    session.wait_event("evaluated");
    assert_eq!(lines(&server.space), ["p010 stars eve false"]);
    // The page of the session is that of the same person.
    let body = json!({"grader": "stars", "label": true, "trial": 0}).to_string();
    exchange(&host, "PUT", "/api/suites/five/labels/p010", &[], &body).data();
    session.wait_event("evaluated");
    assert_eq!(lines(&server.space), ["p010 stars eve true"]);
    session.say("q");
    assert_eq!(session.finish().1.code(), 0);
}

#[test]
fn two_people_who_differ_make_a_case_disputed() {
    let space = space();
    watched(&space, "ann", &[("p010", "stars", json!(true)), ("p011", "stars", json!(false))]);
    let server = Server::with(space, &["suite.yaml"], &[("EVALRS_WHO", "bob")]);
    let given = put(&server, "p010", "stars", &json!(false));
    assert_eq!((&given["label"], &given["disputed"]), (&Value::Null, &json!(true)));
    let people = json!([
        {"who": "ann", "label": true, "passes": true},
        {"who": "bob", "label": false, "passes": false},
    ]);
    assert_eq!(given["people"], people);
    assert_eq!(lines(&server.space).len(), 3);
    let grade = server.get("/api/runs/latest/samples/p010").data()["grades"]["stars"].take();
    assert_eq!((&grade["label"], &grade["people"]), (&Value::Null, &people));
    assert_eq!(grade["disputed"], true);
    let ids = |state: &str| {
        let list =
            server.get(&format!("/api/runs/latest/samples?grader=stars&state={state}")).data();
        let rows = list["samples"].as_array().unwrap().iter();
        rows.map(|row| row["sample_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // A tie is no label, and not the same as that nobody labelled.
    assert_eq!(ids("disputed"), ["p010"]);
    assert_eq!(ids("labelled"), ["p010", "p011"]);
    assert_eq!(ids("unlabelled"), [""; 0]);
    let ran = server.space.run(&["run", "suite.yaml", "--details"]);
    let told = "stars: reviewers differ on 1 case: p010; `disputed` in summary.json lists all";
    assert!(ran.stdout().replace("\n  ", " ").contains(told), "{}", ran.shown());
    let summary: Value = serde_json::from_str(&server.space.record("summary.json")).unwrap();
    let disputed = json!({"sample_id": "p010", "model": null, "trial": 0, "passes": ["ann"], "fails": ["bob"]});
    assert_eq!(summary["disputed"], json!({"stars": [disputed]}));
    // Of `bob` what bob said is removed, and nothing else.
    let gone = put(&server, "p010", "stars", &Value::Null);
    assert_eq!((&gone["label"]["label"], &gone["disputed"]), (&json!(true), &json!(false)));
    assert_eq!(lines(&server.space), ["p010 stars ann true", "p011 stars ann false"]);
}

#[test]
fn a_session_tells_what_people_differ_on() {
    let space = space();
    let of = |who: &str, label: bool| {
        json!({"id": "p010", "grader": "stars", "label": label, "who": who}).to_string() + "\n"
    };
    space.write("suite.labels.jsonl", of("bob", false) + &of("cem", true));
    let mut session = Telling::new(space.command(&["watch", "suite.yaml", "--json"]));
    let told = session.wait_event("evaluated");
    assert_eq!(told["metrics"]["stars"]["disputed"], 1, "{told}");
    assert_eq!(told["metrics"]["unit"]["disputed"], 0, "{told}");
    // One more label settles it.
    session.say(r#"{"command": "label", "sample_id": "p010", "grader": "stars", "label": true}"#);
    let told = session.wait_event("evaluated");
    assert_eq!(told["metrics"]["stars"]["disputed"], 1, "{told}");
    assert_eq!(told["metrics"]["stars"]["labels"]["both_pass"], 1, "{told}");
    session.say("q");
    assert_eq!(session.finish().1.code(), 0);
}

/// A server that several people share: each says who they are.
#[test]
fn labellers_say_who_they_are() {
    let space = shop();
    let put = |server: &Server, who: Value, label: Value| {
        let body = json!({"grader": "right", "label": label, "who": who});
        server.put("/api/suites/shop/labels/rome", &body)
    };
    let own = [("EVALRS_WHO", "ann")];
    let server = Server::with(space, &["suite.yaml"], &own);
    assert_eq!(server.get("/api/meta").data()["labellers"], false);
    // Whoever runs the server labels, and nobody else.
    let refused = put(&server, json!("bob"), json!(true));
    assert_eq!(refused.refusal(), "403 FORBIDDEN");
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(
        message,
        "`who`: labels given here belong to `ann`; `serve --labellers` accepts other names"
    );
    assert!(!server.space.path("suite.labels.jsonl").exists());
    for own in [json!("ann"), Value::Null] {
        put(&server, own, json!(true)).data();
    }
    let text = server.space.read("suite.labels.jsonl");
    assert_eq!((text.lines().count(), text.contains(r#""who":"ann""#)), (1, true), "{text}");

    let again = shop();
    let server = Server::with(again, &["suite.yaml", "--labellers"], &own);
    assert_eq!(server.get("/api/meta").data()["labellers"], true);
    for (who, label) in [("bob", true), ("cem", true), (" bob ", false), ("Bob", true)] {
        put(&server, json!(who), json!(label)).data();
    }
    let given = put(&server, Value::Null, json!(true)).data();
    let said: Vec<String> = given["people"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["who"], one["label"]))
        .collect();
    assert_eq!(said, ["\"Bob\" true", "\"ann\" true", "\"bob\" false", "\"cem\" true"]);
    for who in [json!(""), json!("  "), json!("a\nb"), json!("x".repeat(101)), json!(7)] {
        assert_eq!(put(&server, who.clone(), json!(true)).refusal(), "422 UNPROCESSABLE", "{who}");
    }
    // Labels that name nobody are those of the unknown person.
    let server = Server::new(shop(), &["suite.yaml"]);
    assert_eq!(server.get("/api/runs/latest").data()["labeller"], Value::Null);
    put(&server, json!("unknown"), json!(true)).data();
    put(&server, Value::Null, json!(false)).data();
    let text = server.space.read("suite.labels.jsonl");
    assert_eq!((text.lines().count(), text.contains("who")), (1, false), "{text}");
}

/// The keys of a page are those of `watch`, and what they mean is written alike.
#[test]
fn keys_mean_the_same_on_the_page_and_in_watch() {
    let server = Server::new(space(), &["suite.yaml"]);
    let graders = server.get("/api/runs/latest").data()["graders"].take();
    let keys = |at: usize| graders[at]["label_keys"].as_array().unwrap().clone();
    let shown = |at: usize| -> Vec<String> {
        let keys = keys(at);
        keys.iter()
            .map(|key| format!("{} {} {}", key["key"], key["value"], key["shown"]).replace('"', ""))
            .collect()
    };
    assert_eq!(
        shown(0),
        [
            "y true Pass",
            "n false Fail",
            "1 0.0 1",
            "2 0.25 2",
            "3 0.5 3",
            "4 0.75 4",
            "5 1.0 5",
            "x null Remove"
        ]
    );
    assert_eq!(shown(1)[2..6], ["0 0.0 0", "1 0.1 0.1", "2 0.2 0.2", "3 0.3 0.3"]);
    assert_eq!(shown(1)[11..], ["9 0.9 0.9", "! 1.0 1", "x null Remove"]);
    for (at, grader) in ["stars", "unit"].into_iter().enumerate() {
        for key in keys(at) {
            let Some(score) = key["value"].as_f64() else { continue };
            put(&server, "p010", grader, &json!(score));
            let of_page = lines(&server.space);
            let name = key["key"].as_str().unwrap();
            let digit = name.parse::<u32>().map_or(json!(name), |digit| json!(digit));
            put(&server, "p010", grader, &Value::Null);
            assert_eq!(of_page, [format!("p010 {grader} null {}", key["shown"].as_str().unwrap())]);
            if ["2", "4", "!"].contains(&name) {
                watched(&server.space, "", &[("p010", grader, digit)]);
                assert_eq!(lines(&server.space), of_page, "{grader} {name}");
                put(&server, "p010", grader, &Value::Null);
            }
        }
    }
}

/// A file that begins with a byte-order mark is read and written.
#[test]
fn a_byte_order_mark_of_a_file_of_labels_goes_when_it_is_written() {
    let space = space();
    space.write(
        "suite.labels.jsonl",
        "\u{feff}{\"id\":\"p010\",\"grader\":\"stars\",\"label\":true}\n{\"id\":\"p011\",\"grader\":\"stars\",\"label\":true}\n",
    );
    watched(&space, "ann", &[("p011", "stars", json!(true))]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    assert_eq!(summary["label_agreement"]["stars"]["n"], 2);
}
