//! What a span says was sent to a model and came back: in lists of messages with parts, in numbered attributes of
//! `OpenInference` or `OpenLLMetry`, or in events.

use serde_json::Value;

use super::attributes::Attributes;
use super::span::{Span, SpanEvent};
use crate::content::json_text;
use crate::{MessageBody, ToolCall, ToolReturn};

/// The messages of one request.
#[derive(Debug, Default)]
pub(super) struct ModelMessages {
    pub input: Vec<MessageBody>,
    pub output: Vec<MessageBody>,
}

impl ModelMessages {
    /// The messages of a span, from the first of the places that has any.
    pub(super) fn of(span: &Span) -> Self {
        let details = "gen_ai.client.inference.operation.details";
        let of_event = span.events.iter().filter(|event| event.name == details);
        let mut sources = std::iter::once(&span.attributes)
            .chain(of_event.map(|event| &event.attributes))
            .flat_map(|attributes| {
                [
                    with_parts(attributes),
                    numbered(attributes, "llm.input_messages", "llm.output_messages"),
                    numbered(attributes, "gen_ai.prompt", "gen_ai.completion"),
                    listed_events(attributes),
                ]
            })
            .chain([of_events(&span.events)]);
        sources.find(|messages| !messages.is_empty()).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.input.is_empty() && self.output.is_empty()
    }
}

/// `gen_ai.input.messages` and `gen_ai.output.messages`: lists of roles with parts, also as JSON text.
fn with_parts(attributes: &Attributes) -> ModelMessages {
    let mut messages = ModelMessages::default();
    if let Some(instructions) = attributes.json("gen_ai.system_instructions") {
        let text = match &instructions {
            Value::Array(parts) => joined(parts),
            other => json_text(other),
        };
        messages.input.push(MessageBody::System(text));
    } else if let Some(text) = attributes.text("gen_ai.system_instructions") {
        messages.input.push(MessageBody::System(text.to_owned()));
    }
    let lists = [
        ("gen_ai.input.messages", &mut messages.input),
        ("gen_ai.output.messages", &mut messages.output),
    ];
    for (name, bodies) in lists {
        read_list(attributes, name, bodies);
    }
    messages
}

/// The messages of the list `name`.
fn read_list(attributes: &Attributes, name: &str, bodies: &mut Vec<MessageBody>) {
    let list = attributes.json(name);
    for message in list.as_ref().and_then(Value::as_array).into_iter().flatten() {
        part_message(message, bodies);
    }
}

/// The texts of parts, joined with one space.
fn joined(parts: &[Value]) -> String {
    let texts = parts.iter().filter_map(|part| {
        ["content", "text"].iter().find_map(|key| part.get(*key)).or(Some(part))?.as_str()
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// One message with parts.
fn part_message(message: &Value, bodies: &mut Vec<MessageBody>) {
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    let Some(parts) = message.get("parts").and_then(Value::as_array) else {
        // Written before parts were: the content and calls of OpenAI.
        return chat_message(&Attributes::read(message), bodies);
    };
    let mut texts: Vec<&str> = Vec::new();
    for part in parts {
        let text = |key: &str| part.get(key).map(json_text).unwrap_or_default();
        let body = match part.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => {
                texts.extend(part.get("content").and_then(Value::as_str));
                continue;
            }
            "reasoning" | "thinking" => MessageBody::Reasoning(text("content")),
            "tool_call" | "server_tool_call" => MessageBody::ToolCall(ToolCall {
                id: id_in(part),
                name: text("name"),
                arguments: text("arguments"),
            }),
            "tool_call_response" | "server_tool_call_response" => {
                let key =
                    ["response", "result", "content"].iter().find(|key| part.get(**key).is_some());
                let output = key.map(|key| text(key)).unwrap_or_default();
                MessageBody::ToolReturn(ToolReturn::new(id_in(part), output, false))
            }
            _ => continue,
        };
        say(role, &mut texts, bodies);
        bodies.push(body);
    }
    say(role, &mut texts, bodies);
}

/// Says what was gathered as one text.
fn say(role: &str, texts: &mut Vec<&str>, bodies: &mut Vec<MessageBody>) {
    let text = std::mem::take(texts).join(" ");
    if !text.is_empty() {
        bodies.extend(text_of(role, text, None));
    }
}

fn id_in(part: &Value) -> Option<String> {
    let id = part.get("id").or_else(|| part.get("tool_call_id"))?;
    id.as_str().filter(|id| !id.is_empty()).map(str::to_owned)
}

/// A text of this role. The role may be that of a provider or of `LangChain`.
fn text_of(role: &str, text: String, call_id: Option<String>) -> Option<MessageBody> {
    Some(match role.to_ascii_lowercase().as_str() {
        "system" | "developer" => MessageBody::System(text),
        "user" | "human" => MessageBody::User(text),
        "tool" | "function" => MessageBody::ToolReturn(ToolReturn::new(call_id, text, false)),
        _ if text.is_empty() => return None,
        "assistant" | "ai" | "model" | "" => MessageBody::Assistant(text),
        other => MessageBody::Other(serde_json::json!({"role": other, "content": text})),
    })
}

/// Numbered messages, of `OpenInference` (inside `message`) or of `OpenLLMetry`.
fn numbered(attributes: &Attributes, input: &str, output: &str) -> ModelMessages {
    let read = |prefix: &str| {
        let mut bodies = Vec::new();
        for item in attributes.items(prefix) {
            let inner = item.inside("message");
            chat_message(inner.as_ref().unwrap_or(&item), &mut bodies);
        }
        bodies
    };
    ModelMessages { input: read(input), output: read(output) }
}

/// A message with a content and calls.
fn chat_message(message: &Attributes, bodies: &mut Vec<MessageBody>) {
    let role = message.text("role").unwrap_or_default();
    let thoughts = ["reasoning_content", "reasoning"];
    bodies.extend(message.first_text(&thoughts).map(MessageBody::Reasoning));
    let call_id = message.text("tool_call_id").or_else(|| message.text("id"));
    let text = content(message, bodies);
    let is_answer = matches!(role, "tool" | "function");
    if !text.is_empty() || is_answer {
        let call_id = call_id.filter(|_| is_answer).map(str::to_owned);
        bodies.extend(text_of(role, text, call_id));
    }
    let mut calls = message.items("tool_calls");
    if let Some(Value::Array(list)) = message.json("tool_calls") {
        calls = list.iter().map(Attributes::read).collect();
    }
    calls.extend(message.inside("function_call"));
    for call in calls {
        let call = call.inside("tool_call").unwrap_or(call);
        let name = call.first_text(&["function.name", "name"]);
        bodies.push(MessageBody::ToolCall(ToolCall {
            id: call.text("id").filter(|id| !id.is_empty()).map(str::to_owned),
            name: name.unwrap_or_default(),
            arguments: call.first_text(&["function.arguments", "arguments"]).unwrap_or_default(),
        }));
    }
}

/// The content of a message: text, a list of parts, JSON text of such a list, or numbered contents.
fn content(message: &Attributes, bodies: &mut Vec<MessageBody>) -> String {
    let contents = message.items("contents");
    if !contents.is_empty() {
        let mut texts = Vec::new();
        for part in &contents {
            let part = part.inside("message_content").unwrap_or_else(|| part.clone());
            let text = part.first_text(&["text"]).unwrap_or_default();
            match part.text("type") {
                Some("reasoning" | "thinking") => bodies.push(MessageBody::Reasoning(text)),
                _ if text.is_empty() => {}
                _ => texts.push(text),
            }
        }
        return texts.join(" ");
    }
    let is_part = |part: &Value| part.get("type").is_some_and(Value::is_string);
    let parts = message.json("content");
    match (parts, message.get("content")) {
        (Some(Value::Array(parts)), _) if !parts.is_empty() && parts.iter().all(is_part) => {
            joined(&parts)
        }
        (_, Some(content)) => json_text(content),
        (_, None) => String::new(),
    }
}

/// Events in an attribute of the span, as Pydantic AI writes them.
fn listed_events(attributes: &Attributes) -> ModelMessages {
    let Some(Value::Array(list)) = attributes.json("events") else {
        return ModelMessages::default();
    };
    let event = |value: &Value| SpanEvent {
        name: value.get("event.name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        attributes: Attributes::read(value),
    };
    of_events(&list.iter().map(event).collect::<Vec<_>>())
}

/// One event for each message, or one for all of a prompt.
fn of_events(events: &[SpanEvent]) -> ModelMessages {
    let mut messages = ModelMessages::default();
    for SpanEvent { name, attributes } in events {
        match name.as_str() {
            "gen_ai.content.prompt" => read_list(attributes, "gen_ai.prompt", &mut messages.input),
            "gen_ai.content.completion" => {
                read_list(attributes, "gen_ai.completion", &mut messages.output);
            }
            "gen_ai.choice" => {
                let message = attributes.json("message").map(|message| Attributes::read(&message));
                let message = message.filter(|message| !message.is_empty());
                chat_message(&message.unwrap_or_else(|| attributes.clone()), &mut messages.output);
            }
            _ => {
                let role =
                    name.strip_prefix("gen_ai.").and_then(|name| name.strip_suffix(".message"));
                let Some(role) = role else { continue };
                let message = attributes.with("role", role);
                chat_message(&message, &mut messages.input);
            }
        }
    }
    messages
}
