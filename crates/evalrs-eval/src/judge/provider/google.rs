//! `POST /v1beta/models/{model}:generateContent`, as Google defined it.

use std::time::Duration;

use serde_json::{Value, json};

use super::api::{Answer, Auth, Complaint, Provider, ProviderInfo, ReplyEnding, Request};
use super::body::{count, joined, members, text_at, with_extra_body};
use super::chat::{self, ChatMessage, ChatRequest, NativeMessage, ToolResult};
use crate::judge::question::ReplyShape;
use crate::judge::request_url::percent_encoded;
use evalrs_model::outcome::{FailureKind, Usage};

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
    unsupported: &[("service_tier", "only OpenAI has it")],
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
        let tools = chat.tools_as(|tool| chat::tool(tool, "parametersJsonSchema"));
        let is_json = chat.shape.is_some_and(|shape| shape != ReplyShape::Words);
        let has_schema = chat.shape == Some(ReplyShape::Schema);
        let config = members([
            ("temperature", settings.temperature.map(Value::from)),
            ("seed", settings.seed.map(Value::from)),
            ("maxOutputTokens", settings.max_tokens.map(Value::from)),
            ("topP", settings.top_p.map(Value::from)),
            ("responseMimeType", is_json.then(|| Value::from("application/json"))),
            ("responseJsonSchema", has_schema.then(|| settings.question.schema())),
        ]);
        let body = members([
            ("systemInstruction", chat.system.map(|text| json!({"parts": [{"text": text}]}))),
            ("contents", Some(contents.collect())),
            ("tools", tools.map(|tools| json!([{"functionDeclarations": tools}]))),
            ("generationConfig", (!config.is_empty()).then(|| Value::Object(config))),
        ]);
        let path = format!("/v1beta/{}:generateContent", resource(&settings.model));
        Request { path, body: with_extra_body(body, settings) }
    }

    fn said(&self, body: &Value, messages: usize) -> NativeMessage {
        let content = body.pointer("/candidates/0/content").filter(|it| it.is_object());
        let parts = content.and_then(|content| content.get("parts")?.as_array());
        let calls = parts.into_iter().flatten().filter_map(|part| part.get("functionCall"));
        let calls = calls.enumerate().map(|(at, call)| {
            chat::call(call.get("id"), messages, at, text_at(call, "/name"), call.get("args"))
        });
        let mut native = content.cloned();
        if let Some(native) = &mut native {
            native["role"] = json!("model");
        }
        NativeMessage { calls: calls.collect(), native }
    }

    fn answer(&self, body: &Value) -> Result<Answer, String> {
        let blocked = text_at(body, "/promptFeedback/blockReason");
        let candidate = match body.pointer("/candidates/0") {
            Some(candidate) => candidate,
            None if blocked.is_empty() => return Err("no candidates".to_owned()),
            None => &Value::Null,
        };
        let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
        let parts = parts.into_iter().flatten();
        let parts = parts.filter(|part| part.get("thought") != Some(&Value::Bool(true)));
        let text = joined(parts.filter_map(|part| part.get("text")?.as_str()));
        let has_text = text.as_deref().is_some_and(|text| !text.trim().is_empty());
        let reason = text_at(candidate, "/finishReason");
        let ending = match reason {
            _ if !blocked.is_empty() => {
                ReplyEnding::Filtered(format!("the prompt is blocked, {blocked}"))
            }
            "MAX_TOKENS" => ReplyEnding::Truncated,
            _ if FILTERS.contains(&reason) => ReplyEnding::Filtered(reason.to_owned()),
            "" | "STOP" => ReplyEnding::Complete,
            // Reasons such as OTHER say nothing of the prompt.
            _ if has_text => ReplyEnding::Complete,
            _ => ReplyEnding::Broken(reason.to_owned()),
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
            let delay = text_at(detail, "/retryDelay").strip_suffix('s');
            let delay = delay.and_then(|seconds| seconds.parse().ok());
            let delay = delay.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            complaint.delay = complaint.delay.or(delay);
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
    match model.split_once('/') {
        Some((collection @ ("models" | "tunedModels"), name)) => {
            format!("{collection}/{}", percent_encoded(name))
        }
        _ => format!("models/{}", percent_encoded(model)),
    }
}
