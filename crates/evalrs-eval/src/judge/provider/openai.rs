//! `POST /chat/completions`, as OpenAI defined it and many others serve it.

use serde_json::{Map, Value, json};

use super::api::{
    Answer, Auth, ChatMark, Complaint, PromptMark, Provider, ProviderInfo, ReplyEnding, Request,
};
use super::body::{
    count, ephemeral, joined, mark_text, marked_parts, members, set_ephemeral, set_first_content,
    text_at, with_extra_body,
};
use super::chat::{self, ChatMessage, ChatRequest, NativeMessage};
use crate::judge::JudgeAction;
use crate::judge::question::{Question, ReplyShape};
use evalrs_base::price::Cost;
use evalrs_base::price::caching::CacheMark;
use evalrs_base::price::caching_of;
use evalrs_model::outcome::{FailureKind, ServiceTier, Usage};

pub(super) struct OpenAi;

/// How many digits the key has by which requests that begin alike find the same cache.
const KEY_DIGITS: usize = 32;

static INFO: ProviderInfo = ProviderInfo {
    id: "openai",
    name: "OpenAI-compatible",
    description: "Any endpoint with POST /chat/completions: OpenAI, Azure, OpenRouter, vLLM, llama.cpp, Ollama, LiteLLM.",
    base_url: "https://api.openai.com/v1",
    base_url_variable: "OPENAI_BASE_URL",
    key_variables: &["OPENAI_API_KEY"],
    headers_variable: "OPENAI_CUSTOM_HEADERS",
    auth: Auth::Bearer,
    needs_key: true,
    version: "",
    headers: &[],
    max_tokens: None,
    unsupported: &[],
    model_namespace: "",
    model_prefixes: &[],
    rate_limit_headers: &[
        // OpenAI, Azure, Groq, vLLM gateways and LiteLLM.
        ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
        ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
        // OpenRouter and many gateways; the second is the draft of the IETF.
        ("x-ratelimit-remaining", "x-ratelimit-reset"),
        ("ratelimit-remaining", "ratelimit-reset"),
    ],
    overflow_phrases: &[
        "context_length_exceeded",
        "exceed_context_size",
        "available context size",
        "context length",
        "context window",
        "maximum context",
        "too many tokens",
        "reduce the length",
    ],
    shape_phrases: &[
        "response_format",
        "json_schema",
        "json_object",
        "json schema",
        "json mode",
        "structured output",
    ],
    error_statuses: &[],
};

fn embedding_request(action: &JudgeAction, dimensions: Option<u32>) -> Request {
    let body = members([
        ("model", Some(json!(action.model))),
        ("input", Some(json!(action.user))),
        ("encoding_format", Some(json!("float"))),
        ("dimensions", dimensions.map(Value::from)),
    ]);
    Request { path: "/embeddings".to_owned(), body: with_extra_body(body, action) }
}

/// What a request used; some gateways also say what it cost.
fn usage_of(body: &Value) -> Usage {
    let cost = body.pointer("/usage/cost").and_then(Value::as_f64);
    let usage = Usage {
        cache_read: count(body, "/usage/prompt_tokens_details/cached_tokens"),
        cache_write: count(body, "/usage/prompt_tokens_details/cache_write_tokens"),
        tier: ServiceTier::named(text_at(body, "/service_tier")),
        ..Usage::of_tokens(
            count(body, "/usage/prompt_tokens"),
            count(body, "/usage/completion_tokens"),
        )
    };
    usage.told(cost.and_then(Cost::from_dollars))
}

/// The vector of a response, of which numbers of 32 bits are kept: models compute with no more.
fn embedding(body: &Value, vector: &Value) -> Result<Answer, String> {
    let numbers = vector.as_array().ok_or("an embedding that is no list of numbers")?;
    let written: Option<Vec<String>> = numbers
        .iter()
        .map(|value| Some(value.as_f64()? as f32).filter(|n| n.is_finite()).map(|n| n.to_string()))
        .collect();
    let written = written.ok_or("an embedding with items that are no numbers")?;
    Ok(Answer {
        text: Some(format!("{{\"embedding\":[{}]}}", written.join(","))),
        ending: ReplyEnding::Complete,
        model: body.get("model").and_then(Value::as_str).map(str::to_owned),
        usage: usage_of(body),
    })
}

impl Provider for OpenAi {
    fn info(&self) -> &'static ProviderInfo {
        &INFO
    }

    fn shapes(&self) -> &'static [ReplyShape] {
        &[ReplyShape::Schema, ReplyShape::Object, ReplyShape::Words]
    }

    fn chat_request(&self, chat: &ChatRequest<'_>) -> Request {
        let settings = chat.settings;
        if let Question::Embed { dimensions } = settings.question {
            return embedding_request(settings, dimensions);
        }
        let system = chat.system.map(|text| json!({"role": "system", "content": text}));
        let mut messages: Vec<Value> = system.into_iter().collect();
        for message in chat.messages {
            match message {
                ChatMessage::User(text) => messages.push(json!({"role": "user", "content": text})),
                ChatMessage::Assistant(message) => {
                    let native = message.native.clone();
                    messages.push(native.unwrap_or_else(|| chat::assistant(message)));
                }
                ChatMessage::Results(results) => messages.extend(results.iter().map(chat::result)),
            }
        }
        let tools = chat.tools_as(
            |tool| json!({"type": "function", "function": chat::tool(tool, "parameters")}),
        );
        // Models that reason refuse the older name.
        let tokens = if reasons(&settings.model) { "max_completion_tokens" } else { "max_tokens" };
        let body = members([
            ("model", Some(json!(settings.model))),
            ("messages", Some(Value::Array(messages))),
            ("tools", tools),
            ("temperature", settings.temperature.map(Value::from)),
            ("seed", settings.seed.map(Value::from)),
            (tokens, settings.max_tokens.map(Value::from)),
            ("top_p", settings.top_p.map(Value::from)),
            ("response_format", chat.shape.and_then(|it| response_format(it, &settings.question))),
        ]);
        Request { path: "/chat/completions".to_owned(), body: with_extra_body(body, settings) }
    }

    fn flex(&self, request: &mut Request) -> bool {
        request.body.entry("service_tier").or_insert_with(|| json!("flex"));
        true
    }

    fn mark(&self, request: &mut Request, action: &JudgeAction, mark: PromptMark) {
        let marked = caching_of(&action.model).map(|it| it.mark);
        // Gateways have models of other makers, and pass on the marks of those.
        if marked == Some(CacheMark::Ephemeral) {
            if mark != PromptMark::Nothing {
                set_ephemeral(&mut request.body, action, mark == PromptMark::Hour);
            }
            return;
        }
        let is_marked = marked == Some(CacheMark::Explicit);
        let is_embedding = matches!(action.question, Question::Embed { .. });
        // What the suite says itself in `extra_body` stands.
        if !is_marked || is_embedding || request.body.contains_key("prompt_cache_options") {
            return;
        }
        request.body.insert("prompt_cache_options".to_owned(), json!({"mode": "explicit"}));
        if mark != PromptMark::Nothing
            && let Some(parts) =
                marked_parts(action, "prompt_cache_breakpoint", &json!({"mode": "explicit"}))
        {
            set_first_content(&mut request.body, parts);
            let shared = action.user.get(..action.shared).unwrap_or_default();
            set_cache_key(&mut request.body, &format!("{}\n{shared}", action.system));
        }
    }

    fn mark_chat(&self, request: &mut Request, mark: ChatMark) {
        let body = &mut request.body;
        let model = body.get("model").and_then(Value::as_str).and_then(caching_of);
        let opening = body.get_mut("messages").and_then(|it| it.get_mut(0));
        let opening = opening.filter(|first| mark.opening && first["role"] == "system");
        match model.map(|model| model.mark) {
            // A gateway passes it on.
            Some(CacheMark::Ephemeral) => {
                if let Some(first) = opening {
                    mark_text(&mut first["content"], "cache_control", &ephemeral(mark.is_for_hour));
                }
            }
            // A conversation that goes on begins with all that came before: the end of each request is cached, as by itself.
            Some(CacheMark::Explicit) if !mark.whole => {
                let explicit = json!({"mode": "explicit"});
                let said = opening.map(|first| {
                    let said = first["content"].to_string();
                    mark_text(&mut first["content"], "prompt_cache_breakpoint", &explicit);
                    said
                });
                if let Some(said) = said {
                    set_cache_key(body, &said);
                }
                body.entry("prompt_cache_options").or_insert(explicit);
            }
            _ => {}
        }
    }

    fn said(&self, body: &Value, messages: usize) -> NativeMessage {
        let Some(message) = body.pointer("/choices/0/message") else {
            return NativeMessage::default();
        };
        let listed = message.get("tool_calls").and_then(Value::as_array);
        let mut native = Map::new();
        native.insert("role".to_owned(), json!("assistant"));
        // What servers want to see again; other members of a reply some of them refuse.
        for name in ["content", "reasoning_details"] {
            native.extend(message.get(name).map(|value| (name.to_owned(), value.clone())));
        }
        let mut calls = Vec::new();
        let mut sent = Vec::new();
        for (at, listed) in listed.into_iter().flatten().enumerate() {
            let function = listed.get("function").unwrap_or(listed);
            let name = text_at(function, "/name");
            let arguments = function.get("arguments");
            let call = chat::call(listed.get("id"), messages, at, name, arguments);
            let mut again = listed.as_object().cloned().unwrap_or_default();
            again.insert("id".to_owned(), json!(call.id));
            again.insert("type".to_owned(), json!("function"));
            let function = json!({"name": call.name, "arguments": call.arguments});
            again.insert("function".to_owned(), function);
            sent.push(Value::Object(again));
            calls.push(call);
        }
        if !sent.is_empty() {
            native.insert("tool_calls".to_owned(), Value::Array(sent));
        }
        NativeMessage { calls, native: Some(Value::Object(native)) }
    }

    fn answer(&self, body: &Value) -> Result<Answer, String> {
        if let Some(vector) = body.pointer("/data/0/embedding") {
            return embedding(body, vector);
        }
        let choice = body.pointer("/choices/0").ok_or("no choices")?;
        let message = choice.get("message").ok_or("a choice without a message")?;
        let refusal = refusal(message);
        let ending = match text_at(choice, "/finish_reason") {
            "error" => return Err("a choice that ended with an error".to_owned()),
            _ if !refusal.is_empty() => ReplyEnding::Refused(refusal),
            "content_filter" => ReplyEnding::Filtered(filtered_for(choice)),
            "length" => ReplyEnding::Truncated,
            _ => ReplyEnding::Complete,
        };
        Ok(Answer {
            text: message.get("content").and_then(content_text),
            ending,
            model: body.get("model").and_then(Value::as_str).map(str::to_owned),
            usage: usage_of(body),
        })
    }

    fn complaint(&self, _status: u16, error: &Value) -> Complaint {
        const NO_CREDIT: [&str; 3] =
            ["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"];
        const FILTERED: [&str; 3] =
            ["content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"];
        let codes = [
            "/code",
            "/type",
            "/innererror/code",
            // LiteLLM passes what Azure says on in here.
            "/provider_specific_fields/innererror/code",
        ];
        let says = |words: &[&str]| codes.iter().any(|code| words.contains(&text_at(error, code)));
        // OpenRouter's moderation names what it minds.
        let is_moderated = error.pointer("/metadata/reasons").is_some_and(Value::is_array);
        if says(&NO_CREDIT) {
            FailureKind::NoCredit.into()
        } else if says(&FILTERED) || is_moderated {
            FailureKind::Filtered.into()
        } else if says(&["no_db_connection"]) {
            // A key that LiteLLM does not know is one to look up; without a database it says no more than that.
            FailureKind::Unauthorized.into()
        } else {
            Complaint::default()
        }
    }

    fn fixed_temperature(&self, model: &str) -> Option<f64> {
        reasons(model).then_some(1.0)
    }
}

/// Names what a request begins with, so that the provider sends it to a machine that has it.
fn set_cache_key(body: &mut Map<String, Value>, beginning: &str) {
    let key = blake3::hash(beginning.as_bytes()).to_hex();
    body.entry("prompt_cache_key").or_insert_with(|| json!(key[..KEY_DIGITS]));
}

/// Whether a model is of those that reason before they answer: they take other settings.
fn reasons(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or_default();
    let number_after = |start| {
        let rest = model.strip_prefix(start)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse::<u32>().ok()
    };
    number_after("o").is_some() || number_after("gpt-").is_some_and(|number| number >= 5)
}

/// The refusal of the model instead of an answer, in its own member or as a part of the content.
fn refusal(message: &Value) -> String {
    let parts = message.get("content").and_then(Value::as_array).into_iter().flatten();
    let of_parts = parts.map(|part| text_at(part, "/refusal"));
    std::iter::once(text_at(message, "/refusal")).chain(of_parts).collect()
}

/// The categories of Azure's content filter that stopped a reply.
fn filtered_for(choice: &Value) -> String {
    let results = choice.get("content_filter_results").and_then(Value::as_object);
    let stopped =
        results.into_iter().flatten().filter(|(_, result)| result["filtered"] == Value::Bool(true));
    stopped.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

fn response_format(shape: ReplyShape, question: &Question) -> Option<Value> {
    match shape {
        ReplyShape::Schema => Some(json!({
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": true, "schema": question.schema()},
        })),
        ReplyShape::Object => Some(json!({"type": "json_object"})),
        ReplyShape::Words => None,
    }
}

/// The text of a message, which some servers give in parts: those that reason are left out. What was paid for is not
/// thrown away for its shape.
fn content_text(content: &Value) -> Option<String> {
    match content {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let is_text =
                |part: &&Value| matches!(text_at(part, "/type"), "" | "text" | "output_text");
            joined(parts.iter().filter(is_text).filter_map(|part| part.get("text")?.as_str()))
        }
        other => Some(other.to_string()),
    }
}
