//! `POST /chat/completions`, as OpenAI defined it and many others serve it.

use serde_json::{Map, Value, json};

use super::{
    Answer, Auth, Correction, Ending, Provider, ProviderInfo, Request, Shape, extra_body,
    put_settings,
};
use crate::judge::JudgeAction;
use crate::judge::question::Question;
use crate::outcome::Tokens;
use crate::suite::reasons;

/// Any OpenAI-compatible endpoint.
pub(super) struct OpenAi;

static INFO: ProviderInfo = ProviderInfo {
    id: "openai",
    name: "OpenAI-compatible",
    description: "Any endpoint with POST /chat/completions: OpenAI, Azure, OpenRouter, vLLM, llama.cpp, Ollama, LiteLLM.",
    base_url: "https://api.openai.com/v1",
    base_url_variable: "OPENAI_BASE_URL",
    key_variables: &["OPENAI_API_KEY"],
    headers_variable: "OPENAI_CUSTOM_HEADERS",
    auth: Auth::Bearer,
    headers: &[],
    max_tokens: None,
};

impl Provider for OpenAi {
    fn info(&self) -> &'static ProviderInfo {
        &INFO
    }

    fn shapes(&self) -> &'static [Shape] {
        &[Shape::Schema, Shape::Object, Shape::Words]
    }

    fn request(&self, action: &JudgeAction, shape: Shape, corrections: &[Correction]) -> Request {
        let mut messages = vec![
            json!({"role": "system", "content": action.system}),
            json!({"role": "user", "content": action.user}),
        ];
        for correction in corrections {
            let told = correction.message(action.question);
            messages.push(json!({"role": "assistant", "content": correction.reply}));
            messages.push(json!({"role": "user", "content": told}));
        }
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(action.model));
        body.insert("messages".to_owned(), Value::Array(messages));
        // Models that reason refuse the older name.
        let tokens = if reasons(&action.model) { "max_completion_tokens" } else { "max_tokens" };
        put_settings(
            &mut body,
            &[
                ("temperature", action.temperature.map(Value::from)),
                ("seed", action.seed.map(Value::from)),
                (tokens, action.max_tokens.map(Value::from)),
                ("top_p", action.top_p.map(Value::from)),
                ("response_format", response_format(shape, action.question)),
            ],
        );
        body.extend(extra_body(action));
        Request { path: "/chat/completions".to_owned(), body }
    }

    fn answer(&self, body: &Value) -> Result<Answer, String> {
        let choice = body.pointer("/choices/0").ok_or("no choices")?;
        let message = choice.get("message").ok_or("a choice without a message")?;
        let refusal = message.get("refusal").and_then(Value::as_str).unwrap_or_default();
        let ending = match choice.get("finish_reason").and_then(Value::as_str) {
            _ if !refusal.is_empty() => Ending::Refused(refusal.to_owned()),
            Some("content_filter") => Ending::Filtered(String::new()),
            Some("length") => Ending::Truncated,
            _ => Ending::Complete,
        };
        let used = |name: &str| body.pointer(name).and_then(Value::as_u64).unwrap_or(0);
        Ok(Answer {
            text: message.get("content").and_then(content_text),
            ending,
            model: body.get("model").and_then(Value::as_str).map(str::to_owned),
            usage: Tokens {
                input: used("/usage/prompt_tokens"),
                output: used("/usage/completion_tokens"),
                cost: None,
            },
        })
    }
}

fn response_format(shape: Shape, question: Question) -> Option<Value> {
    match shape {
        Shape::Schema => Some(json!({
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": true, "schema": question.schema()},
        })),
        Shape::Object => Some(json!({"type": "json_object"})),
        Shape::Words => None,
    }
}

/// The text of a message, which some servers give in parts. What was paid for is not thrown away for its shape.
fn content_text(content: &Value) -> Option<String> {
    match content {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            Some(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect())
        }
        other => Some(other.to_string()),
    }
}
