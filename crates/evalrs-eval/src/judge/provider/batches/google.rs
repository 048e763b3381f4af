//! `POST /v1beta/models/M:batchGenerateContent` over a file of lines.

use serde_json::{Value, json};

use super::super::api::Request;
use super::batch_api::{
    BatchAnswer, BatchApi, BatchInput, BatchLimits, BatchResult, BatchState, NewBatch, RemoteBatch,
    number, object, segment, text,
};

pub(super) struct GoogleBatches;

/// What the name of a batch begins with, before the digest of its intent.
const NAME: &str = "evalrs-";

impl BatchApi for GoogleBatches {
    fn limits(&self) -> BatchLimits {
        BatchLimits { requests: 50_000, bytes: 2_000_000_000 }
    }

    fn line(&self, id: &str, request: &Request) -> Value {
        json!({"key": id, "request": request.body})
    }

    fn input(&self) -> BatchInput {
        BatchInput::Announced("/upload/v1beta/files")
    }

    fn create(&self, batch: &NewBatch<'_>, file: Option<&str>) -> Request {
        let body = json!({"batch": {
            "displayName": format!("{NAME}{}", batch.digest),
            "inputConfig": {"fileName": file.unwrap_or_default()},
        }});
        let path = batch.path.replace(":generateContent", ":batchGenerateContent");
        Request { path, body: object(body) }
    }

    fn file_id(&self, body: &Value) -> Option<String> {
        text(body, "/file/name")
    }

    fn list(&self, after: Option<&str>) -> String {
        let after = after.map(|after| format!("&pageToken={}", segment(after))).unwrap_or_default();
        format!("/v1beta/batches?pageSize=100{after}")
    }

    fn listed(&self, body: &Value) -> (Vec<RemoteBatch>, Option<String>) {
        let all = body["operations"].as_array().or_else(|| body["batches"].as_array());
        let read = all.into_iter().flatten().filter_map(|batch| self.read(batch));
        (read.collect(), text(body, "/nextPageToken"))
    }

    fn place(&self, id: &str) -> String {
        format!("/v1beta/{}", named(id))
    }

    fn cancel(&self, id: &str) -> String {
        format!("/v1beta/{}:cancel", named(id))
    }

    fn read(&self, body: &Value) -> Option<RemoteBatch> {
        // An operation has the batch as its metadata.
        let batch = body.get("metadata").unwrap_or(body);
        let said = text(batch, "/state").unwrap_or_default();
        let state = match said.rsplit("STATE_").next().unwrap_or_default() {
            "SUCCEEDED" => {
                let places = [(body, "/response/responsesFile"), (batch, "/output/responsesFile")];
                let file = places.iter().find_map(|(at, place)| text(at, place));
                let path = file
                    .map(|file| format!("/download/v1beta/{}:download?alt=media", named(&file)));
                let trouble = path.is_none().then(|| "it has no file of results".to_owned());
                BatchState::Ended { results: path.into_iter().collect(), trouble }
            }
            ended @ ("FAILED" | "CANCELLED" | "EXPIRED") => {
                let why = text(body, "/error/message").unwrap_or_else(|| ended.to_lowercase());
                BatchState::Ended { results: Vec::new(), trouble: Some(why) }
            }
            _ => BatchState::Running,
        };
        let counted = |name: &str| number(batch, &format!("/batchStats/{name}"));
        let name = text(batch, "/displayName");
        Some(RemoteBatch {
            id: text(body, "/name").or_else(|| text(batch, "/name"))?,
            digest: name.and_then(|name| Some(name.strip_prefix(NAME)?.to_owned())),
            file: text(batch, "/inputConfig/fileName"),
            created: text(batch, "/createTime").unwrap_or_default(),
            requests: counted("requestCount"),
            ended: counted("successfulRequestCount").saturating_add(counted("failedRequestCount")),
            state,
        })
    }

    fn result(&self, line: &Value) -> Option<BatchResult> {
        let id = text(line, "/key")?;
        let answer = match (line.get("response"), line.get("error")) {
            (Some(body), _) => BatchAnswer::Reply { status: 200, body: body.clone() },
            (None, Some(error)) => {
                let status = status_of_code(number(line, "/error/code"));
                BatchAnswer::Reply { status, body: json!({"error": error}) }
            }
            (None, None) => BatchAnswer::Unfinished("it has no reply".to_owned()),
        };
        Some(BatchResult { id, answer })
    }
}

/// The name of a thing as a path: its kind, and its own name.
fn named(name: &str) -> String {
    let (kind, own) = name.split_once('/').unwrap_or(("", name));
    format!("{}/{}", segment(kind), segment(own))
}

/// The HTTP status of a code of gRPC; other codes are statuses already.
fn status_of_code(code: u64) -> u16 {
    match code {
        3 | 9 | 11 => 400,
        5 => 404,
        7 => 403,
        8 => 429,
        16 => 401,
        400..600 => u16::try_from(code).unwrap_or(500),
        _ => 500,
    }
}
