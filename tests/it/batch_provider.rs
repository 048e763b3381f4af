//! A provider that answers single requests and batches alike, as OpenAI, Anthropic or Google do, with the faults that a test
//! asks for.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use evalrs_system::System as _;
use evalrs_system::os::OsSystem;

use crate::judge::{Answer, Asked, Judge};

/// A step at which the provider falls silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Before it takes the file of requests.
    Upload,
    /// After it has taken it.
    Uploaded,
    /// Before it makes the batch.
    Create,
    /// After it has made it.
    Created,
    /// When it is looked at.
    Look,
    /// Before the results.
    Results,
}

/// What goes wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// How often a batch is looked at before it has ended.
    pub looks: usize,
    /// Where it never replies.
    pub silent: Option<Step>,
    /// Whether results come backwards, each twice, with lines between that are none.
    pub is_messy: bool,
    /// Every so many requests are not answered in time.
    pub expired: Option<usize>,
    /// Every so many replies of batches are no verdicts.
    pub invalid: Option<usize>,
    /// Every so many replies of batches end at their token limit.
    pub cut: Option<usize>,
    /// The status that every so many requests of a batch end with.
    pub failed: Option<(usize, u16)>,
    /// Files without a line have an empty name instead of none.
    pub empty_names: bool,
    /// Batches are refused with this status.
    pub refused: Option<u16>,
    /// Whether a page of the web comes instead of results.
    pub is_page: bool,
    /// The results break off after so many lines.
    pub broken: Option<usize>,
    /// Schemas and this setting are refused.
    pub refuses: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct MadeBatch {
    id: String,
    digest: String,
    file: String,
    /// Id and body of each request.
    requests: Vec<(String, Value)>,
    looks: usize,
    cancelled: bool,
}

#[derive(Default)]
pub(crate) struct State {
    pub faults: Faults,
    files: BTreeMap<String, String>,
    batches: Vec<MadeBatch>,
    /// How often each request was answered, and so paid, live and in batches, by its body.
    pub live: BTreeMap<String, usize>,
    pub batched: BTreeMap<String, usize>,
    /// The name of the model that answers.
    pub model: Option<&'static str>,
    /// The ids of the requests in batches.
    pub ids: Vec<String>,
}

/// The provider.
pub(crate) struct BatchProvider {
    pub judge: Judge,
    state: Arc<Mutex<State>>,
}

impl BatchProvider {
    pub(crate) fn new(name: &'static str) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let judge = Judge::new(move |_, asked| answer(name, &mut shared.lock().unwrap(), asked));
        Self { judge, state }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn set(&self, faults: Faults) {
        self.state().faults = faults;
    }

    /// How many batches it has made.
    pub(crate) fn made(&self) -> usize {
        self.state().batches.len()
    }

    /// How many requests were answered: alone, in batches, and more than once.
    pub(crate) fn paid(&self) -> [usize; 3] {
        let state = self.state();
        let mut all = state.live.clone();
        for (body, times) in &state.batched {
            *all.entry(body.clone()).or_default() += times;
        }
        let sum = |paid: &BTreeMap<String, usize>| paid.values().sum();
        [sum(&state.live), sum(&state.batched), all.values().filter(|times| **times > 1).count()]
    }

    /// Tells a command where it is.
    pub(crate) fn reach<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env("OPENAI_BASE_URL", self.judge.url())
            .env("ANTHROPIC_BASE_URL", self.judge.root())
            .env("GOOGLE_GEMINI_BASE_URL", self.judge.root())
    }
}

fn ok(body: &Value) -> Answer {
    Answer::Http(200, Vec::new(), body.to_string())
}

fn answer(name: &str, state: &mut State, asked: &Asked) -> Answer {
    let path = asked.path.split('?').next().unwrap_or_default();
    let is_get = asked.method == "GET";
    match path {
        "/v1/files" | "/upload/v1beta/files" | "/uploads/1" => upload(state, asked, path),
        "/v1/batches" | "/v1/messages/batches" | "/v1beta/batches" if is_get => {
            state.batches.iter_mut().for_each(|batch| batch.looks += 1);
            let all: Vec<Value> =
                state.batches.iter().rev().map(|batch| described(name, batch, state)).collect();
            let members = if name == "google" { "operations" } else { "data" };
            ok(&json!({members: all}))
        }
        "/v1/batches" | "/v1/messages/batches" => create(name, state, asked),
        _ if path.ends_with(":batchGenerateContent") => create(name, state, asked),
        _ if path.ends_with("/cancel") || path.ends_with(":cancel") => {
            let id = path.trim_end_matches("/cancel").trim_end_matches(":cancel");
            let id = id.rsplit('/').next().unwrap_or_default().to_owned();
            for batch in state.batches.iter_mut().filter(|batch| batch.id.ends_with(&id)) {
                batch.cancelled = true;
            }
            ok(&json!({}))
        }
        _ if is_get
            && (path.contains("/content")
                || path.contains("results")
                || path.contains(":download")) =>
        {
            results(name, state, path)
        }
        _ if is_get => look(name, state, path),
        _ => single(name, state, asked),
    }
}

/// Takes a file, in one step or two.
fn upload(state: &mut State, asked: &Asked, path: &str) -> Answer {
    if state.faults.silent == Some(Step::Upload) {
        return Answer::Silence;
    }
    if path == "/upload/v1beta/files" {
        let host = asked.header("host").unwrap_or_default();
        return Answer::Http(
            200,
            vec![("x-goog-upload-url", format!("http://{host}/uploads/1"))],
            "{}".to_owned(),
        );
    }
    let lines = asked.raw.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<&str> = lines.collect();
    let id = format!("file-{}", state.files.len());
    state.files.insert(id.clone(), lines.join("\n"));
    if state.faults.silent == Some(Step::Uploaded) {
        return Answer::Silence;
    }
    ok(&json!({"id": id, "file": {"name": id}}))
}

fn create(name: &str, state: &mut State, asked: &Asked) -> Answer {
    if state.faults.silent == Some(Step::Create) {
        return Answer::Silence;
    }
    if let Some(status) = state.faults.refused {
        return Answer::error(status, "no batches today");
    }
    let body = &asked.body;
    let (digest, file) = match name {
        "openai" => (body["metadata"]["evalrs"].as_str(), body["input_file_id"].as_str()),
        "google" => (
            body["batch"]["displayName"].as_str().and_then(|name| name.strip_prefix("evalrs-")),
            body["batch"]["inputConfig"]["fileName"].as_str(),
        ),
        _ => (None, None),
    };
    let file = file.unwrap_or_default().to_owned();
    let requests: Vec<Value> = match name {
        "anthropic" => body["requests"].as_array().unwrap().clone(),
        _ => state.files[&file].lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
    };
    let parts = requests.into_iter().map(|line| {
        let id = line["custom_id"].as_str().or_else(|| line["key"].as_str()).unwrap().to_owned();
        let body = ["body", "params", "request"].into_iter().find_map(|name| line.get(name));
        (id, body.unwrap().clone())
    });
    let requests: Vec<(String, Value)> = parts.collect();
    state.ids.extend(requests.iter().map(|(id, _)| id.clone()));
    for (_, body) in requests.iter().filter(|(_, body)| body["max_tokens"] != 1) {
        *state.batched.entry(body.to_string()).or_default() += 1;
    }
    let ordinal = state.batches.len();
    let id = if name == "google" { format!("batches/b{ordinal}") } else { format!("b{ordinal}") };
    let digest = digest.unwrap_or_default().to_owned();
    let batch = MadeBatch { id, digest, file, requests, looks: 0, cancelled: false };
    let said = described(name, &batch, state);
    state.batches.push(batch);
    if state.faults.silent == Some(Step::Created) {
        return Answer::Silence;
    }
    ok(&said)
}

impl MadeBatch {
    fn has_ended(&self, state: &State) -> bool {
        self.cancelled || self.looks > state.faults.looks
    }

    /// Whether request `at` is answered before the batch ends.
    fn is_answered(&self, at: usize, state: &State) -> bool {
        !self.cancelled && !every(state.faults.expired, at)
    }
}

fn every(count: Option<usize>, at: usize) -> bool {
    count.is_some_and(|count| at % count == count - 1)
}

/// A batch as its provider describes it.
fn described(name: &str, batch: &MadeBatch, state: &State) -> Value {
    let MadeBatch { id, digest, file, requests, .. } = batch;
    let has_ended = batch.has_ended(state);
    let is_whole = !batch.cancelled && state.faults.expired.is_none();
    match name {
        "openai" => {
            let none = if state.faults.empty_names { json!("") } else { Value::Null };
            let status = match (has_ended, is_whole) {
                (false, _) => "in_progress",
                (true, true) => "completed",
                (true, false) => "expired",
            };
            let output = if has_ended { json!(format!("o-{id}")) } else { none.clone() };
            let errors = if has_ended && !is_whole { json!(format!("e-{id}")) } else { none };
            json!({
                "id": id, "status": status, "metadata": {"evalrs": digest}, "input_file_id": file,
                "output_file_id": output, "error_file_id": errors, "created_at": now(),
                "request_counts": {"total": requests.len()},
            })
        }
        "google" => {
            // What has expired has no results at all there.
            let state = match (has_ended, is_whole) {
                (false, _) => "BATCH_STATE_RUNNING",
                (true, true) => "BATCH_STATE_SUCCEEDED",
                (true, false) => "BATCH_STATE_EXPIRED",
            };
            let output = if has_ended {
                json!({"responsesFile": format!("files/{}", id.trim_start_matches("batches/"))})
            } else {
                json!({})
            };
            let name = format!("evalrs-{digest}");
            json!({"name": id, "metadata": {"state": state, "displayName": name}, "response": output})
        }
        _ => {
            let status = if has_ended { "ended" } else { "in_progress" };
            let processing = if has_ended { 0 } else { requests.len() };
            json!({
                "id": id, "processing_status": status, "archived_at": null,
                "request_counts": {"processing": processing, "succeeded": requests.len() - processing},
            })
        }
    }
}

fn now() -> i64 {
    OsSystem.now().as_second()
}

fn look(name: &str, state: &mut State, path: &str) -> Answer {
    if state.faults.silent == Some(Step::Look) {
        return Answer::Silence;
    }
    let last = path.rsplit('/').next().unwrap_or_default();
    let Some(at) = state.batches.iter().position(|batch| batch.id.ends_with(last)) else {
        return Answer::error(404, "there is no such batch");
    };
    state.batches[at].looks += 1;
    ok(&described(name, &state.batches[at], state))
}

/// The lines of a file of results.
fn results(name: &str, state: &mut State, path: &str) -> Answer {
    if state.faults.silent == Some(Step::Results) {
        return Answer::Silence;
    }
    if state.faults.is_page {
        return Answer::Http(200, Vec::new(), "<html>sign in</html>".to_owned());
    }
    let of_errors = path.contains("/e-");
    let is_it = |batch: &&MadeBatch| {
        let id = batch.id.trim_start_matches("batches/");
        path.split(['/', '-', ':']).any(|part| part == id)
    };
    let batch = state.batches.iter().find(is_it).unwrap();
    let mut lines = Vec::new();
    for (at, (id, body)) in batch.requests.iter().enumerate() {
        let is_answered = batch.is_answered(at, state);
        if name == "openai" && of_errors == is_answered {
            continue;
        }
        lines.push(result(name, state, at, (id, body), is_answered).to_string());
    }
    if state.faults.is_messy {
        let doubled: Vec<String> =
            lines.iter().rev().flat_map(|line| [line.clone(), line.clone()]).collect();
        lines = doubled;
        lines.insert(1, "no result".to_owned());
        lines.push(String::new());
    }
    if let Some(most) = state.faults.broken {
        lines.truncate(most);
        return Answer::Torn(lines.join("\n"));
    }
    Answer::Http(200, Vec::new(), lines.join("\n"))
}

fn result(
    name: &str,
    state: &State,
    at: usize,
    request: (&String, &Value),
    is_answered: bool,
) -> Value {
    let (id, body) = request;
    let failed = state.faults.failed.filter(|(count, _)| every(Some(*count), at));
    let refused = refusal(state, body);
    let status = match (failed, refused.is_some()) {
        (Some((_, status)), _) => status,
        (None, true) => 400,
        (None, false) => 200,
    };
    let error =
        json!({"message": refused.unwrap_or_else(|| "no".to_owned()), "type": "overloaded_error"});
    let said =
        if every(state.faults.invalid, at) { "no verdict".to_owned() } else { verdict(body) };
    let mut reply = reply(name, state.model.unwrap_or("m-1"), &said);
    if every(state.faults.cut, at) {
        cut(&mut reply);
    }
    match name {
        "openai" if !is_answered => json!({"custom_id": id, "error": {"message": "too late"}}),
        "openai" => {
            let body = if status == 200 { reply } else { json!({"error": error}) };
            json!({"custom_id": id, "response": {"status_code": status, "body": body}})
        }
        "google" if status == 200 => json!({"key": id, "response": reply}),
        "google" => json!({"key": id, "error": {"code": status, "message": error["message"]}}),
        _ if !is_answered => json!({"custom_id": id, "result": {"type": "expired"}}),
        _ if status == 200 => {
            json!({"custom_id": id, "result": {"type": "succeeded", "message": reply}})
        }
        _ => {
            let kind = if status == 400 { "invalid_request_error" } else { "overloaded_error" };
            let error =
                json!({"type": "error", "error": {"type": kind, "message": error["message"]}});
            json!({"custom_id": id, "result": {"type": "errored", "error": error}})
        }
    }
}

/// A verdict that is a function of the prompt alone.
fn verdict(body: &Value) -> String {
    let asked = Asked::of_body(body.clone());
    if asked.sent().contains("\"verdict\"") {
        return json!({"reason": "so", "verdict": "yes"}).to_string();
    }
    let score = (asked.prompt().len() % 101) as f64 / 100.0;
    json!({"rationale": format!("{score} for {}", asked.prompt().len()), "score": score})
        .to_string()
}

/// Why a request is refused, if it is.
fn refusal(state: &State, body: &Value) -> Option<String> {
    let setting = state.faults.refuses?;
    body.get(setting)
        .is_some()
        .then(|| format!("Unsupported parameter: '{setting}' is not supported with this model."))
}

fn reply(name: &str, model: &str, text: &str) -> Value {
    match name {
        "anthropic" => json!({
            "type": "message", "model": model, "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": 10, "output_tokens": 2},
        }),
        "google" => json!({
            "modelVersion": model,
            "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2},
        }),
        _ => json!({
            "model": model,
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2},
        }),
    }
}

/// Has a reply end at its token limit.
fn cut(reply: &mut Value) {
    for (ending, word) in [
        ("/stop_reason", "max_tokens"),
        ("/candidates/0/finishReason", "MAX_TOKENS"),
        ("/choices/0/finish_reason", "length"),
    ] {
        if let Some(ending) = reply.pointer_mut(ending) {
            *ending = json!(word);
        }
    }
}

/// A request that is not part of a batch.
fn single(name: &str, state: &mut State, asked: &Asked) -> Answer {
    if let Some(why) = refusal(state, &asked.body) {
        return Answer::error(400, &why);
    }
    *state.live.entry(asked.body.to_string()).or_default() += 1;
    ok(&reply(name, state.model.unwrap_or("m-1"), &verdict(&asked.body)))
}
