//! Messages of `LangChain`, `LangSmith` and `Langfuse` as attributes of spans.

use serde_json::{Value, json};

use crate::reading::{as_text, content_text, first, items_in, put, text_at};

/// The messages of a request or a reply, as attributes of `OpenInference`.
pub(super) fn span_messages(value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    gather(value, 0, &mut found);
    found.iter().map(|message| json!({"message": message})).collect()
}

/// Finds messages in what frameworks wrap them in: lists, generations, choices.
fn gather(value: &Value, depth: usize, found: &mut Vec<Value>) {
    if depth > 6 {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather(item, depth + 1, found)),
        Value::Object(_) => {
            if let Some(message) = message(value) {
                found.push(message);
                return;
            }
            let inner = ["/messages", "/message", "/generations", "/choices", "/output", "/input"];
            if let Some(inner) = first(value, &inner) {
                gather(inner, depth + 1, found);
            }
        }
        _ => {}
    }
}

/// One message, if it is one: with a role, or as `LangChain` writes it.
fn message(value: &Value) -> Option<Value> {
    let own = |name: &str| value.get(name).filter(|inner| inner.is_object());
    let inner = own("kwargs").or_else(|| own("data")).unwrap_or(value);
    let constructor = items_in(value, "id").next_back().and_then(Value::as_str);
    let said = text_at(value, &["/role"])
        .or_else(|| text_at(inner, &["/role", "/type"]))
        .or_else(|| text_at(value, &["/type"]));
    let role = match constructor.or(said)?.trim_end_matches("Chunk") {
        "HumanMessage" | "human" | "user" => "user",
        "AIMessage" | "ai" | "assistant" | "model" => "assistant",
        "SystemMessage" | "system" | "developer" => "system",
        "ToolMessage" | "tool" | "function" => "tool",
        _ => return None,
    };
    let content = inner.get("content");
    let calls = tool_calls(inner);
    if content.is_none() && calls.is_empty() {
        return None;
    }
    let content = content.map(|content| content_text(content, " ")).unwrap_or_default();
    let mut message = json!({"role": role, "content": content});
    put(&mut message, "tool_calls", Some(calls).filter(|calls| !calls.is_empty()));
    put(&mut message, "tool_call_id", text_at(inner, &["/tool_call_id"]));
    Some(message)
}

fn tool_calls(message: &Value) -> Vec<Value> {
    let lists = [message.get("tool_calls"), message.pointer("/additional_kwargs/tool_calls")];
    let list =
        lists.into_iter().flatten().filter_map(Value::as_array).find(|list| !list.is_empty());
    let call = |call: &Value| {
        let arguments = first(call, &["/function/arguments", "/args", "/arguments"]).map(as_text);
        let name = text_at(call, &["/function/name", "/name"])?;
        Some(
            json!({"tool_call": {"id": call.get("id"), "function": {"name": name, "arguments": arguments.unwrap_or_default()}}}),
        )
    };
    list.into_iter().flatten().filter_map(call).collect()
}

/// What people would call the question or the answer in the input or output of a run: a text, the only text of an object,
/// or the last message of a list.
pub(super) fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Object(members) if members.len() == 1 && members.values().all(Value::is_string) => {
            members.values().next().map(as_text)
        }
        other => {
            let mut found = Vec::new();
            gather(other, 0, &mut found);
            let last = found.iter().rev().find_map(|message| text_at(message, &["/content"]));
            Some(last.map_or_else(|| other.to_string(), str::to_owned))
        }
    }
}
