//! `POST /v1/messages/batches`, with the requests in its body.
//!
//! Nothing tells whose batch one is but the ids of its requests, which its results show. So each has a request more: the
//! sentinel, whose id is the digest of the intent.

use serde_json::{Value, json};

use super::super::api::Request;
use super::batch_api::{
    BatchAnswer, BatchApi, BatchInput, BatchLimits, BatchResult, BatchState, NewBatch, RemoteBatch,
    number, object, segment, text,
};

pub(super) struct AnthropicBatches;

/// The status that a request alone has with an error of this type.
fn status(kind: &str) -> u16 {
    match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "overloaded_error" => 529,
        _ => 500,
    }
}

/// How requests can end.
const ENDS: [&str; 4] = ["succeeded", "errored", "canceled", "expired"];

impl BatchApi for AnthropicBatches {
    fn limits(&self) -> BatchLimits {
        BatchLimits { requests: 100_000, bytes: 256_000_000 }
    }

    fn line(&self, id: &str, request: &Request) -> Value {
        json!({"custom_id": id, "params": request.body})
    }

    fn input(&self) -> BatchInput {
        BatchInput::Inline
    }

    fn sentinel(&self, batch: &NewBatch<'_>) -> Option<Value> {
        let message = json!({"role": "user", "content": "Reply with one letter."});
        let params = json!({"model": batch.model, "max_tokens": 1, "messages": [message]});
        Some(json!({"custom_id": batch.digest, "params": params}))
    }

    fn create(&self, _batch: &NewBatch<'_>, _file: Option<&str>) -> Request {
        Request { path: "/v1/messages/batches".to_owned(), body: object(json!({})) }
    }

    fn file_id(&self, _body: &Value) -> Option<String> {
        None
    }

    fn list(&self, after: Option<&str>) -> String {
        let after = after.map(|after| format!("&after_id={}", segment(after))).unwrap_or_default();
        format!("/v1/messages/batches?limit=100{after}")
    }

    fn listed(&self, body: &Value) -> (Vec<RemoteBatch>, Option<String>) {
        let all = body["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        let has_more = body["has_more"].as_bool().unwrap_or(false);
        let last = text(body, "/last_id").filter(|_| has_more);
        (all.iter().filter_map(|batch| self.read(batch)).collect(), last)
    }

    fn place(&self, id: &str) -> String {
        format!("/v1/messages/batches/{}", segment(id))
    }

    fn cancel(&self, id: &str) -> String {
        format!("/v1/messages/batches/{}/cancel", segment(id))
    }

    fn read(&self, body: &Value) -> Option<RemoteBatch> {
        let id = text(body, "/id")?;
        let counted = |name: &str| number(body, &format!("/request_counts/{name}"));
        let ended = ENDS.map(counted).into_iter().fold(0, u64::saturating_add);
        let has_ended = text(body, "/processing_status").is_some_and(|status| status == "ended");
        let is_kept = body["archived_at"].is_null();
        let state = if has_ended {
            let results = is_kept.then(|| format!("/v1/messages/batches/{}/results", segment(&id)));
            let trouble = (!is_kept).then(|| "its results are not kept any more".to_owned());
            BatchState::Ended { results: results.into_iter().collect(), trouble }
        } else {
            BatchState::Running
        };
        Some(RemoteBatch {
            id,
            digest: None,
            file: None,
            created: text(body, "/created_at").unwrap_or_default(),
            requests: counted("processing").saturating_add(ended),
            ended,
            state,
        })
    }

    fn result(&self, line: &Value) -> Option<BatchResult> {
        let id = text(line, "/custom_id")?;
        let result = &line["result"];
        let answer = match text(result, "/type").as_deref() {
            Some("succeeded") => {
                BatchAnswer::Reply { status: 200, body: result["message"].clone() }
            }
            Some("errored") => {
                // The error of a single request, or one in a box of its kind.
                let error = &result["error"];
                let body = if error["error"].is_object() {
                    error.clone()
                } else {
                    json!({"error": error})
                };
                let kind = text(&body, "/error/type").unwrap_or_default();
                BatchAnswer::Reply { status: status(&kind), body }
            }
            other => BatchAnswer::Unfinished(format!("it is {}", other.unwrap_or("not answered"))),
        };
        Some(BatchResult { id, answer })
    }
}
