//! `POST /v1beta/models/{model}:generateContent`, as Google defined it.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::api::{
    Answer, Auth, Complaint, Correction, Provider, ProviderInfo, ReplyEnding, ReplyShape, Request,
};
use super::body::{count, joined, put_extra_body, put_settings, text_at};
use super::chat::{self, ChatMessage, ChatRequest, NativeMessage, ToolResult};
use crate::judge::JudgeAction;
use evalrs_model::outcome::{FailureKind, Usage};

/// Google's Gemini API.
pub(super) struct Google;

static INFO: ProviderInfo = ProviderInfo {
    id: "google",
    name: "Google Gemini",
    description: "Google's POST /v1beta/models/{model}:generateContent: the Gemini API, Vertex AI with a key, gateways.",
    // Without the version, as Google's own clients take it.
    base_url: "https://generativelanguage.googleapis.com",
    base_url_variable: "GOOGLE_GEMINI_BASE_URL",
    key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    headers_variable: "GOOGLE_CUSTOM_HEADERS",
    auth: Auth::Header("x-goog-api-key"),
    needs_key: true,
    version: "/v1beta",
    headers: &[],
    max_tokens: None,
    unsupported: &[],
    model_namespace: "models/",
    model_prefixes: &["gemini-", "models/gemini-"],
    rate_limit_headers: &[],
    overflow_phrases: &["input token count"],
    shape_phrases: &[
        "response_schema",
        "responseschema",
        "responsejsonschema",
        "mimetype",
        "mime_type",
        "mime type",
    ],
    error_statuses: &[],
};

/// The reasons to end that are a filter's.
const FILTERS: [&str; 6] =
    ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"];

impl Provider for Google {
    fn info(&self) -> &'static ProviderInfo {
        &INFO
    }

    fn shapes(&self) -> &'static [ReplyShape] {
        &[ReplyShape::Schema, ReplyShape::Object, ReplyShape::Words]
    }

    fn request(
        &self,
        action: &JudgeAction,
        shape: ReplyShape,
        corrections: &[Correction],
    ) -> Request {
        let said = |role: &str, text: &str| json!({"role": role, "parts": [{"text": text}]});
        let mut contents = vec![said("user", &action.user)];
        for correction in corrections {
            contents.push(said("model", &correction.reply));
            contents.push(said("user", &correction.message(action.question)));
        }
        let is_json = shape != ReplyShape::Words;
        let mut config = Map::new();
        put_settings(
            &mut config,
            &[
                ("temperature", action.temperature.map(Value::from)),
                ("seed", action.seed.map(Value::from)),
                ("maxOutputTokens", action.max_tokens.map(Value::from)),
                ("topP", action.top_p.map(Value::from)),
                ("responseMimeType", is_json.then(|| Value::from("application/json"))),
                (
                    "responseJsonSchema",
                    (shape == ReplyShape::Schema).then(|| action.question.schema()),
                ),
            ],
        );
        let mut body = Map::new();
        body.insert("systemInstruction".to_owned(), json!({"parts": [{"text": action.system}]}));
        body.insert("contents".to_owned(), Value::Array(contents));
        if !config.is_empty() {
            body.insert("generationConfig".to_owned(), Value::Object(config));
        }
        put_extra_body(&mut body, action);
        Request { path: format!("/v1beta/{}:generateContent", resource(&action.model)), body }
    }

    fn chat_request(&self, chat: &ChatRequest<'_>) -> Request {
        let settings = chat.settings;
        let said = |role: &str, text: &str| json!({"role": role, "parts": [{"text": text}]});
        let contents = chat.messages.iter().filter_map(|message| match message {
            ChatMessage::User(text) => Some(said("user", text)),
            ChatMessage::Assistant(message) => match &message.native {
                Some(native) => Some(native.clone()),
                None => message.text.as_deref().map(|text| said("model", text)),
            },
            ChatMessage::Results(results) => {
                let parts: Value = results.iter().map(tool_result).collect();
                Some(json!({"role": "user", "parts": parts}))
            }
        });
        // A turn without parts is refused, and a model may have nothing to say.
        let contents = contents.filter(|content| {
            content.get("parts").and_then(Value::as_array).is_some_and(|parts| !parts.is_empty())
        });
        let mut config = Map::new();
        put_settings(
            &mut config,
            &[
                ("temperature", settings.temperature.map(Value::from)),
                ("seed", settings.seed.map(Value::from)),
                ("maxOutputTokens", settings.max_tokens.map(Value::from)),
                ("topP", settings.top_p.map(Value::from)),
            ],
        );
        let mut body = Map::new();
        if let Some(system) = chat.system {
            body.insert("systemInstruction".to_owned(), json!({"parts": [{"text": system}]}));
        }
        body.insert("contents".to_owned(), contents.collect());
        if !chat.tools.is_empty() {
            let tools = chat.tools.iter().map(|tool| chat::tool(tool, "parametersJsonSchema"));
            let tools: Value = tools.collect();
            body.insert("tools".to_owned(), json!([{"functionDeclarations": tools}]));
        }
        if !config.is_empty() {
            body.insert("generationConfig".to_owned(), Value::Object(config));
        }
        put_extra_body(&mut body, settings);
        Request { path: format!("/v1beta/{}:generateContent", resource(&settings.model)), body }
    }

    fn said(&self, body: &Value, messages: usize) -> NativeMessage {
        let Some(content) = body.pointer("/candidates/0/content").filter(|it| it.is_object())
        else {
            return NativeMessage::default();
        };
        let parts = content.get("parts").and_then(Value::as_array).into_iter().flatten();
        let calls = parts.filter_map(|part| part.get("functionCall")).enumerate();
        let calls = calls.map(|(at, call)| {
            chat::call(call.get("id"), messages, at, text_at(call, "/name"), call.get("args"))
        });
        let calls = calls.collect();
        let mut native = content.clone();
        native["role"] = json!("model");
        NativeMessage { calls, native: Some(native) }
    }

    fn answer(&self, body: &Value) -> Result<Answer, String> {
        let blocked = text_at(body, "/promptFeedback/blockReason");
        let candidate = match body.pointer("/candidates/0") {
            Some(candidate) => candidate,
            None if blocked.is_empty() => return Err("no candidates".to_owned()),
            None => &Value::Null,
        };
        let reason = text_at(candidate, "/finishReason");
        let ending = match reason {
            _ if !blocked.is_empty() => {
                ReplyEnding::Filtered(format!("the prompt is blocked, {blocked}"))
            }
            "MAX_TOKENS" => ReplyEnding::Truncated,
            _ if FILTERS.contains(&reason) => ReplyEnding::Filtered(reason.to_owned()),
            "" | "STOP" => ReplyEnding::Complete,
            // Reasons such as OTHER say nothing of the prompt.
            _ => ReplyEnding::Broken(reason.to_owned()),
        };
        let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
        let is_thought = |part: &Value| part.get("thought") == Some(&Value::Bool(true));
        let parts = parts.into_iter().flatten().filter(|part| !is_thought(part));
        let text = joined(parts.filter_map(|part| part.get("text")?.as_str()));
        let has_text = text.as_deref().is_some_and(|text| !text.trim().is_empty());
        let ending = match ending {
            ReplyEnding::Broken(_) if has_text => ReplyEnding::Complete,
            ending => ending,
        };
        Ok(Answer {
            text,
            ending,
            model: body.get("modelVersion").and_then(Value::as_str).map(str::to_owned),
            usage: Usage {
                input: count(body, "/usageMetadata/promptTokenCount"),
                output: count(body, "/usageMetadata/candidatesTokenCount")
                    + count(body, "/usageMetadata/thoughtsTokenCount"),
                cache_read: count(body, "/usageMetadata/cachedContentTokenCount"),
                ..Usage::default()
            },
        })
    }

    fn complaint(&self, _status: u16, error: &Value) -> Complaint {
        let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
        let mut complaint = Complaint::default();
        // A place that is not served, or billing that is not set up: mended outside of the suite.
        if text_at(error, "/status") == "FAILED_PRECONDITION" {
            complaint.kind = Some(FailureKind::Unauthorized);
        }
        for detail in details {
            // A wrong key is a bad request here.
            if text_at(detail, "/reason") == "API_KEY_INVALID" {
                complaint.kind = Some(FailureKind::Unauthorized);
            }
            // No header says how long to wait.
            let seconds = text_at(detail, "/retryDelay").strip_suffix('s');
            let delay = seconds.and_then(|seconds| seconds.parse().ok());
            complaint.delay = complaint
                .delay
                .or_else(|| delay.and_then(|delay| Duration::try_from_secs_f64(delay).ok()));
        }
        complaint
    }
}

fn tool_result(result: &ToolResult) -> Value {
    let member = if result.has_failed { "error" } else { "output" };
    let mut response = json!({"name": result.call.name, "response": {member: result.text}});
    if result.call.has_own_id {
        response["id"] = json!(result.call.id);
    }
    json!({"functionResponse": response})
}

/// The path of a model, whose name may say already that it is one.
fn resource(model: &str) -> String {
    let (collection, name) = ["models", "tunedModels"]
        .into_iter()
        .find_map(|collection| {
            Some((collection, model.strip_prefix(collection)?.strip_prefix('/')?))
        })
        .unwrap_or(("models", model));
    let mut path = format!("{collection}/");
    for byte in name.bytes() {
        // The unreserved characters of RFC 3986, section 2.3.
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path
}
