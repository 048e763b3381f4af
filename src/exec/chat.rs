//! Asks a judge over HTTP: any OpenAI-compatible `chat/completions` endpoint.
//!
//! One shared client. A request is retried after transport failures; a reply that is no verdict is asked again
//! at most twice with its fault named, because clamping or guessing would hide a broken judge.
#![expect(clippy::disallowed_methods, reason = "Retry-After dates are compared with the clock")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Executing, Executor, Launch, Secret, retry};
use crate::judge::reply;
use crate::outcome::{Failure, FailureKind, Outcome, Reply, Tokens};

/// How often a reply that is no verdict is asked again.
const RE_ASKS: u32 = 2;
/// The longest reply that is read, in bytes.
const REPLY_LIMIT: usize = 8 << 20;

/// Executes judges' actions over HTTP.
#[derive(Debug)]
pub struct ChatExecutor {
    client: reqwest::Client,
}

impl ChatExecutor {
    /// An executor whose connections are shared by at most `concurrency` requests.
    pub fn new(concurrency: usize) -> Result<Self, String> {
        // Another part of the process may have installed it already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .http1_only()
            // A prompt goes where the suite says, and nowhere a server points to.
            .redirect(reqwest::redirect::Policy::none())
            .pool_max_idle_per_host(concurrency)
            .user_agent(concat!("evalrs/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| format!("cannot set up HTTP: {error}"))?;
        Ok(Self { client })
    }
}

impl Executor for ChatExecutor {
    fn execute(&self, launch: Launch) -> Executing<'_> {
        Box::pin(async move { ask(&self.client, &launch).await })
    }
}

/// Asks until there is a verdict, or what came is no verdict for the third time.
async fn ask(client: &reqwest::Client, launch: &Launch) -> Outcome {
    let mut body = launch.action.request();
    let mut tokens = Tokens::default();
    let mut asked = 0;
    loop {
        let answer = match send_with_retries(client, launch, &body).await {
            Ok(answer) => answer,
            Err(failure) => return Outcome::Failure(Failure { usage: used(tokens), ..failure }),
        };
        tokens.input += answer.tokens.input;
        tokens.output += answer.tokens.output;
        let fault = match answer.text() {
            Err(failure) => return Outcome::Failure(Failure { usage: used(tokens), ..failure }),
            Ok(text) => match reply::read(text, launch.action.scale) {
                Ok(_) => {
                    let reply = Reply {
                        text: text.to_owned(),
                        model: answer.model.clone(),
                        usage: used(tokens),
                    };
                    return Outcome::Reply(reply);
                }
                Err(fault) => fault,
            },
        };
        if asked == RE_ASKS {
            let message = format!("invalid reply, asked {} times: {fault}", asked + 1);
            return Outcome::Failure(Failure {
                kind: FailureKind::InvalidReply,
                message,
                reply: answer.content,
                usage: used(tokens),
            });
        }
        asked += 1;
        tell_fault(&mut body, answer.content.as_deref().unwrap_or_default(), &fault);
    }
}

fn used(tokens: Tokens) -> Option<Tokens> {
    (tokens != Tokens::default()).then_some(tokens)
}

fn tell_fault(body: &mut Map<String, Value>, reply: &str, fault: &str) {
    if let Some(Value::Array(messages)) = body.get_mut("messages") {
        messages.truncate(2);
        messages.push(json!({"role": "assistant", "content": reply}));
        let told =
            format!("That is no valid verdict: {fault}. Reply again with the JSON object alone.");
        messages.push(json!({"role": "user", "content": told}));
    }
}

async fn send_with_retries(
    client: &reqwest::Client,
    launch: &Launch,
    body: &Map<String, Value>,
) -> Result<Answer, Failure> {
    let mut attempt = 0;
    loop {
        let (failure, asked_delay) = match send(client, launch, body).await {
            Ok(answer) => return Ok(answer),
            Err(failed) => failed,
        };
        if attempt >= launch.max_retries || !retry::is_retried(failure.kind) {
            return Err(failure);
        }
        attempt += 1;
        tokio::time::sleep(retry::delay(attempt, asked_delay, fastrand::f64())).await;
    }
}

/// A failure and how long the server asks to wait.
type Failed = (Failure, Option<Duration>);

async fn send(
    client: &reqwest::Client,
    launch: &Launch,
    body: &Map<String, Value>,
) -> Result<Answer, Failed> {
    let url = format!("{}/chat/completions", launch.base_url);
    let timeout = Duration::try_from_secs_f64(launch.timeout).unwrap_or(Duration::from_mins(2));
    let mut request = client.post(url).json(body).timeout(timeout);
    if let Some(key) = &launch.api_key {
        request = request.bearer_auth(key.reveal());
    }
    let secret = launch.api_key.as_ref();
    let response =
        request.send().await.map_err(|error| (transport(&error, launch.timeout, secret), None))?;
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let delay = retry::asked_delay(header("retry-after-ms"), header("retry-after"), now);
    let bytes = read_body(response).await.map_err(|error| match error {
        Some(error) => (transport(&error, launch.timeout, secret), None),
        None => (plain(FailureKind::BadRequest, "the reply is larger than 8 MB".to_owned()), None),
    })?;
    match retry::classify(status) {
        None => Answer::read(&bytes, secret).map_err(|failure| (failure, None)),
        Some(kind) => {
            let said = said_in(&bytes, secret);
            Err((plain(kind, format!("the judge answered {status}: {said}")), delay))
        }
    }
}

/// The whole body, or nothing if it passes the limit.
async fn read_body(mut response: reqwest::Response) -> Result<Vec<u8>, Option<reqwest::Error>> {
    let mut bytes = Vec::new();
    while let Some(part) = response.chunk().await.map_err(Some)? {
        if bytes.len() + part.len() > REPLY_LIMIT {
            return Err(None);
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

fn plain(kind: FailureKind, message: String) -> Failure {
    Failure { kind, message, reply: None, usage: None }
}

fn transport(error: &reqwest::Error, timeout: f64, secret: Option<&Secret>) -> Failure {
    if error.is_timeout() {
        return plain(FailureKind::Timeout, format!("no answer within {timeout} s"));
    }
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    let message = without(secret, &message);
    let kind = if error.is_builder() { FailureKind::BadRequest } else { FailureKind::Connection };
    plain(kind, message)
}

/// The text without the secret. Always before the text is cut: a part of a secret is not found any more.
fn without(secret: Option<&Secret>, text: &str) -> String {
    secret.map_or_else(|| text.to_owned(), |secret| secret.remove_from(text))
}

/// The message inside an error body, or its beginning.
fn said_in(bytes: &[u8], secret: Option<&Secret>) -> String {
    let parsed: Option<Value> = serde_json::from_slice(bytes).ok();
    let message = parsed.as_ref().and_then(|body| {
        body.pointer("/error/message").or_else(|| body.get("message")).or_else(|| body.get("error"))
    });
    let text = match message {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::from_utf8_lossy(bytes).into_owned(),
    };
    let text: String = without(secret, &text).trim().chars().take(300).collect();
    if text.is_empty() { "(no message)".to_owned() } else { text }
}

/// A reply of `chat/completions`, as far as it is needed.
#[derive(Debug)]
struct Answer {
    content: Option<String>,
    refusal: Option<String>,
    finish: Option<String>,
    model: Option<String>,
    tokens: Tokens,
}

#[derive(Deserialize)]
struct Completion {
    #[serde(default)]
    choices: Vec<Choice>,
    model: Option<String>,
    #[serde(default)]
    usage: Value,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Value,
    refusal: Option<String>,
}

/// The text of a message, which some servers give in parts. What was paid for is not thrown away for its shape.
fn content_text(content: Value) -> Option<String> {
    match content {
        Value::Null => None,
        Value::String(text) => Some(text),
        Value::Array(parts) => {
            Some(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect())
        }
        other => Some(other.to_string()),
    }
}

impl Answer {
    fn read(bytes: &[u8], secret: Option<&Secret>) -> Result<Self, Failure> {
        let no_completion = |what: &str| {
            let text = without(secret, &String::from_utf8_lossy(bytes));
            let beginning: String = text.chars().take(120).collect();
            // A gateway's error page with status 200 is the server's failure, not the judge's word.
            plain(
                FailureKind::Server,
                format!("the endpoint's reply is no chat completion ({what}): {beginning}"),
            )
        };
        let completion: Completion =
            serde_json::from_slice(bytes).map_err(|error| no_completion(&error.to_string()))?;
        let choice =
            completion.choices.into_iter().next().ok_or_else(|| no_completion("no choices"))?;
        let used = |name: &str| completion.usage.get(name).and_then(Value::as_u64).unwrap_or(0);
        let tokens = Tokens { input: used("prompt_tokens"), output: used("completion_tokens") };
        Ok(Self {
            content: content_text(choice.message.content),
            refusal: choice.message.refusal,
            finish: choice.finish_reason,
            model: completion.model,
            tokens,
        })
    }

    /// The text that should hold a verdict, or why there is none.
    fn text(&self) -> Result<&str, Failure> {
        let failed = |kind, message: String| Failure {
            kind,
            message,
            reply: self.content.clone(),
            usage: None,
        };
        if let Some(refusal) = self.refusal.as_deref().filter(|refusal| !refusal.is_empty()) {
            return Err(failed(FailureKind::Refused, format!("the judge refused: {refusal}")));
        }
        let text = self.content.as_deref().unwrap_or_default();
        match self.finish.as_deref() {
            Some("content_filter") => {
                Err(failed(FailureKind::Filtered, "a content filter stopped the reply".to_owned()))
            }
            Some("length") => Err(failed(
                FailureKind::Truncated,
                "the reply ended at its token limit; raise `max_tokens`".to_owned(),
            )),
            _ if text.trim().is_empty() => {
                Err(failed(FailureKind::EmptyReply, "the judge replied nothing".to_owned()))
            }
            _ => Ok(text),
        }
    }
}
