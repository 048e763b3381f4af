//! The verdict of an agent that judges: what it called its tool with.
//!
//! The arguments of the call are the verdict. What the tool returned is not read for it: servers write that down in
//! different ways, and some as no JSON at all.

use std::collections::BTreeSet;

use serde_json::Value;

/// Why the messages of a run hold no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoVerdict {
    /// The fault, as a clause that can be sent to the agent.
    pub fault: String,
    /// The agent's text instead of a call.
    pub said: Option<String>,
    /// Whether the call waits for somebody to approve it.
    pub is_pending: bool,
}

/// What the agent called `tool` with in the messages of a run, as JSON text. A call that failed counts only where none
/// did not; calls with different scores are no verdict.
pub fn verdict(messages: &[Value], tool: &str) -> Result<String, NoVerdict> {
    let failed = failed_calls(messages);
    let calls: Vec<Call> = messages
        .iter()
        .filter(|message| is_call(message))
        .flat_map(calls)
        .filter(|call| call.name == tool)
        .collect();
    let answered: Vec<&Call> = calls.iter().filter(|call| !failed.contains(call.id)).collect();
    let counted = if answered.is_empty() { calls.iter().collect() } else { answered };
    let [first, others @ ..] = &counted[..] else { return Err(no_call(messages, tool)) };
    let is_other = |other: &&&Call| score(other) != score(first);
    if others.iter().find(is_other).is_some() {
        let fault = format!("`{tool}` was called several times with different scores");
        return Err(NoVerdict { fault, said: None, is_pending: false });
    }
    Ok(first.arguments.clone())
}

/// A call of a tool.
struct Call<'a> {
    id: &'a str,
    name: &'a str,
    /// JSON text.
    arguments: String,
}

fn is_call(message: &Value) -> bool {
    text(message, "message_type") == "tool_call_message"
}

/// The calls of a message: `tool_calls` is a list or one call; older servers have `tool_call` alone.
fn calls(message: &Value) -> Vec<Call<'_>> {
    let several = match message.get("tool_calls") {
        Some(Value::Array(calls)) => calls.iter().collect(),
        Some(call @ Value::Object(_)) => vec![call],
        _ => Vec::new(),
    };
    let calls =
        if several.is_empty() { message.get("tool_call").into_iter().collect() } else { several };
    calls.into_iter().map(call).collect()
}

fn call(call: &Value) -> Call<'_> {
    let arguments = match call.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    Call { id: text(call, "tool_call_id"), name: text(call, "name"), arguments }
}

fn score(call: &Call<'_>) -> Option<Value> {
    let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
    arguments.get("score").cloned()
}

/// The ids of the calls that were answered by an error.
fn failed_calls(messages: &[Value]) -> BTreeSet<&str> {
    let returns =
        messages.iter().filter(|message| text(message, "message_type") == "tool_return_message");
    let each = returns.flat_map(|message| {
        let several = message.get("tool_returns").and_then(Value::as_array);
        several
            .filter(|returns| !returns.is_empty())
            .map_or_else(|| vec![message], |all| all.iter().collect())
    });
    each.filter(|one| text(one, "status") == "error").map(|one| text(one, "tool_call_id")).collect()
}

fn no_call(messages: &[Value], tool: &str) -> NoVerdict {
    let waits = messages
        .iter()
        .filter(|message| text(message, "message_type") == "approval_request_message");
    let is_pending = waits.flat_map(calls).any(|call| call.name == tool);
    let fault = if is_pending {
        format!("the call of `{tool}` waits for approval")
    } else {
        format!("`{tool}` was not called")
    };
    let is_said = |message: &&Value| text(message, "message_type") == "assistant_message";
    let said = messages.iter().rfind(is_said).map(|message| content(message.get("content")));
    NoVerdict { fault, said, is_pending }
}

/// The text of a message: text, or parts that have some.
fn content(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().map(|part| text(part, "text")).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::verdict;
    use evalrs_test_data as test_data;

    fn called(id: &str, arguments: &Value) -> Value {
        let call = json!({"name": "submit_grade", "arguments": arguments, "tool_call_id": id});
        json!({"message_type": "tool_call_message", "tool_calls": [call]})
    }

    fn returned(id: &str, status: &str) -> Value {
        json!({"message_type": "tool_return_message", "tool_call_id": id, "status": status})
    }

    fn read(messages: &[Value]) -> Result<String, String> {
        verdict(messages, "submit_grade").map_err(|none| none.fault)
    }

    #[test]
    fn a_verdict_is_what_the_tool_was_called_with() {
        const ONE: &str = r#"{"score": 1.0, "rationale": "so"}"#;
        let ok = || Ok(ONE.to_owned());
        let no = |fault: &str| Err(fault.to_owned());
        let call = json!({"name": "submit_grade", "arguments": ONE, "tool_call_id": "a"});
        let other = json!({"name": "search", "arguments": "{}", "tool_call_id": "b"});
        let of =
            |name: &str, calls: Value| json!({"message_type": "tool_call_message", name: calls});
        let low = json!(r#"{"score": 0}"#);
        let several = "`submit_grade` was called several times with different scores";
        for (messages, expected) in [
            (vec![of("tool_calls", json!([call]))], ok()),
            (vec![of("tool_calls", call.clone())], ok()),
            (vec![of("tool_call", call.clone())], ok()),
            (vec![of("tool_calls", json!([other, call]))], ok()),
            (vec![of("tool_calls", json!([other])), of("tool_calls", json!([call]))], ok()),
            (vec![called("a", &json!({"score": 1}))], Ok("{\"score\":1}".to_owned())),
            (vec![called("a", &Value::Null)], Ok(String::new())),
            (vec![called("a", &json!(ONE)), called("b", &json!(ONE))], ok()),
            (vec![called("a", &json!(ONE)), called("b", &low)], no(several)),
            (
                vec![
                    called("b", &low),
                    returned("b", "error"),
                    called("a", &json!(ONE)),
                    returned("a", "success"),
                ],
                ok(),
            ),
            (vec![called("a", &json!(ONE)), returned("a", "error")], ok()),
            (vec![], no("`submit_grade` was not called")),
            (vec![of("tool_calls", json!([other]))], no("`submit_grade` was not called")),
            (
                vec![json!({"message_type": "approval_request_message", "tool_calls": [call]})],
                no("the call of `submit_grade` waits for approval"),
            ),
            (
                vec![json!("text"), json!({"message_type": 4}), json!(null)],
                no("`submit_grade` was not called"),
            ),
        ] {
            assert_eq!(read(&messages), expected, "{messages:?}");
        }
    }

    #[test]
    fn what_is_said_in_place_of_a_verdict_is_told() {
        let said = |content: Value| {
            let messages = [json!({"message_type": "assistant_message", "content": content})];
            verdict(&messages, "submit_grade").unwrap_err().said
        };
        assert_eq!(said(json!("No.")), Some("No.".to_owned()));
        assert_eq!(
            said(json!([{"type": "text", "text": "No"}, {"text": "way"}])),
            Some("No way".to_owned())
        );
        assert_eq!(verdict(&[], "submit_grade").unwrap_err().said, None);
    }

    #[test]
    fn the_recorded_run_holds_its_verdict() {
        let Some(text) = test_data::text("../letta-protocol", "0.16.8/run-messages.json") else {
            return;
        };
        let recorded: Value = serde_json::from_str(&text).unwrap();
        let messages = recorded["response"]["body"].as_array().unwrap();
        let expected = r#"{"score": 1.0, "rationale": "The answer is right."}"#;
        assert_eq!(read(messages), Ok(expected.to_owned()));
    }
}
