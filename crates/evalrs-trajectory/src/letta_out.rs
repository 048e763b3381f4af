//! A trajectory as Letta messages, for functions that were written for them.
//!
//! It is keyed, so it holds no id and no time of a provider: calls are `call-1`, `call-2` and so on. Reading it back
//! gives the same trajectory but for those ids, for who of the target spoke, and for the agent's state.

use serde_json::{Map, Value, json};

use super::normal::{Pairing, stable};
use super::{MessageBody, Trajectory};

/// The `message_type` of messages of unknown kinds that have none.
const OTHER: &str = "other";

impl Trajectory {
    /// The turns as lists of Letta messages; messages of sub-agents only if asked for.
    pub fn to_letta(&self, include_subagents: bool) -> Value {
        let mut pairing = Pairing::of(self, include_subagents);
        let turns = self.turns.iter().map(|turn| {
            let seen =
                turn.messages.iter().filter(|message| include_subagents || !message.subagent);
            seen.map(|message| message_of(&message.body, &mut pairing)).collect::<Value>()
        });
        turns.collect()
    }
}

fn message_of<'a>(body: &'a MessageBody, pairing: &mut Pairing<'a>) -> Value {
    match body {
        MessageBody::System(text) => json!({"message_type": "system_message", "content": text}),
        MessageBody::User(text) => json!({"message_type": "user_message", "content": text}),
        MessageBody::Assistant(text) => {
            json!({"message_type": "assistant_message", "content": text})
        }
        MessageBody::Reasoning(text) => {
            json!({"message_type": "reasoning_message", "reasoning": text})
        }
        MessageBody::ToolCall(call) => {
            let call = json!({
                "name": call.name,
                "arguments": call.arguments,
                "tool_call_id": call_id(pairing.call()),
            });
            // Older functions read the one, newer functions the other.
            json!({"message_type": "tool_call_message", "tool_call": call, "tool_calls": [call]})
        }
        MessageBody::ToolReturn(answer) => json!({
            "message_type": "tool_return_message",
            "tool_return": answer.output,
            "status": if answer.failed { "error" } else { "success" },
            "tool_call_id": pairing.answered(answer).map(call_id),
        }),
        MessageBody::Other(value) => other(stable(value)),
    }
}

fn call_id(ordinal: usize) -> String {
    format!("call-{ordinal}")
}

/// A message of an unknown kind, which may come from a format without `message_type`.
fn other(value: Value) -> Value {
    let mut message = match value {
        Value::Object(members) => members,
        value => Map::from_iter([("value".to_owned(), value)]),
    };
    if !message.get("message_type").is_some_and(Value::is_string) {
        message.insert("message_type".to_owned(), Value::from(OTHER));
    }
    Value::Object(message)
}
