//! What is recorded and what can be named, as the API tells it.

use serde_json::{Value, json};

use super::{Server, shop};
use crate::space::Space;

#[test]
fn graders_are_as_the_contract_says_to_the_letter() {
    let server = Server::new(Space::new(&[]), &[]);
    let list = server.get("/api/graders");
    let data = list.data();
    assert_eq!(
        data["graders"][0],
        json!({
            "id": "string-match",
            "name": "String Match Grader",
            "description": "Exact or fuzzy string matching with case and whitespace options",
            "type": "string-match",
            "config_schema": {"type": "object", "properties": {
                "case_sensitive": {"type": "boolean", "description": "Whether to perform case-sensitive matching", "default": false},
                "normalize_whitespace": {"type": "boolean", "description": "Whether to normalize whitespace before matching", "default": true},
            }},
        })
    );
    assert_eq!(data["count"], data["total"]);
    assert_eq!(data["count"], data["graders"].as_array().unwrap().len());
    let page = server.get("/api/graders?limit=2&skip=1").data();
    assert_eq!((&page["count"], &page["total"]), (&json!(2), &data["total"]));
    assert_eq!(page["graders"][0], data["graders"][1]);
    let details = server.get("/api/graders/string-match").data();
    assert_eq!(details["config_schema"]["required"], json!([]));
    assert_eq!(
        details["scoring_guide"],
        json!({
            "1.0": "Response exactly matches expected output (within configured options)",
            "0.0": "Response does not match expected output",
        })
    );
    let unknown = server.get("/api/graders/nonexistent");
    let expected = json!({"success": false, "data": null, "error": {"code": "NOT_FOUND", "message": "Grader not found"}});
    assert_eq!((unknown.status, unknown.json()), (404, expected));
}

#[test]
fn single_submissions_are_graded_by_functions() {
    let server = Server::new(shop(), &["suite.yaml"]);
    let grade = |body: Value| server.post("/api/grade", &body);
    for (config, submission, score) in [
        (json!({}), "paris", 1.0),
        (json!({}), "  paris  \n", 1.0),
        (json!({"case_sensitive": true, "normalize_whitespace": false}), "paris", 0.0),
    ] {
        let body = json!({"grader": "string-match", "config": config, "submission": submission, "ground_truth": "Paris"});
        assert_eq!(grade(body.clone()).data()["score"], score, "{body}");
    }
    for (body, expected) in [
        (json!({"grader": "nope", "submission": ""}), "404 NOT_FOUND"),
        (json!({"grader": "exact_match"}), "422 UNPROCESSABLE"),
        (json!({"grader": "exact_match", "submission": "", "more": 1}), "422 UNPROCESSABLE"),
        (
            json!({"grader": "string-match", "submission": "", "config": {"x": 1}}),
            "422 UNPROCESSABLE",
        ),
    ] {
        assert_eq!(grade(body.clone()).refusal(), expected, "{body}");
    }
}

/// The ids of the samples that a query lists.
fn samples(server: &Server, query: &str) -> String {
    let data = server.get(&format!("/api/runs/latest/samples?{query}")).data();
    let ids = data["samples"].as_array().unwrap().iter();
    ids.map(|row| row["sample_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
}

#[test]
fn runs_suites_and_samples_are_told() {
    let server = Server::new(shop(), &["suite.yaml"]);
    let suites = server.get("/api/suites").data();
    assert_eq!(suites["suites"][0]["gate"], "right avg_score >= 0.5");
    assert_eq!(suites["suites"][0]["problems"], json!({"errors": 0, "warnings": 0}));
    let runs = server.get("/api/runs").data();
    let id = runs["runs"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(runs["runs"][0]["metrics"]["right"]["mean"], json!(2.0 / 3.0));
    let run = server.get("/api/runs/latest").data();
    assert_eq!(
        (&run["id"], &run["histograms"]["right"]),
        (&json!(id), &json!([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]))
    );
    let ids = |query: &str| samples(&server, query);
    for (query, expected) in [
        ("", "paris rome a/b ü?#"),
        ("limit=1&skip=1", "rome"),
        ("state=failed&grader=right", "rome"),
        ("state=failed", "rome a/b ü?#"),
        ("state=passed&grader=short", "paris rome"),
        ("q=CAPITAL+of+f", "paris"),
        ("q=t%C5%8Dky%C5%8D", "a/b ü?#"),
        ("q=nothing", ""),
        ("tag=europe", "paris rome"),
        ("sort=id&order=desc", "rome paris a/b ü?#"),
        ("sort=score&grader=right", "rome paris a/b ü?#"),
        ("state=unlabelled", "paris rome a/b ü?#"),
        ("state=labelled", ""),
        ("model=none", ""),
        ("q=-CAPITAL+of+f", "rome a/b ü?#"),
        ("q=/^par.s$/", "paris"),
        ("q=-/^par.s$/", "rome a/b ü?#"),
        ("min=0.5&grader=right", "paris a/b ü?#"),
        ("max=0.5&grader=right", "rome"),
        ("min=2", ""),
        ("state=false_pass", ""),
        ("state=false_fail", ""),
    ] {
        assert_eq!(ids(query), expected, "{query}");
    }
    for (path, expected) in [
        ("/api/runs/latest/samples?grader=nope", "404 NOT_FOUND"),
        ("/api/runs/latest/samples?state=odd", "400 BAD_REQUEST"),
        ("/api/runs/latest/samples?q=/(/", "400 BAD_REQUEST"),
        ("/api/runs/latest/samples?min=x", "400 BAD_REQUEST"),
        ("/api/runs/latest/report.csv?state=odd", "400 BAD_REQUEST"),
        ("/api/runs/latest/report.csv?grader=nope", "404 NOT_FOUND"),
        ("/api/runs/latest/report.html?q=rome", "409 CONFLICT"),
        ("/api/runs/latest/samples/nobody/results", "404 NOT_FOUND"),
        ("/api/runs/latest/samples?limit=501", "400 BAD_REQUEST"),
        ("/api/runs/latest/samples?skip=-1", "400 BAD_REQUEST"),
        ("/api/runs?skip=4294967296", "400 BAD_REQUEST"),
        ("/api/runs/latest/samples/nobody", "404 NOT_FOUND"),
        ("/api/runs/unknown", "404 NOT_FOUND"),
        ("/api/runs/..%2f..%2f..%2fetc", "404 NOT_FOUND"),
        ("/api/runs/%2e%2e", "404 NOT_FOUND"),
        ("/api/runs/a%00b", "404 NOT_FOUND"),
        ("/api/runs/%ff", "400 BAD_REQUEST"),
        ("/api/graders/%ff", "400 BAD_REQUEST"),
        ("/api/suites/unknown", "404 NOT_FOUND"),
        ("/api/unknown", "404 NOT_FOUND"),
        ("/api/diff?old=latest", "400 BAD_REQUEST"),
        ("/api/diff?old=latest&new=x", "404 NOT_FOUND"),
        ("/api/runs/latest/events", "404 NOT_FOUND"),
    ] {
        assert_eq!(server.get(path).refusal(), expected, "{path}");
    }
    assert_eq!(server.send("PATCH", "/api/runs", &[], "").refusal(), "405 METHOD_NOT_ALLOWED");
}

#[test]
fn the_history_of_a_suite_is_that_of_the_command() {
    for suites in [&["suite.yaml"][..], &[]] {
        let space = shop();
        space.write("suite.yaml", super::SUITE.replace("contains", "exact_match"));
        space.run(&["run", "suite.yaml", "--quiet"]);
        let printed = space.run(&["history", "suite.yaml", "--json"]).stdout();
        let server = Server::new(space, suites);
        let told = server.get("/api/history?suite=shop").data();
        assert_eq!(told, serde_json::from_str::<Value>(&printed).unwrap(), "{suites:?}");
        assert_eq!(told["runs"].as_array().map(Vec::len), Some(2));
        assert_eq!(server.get("/api/history?suite=none").refusal(), "404 NOT_FOUND");
        assert_eq!(server.get("/api/history").refusal(), "400 BAD_REQUEST");
    }
}

#[test]
fn what_disagrees_with_labels_is_listed_and_lists_are_exported() {
    let server = Server::new(shop(), &["suite.yaml"]);
    let ids = |query: &str| samples(&server, query);
    let label = |sample: &str, label: bool| {
        let body = json!({"grader": "right", "label": label}).to_string();
        let path = format!("/api/suites/shop/labels/{sample}");
        assert_eq!(server.send("PUT", &path, &[], &body).status, 200);
    };
    label("paris", false);
    label("rome", true);
    assert_eq!((ids("state=false_pass"), ids("state=false_fail")), ("paris".into(), "rome".into()));
    // What is exported of a list is what is in it.
    let lines = |query: &str| {
        let lines = server.get(&format!("/api/runs/latest/report.jsonl?{query}"));
        assert_eq!(lines.status, 200);
        let lines = lines.body().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let ids = lines.map(|line| line["sample_id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!((lines(""), lines("state=failed&grader=right")), (ids(""), "rome".into()));
    let rows = server.get("/api/runs/latest/report.csv?q=rome&grader=right").body().to_owned();
    assert_eq!((rows.lines().count(), rows.contains("paris")), (2, false), "{rows}");
    assert!(rows.contains(",right,") && !rows.contains(",short,"), "{rows}");
    let rows = server.get("/api/runs/latest/report.csv?q=rome").body().to_owned();
    assert_eq!(rows.lines().count(), 3, "{rows}");
}

#[test]
fn a_sample_has_results_in_other_runs() {
    let space = shop();
    space.write("data.jsonl", space.read("data.jsonl").replace("\"rome\"", "\"roma\""));
    assert!(space.run(&["run", "suite.yaml", "--quiet"]).code() < 2);
    let server = Server::new(space, &["suite.yaml"]);
    let results = |sample: &str| {
        let data = server.get(&format!("/api/runs/latest/samples/{sample}/results")).data();
        let runs = data["runs"].as_array().unwrap().clone();
        let ids = |run: &Value| run["results"][0]["sample_id"].as_str().unwrap().to_owned();
        runs.iter().map(ids).collect::<Vec<_>>()
    };
    assert_eq!(results("paris"), ["paris", "paris"]);
    assert_eq!(results("roma"), ["roma"]);
    let runs = server.get("/api/runs/latest/samples/paris/results").data()["runs"].clone();
    assert_eq!(runs[0]["run"], server.get("/api/runs/latest").data()["id"]);
    assert!(runs[1]["run"].as_str() < runs[0]["run"].as_str() && runs[1]["started"].is_string());
}

#[test]
fn a_case_shows_its_conversation() {
    let server = Server::new(shop(), &["suite.yaml"]);
    let case = server.get("/api/runs/latest/samples/a%2Fb%20%C3%BC%3F%23").data();
    let said = case["conversation"].as_array().unwrap().iter();
    let roles: Vec<&str> = said.map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "tool_call", "tool_return", "assistant"]);
    let call = &case["conversation"][1];
    assert_eq!(
        (&call["name"], &call["arguments"]),
        (&json!("look_up"), &json!({"country": "Japan"}))
    );
    assert_eq!(case["conversation"][2]["call"], call["call"]);
    assert_eq!(case["previous"]["sample_id"], "rome");
    assert!(case["next"].is_null() && case["conversation_note"].is_null());
    let first = server.get("/api/runs/latest/samples/paris?state=passed&grader=short").data();
    assert_eq!((&first["metadata"], &first["tags"]), (&json!({"row": 1}), &json!(["europe"])));
    assert_eq!(first["next"]["sample_id"], "rome", "the next of the list that it was opened from");
    // What has changed since is said.
    server.space.write("data.jsonl", super::ROWS.replace("It is Milan.", "It is Rome."));
    let changed = server.get("/api/runs/latest/samples/rome").data();
    assert_eq!(changed["submissions"]["right"], "It is Milan.");
    let note = changed["conversation_note"].as_str().unwrap();
    assert!(note.contains("changed since"), "{note}");
}

#[test]
fn records_that_anybody_edited_are_read_as_far_as_they_can_be() {
    let space = shop();
    let results = space.latest().join("results.jsonl");
    let text = std::fs::read_to_string(&results).unwrap();
    std::fs::write(&results, format!("not json\n{text}{{\"format\":1,\"sample_id\":")).unwrap();
    std::fs::write(space.latest().join("summary.json"), "[]").unwrap();
    std::fs::write(space.latest().join("run.json"), "{\"actions\": 7}").unwrap();
    let server = Server::new(space, &[]);
    let run = server.get("/api/runs/latest").data();
    assert_eq!(run["warnings"], json!(["2 lines of results.jsonl cannot be read"]));
    let rows = server.get("/api/runs/latest/samples").data();
    assert_eq!((&rows["total"], &rows["samples"][0]["at"]), (&json!(3), &json!(1)));
    let case = server.get("/api/runs/latest/samples/paris").data();
    assert!(case["conversation"].is_null(), "no suite is served");
    assert!(case["conversation_note"].as_str().unwrap().contains("evalrs serve SUITE"));
    assert_eq!(case["grades"]["right"]["rationale"], "Contains ground_truth: True");
}

#[test]
fn the_api_describes_itself() {
    let server = Server::new(shop(), &[]);
    let api = server.get("/api/openapi.json").json();
    assert_eq!(api["openapi"], "3.1.0");
    let paths: Vec<&String> = api["paths"].as_object().unwrap().keys().collect();
    insta::assert_snapshot!(format!("{paths:#?}"), @r#"
    [
        "/api/diff",
        "/api/extractors",
        "/api/extractors/{id}",
        "/api/grade",
        "/api/graders",
        "/api/graders/{id}",
        "/api/history",
        "/api/meta",
        "/api/providers",
        "/api/providers/{id}",
        "/api/runs",
        "/api/runs/{id}",
        "/api/runs/{id}/columns",
        "/api/runs/{id}/events",
        "/api/runs/{id}/groups",
        "/api/runs/{id}/samples",
        "/api/runs/{id}/samples/{sample}",
        "/api/runs/{id}/samples/{sample}/results",
        "/api/runs/{id}/scatter",
        "/api/runs/{id}/{file}",
        "/api/suites",
        "/api/suites/{name}",
        "/api/suites/{name}/calibration",
        "/api/suites/{name}/graders/{grader}/rubric",
        "/api/suites/{name}/labels",
        "/api/suites/{name}/labels/undo",
        "/api/suites/{name}/labels/{sample}",
        "/api/targets",
        "/api/targets/{id}",
    ]
    "#);
    let text = api.to_string();
    let named =
        text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next());
    let unknown = named.filter(|name| api["components"]["schemas"].get(name).is_none());
    assert_eq!(
        unknown.collect::<Vec<_>>(),
        Vec::<&str>::new(),
        "schemas that are named and missing"
    );
    let stop = &api["paths"]["/api/runs/{id}"]["delete"]["responses"];
    let statuses: Vec<&String> = stop.as_object().unwrap().keys().collect();
    assert_eq!(statuses, ["200", "400", "401", "403", "404", "409", "500"]);
    let said = stop.as_object().unwrap().values().all(|one| one["description"].is_string());
    assert!(said && api.get("security").is_none(), "{stop}");
    let envelope = &api["components"]["schemas"]["Envelope_RunList"];
    assert_eq!(envelope["required"], json!(["success", "data", "error"]));
    assert_eq!(envelope["properties"]["success"]["const"], true);
    assert_eq!(server.get("/healthz").body, "ok");
    for path in ["/", "/runs/latest/samples/a?grader=right", "/diff"] {
        let page = server.get(path);
        assert!(page.status == 200 && page.body.contains("/viewer.js"), "{path}");
    }
    assert!(server.get("/viewer.js").headers.contains("text/javascript"));
}
