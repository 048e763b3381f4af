//! Batches of requests over HTTP: sends files, makes batches, follows them and reads their results line by line.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use memchr::memchr;
use serde_json::Value;
use tokio::time::sleep;

use super::ending::verdict_text;
use super::{HttpExecutor, REPLY_LIMIT, understood};
use crate::judges::errors;
use crate::judges::request::{encoding, prepared, read_pause};
use crate::launch::{JudgeLaunch, secrets_of};
use crate::secret::{without, without_parameters};
use crate::transport::client::Client;
use crate::transport::{read_body, retry};
use crate::{BatchAccess, BatchError, BatchFuture, BatchLine, BatchResults, BatchService};
use evalrs_eval::judge::json;
use evalrs_eval::judge::provider::batches::{
    self, BatchAnswer, BatchApi, BatchInput, BatchResult, NewBatch, RemoteBatch,
};
use evalrs_eval::judge::provider::{self, Answer, Provider, ReplyShape};
use evalrs_eval::judge::request_url::url;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{
    Failure, FailureKind, JudgeExchange, Outcome, Reply, ServiceTier, Usage,
};

/// Attempts to do what may be repeated.
const ATTEMPTS: u32 = 4;
/// How long a request about a batch may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// The same of one with many requests or results.
const LONG_PATIENCE: Duration = Duration::from_mins(15);
/// Pages of a list that are read at most.
const MOST_PAGES: usize = 500;
/// The kind of files of requests.
const LINES: &str = "application/jsonl";

/// A request about batches.
enum BatchCall<'a> {
    Get,
    /// The same of something large.
    Read,
    Post(Bytes, &'a str),
    /// Announces a file of so many bytes, which is sent to the address of the reply.
    Announce(usize, Bytes),
    /// Sends that file.
    Whole(Bytes),
}

impl HttpExecutor {
    /// Sends one request; the reply is a success.
    async fn call(
        &self,
        access: &BatchAccess,
        url: &str,
        call: &BatchCall<'_>,
    ) -> Result<reqwest::Response, (BatchError, bool)> {
        let info = provider::info(&access.provider);
        let client =
            self.clients.client(url).map_err(|failure| (refused(failure.message), false))?;
        let request = match call {
            BatchCall::Get => client.http.get(url).timeout(PATIENCE),
            BatchCall::Read => client.http.get(url).timeout(LONG_PATIENCE),
            BatchCall::Post(body, kind) => {
                let patience = if body.len() > REPLY_LIMIT { LONG_PATIENCE } else { PATIENCE };
                let post = client.http.post(url).timeout(patience);
                post.header("content-type", *kind).body(body.clone())
            }
            BatchCall::Announce(size, body) => client
                .http
                .post(url)
                .timeout(PATIENCE)
                .header("content-type", "application/json")
                .header("x-goog-upload-protocol", "resumable")
                .header("x-goog-upload-command", "start")
                .header("x-goog-upload-header-content-length", *size)
                .header("x-goog-upload-header-content-type", LINES)
                .body(body.clone()),
            BatchCall::Whole(body) => client
                .http
                .post(url)
                .timeout(LONG_PATIENCE)
                .header("x-goog-upload-offset", 0)
                .header("x-goog-upload-command", "upload, finalize")
                .body(body.clone()),
        };
        let request = match info {
            Some(info) => prepared(request, info, access.api_key.as_ref(), &access.headers),
            None => request,
        };
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => return Err(self.lost(access, url, client, &error)),
        };
        let status = response.status().as_u16();
        let Some(kind) = retry::classify(status) else { return Ok(response) };
        let should_retry = retry::is_retryable(kind, read_pause(&response).should_retry);
        let body = read_body(response, REPLY_LIMIT).await.unwrap_or_default();
        let read = json::read(&body).ok();
        let words = errors::words(&body, read.as_ref(), |text| access.without_secrets(text));
        let message = errors::refusal("the provider", status, kind, &words, url);
        let may_be_done = kind == FailureKind::Server;
        Err((BatchError { message, may_be_done }, should_retry))
    }

    /// What it means that a request had no reply.
    fn lost(
        &self,
        access: &BatchAccess,
        url: &str,
        client: &Client,
        error: &reqwest::Error,
    ) -> (BatchError, bool) {
        let message = if error.is_timeout() {
            "the provider did not answer in time".to_owned()
        } else {
            let broken = self.broken(error, &access.base_url, url, client.trust);
            access.without_secrets(&broken.failure.message)
        };
        (BatchError { message, may_be_done: !error.is_connect() }, true)
    }

    /// The same, again after transient failures: for what may be done twice.
    async fn call_again(
        &self,
        access: &BatchAccess,
        url: &str,
        call: &BatchCall<'_>,
    ) -> Result<reqwest::Response, BatchError> {
        let mut attempt = 1;
        loop {
            match self.call(access, url, call).await {
                Ok(response) => return Ok(response),
                Err((error, should_retry)) if !should_retry || attempt == ATTEMPTS => {
                    return Err(error);
                }
                Err(_) => sleep(retry::delay(attempt, None, fastrand::f64())).await,
            }
            attempt += 1;
        }
    }

    /// The reply to a request as JSON.
    async fn said(
        &self,
        access: &BatchAccess,
        path: &str,
        call: &BatchCall<'_>,
    ) -> Result<Value, BatchError> {
        let response = self.call_again(access, &access.url(path), call).await?;
        value(response, access).await
    }

    /// Sends a file in two steps, and returns what is said of it.
    async fn announced(
        &self,
        access: &BatchAccess,
        path: &str,
        name: &str,
        lines: &[u8],
    ) -> Result<Value, BatchError> {
        let body = serde_json::json!({"file": {"displayName": name}}).to_string();
        let announce = BatchCall::Announce(lines.len(), body.into());
        let url = access.url(path);
        let response = self.call_again(access, &url, &announce).await?;
        let to = response.headers().get("x-goog-upload-url").and_then(|to| to.to_str().ok());
        // Requests and their key go to nobody else.
        let to = to.filter(|to| origin(to).is_some_and(|to| Some(to) == origin(&url)));
        let Some(to) = to.map(str::to_owned) else {
            return Err(refused("the provider named no address of its own for the file"));
        };
        let whole = BatchCall::Whole(Bytes::copy_from_slice(lines));
        let response = self.call_again(access, &to, &whole).await?;
        value(response, access).await
    }
}

impl BatchAccess {
    /// The URL of a path. Where files go is beside the version of an API, not under it.
    fn url(&self, path: &str) -> String {
        let is_beside = path.starts_with("/upload/") || path.starts_with("/download/");
        let version = provider::info(&self.provider).map_or("", |info| info.version);
        let base = self.base_url.trim_end_matches('/');
        let (base, own) = base.split_once('?').unwrap_or((base, ""));
        let base = base.strip_suffix(version).filter(|_| is_beside).unwrap_or(base);
        let (path, asked) = path.split_once('?').unwrap_or((path, ""));
        let query = [asked, own].join("&");
        let query = query.trim_matches('&');
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{mark}{query}", url(base, path))
    }

    fn without_secrets(&self, text: &str) -> String {
        let secrets = secrets_of(self.api_key.as_ref(), &self.headers);
        without_parameters(&self.base_url, without(secrets, text))
    }

    fn api(&self) -> Result<&'static dyn BatchApi, BatchError> {
        batches::find(&self.provider)
            .ok_or_else(|| refused(format!("`{}` has no batches", self.provider)))
    }
}

impl BatchService for HttpExecutor {
    fn line(&self, launch: &JudgeLaunch, key: ActionKey) -> Option<BatchLine> {
        let provider = provider::find(&launch.action.provider)?;
        let api = batches::find(&launch.action.provider)?;
        let request = self.request(launch, provider, self.shape(launch, provider), &[]);
        let mut text = api.line(&key.to_string(), &request).to_string().into_bytes();
        text.push(b'\n');
        let exchange = self.exchange(launch, provider, &[]);
        Some(BatchLine { text, path: request.path, exchange })
    }

    fn upload<'a>(
        &'a self,
        access: &'a BatchAccess,
        name: &'a str,
        lines: &'a [u8],
    ) -> BatchFuture<'a, Option<String>> {
        Box::pin(async move {
            let api = access.api()?;
            let said = match api.input() {
                BatchInput::Inline => return Ok(None),
                BatchInput::Form(path) => {
                    let kind = format!("multipart/form-data; boundary={name}");
                    let call = BatchCall::Post(form(name, lines).into(), &kind);
                    self.said(access, path, &call).await?
                }
                BatchInput::Announced(path) => self.announced(access, path, name, lines).await?,
            };
            let id = api.file_id(&said);
            id.map(Some).ok_or_else(|| refused("the provider named no file for the requests"))
        })
    }

    fn create<'a>(
        &'a self,
        access: &'a BatchAccess,
        batch: NewBatch<'a>,
        file: Option<&'a str>,
        lines: &'a [u8],
    ) -> BatchFuture<'a, RemoteBatch> {
        Box::pin(async move {
            let api = access.api()?;
            let request = api.create(&batch, file);
            let body = match file {
                Some(_) => Value::Object(request.body).to_string().into_bytes(),
                None => inline(lines, api.sentinel(&batch)),
            };
            let url = access.url(&request.path);
            // Never twice: the first may be the one that was lost.
            let call = BatchCall::Post(body.into(), "application/json");
            let response = self.call(access, &url, &call).await.map_err(|(error, _)| error)?;
            let unclear = |error: BatchError| BatchError { may_be_done: true, ..error };
            let body = value(response, access).await.map_err(unclear)?;
            api.read(&body).ok_or_else(|| unclear(refused("the provider named no batch")))
        })
    }

    fn list<'a>(
        &'a self,
        access: &'a BatchAccess,
        is_enough: &'a dyn Fn(&[RemoteBatch]) -> bool,
    ) -> BatchFuture<'a, Vec<RemoteBatch>> {
        Box::pin(async move {
            let api = access.api()?;
            let mut all = Vec::new();
            let mut seen = BTreeSet::new();
            let mut after: Option<String> = None;
            loop {
                let page = self.said(access, &api.list(after.as_deref()), &BatchCall::Get).await?;
                let (listed, next) = api.listed(&page);
                let is_enough = is_enough(&listed);
                all.extend(listed);
                // A page that was there before leads nowhere.
                after = next.filter(|next| !is_enough && seen.insert(next.clone()));
                if after.is_none() || seen.len() == MOST_PAGES {
                    return Ok(all);
                }
            }
        })
    }

    fn look<'a>(&'a self, access: &'a BatchAccess, id: &'a str) -> BatchFuture<'a, RemoteBatch> {
        Box::pin(async move {
            let api = access.api()?;
            let body = self.said(access, &api.place(id), &BatchCall::Get).await?;
            api.read(&body).ok_or_else(|| refused("the provider described no batch"))
        })
    }

    fn cancel<'a>(&'a self, access: &'a BatchAccess, id: &'a str) -> BatchFuture<'a, ()> {
        Box::pin(async move {
            let path = access.api()?.cancel(id);
            let call = BatchCall::Post(Bytes::new(), "application/json");
            self.call_again(access, &access.url(&path), &call).await.map(|_| ())
        })
    }

    fn results<'a>(
        &'a self,
        access: &'a BatchAccess,
        path: &'a str,
    ) -> BatchFuture<'a, Box<dyn BatchResults + 'a>> {
        Box::pin(async move {
            let api = access.api()?;
            let response = self.call_again(access, &access.url(path), &BatchCall::Read).await?;
            if let Some(encoding) = encoding(&response) {
                let message =
                    format!("the results are compressed ({encoding}), which was not requested");
                return Err(refused(message));
            }
            let lines = ResultLines { api, access, response, bytes: Vec::new(), has_ended: false };
            Ok(Box::new(lines) as Box<dyn BatchResults>)
        })
    }

    fn outcome(
        &self,
        launch: &JudgeLaunch,
        exchange: Option<&JudgeExchange>,
        answer: BatchAnswer,
    ) -> Outcome {
        let exchange = exchange.cloned().map(Box::new);
        let Some(provider) = provider::find(&launch.action.provider) else {
            return Outcome::Failure(Failure::new(
                FailureKind::NotAsked,
                "its provider is unknown",
            ));
        };
        let (status, body) = match answer {
            BatchAnswer::Unfinished(why) => {
                return Outcome::Failure(Failure::new(FailureKind::NotAsked, why));
            }
            BatchAnswer::Reply { status, body } => (status, body.to_string()),
        };
        let (answer, _) = understood(body.as_bytes(), status, &launch.base_url, launch, provider);
        let mut usage = None;
        let told = answer.and_then(|answer| {
            usage = of_batch(&answer);
            Ok((verdict_text(&answer)?.to_owned(), answer.model))
        });
        match told {
            Err(failure) => {
                let is_learnt = self.learns(launch, provider, exchange.as_deref(), &failure);
                let kind = if is_learnt { FailureKind::NotAsked } else { failure.kind };
                Outcome::Failure(Failure { kind, usage, exchange, ..failure })
            }
            Ok((text, model)) => match launch.action.verdict(&text) {
                Ok(_) => Outcome::Reply(Reply { text, model, usage, exchange }),
                Err(fault) => {
                    let message = format!("invalid reply: {fault}");
                    let failure = Failure::new(FailureKind::NotAsked, message);
                    Outcome::Failure(Failure { usage, ..failure })
                }
            },
        }
    }

    fn outcome_alone(
        &self,
        provider: &str,
        exchange: Option<&JudgeExchange>,
        answer: BatchAnswer,
    ) -> Option<Outcome> {
        let BatchAnswer::Reply { status: 200, body } = answer else { return None };
        let answer = provider::find(provider)?.answer(&body).ok()?;
        let usage = of_batch(&answer);
        let text = verdict_text(&answer).ok()?.to_owned();
        let exchange = exchange.cloned().map(Box::new);
        Some(Outcome::Reply(Reply { text, model: answer.model, usage, exchange }))
    }
}

/// A reply to a batch, and what it used.
fn of_batch(answer: &Answer) -> Option<Usage> {
    let used = Usage { tier: Some(ServiceTier::Batch), ..answer.usage };
    (answer.usage != Usage::default()).then_some(used)
}

impl HttpExecutor {
    /// Whether the failure of a request of a batch says what the next request has to leave out. That is remembered.
    fn learns(
        &self,
        launch: &JudgeLaunch,
        provider: &dyn Provider,
        exchange: Option<&JudgeExchange>,
        failure: &Failure,
    ) -> bool {
        let named = exchange.and_then(|exchange| exchange.shape.as_deref());
        let shapes = [ReplyShape::Object, ReplyShape::Words];
        let sent = shapes.into_iter().find(|shape| named == Some(shape.name()));
        let sent = sent.unwrap_or_else(|| provider.first_shape(launch.action.response_format));
        let request = provider.request(&launch.action, sent, &[]);
        self.gives_way(launch, sent, failure) || self.drops(launch, &request, failure)
    }
}

/// A file of results that is read as it comes.
struct ResultLines<'a> {
    api: &'static dyn BatchApi,
    access: &'a BatchAccess,
    response: reqwest::Response,
    bytes: Vec<u8>,
    has_ended: bool,
}

impl BatchResults for ResultLines<'_> {
    fn next(&mut self) -> BatchFuture<'_, Option<BatchResult>> {
        Box::pin(async move {
            loop {
                let end = memchr(b'\n', &self.bytes);
                if end.is_none() && !self.has_ended {
                    match self.response.chunk().await {
                        Ok(Some(part)) => self.bytes.extend_from_slice(&part),
                        Ok(None) => self.has_ended = true,
                        Err(error) => {
                            return Err(refused(format!("the results broke off: {error}")));
                        }
                    }
                    if self.bytes.len() > REPLY_LIMIT {
                        return Err(refused("a result is larger than 8 MB"));
                    }
                    continue;
                }
                let line: Vec<u8> = match end {
                    Some(end) => self.bytes.drain(..=end).collect(),
                    None => std::mem::take(&mut self.bytes),
                };
                // What is no result says nothing of any request.
                let line = self.access.without_secrets(&String::from_utf8_lossy(&line));
                let read = json::read(line.as_bytes()).ok().and_then(|line| self.api.result(&line));
                if read.is_some() || end.is_none() && line.is_empty() {
                    return Ok(read);
                }
            }
        })
    }
}

async fn value(response: reqwest::Response, access: &BatchAccess) -> Result<Value, BatchError> {
    let body = read_body(response, REPLY_LIMIT).await;
    let body = body.map_err(|_| refused("the provider's answer broke off"))?;
    let body = access.without_secrets(&String::from_utf8_lossy(&body));
    json::read(body.as_bytes())
        .map_err(|error| refused(format!("the provider's answer is no JSON: {error}")))
}

fn refused(message: impl Into<String>) -> BatchError {
    BatchError { message: message.into(), may_be_done: false }
}

/// Scheme, host and port of a URL.
fn origin(url: &str) -> Option<String> {
    Some(reqwest::Url::parse(url).ok()?.origin().ascii_serialization())
}

/// A form with the requests as a file; `name` is in no text of theirs, because it is a digest.
fn form(name: &str, lines: &[u8]) -> Vec<u8> {
    let head = format!(
        "--{name}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{name}\r\n\
         content-disposition: form-data; name=\"file\"; filename=\"{name}.jsonl\"\r\n\
         content-type: {LINES}\r\n\r\n"
    );
    let tail = format!("\r\n--{name}--\r\n");
    [head.as_bytes(), lines, tail.as_bytes()].concat()
}

/// The requests as the body of the one that makes the batch.
fn inline(lines: &[u8], sentinel: Option<Value>) -> Vec<u8> {
    let mut body = Vec::with_capacity(lines.len() + 256);
    body.extend_from_slice(b"{\"requests\":[");
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let sentinel = sentinel.map(|sentinel| sentinel.to_string().into_bytes());
    for (at, line) in lines.chain(sentinel.as_deref()).enumerate() {
        if at > 0 {
            body.push(b',');
        }
        body.extend_from_slice(line);
    }
    body.extend_from_slice(b"]}");
    body
}
