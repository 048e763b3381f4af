//! `POST /v1/messages`, as Anthropic defined it.

use serde_json::{Map, Value, json};

use super::api::{
    Answer, Auth, ChatMark, Complaint, PromptMark, Provider, ProviderInfo, ReplyEnding, Request,
};
use super::body::{
    count, ephemeral, joined, mark_text, members, set_ephemeral, text_at, with_extra_body,
};
use super::chat::{self, ChatMessage, ChatRequest, NativeMessage, ToolResult};
use crate::judge::JudgeAction;
use crate::judge::question::{Question, ReplyShape};
use evalrs_model::outcome::{FailureKind, ServiceTier, Usage};

pub(super) struct Anthropic;

/// The API wants a limit in every request: enough for any rationale.
const MAX_TOKENS: u32 = 4096;

static INFO: ProviderInfo = ProviderInfo {
    id: "anthropic",
    name: "Anthropic",
    description: "Anthropic's POST /v1/messages, also as gateways serve it.",
    base_url: "https://api.anthropic.com",
    base_url_variable: "ANTHROPIC_BASE_URL",
    key_variables: &["ANTHROPIC_API_KEY"],
    headers_variable: "ANTHROPIC_CUSTOM_HEADERS",
    auth: Auth::Header("x-api-key"),
    needs_key: true,
    version: "/v1",
    headers: &[("anthropic-version", "2023-06-01")],
    max_tokens: Some(MAX_TOKENS),
    unsupported: &[
        ("seed", "the Messages API has no seed; `votes` shows how much verdicts vary"),
        ("service_tier", "only OpenAI has it"),
    ],
    model_namespace: "",
    model_prefixes: &["claude-"],
    rate_limit_headers: &[
        ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
        ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
        ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
        ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ],
    // The second is that of Bedrock.
    overflow_phrases: &["prompt is too long", "input is too long"],
    shape_phrases: &["output_config", "output_format", "output format"],
    error_statuses: &[("overloaded", 529)],
};

impl Provider for Anthropic {
    fn info(&self) -> &'static ProviderInfo {
        &INFO
    }

    fn shapes(&self) -> &'static [ReplyShape] {
        &[ReplyShape::Schema, ReplyShape::Words]
    }

    fn chat_request(&self, chat: &ChatRequest<'_>) -> Request {
        let settings = chat.settings;
        let messages = chat.messages.iter().map(|message| match message {
            ChatMessage::User(text) => ("user", json!(text)),
            ChatMessage::Assistant(message) => {
                let native = message.native.clone();
                ("assistant", native.unwrap_or_else(|| json!(message.text)))
            }
            ChatMessage::Results(results) => ("user", results.iter().map(tool_result).collect()),
        });
        // Messages without content are refused, and a model may have nothing to say.
        let messages = messages.filter(|(_, content)| !content.is_null() && *content != json!([]));
        let messages = messages.map(|(role, content)| json!({"role": role, "content": content}));
        let body = members([
            ("model", Some(json!(settings.model))),
            ("max_tokens", Some(json!(settings.max_tokens.unwrap_or(MAX_TOKENS)))),
            ("system", chat.system.map(Value::from)),
            ("messages", Some(messages.collect())),
            ("tools", chat.tools_as(|tool| chat::tool(tool, "input_schema"))),
            ("temperature", settings.temperature.map(Value::from)),
            ("top_p", settings.top_p.map(Value::from)),
            ("output_config", output_config(chat.shape, &settings.question)),
        ]);
        Request { path: "/v1/messages".to_owned(), body: with_extra_body(body, settings) }
    }

    fn mark(&self, request: &mut Request, action: &JudgeAction, mark: PromptMark) {
        if mark != PromptMark::Nothing {
            set_ephemeral(&mut request.body, action, mark == PromptMark::Hour);
        }
    }

    fn mark_chat(&self, request: &mut Request, mark: ChatMark) {
        let said = ephemeral(mark.is_for_hour);
        if mark.opening
            && let Some(system) = request.body.get_mut("system")
        {
            mark_text(system, "cache_control", &said);
        }
        // The API moves this mark to the end of each request.
        if mark.whole {
            request.body.entry("cache_control").or_insert(said);
        }
    }

    fn said(&self, body: &Value, messages: usize) -> NativeMessage {
        let content = body.get("content");
        let blocks = content.and_then(Value::as_array).into_iter().flatten();
        let uses = blocks.filter(|block| text_at(block, "/type") == "tool_use").enumerate();
        let calls = uses.map(|(at, block)| {
            chat::call(block.get("id"), messages, at, text_at(block, "/name"), block.get("input"))
        });
        NativeMessage { calls: calls.collect(), native: content.cloned() }
    }

    fn answer(&self, body: &Value) -> Result<Answer, String> {
        let blocks = body.get("content").and_then(Value::as_array).ok_or("no content")?;
        // Thinking is a block of another type.
        let texts = blocks.iter().filter(|block| text_at(block, "/type") == "text");
        let ending = match text_at(body, "/stop_reason") {
            "refusal" => {
                ReplyEnding::Refused(text_at(body, "/stop_details/explanation").to_owned())
            }
            "max_tokens" | "model_context_window_exceeded" => ReplyEnding::Truncated,
            _ => ReplyEnding::Complete,
        };
        let tokens = |name: &str| count(body, &format!("/usage/{name}"));
        let cache_read = tokens("cache_read_input_tokens");
        let cache_write = tokens("cache_creation_input_tokens");
        Ok(Answer {
            text: joined(texts.map(|block| text_at(block, "/text"))),
            ending,
            model: body.get("model").and_then(Value::as_str).map(str::to_owned),
            usage: Usage {
                // What is read from the cache or written to it is not counted among the input.
                input: tokens("input_tokens") + cache_write + cache_read,
                output: tokens("output_tokens"),
                cache_read,
                cache_write,
                tier: ServiceTier::named(text_at(body, "/usage/service_tier")),
                ..Usage::default()
            },
        })
    }

    fn complaint(&self, _status: u16, error: &Value) -> Complaint {
        // Both come as `invalid_request_error`: only the words tell them from a bad request.
        let words = text_at(error, "/message").to_ascii_lowercase();
        if words.contains("credit balance is too low") {
            FailureKind::NoCredit.into()
        } else if words.contains("content filtering policy") {
            FailureKind::Filtered.into()
        } else {
            Complaint::default()
        }
    }

    fn fixed_temperature(&self, model: &str) -> Option<f64> {
        is_claude_after_4_6(model).then_some(1.0)
    }
}

fn tool_result(result: &ToolResult) -> Value {
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": result.call.id,
        "content": result.text,
    });
    if result.has_failed {
        block["is_error"] = json!(true);
    }
    block
}

/// Whether a model is a Claude of a version that takes no temperature but 1.0: `claude-opus-4-7`, `claude-sonnet-5`.
/// Older names have the version before the family (`claude-3-5-haiku-20241022`); dates are no versions.
fn is_claude_after_4_6(model: &str) -> bool {
    let Some((_, name)) = model.rsplit_once("claude-") else { return false };
    let mut numbers = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .skip_while(|part| part.parse::<u8>().is_err())
        .map_while(|part| part.parse::<u8>().ok());
    let major = numbers.next().unwrap_or(0);
    let minor = numbers.next().unwrap_or(0);
    (major, minor) > (4, 6)
}

fn output_config(shape: Option<ReplyShape>, question: &Question) -> Option<Value> {
    let schema = without_bounds(question.schema());
    (shape == Some(ReplyShape::Schema))
        .then(|| json!({"format": {"type": "json_schema", "schema": schema}}))
}

/// The schema without the bounds of numbers, which the API refuses. The prompt says them, and who reads the reply
/// believes nothing else.
fn without_bounds(mut schema: Value) -> Value {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(Map::values_mut) {
        if let Some(property) = property.as_object_mut() {
            property.retain(|name, _| !matches!(name.as_str(), "minimum" | "maximum"));
        }
    }
    schema
}
