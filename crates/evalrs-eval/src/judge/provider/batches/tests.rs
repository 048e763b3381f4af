//! What the providers' batches say, read and written.

use serde_json::{Value, json};

use super::{BatchAnswer, BatchState, NewBatch, find};
use crate::judge::provider::Request;

const BATCH: NewBatch<'static> =
    NewBatch { digest: "d1", model: "m", path: "/v1beta/models/m:generateContent" };

/// The state as a word or two.
fn state(provider: &str, body: &Value) -> String {
    let read = find(provider).unwrap().read(body).unwrap();
    match read.state {
        BatchState::Running => "running".to_owned(),
        BatchState::Ended { results, trouble } => {
            format!("{} {}", results.join(","), trouble.unwrap_or_default()).trim().to_owned()
        }
    }
}

#[test]
fn a_batch_runs_until_its_provider_says_that_it_has_ended() {
    let openai = |status: &str, output: Value, error: Value| json!({"id": "b", "status": status, "output_file_id": output, "error_file_id": error});
    let anthropic = |status: &str, archived: Value| json!({"id": "b", "processing_status": status, "archived_at": archived});
    let google = |state: &str| json!({"name": "batches/b", "metadata": {"state": state}});
    let file = json!({
        "name": "batches/b",
        "metadata": {"state": "BATCH_STATE_SUCCEEDED"},
        "response": {"responsesFile": "files/o"},
    });
    let inner = json!({
        "name": "batches/b",
        "metadata": {"state": "JOB_STATE_SUCCEEDED", "output": {"responsesFile": "files/o"}},
    });
    for (provider, body, expected) in [
        ("openai", openai("validating", json!(null), json!(null)), "running"),
        ("openai", openai("cancelling", json!("o"), json!(null)), "running"),
        ("openai", openai("a new word", json!(null), json!(null)), "running"),
        (
            "openai",
            openai("completed", json!("o"), json!("e")),
            "/files/o/content,/files/e/content",
        ),
        ("openai", openai("completed", json!(""), json!("e")), "/files/e/content"),
        ("openai", openai("expired", json!("o"), json!(null)), "/files/o/content expired"),
        ("openai", openai("failed", json!(null), json!(null)), "failed"),
        ("anthropic", anthropic("in_progress", json!(null)), "running"),
        ("anthropic", anthropic("canceling", json!(null)), "running"),
        ("anthropic", anthropic("ended", json!(null)), "/v1/messages/batches/b/results"),
        ("anthropic", anthropic("ended", json!("2026-01-01")), "its results are not kept any more"),
        ("google", google("BATCH_STATE_PENDING"), "running"),
        ("google", google("JOB_STATE_RUNNING"), "running"),
        ("google", google("BATCH_STATE_EXPIRED"), "expired"),
        ("google", google("BATCH_STATE_SUCCEEDED"), "it has no file of results"),
        ("google", file, "/download/v1beta/files/o:download?alt=media"),
        ("google", inner, "/download/v1beta/files/o:download?alt=media"),
    ] {
        assert_eq!(state(provider, &body), expected, "{body}");
    }
}

#[test]
fn the_result_of_a_request_is_a_reply_an_error_or_nothing() {
    for (provider, line, expected) in [
        ("openai", json!({"custom_id": "k", "response": {"status_code": 200, "body": 1}}), "200 1"),
        (
            "openai",
            json!({"custom_id": "k", "response": {"status_code": 400, "body": {"error": 2}}, "error": null}),
            r#"400 {"error":2}"#,
        ),
        (
            "openai",
            json!({"custom_id": "k", "response": null, "error": {"code": "batch_expired", "message": "late"}}),
            "late",
        ),
        (
            "anthropic",
            json!({"custom_id": "k", "result": {"type": "succeeded", "message": 1}}),
            "200 1",
        ),
        (
            "anthropic",
            json!({"custom_id": "k", "result": {"type": "errored", "error": {"type": "error", "error": {"type": "overloaded_error"}}}}),
            r#"529 {"type":"error","error":{"type":"overloaded_error"}}"#,
        ),
        (
            "anthropic",
            json!({"custom_id": "k", "result": {"type": "errored", "error": {"type": "invalid_request_error"}}}),
            r#"400 {"error":{"type":"invalid_request_error"}}"#,
        ),
        ("anthropic", json!({"custom_id": "k", "result": {"type": "expired"}}), "it is expired"),
        ("google", json!({"key": "k", "response": 1}), "200 1"),
        ("google", json!({"key": "k", "error": {"code": 8}}), r#"429 {"error":{"code":8}}"#),
        ("google", json!({"key": "k", "error": {"code": 503}}), r#"503 {"error":{"code":503}}"#),
        ("google", json!({"key": "k"}), "it has no reply"),
    ] {
        let read = find(provider).unwrap().result(&line).unwrap();
        let said = match read.answer {
            BatchAnswer::Reply { status, body } => format!("{status} {body}"),
            BatchAnswer::Unfinished(why) => why,
        };
        assert_eq!((read.id.as_str(), said.as_str()), ("k", expected), "{line}");
    }
    for line in [json!({}), json!(null), json!([1]), json!({"custom_id": 7})] {
        for provider in ["openai", "anthropic", "google"] {
            assert_eq!(find(provider).unwrap().result(&line), None, "{line}");
        }
    }
}

#[test]
fn a_batch_says_whose_it_is_as_far_as_its_provider_keeps_that() {
    let request = |provider: &str| find(provider).unwrap().create(&BATCH, Some("f"));
    assert_eq!(request("openai").body["metadata"]["evalrs"], "d1");
    let google = request("google");
    assert_eq!(google.path, "/v1beta/models/m:batchGenerateContent");
    assert_eq!(google.body["batch"]["displayName"], "evalrs-d1");
    let sentinel = find("anthropic").unwrap().sentinel(&BATCH).unwrap();
    assert_eq!(
        (&sentinel["custom_id"], &sentinel["params"]["max_tokens"]),
        (&json!("d1"), &json!(1))
    );
    let listed = json!({"operations": [{"name": "batches/b", "metadata": {"displayName": "evalrs-d1"}}], "nextPageToken": "n"});
    let (all, next) = find("google").unwrap().listed(&listed);
    assert_eq!((all[0].digest.as_deref(), next.as_deref()), (Some("d1"), Some("n")));
    let listed = json!({"data": [{"id": "b", "metadata": {"evalrs": "d1"}}], "has_more": true});
    let (all, next) = find("openai").unwrap().listed(&listed);
    assert_eq!((all[0].digest.as_deref(), next.as_deref()), (Some("d1"), Some("b")));
    let counts = json!({"processing": 1, "succeeded": 2, "errored": 3});
    let read = find("anthropic").unwrap().read(&json!({"id": "b", "request_counts": counts}));
    assert_eq!(read.map(|read| (read.requests, read.ended)), Some((6, 5)));
}

#[test]
fn a_line_has_a_whole_request_and_its_id() {
    let body = json!({"model": "m"});
    let request =
        |path: &str| Request { path: path.to_owned(), body: body.as_object().cloned().unwrap() };
    let line = find("openai").unwrap().line("k", &request("/chat/completions"));
    assert_eq!(
        line,
        json!({"custom_id": "k", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}})
    );
    let line = find("anthropic").unwrap().line("k", &request("/v1/messages"));
    assert_eq!(line, json!({"custom_id": "k", "params": {"model": "m"}}));
    let line = find("google").unwrap().line("k", &request("/"));
    assert_eq!(line, json!({"key": "k", "request": {"model": "m"}}));
}
