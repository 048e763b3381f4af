//! The messages of a conversation as pages show them: one flat list, whatever format they were recorded in.

use serde::Serialize;
use serde_json::Value;

use evalrs_trajectory::{Message, MessageBody, Trajectory};

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub(crate) struct MessageView {
    /// `system`, `user`, `assistant`, `reasoning`, `tool_call`, `tool_return` or `other`.
    pub role: &'static str,
    /// What it says.
    pub text: Option<String>,
    /// Whether a sub-agent sent it.
    subagent: bool,
    /// The call that started that sub-agent, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_by: Option<String>,
    /// The tool that is called or answers.
    name: Option<String>,
    /// The arguments of a call: JSON where they are, else the text.
    arguments: Option<Value>,
    /// Pairs a call with its return.
    call: Option<String>,
    /// Whether the tool failed.
    is_error: bool,
    /// When, as RFC 3339, where it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    /// Tokens that the model received for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    /// Tokens that the model wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    /// US dollars that it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// Pictures that were sent with it: data URLs, and addresses, which the page does not fetch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<String>,
}

pub(crate) fn messages(trajectory: &Trajectory) -> Vec<MessageView> {
    trajectory.turns.iter().flat_map(|turn| &turn.messages).map(message).collect()
}

fn message(message: &Message) -> MessageView {
    let step = message.step.as_deref();
    let said = |role, text: &String| MessageView {
        role,
        text: Some(text.clone()),
        subagent: message.subagent,
        started_by: message.started_by.as_deref().map(str::to_owned),
        name: None,
        arguments: None,
        call: None,
        is_error: false,
        at: step.and_then(|step| step.at.clone()),
        input_tokens: step.and_then(|step| step.input_tokens),
        output_tokens: step.and_then(|step| step.output_tokens),
        cost: step.and_then(|step| step.cost_usd),
        pictures: Vec::new(),
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
        MessageBody::Other(value) => match picture_of(value) {
            Some(address) => {
                MessageView { pictures: vec![address], ..said("other", &String::new()) }
            }
            None => said("other", &value.to_string()),
        },
    }
}

/// The address of a content part that is a picture.
pub(crate) fn picture_of(part: &Value) -> Option<String> {
    let kind = part.get("type")?.as_str()?;
    if !matches!(kind, "image" | "image_url" | "input_image") {
        return None;
    }
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let source = part.get("source");
    let inline = source.and_then(|source| {
        let data = source.get("data")?.as_str()?;
        let media = source.get("media_type").and_then(Value::as_str).unwrap_or("image/png");
        Some(format!("data:{media};base64,{data}"))
    });
    let named = |value: &Value| {
        ["url", "path", "file_id"].into_iter().find_map(|member| text(value.get(member)))
    };
    let address = part.get("image_url").or(part.get("image"));
    inline
        .or_else(|| source.and_then(named))
        .or_else(|| text(address))
        .or_else(|| address.and_then(named))
        .or_else(|| Some(String::new()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::picture_of;

    #[test]
    fn every_way_to_write_a_picture_is_known() {
        for (part, address) in [
            (json!({"type": "text", "text": "a"}), None),
            (json!({"type": "image_url", "image_url": "u"}), Some("u")),
            (json!({"type": "input_image", "image_url": "u"}), Some("u")),
            (json!({"type": "image", "image": "u"}), Some("u")),
            (json!({"type": "image", "source": {"type": "url", "url": "u"}}), Some("u")),
            (json!({"type": "image", "source": {"path": "i.png"}}), Some("i.png")),
            (
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}),
                Some("data:image/png;base64,AA"),
            ),
            (json!({"type": "image"}), Some("")),
            (json!("text"), None),
        ] {
            assert_eq!(picture_of(&part).as_deref(), address, "{part}");
        }
    }
}
