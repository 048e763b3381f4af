//! How far graders agree with people, as the page of the calibration has it, and labels as a file.

use evalrs_eval::dataset::label_file::digest_number;
use evalrs_eval::votes::answer_digest;
use evalrs_metrics::metric::label_queue::draw_number;
use serde_json::{Value, json};

use super::Server;
use crate::space::{Space, jsonl};

const SUITE: &str = "\
name: five
dataset: data.jsonl
graders:
  stars: {kind: tool, function: recorded_score, config: {path: s, scale: {min: 1, max: 5}}, pass_threshold: 0.5}
  unit: {kind: tool, function: recorded_score, config: {path: u}, pass_threshold: 0.5}
";

const CALIBRATION: &str = "/api/suites/five/calibration";

/// Ninety answers. Ann labelled the first sixty for `stars`, and Bob the first ten: they differ on two. Ann chose what comes late
/// in the random order, and every third of the rest.
fn space(suite: &str) -> Space {
    let row = |at: u32| json!({"id": format!("p{at:02}"), "input": "q", "output": format!("answer {at}"), "s": 1 + at % 5, "u": 1});
    let says = |at: u32| !at.is_multiple_of(4) && at % 5 > 1;
    let by_ann = (0..60).map(|at| {
        let submission = digest_number(&answer_digest(&format!("answer {at}")));
        let is_late = draw_number(&format!("p{at:02}"), submission) > u64::MAX / 10 * 8;
        let picked = if is_late || at % 3 == 0 { "chosen" } else { "random" };
        json!({"id": format!("p{at:02}"), "grader": "stars", "label": says(at), "who": "ann", "at": "2026-11-29T10:00:00Z", "picked": picked})
    });
    let by_bob = (0..10).map(|at| {
        json!({"id": format!("p{at:02}"), "grader": "stars", "label": says(at) != (at == 2 || at == 7), "who": "bob", "picked": "random"})
    });
    let labels = jsonl(by_ann.chain(by_bob));
    let rows = jsonl((0..90).map(row));
    Space::new(&[("suite.yaml", suite), ("data.jsonl", &rows), ("suite.labels.jsonl", &labels)])
}

fn evaluated(suite: &str) -> Space {
    let space = space(suite);
    run(&space);
    space
}

fn run(space: &Space) {
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
}

fn summary(space: &Space) -> Value {
    serde_json::from_str(&space.record("summary.json")).unwrap()
}

/// What is said of `stars`.
fn stars(server: &Server) -> Value {
    server.get(CALIBRATION).data()["graders"][0].take()
}

#[test]
fn it_says_what_reports_say_and_follows_labels() {
    let server = Server::new(evaluated(SUITE), &["suite.yaml"]);
    let summary = summary(&server.space);
    let all = server.get(CALIBRATION).data();
    assert_eq!(all["run"], server.get("/api/runs/latest").data()["id"]);
    assert_eq!(
        (&all["labels_path"], &all["holdout"]),
        (&json!("suite.labels.jsonl"), &Value::Null)
    );
    assert_eq!(
        (&all["graders"][1]["name"], &all["graders"][1]["labels"]),
        (&json!("unit"), &Value::Null)
    );
    let found = &all["graders"][0];
    let labels = &found["labels"];
    for (told, expected) in [
        (&labels["people"], &summary["people"]["stars"]),
        (&labels["annotators"], &summary["annotators"]["stars"]),
        (&found["metric"]["pass_rate"], &summary["metrics"]["stars"]["accuracy"]),
        (&labels["agreement"]["n"], &summary["label_agreement"]["stars"]["n"]),
        (&labels["agreement"]["agreement"], &summary["label_agreement"]["stars"]["accuracy"]),
        (
            &labels["agreement"]["kappa_interval"],
            &summary["label_agreement"]["stars"]["kappa_interval"],
        ),
    ] {
        assert!(!expected.is_null(), "{summary}");
        assert_eq!(told, expected);
    }
    let count = |value: &Value| value.as_u64().unwrap();
    let [random, chosen] = ["random", "chosen"].map(|pick| count(&labels["picks"][pick]));
    let [used, left] = ["labels", "chosen"].map(|part| count(&labels["people"][part]));
    assert!(labels["people"]["pass_rate"].is_object() && left > 0, "{labels}");
    assert!(used > random, "an early one stands for others, however it was picked");
    assert_eq!([random + chosen, used + left], [58, 58], "of a tie nothing counts");
    let people = labels["labellers"].as_array().unwrap().iter();
    let people: Vec<String> =
        people.map(|one| format!("{} {}", one["who"], one["agreement"]["n"])).collect();
    assert_eq!(people, ["\"ann\" 60", "\"bob\" 10"]);
    assert_eq!(labels["disputed_total"], 2);
    let disputed = &labels["disputed"][0];
    assert_eq!((&disputed["sample_id"], &disputed["passed"]), (&json!("p02"), &json!(true)));
    assert_eq!(disputed["people"][1], json!({"who": "bob", "label": false, "passes": false}));
    // A label counts at once, without another run.
    let body = json!({"grader": "stars", "label": true, "trial": 0});
    server.put("/api/suites/five/labels/p80", &body).data();
    assert_eq!(stars(&server)["labels"]["agreement"]["n"], 59);
    assert_eq!(server.get("/api/suites/none/calibration").refusal(), "404 NOT_FOUND");
}

#[test]
fn without_labels_there_is_nothing_to_say() {
    let space = evaluated(SUITE);
    std::fs::remove_file(space.path("suite.labels.jsonl")).unwrap();
    std::fs::remove_dir_all(space.path(".evalrs")).unwrap();
    let server = Server::new(space, &["suite.yaml"]);
    for recorded in [false, true] {
        let all = server.get(CALIBRATION).data();
        assert_eq!(all["run"].is_string(), recorded);
        for grader in all["graders"].as_array().unwrap() {
            assert!(grader["labels"].is_null() && grader["calibration"].is_null(), "{grader}");
            assert_eq!(grader["over_time"], json!([]));
        }
        assert_eq!(server.get("/api/suites/five").data()["labelled"], false);
        assert_eq!(server.get("/api/suites/five/labels").body(), "");
        run(&server.space);
    }
}

/// Labels that stand in rows are known to the run alone.
#[test]
fn labels_of_rows_are_those_of_the_run() {
    let suite = "name: five\ndataset: data.jsonl\nlabels: {for: [stars]}\ngraders:\n  stars: {kind: tool, function: recorded_score, config: {path: u}, pass_threshold: 0.5}\n";
    let rows =
        (0..4).map(|at| json!({"id": at, "input": "q", "output": "a", "u": 1, "label": at > 0}));
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", &jsonl(rows))]);
    run(&space);
    let server = Server::new(space, &["suite.yaml"]);
    let agreement = stars(&server)["labels"]["agreement"].take();
    assert_eq!((&agreement["n"], &agreement["false_pass"]), (&json!(4), &json!(1)));
    assert_eq!(server.get("/api/suites/five").data()["labelled"], true);
}

#[test]
fn looking_at_it_is_no_query_of_held_out_labels() {
    let suite = format!("{SUITE}labels: {{holdout: 0.5}}\n");
    let space = evaluated(&suite);
    let told = summary(&space)["held_out"]["stars"].take();
    assert_eq!(told["query"], 1, "{told}");
    let log = space.read("cache/five.holdout.jsonl");
    // Other verdicts and other labels would be another query.
    space.write("suite.yaml", suite.replace("pass_threshold: 0.5", "pass_threshold: 0.8"));
    let labels = space.read("suite.labels.jsonl").replacen("true", "false", 8);
    space.write("suite.labels.jsonl", labels);
    let server = Server::new(space, &["suite.yaml"]);
    for path in [CALIBRATION, "/api/suites/five/labels", "/api/runs/latest", CALIBRATION] {
        assert_eq!(server.get(path).status, 200, "{path}");
        assert_eq!(server.space.read("cache/five.holdout.jsonl"), log, "{path}");
    }
    let found = stars(&server);
    assert_eq!(found["held_out"], told);
    let labels = &found["labels"];
    let shown = labels["labellers"][0]["agreement"]["n"].as_u64().unwrap();
    assert_eq!(labels["held_out_labels"].as_u64().unwrap() + shown, 60);
    // And no list has one of them.
    let exported = lines(&server, "grader=stars");
    assert_eq!(exported.iter().filter(|line| line["who"] == "ann").count() as u64, shown);
    let listed =
        server.get("/api/runs/latest/samples?grader=stars&state=labelled&limit=500").data();
    let listed = listed["samples"].as_array().unwrap();
    let is_listed = |line: &Value| listed.iter().any(|row| row["sample_id"] == line["id"]);
    assert!(exported.iter().all(is_listed));
    // The next run asks, and the page repeats it.
    run(&server.space);
    assert_eq!(stars(&server)["held_out"]["query"], 2);
}

#[test]
fn a_calibration_gets_stale_and_trends_break() {
    let space = evaluated(SUITE);
    let ran = space.run(&["calibrate", "--suite", "suite.yaml", "--min-kappa", "0.99"]);
    assert!(space.path("cache/five.calibration.json").exists(), "{}", ran.shown());
    let server = Server::new(space, &["suite.yaml"]);
    let found = stars(&server)["calibration"].take();
    assert_eq!((&found["stale"], &found["calibration"]["n"]), (&json!([]), &json!(58)));
    assert!(found["below"][0].as_str().unwrap().starts_with("kappa "), "{found}");
    server.space.write("suite.yaml", SUITE.replace("pass_threshold: 0.5", "pass_threshold: 0.8"));
    assert_eq!(stars(&server)["calibration"]["stale"], json!(["settings"]));
    run(&server.space);
    let points = stars(&server)["over_time"].take();
    let points = points.as_array().unwrap();
    assert_eq!((points.len(), &points[0]["breaks"]), (2, &json!([])));
    assert!(points[1]["breaks"][0].as_str().unwrap().contains("settings changed"), "{points:?}");
    assert_eq!(points[1]["agreement"]["n"], 58);
    assert!(
        points[1]["agreement"]["agreement_interval"][0].is_f64() && points[1]["recorded"] == true
    );
    assert!(points[1]["people"]["pass_rate"].is_object());
    // A file with both sides of a merge is a problem of the page, and not its end.
    server.space.write("cache/five.calibration.json", "<<<<<<< ours\n");
    let all = server.get(CALIBRATION).data();
    let problem = "cache/five.calibration.json:1:1: the calibration cannot be read: it contains both sides of a merge";
    assert_eq!(all["problems"][1], problem);
    assert!(all["graders"][0]["labels"].is_object());
}

/// The exported lines.
fn lines(server: &Server, query: &str) -> Vec<Value> {
    let reply = server.get(&format!("/api/suites/five/labels?{query}"));
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn labels_are_exported_beside_verdicts() {
    let space = evaluated(SUITE);
    let more = jsonl([
        json!({"id": "gone", "grader": "stars", "label": true, "who": "ann", "category": "facts", "comment": "=1+1"}),
        json!({"id": "p80", "label": 1, "who": "=HYPERLINK(\"http://x\")"}),
        json!({"id": "p81", "grader": "stars", "label": 4, "who": "@bob"}),
        json!({"id": "p82", "grader": "stars", "label": true, "submission_digest": "0000000000000000"}),
    ]);
    space.write("suite.labels.jsonl", space.read("suite.labels.jsonl") + &more);
    let server = Server::new(space, &["suite.yaml"]);
    let run = server.get("/api/runs/latest").data()["id"].take();
    let all = lines(&server, "");
    assert_eq!(all.len(), 75);
    assert_eq!(
        all[0],
        json!({"id": "p00", "grader": "stars", "model": null, "trial": null, "label": false, "who": "ann", "at": "2026-11-29T10:00:00Z",
            "picked": "chosen", "submission_digest": null, "category": null, "comment": null, "run": run, "score": 0.0, "verdict": "failed", "agrees": true})
    );
    // One for all graders is one beside each; what has no verdict comes last.
    let of = |id: &str| -> Vec<String> {
        let own = all.iter().filter(|line| line["id"] == id);
        own.map(|line| format!("{} {} {}", line["grader"], line["label"], line["verdict"]))
            .collect()
    };
    assert_eq!(of("p80"), ["\"stars\" 1 \"failed\"", "\"unit\" 1 \"passed\""]);
    assert_eq!(of("p81"), ["\"stars\" 4 \"failed\""]);
    assert_eq!(
        (of("gone"), of("p82")),
        (vec!["\"stars\" true null".to_owned()], vec!["\"stars\" true null".to_owned()])
    );
    assert_eq!(all[73]["id"], "gone");
    assert_eq!((&all[73]["category"], &all[73]["comment"]), (&json!("facts"), &json!("=1+1")));
    assert_eq!(lines(&server, "grader=unit").len(), 1);
    let id = run.as_str().unwrap();
    assert_eq!(lines(&server, &format!("grader=stars&run={id}")).len(), 72);
    for (query, expected) in [
        ("grader=none", "404 NOT_FOUND"),
        ("run=none", "404 NOT_FOUND"),
        ("format=xml", "400 BAD_REQUEST"),
        ("graders=stars", "400 BAD_REQUEST"),
    ] {
        let reply = server.get(&format!("/api/suites/five/labels?{query}"));
        assert_eq!(reply.refusal(), expected, "{query}");
    }
    let csv = server.get("/api/suites/five/labels?format=csv");
    assert!(csv.headers.contains("filename=\"five.labels.csv\""), "{}", csv.headers);
    assert!(csv.body.starts_with("id,grader,model,trial,label,who,at,picked,"), "{}", csv.body);
    let is_formula = |cell: &str| cell.trim_matches('"').starts_with(['=', '+', '-', '@']);
    assert!(!csv.body.split([',', '\n']).any(is_formula), "{}", csv.body);
    assert_eq!(csv.body.matches("'=HYPERLINK").count(), 2);
    // What is exported is a file of labels.
    let before = server.get("/api/runs/latest").data()["agreement"].take();
    let text = server.get(&format!("/api/suites/five/labels?run={id}")).body;
    let space = evaluated(SUITE);
    space.write("exported.jsonl", text);
    let again = Server::new(space, &["suite.yaml", "--labels", "exported.jsonl"]);
    assert_eq!(again.get("/api/runs/latest").data()["agreement"], before);
}
