//! Columns of the list of a run's cases: what is recorded, what the suite says, and what is filtered, sorted, grouped and set against each
//! other by them.

use serde_json::{Value, json};

use super::{Server, shop};
use crate::judge::{Answer, Judge};
use crate::space::Space;

const SUITE: &str = "
name: plans
dataset: data.jsonl
labels: people.jsonl
graders:
  right: {kind: tool, function: contains}
  kind: {kind: rubric, prompt: 'Kind? {submission}', model: judge-1, endpoint: test, max_retries: 0}
";

/// Six rows with metadata, times and calls, graded by a judge; two are labelled.
fn plans() -> Server {
    let row = |at: usize| {
        let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
        let mut messages = vec![json!({"role": "user", "content": format!("question {at}")})];
        messages.extend(vec![call; at % 3]);
        messages.push(json!({"role": "assistant", "content": "yes"}));
        let mut row = json!({"id": format!("s{at}"), "messages": messages, "ground_truth": "yes", "tags": ["all"], "latency_ms": 500 * at});
        if at < 5 {
            let plan = ["free", "pro"][at % 2];
            row["metadata"] = json!({"plan": plan, "seats": 10 - at, "a,b": 1});
        }
        format!("{row}\n")
    };
    let rows: String = (0..6).map(row).collect();
    let label = |at: usize| {
        format!("{{\"id\": \"s{at}\", \"grader\": \"right\", \"label\": {}}}\n", at == 0)
    };
    let people = [label(0), label(1)].concat();
    let space =
        Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows), ("people.jsonl", &people)]);
    let judge = Judge::new(|_, _| Answer::text(r#"{"score": 0.5, "rationale": "r"}"#));
    let mut command = space.command(&["run", "suite.yaml", "--quiet"]);
    let url = judge.url();
    command.envs([("OPENAI_BASE_URL", url.as_str()), ("OPENAI_API_KEY", "key")]);
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Server::new(space, &["suite.yaml"])
}

/// The ids of the samples that a query lists.
fn ids(server: &Server, query: &str) -> String {
    let data = server.get(&format!("/api/runs/latest/samples?{query}")).data();
    let rows = data["samples"].as_array().unwrap().iter();
    rows.map(|row| row["sample_id"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn are_those_of_which_something_is_recorded() {
    let server = plans();
    let told = server.get("/api/runs/latest/columns").data();
    let column = |name: &str, is_number: bool, rows: usize| json!({"name": name, "is_number": is_number, "rows": rows});
    let expected = json!([
        column("tokens", true, 6),
        column("latency", true, 6),
        column("tool_calls", true, 6),
        column("tags", false, 6),
        column("input", false, 6),
        column("ground_truth", false, 6),
        column("metadata.plan", false, 5),
        column("metadata.seats", true, 5),
    ]);
    assert_eq!(told, json!({"columns": expected, "note": null}));
    let query = "columns=tokens,cost,latency,tool_calls,tags,input,ground_truth,metadata.plan,metadata.none&limit=2";
    let rows = server.get(&format!("/api/runs/latest/samples?{query}")).data();
    let expected = json!({"tokens": 12, "cost": null, "latency": 0.5, "tool_calls": 1, "tags": ["all"], "input": "question 1", "ground_truth": "yes", "metadata.plan": "pro", "metadata.none": null});
    assert_eq!(rows["samples"][1]["columns"], expected);
    // Who chooses none is sent none.
    assert_eq!(server.get("/api/runs/latest/samples").data()["samples"][0].get("columns"), None);
}

#[test]
fn sort_and_filter_and_what_has_no_value_comes_last() {
    let server = plans();
    for (query, expected) in [
        ("sort=metadata.seats", "s4 s3 s2 s1 s0 s5"),
        ("sort=metadata.seats&order=desc", "s0 s1 s2 s3 s4 s5"),
        ("sort=latency&order=desc", "s5 s4 s3 s2 s1 s0"),
        ("sort=tool_calls&order=desc&limit=3", "s2 s5 s1"),
        ("sort=metadata.plan&limit=4", "s0 s2 s4 s1"),
        ("where=metadata.plan:pro", "s1 s3"),
        ("where=metadata.seats:9", "s1"),
        ("where=metadata.plan:", ""),
        ("latency_min=1&latency_max=2", "s2 s3 s4"),
        ("tool_calls_min=2", "s2 s5"),
        ("tool_calls_max=0&where=metadata.plan:free", "s0"),
        ("tokens_min=12&limit=1", "s0"),
        ("tokens_min=13", ""),
        ("cost_min=0", ""),
    ] {
        assert_eq!(ids(&server, query), expected, "{query}");
    }
    let next =
        server.get("/api/runs/latest/samples/s2?sort=latency&order=desc&tool_calls_min=1").data();
    assert_eq!(
        (&next["previous"]["sample_id"], &next["next"]["sample_id"]),
        (&json!("s4"), &json!("s1"))
    );
    let part = server.get("/api/runs/latest/report.jsonl?where=metadata.plan:pro");
    assert_eq!(part.body().matches("\"sample_id\"").count(), 2);
    for query in [
        "sort=token",
        "columns=tokens,odd",
        "where=plan:pro",
        "where=metadata.plan",
        "tokens_min=x",
        "token_min=1",
    ] {
        let refused = server.get(&format!("/api/runs/latest/samples?{query}")).refusal();
        assert_eq!(refused, "400 BAD_REQUEST", "{query}");
    }
}

#[test]
fn make_groups_with_what_people_say() {
    let server = plans();
    let groups = |query: &str| server.get(&format!("/api/runs/latest/groups?{query}")).data();
    let by_plan = groups("by=metadata.plan");
    let names = |data: &Value| {
        data["groups"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&by_plan), [json!("free"), json!("pro"), Value::Null]);
    let right = |labels: usize, agreed: usize, verdicts: usize| json!({"verdicts": verdicts, "mean": 1.0, "failed": 0, "errored": 0, "labels": labels, "agreed": agreed});
    assert_eq!(by_plan["groups"][0]["graders"]["right"], right(1, 1, 3));
    assert_eq!(by_plan["groups"][1]["graders"]["right"], right(1, 0, 2));
    assert_eq!(by_plan["groups"][0]["graders"]["kind"]["failed"], 3);
    // As the list is filtered.
    assert_eq!(names(&groups("by=metadata.plan&latency_min=2.4")), [Value::Null]);
    assert_eq!(groups("by=tags")["groups"][0]["cases"], 6);
    assert_eq!(names(&groups("by=model")), [Value::Null]);
    assert_eq!(server.get("/api/runs/latest/groups?by=tokens").refusal(), "400 BAD_REQUEST");
    assert_eq!(server.get("/api/runs/latest/groups").refusal(), "400 BAD_REQUEST");
}

#[test]
fn stand_against_each_other() {
    let server = plans();
    let data = server.get("/api/runs/latest/scatter?x=latency&y=kind&limit=1");
    // Nothing but filters is taken.
    assert_eq!(data.refusal(), "400 BAD_REQUEST");
    let data = server.get("/api/runs/latest/scatter?x=latency&y=kind&latency_min=1").data();
    assert_eq!(
        (&data["known"], &data["x"], &data["y"]),
        (&json!(4), &json!({"min": 1.0, "max": 2.5}), &json!({"min": 0.5, "max": 0.5}))
    );
    assert_eq!(
        data["points"][0],
        json!({"x": 1.0, "y": 0.5, "sample_id": "s2", "model": null, "trial": 0})
    );
    assert_eq!(data["cells"], json!([]));
    assert_eq!(server.get("/api/runs/latest/scatter?x=nope&y=kind").refusal(), "404 NOT_FOUND");
    assert_eq!(server.get("/api/runs/latest/scatter?x=tags&y=kind").refusal(), "404 NOT_FOUND");
}

#[test]
fn of_a_suite_that_is_not_served_are_those_of_the_record() {
    let server = Server::new(shop(), &[]);
    let told = server.get("/api/runs/latest/columns").data();
    let names: Vec<&Value> =
        told["columns"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["input", "ground_truth"]);
    assert!(told["note"].as_str().unwrap().contains("serve the suite"), "{told}");
    let row = server.get("/api/runs/latest/samples?columns=tags,input&limit=1").data();
    assert_eq!(row["samples"][0]["columns"], json!({"tags": null, "input": "Capital of France?"}));
    for query in [
        "samples?sort=tags",
        "samples?where=metadata.row:1",
        "samples?tool_calls_min=1",
        "groups?by=tags",
    ] {
        assert_eq!(
            server.get(&format!("/api/runs/latest/{query}")).refusal(),
            "404 NOT_FOUND",
            "{query}"
        );
    }
    assert_eq!(server.get("/api/runs/latest/groups?by=model").data()["total"], 1);
}
