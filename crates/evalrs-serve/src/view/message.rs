//! The messages of a conversation as pages show them: one flat list, whatever format they were recorded in.

use serde::Serialize;
use serde_json::Value;

use evalrs_trajectory::{Message, MessageBody, Trajectory};

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct MessageView {
    /// `system`, `user`, `assistant`, `reasoning`, `tool_call`, `tool_return` or `other`.
    role: &'static str,
    /// What it says.
    text: Option<String>,
    /// Whether a sub-agent sent it.
    subagent: bool,
    /// The tool that is called or answers.
    name: Option<String>,
    /// The arguments of a call: JSON where they are, else the text.
    arguments: Option<Value>,
    /// Pairs a call with its return.
    call: Option<String>,
    /// Whether the tool failed.
    is_error: bool,
}

pub(crate) fn messages(trajectory: &Trajectory) -> Vec<MessageView> {
    trajectory.turns.iter().flat_map(|turn| &turn.messages).map(message).collect()
}

fn message(message: &Message) -> MessageView {
    let said = |role, text: &String| MessageView {
        role,
        text: Some(text.clone()),
        subagent: message.subagent,
        name: None,
        arguments: None,
        call: None,
        is_error: false,
    };
    match &message.body {
        MessageBody::System(text) => said("system", text),
        MessageBody::User(text) => said("user", text),
        MessageBody::Assistant(text) => said("assistant", text),
        MessageBody::Reasoning(text) => said("reasoning", text),
        MessageBody::ToolCall(call) => {
            let arguments = serde_json::from_str(&call.arguments);
            let arguments = arguments.unwrap_or_else(|_| Value::from(call.arguments.clone()));
            MessageView {
                text: None,
                name: Some(call.name.clone()),
                arguments: Some(arguments),
                call: call.id.clone(),
                ..said("tool_call", &String::new())
            }
        }
        MessageBody::ToolReturn(answer) => MessageView {
            call: answer.call_id.clone(),
            is_error: answer.failed,
            ..said("tool_return", &answer.output)
        },
        MessageBody::Other(value) => said("other", &value.to_string()),
    }
}
