//! `POST /batches` over a file of lines, as OpenAI defined it.

use serde_json::{Value, json};

use super::super::api::Request;
use super::batch_api::{
    BatchAnswer, BatchApi, BatchInput, BatchLimits, BatchResult, BatchState, NewBatch, RemoteBatch,
    number, object, segment, text,
};

pub(super) struct OpenAiBatches;

impl BatchApi for OpenAiBatches {
    fn limits(&self) -> BatchLimits {
        BatchLimits { requests: 50_000, bytes: 200_000_000 }
    }

    fn line(&self, id: &str, request: &Request) -> Value {
        json!({"custom_id": id, "method": "POST", "url": versioned(&request.path), "body": request.body})
    }

    fn input(&self) -> BatchInput {
        BatchInput::Form("/files")
    }

    fn create(&self, batch: &NewBatch<'_>, file: Option<&str>) -> Request {
        let body = json!({
            "input_file_id": file.unwrap_or_default(),
            "endpoint": versioned(batch.path),
            "completion_window": "24h",
            "metadata": {"evalrs": batch.digest},
        });
        Request { path: "/batches".to_owned(), body: object(body) }
    }

    fn file_id(&self, body: &Value) -> Option<String> {
        text(body, "/id")
    }

    fn list(&self, after: Option<&str>) -> String {
        let after = after.map(|after| format!("&after={}", segment(after))).unwrap_or_default();
        format!("/batches?limit=100{after}")
    }

    fn listed(&self, body: &Value) -> (Vec<RemoteBatch>, Option<String>) {
        let all = body["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        let has_more = body["has_more"].as_bool().unwrap_or(false);
        let last = all.last().and_then(|last| text(last, "/id")).filter(|_| has_more);
        (all.iter().filter_map(|batch| self.read(batch)).collect(), last)
    }

    fn place(&self, id: &str) -> String {
        format!("/batches/{}", segment(id))
    }

    fn cancel(&self, id: &str) -> String {
        format!("/batches/{}/cancel", segment(id))
    }

    fn read(&self, body: &Value) -> Option<RemoteBatch> {
        let status = text(body, "/status").unwrap_or_default();
        let counted = |name: &str| number(body, &format!("/request_counts/{name}"));
        let has_ended = matches!(status.as_str(), "completed" | "expired" | "cancelled" | "failed");
        // Either file may be missing, null or empty.
        let files = ["/output_file_id", "/error_file_id"].into_iter();
        let results = files.filter_map(|file| text(body, file));
        let state = if has_ended {
            let results =
                results.map(|file| format!("/files/{}/content", segment(&file))).collect();
            let said = text(body, "/errors/data/0/message");
            let trouble = (status != "completed").then(|| said.unwrap_or(status));
            BatchState::Ended { results, trouble }
        } else {
            BatchState::Running
        };
        Some(RemoteBatch {
            id: text(body, "/id")?,
            digest: text(body, "/metadata/evalrs"),
            file: text(body, "/input_file_id"),
            created: number(body, "/created_at").to_string(),
            requests: counted("total"),
            ended: counted("completed").saturating_add(counted("failed")),
            state,
        })
    }

    fn result(&self, line: &Value) -> Option<BatchResult> {
        let id = text(line, "/custom_id")?;
        let status = line.pointer("/response/status_code").and_then(Value::as_u64);
        let answer = match status.and_then(|status| u16::try_from(status).ok()) {
            Some(status) => BatchAnswer::Reply { status, body: line["response"]["body"].clone() },
            None => {
                let said = text(line, "/error/message").or_else(|| text(line, "/error/code"));
                BatchAnswer::Unfinished(said.unwrap_or_else(|| "it has no reply".to_owned()))
            }
        };
        Some(BatchResult { id, answer })
    }
}

/// A path as it stands in files, where it has its version.
fn versioned(path: &str) -> String {
    if path.starts_with("/v1/") { path.to_owned() } else { format!("/v1{path}") }
}
