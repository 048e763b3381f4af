//! A conversation of a model with tools, independent of any API: the messages so far, and the next one.
//!
//! Each provider writes it in its own words and reads what came (`chat_request` and `said` of
//! its `Provider`). What a model said goes back to it as it came, because thoughts that some APIs want to
//! see again are in it; what is kept is OpenAI's form, which every reader of trajectories knows.

use serde_json::{Value, json};

use super::body::members;
use crate::judge::action::JudgeAction;
use crate::judge::question::ReplyShape;
use evalrs_base::json_syntax::as_text;

/// The next input of a model.
#[derive(Clone, Copy, Debug)]
pub struct ChatRequest<'a> {
    /// The model and its settings. What is special to judges in it is not read.
    pub settings: &'a JudgeAction,
    /// The system prompt.
    pub system: Option<&'a str>,
    /// The tools, each `{name, description, parameters}`.
    pub tools: &'a [Value],
    /// The conversation so far.
    pub messages: &'a [ChatMessage],
    /// How the shape of the reply is requested, if it is a verdict.
    pub shape: Option<ReplyShape>,
}

impl ChatRequest<'_> {
    /// The tools in the words of an API; none without tools.
    pub(super) fn tools_as(&self, tool: impl Fn(&Value) -> Value) -> Option<Value> {
        (!self.tools.is_empty()).then(|| self.tools.iter().map(tool).collect())
    }
}

/// One part of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatMessage {
    /// A message of the user.
    User(String),
    /// A message or calls of the model.
    Assistant(AssistantMessage),
    /// What tools answered to all calls of the message before.
    Results(Vec<ToolResult>),
}

/// The reply of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssistantMessage {
    /// Its text, if there is one.
    pub text: Option<String>,
    /// The tools it calls, in its order.
    pub calls: Vec<ChatToolCall>,
    /// The same in the words of its API, to be sent back; none where it was never sent by one.
    pub native: Option<Value>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatToolCall {
    /// Its name among all calls.
    pub id: String,
    /// Whether the API named it, rather than evalrs.
    pub has_own_id: bool,
    /// The tool.
    pub name: String,
    /// The arguments, as the model wrote them: JSON, mostly.
    pub arguments: String,
}

impl ChatToolCall {
    /// The arguments as JSON; the text itself where the model wrote none.
    pub fn arguments(&self) -> Value {
        if self.arguments.trim().is_empty() {
            return json!({});
        }
        serde_json::from_str(&self.arguments).unwrap_or_else(|_| json!(self.arguments))
    }
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The call.
    pub call: ChatToolCall,
    /// The system prompt of the model.
    pub text: String,
    /// Whether the tool failed.
    pub has_failed: bool,
}

/// The calls in a response, and what goes back to the API.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NativeMessage {
    /// The tools that are called.
    pub calls: Vec<ChatToolCall>,
    /// The message in the words of the API.
    pub native: Option<Value>,
}

/// A call as an API gives it: without an id of its own it gets one that no other call of the conversation has.
pub(super) fn call(
    id: Option<&Value>,
    messages: usize,
    at: usize,
    name: &str,
    arguments: Option<&Value>,
) -> ChatToolCall {
    let own = id.and_then(Value::as_str).filter(|id| !id.is_empty());
    let arguments = arguments.filter(|arguments| !arguments.is_null());
    ChatToolCall {
        id: own.map_or_else(|| format!("call_{messages}_{at}"), str::to_owned),
        has_own_id: own.is_some(),
        name: name.to_owned(),
        arguments: arguments.map(as_text).unwrap_or_default(),
    }
}

/// A tool under another name for its parameters, without a description that says nothing.
pub(super) fn tool(tool: &Value, parameters: &str) -> Value {
    let member = |name: &str| tool.get(name).cloned().unwrap_or_default();
    let description = member("description");
    let says_something = description.as_str().is_some_and(|text| !text.is_empty());
    Value::Object(members([
        ("name", Some(member("name"))),
        ("description", says_something.then_some(description)),
        (parameters, Some(member("parameters"))),
    ]))
}

/// The conversation as it is kept: chat messages of OpenAI, without the system prompt.
pub fn transcript(messages: &[ChatMessage]) -> Vec<Value> {
    let mut kept = Vec::new();
    for message in messages {
        match message {
            ChatMessage::User(text) => kept.push(json!({"role": "user", "content": text})),
            ChatMessage::Assistant(message) => kept.push(assistant(message)),
            ChatMessage::Results(results) => kept.extend(results.iter().map(kept_result)),
        }
    }
    kept
}

/// A message of the model as OpenAI writes it.
pub(super) fn assistant(message: &AssistantMessage) -> Value {
    let mut said = json!({"role": "assistant", "content": message.text});
    if !message.calls.is_empty() {
        let calls = message.calls.iter().map(|call| {
            json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            })
        });
        said["tool_calls"] = calls.collect();
    }
    said
}

/// What a tool answered, as OpenAI writes it.
pub(super) fn result(result: &ToolResult) -> Value {
    json!({"role": "tool", "tool_call_id": result.call.id, "content": result.text})
}

/// What is kept of it: also that it failed, which OpenAI has no word for.
fn kept_result(of: &ToolResult) -> Value {
    let mut kept = result(of);
    if of.has_failed {
        kept["is_error"] = Value::Bool(true);
    }
    kept
}

#[cfg(test)]
mod tests;
