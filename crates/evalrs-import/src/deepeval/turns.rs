//! Calls of tools and turns of conversations as chat messages, and expected calls as graders take them.

use serde_json::{Map, Value, json};

use super::shared::field;
use crate::reading::as_text;

/// The messages of a conversation so far.
#[derive(Default)]
pub(super) struct CaseMessages {
    list: Vec<Value>,
    calls: usize,
}

impl CaseMessages {
    pub(super) fn say(&mut self, role: &str, content: &str) {
        self.list.push(json!({"role": role, "content": content}));
    }

    /// Adds calls of tools with what they returned. `DeepEval` keeps the calls that led to an answer, so they come before it.
    pub(super) fn call(&mut self, calls: &[Value]) -> Result<(), &'static str> {
        let mut made = Vec::new();
        let mut returned = Vec::new();
        for call in calls {
            let name = call.get("name").and_then(Value::as_str).ok_or("a call has no name")?;
            let arguments = match parameters(call) {
                None => "{}".to_owned(),
                Some(arguments @ Value::Object(_)) => arguments.to_string(),
                Some(_) => return Err("the parameters of a call are not a mapping"),
            };
            self.calls += 1;
            let id = format!("call-{}", self.calls);
            if let Some(output) = field(call, &["output"]) {
                returned
                    .push(json!({"role": "tool", "tool_call_id": id, "content": as_text(output)}));
            }
            made.push(json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}));
        }
        if !made.is_empty() {
            self.list.push(json!({"role": "assistant", "content": null, "tool_calls": made}));
            self.list.extend(returned);
        }
        Ok(())
    }

    pub(super) fn into_list(self) -> Vec<Value> {
        self.list
    }
}

fn parameters(call: &Value) -> Option<&Value> {
    field(call, &["inputParameters", "input_parameters"])
}

/// The calls of a test case.
pub(super) fn calls(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Expected calls as `tool_calls_match` reads them from rows.
pub(super) fn expected(value: &[Value]) -> Option<Value> {
    let call = |call: &Value| {
        let mut expected = Map::new();
        expected
            .insert("name".to_owned(), call.get("name").filter(|name| name.is_string())?.clone());
        if let Some(arguments) = parameters(call) {
            expected.insert("arguments".to_owned(), arguments.clone());
        }
        Some(Value::Object(expected))
    };
    let calls: Vec<Value> = value.iter().map(call).collect::<Option<_>>()?;
    (!calls.is_empty()).then_some(Value::Array(calls))
}

/// A conversation: the messages of the user, and all messages.
pub(super) struct CaseConversation {
    pub input: Value,
    pub messages: Vec<Value>,
}

/// The conversation of several turns, or why it is none.
pub(super) fn conversation(turns: &[Value]) -> Result<CaseConversation, &'static str> {
    let mut messages = CaseMessages::default();
    let mut asked = Vec::new();
    for turn in turns {
        let content = turn.get("content").and_then(Value::as_str).ok_or("a turn has no text")?;
        match turn.get("role").and_then(Value::as_str) {
            Some("user") => {
                asked.push(Value::from(content));
                messages.say("user", content);
            }
            Some("assistant") => {
                messages.call(calls(field(turn, &["toolsCalled", "tools_called"])))?;
                messages.say("assistant", content);
            }
            _ => return Err("a turn is from neither the user nor the assistant"),
        }
    }
    let input = match asked.len() {
        1 => asked.remove(0),
        _ => Value::Array(asked),
    };
    Ok(CaseConversation { input, messages: messages.into_list() })
}

/// Whether turns say more than messages do.
pub(super) fn say_more(turns: &[Value]) -> bool {
    let known = ["role", "content", "order", "toolsCalled", "tools_called"];
    let says = |turn: &Value| {
        let fields = turn.as_object().into_iter().flatten();
        fields.into_iter().any(|(name, value)| !value.is_null() && !known.contains(&name.as_str()))
    };
    turns.iter().any(says)
}
