//! Anthropic messages: lists of content blocks.
//!
//! Tools answer in messages of the user here. Such a message does not start a turn: the user did not speak.

use serde_json::Value;

use super::content::{flatten, is_chat, part_text, tool_call};
use super::node::RecordedNode;
use super::turns::{Turns, by_message};
use super::{MessageBody, ReadResult, ToolReturn, TrajectoryFormat};

/// Objects with `role` and content blocks.
pub(super) static FORMAT: TrajectoryFormat = TrajectoryFormat {
    name: "anthropic",
    owns: has_own_blocks,
    read: |root| by_message(root, read),
    ..TrajectoryFormat::TEXT
};

/// Whether a chat message has a block of a kind that only Anthropic has.
pub(super) fn has_own_blocks(message: &Value) -> bool {
    let blocks = message.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut kinds = blocks.iter().filter_map(|block| block.get("type")?.as_str());
    let own = ["tool_use", "tool_result", "thinking"];
    is_chat(message) && kinds.any(|kind| own.iter().any(|own| kind.ends_with(own)))
}

/// Reads one message.
fn read(message: RecordedNode<'_, '_>, turns: &mut Turns) -> ReadResult {
    message.object("a chat message (an object)")?;
    let content = message.get("content");
    match message.get("role").text("a role (a string)")? {
        "system" => turns.push(MessageBody::System(flatten(content)?)),
        "user" => user(content, false, turns)?,
        "assistant" => {
            for body in bodies(content, MessageBody::Assistant)? {
                turns.push(body);
            }
        }
        _ => turns.push(MessageBody::Other(message.value().clone())),
    }
    Ok(())
}

/// Reads the content of a user message. Neither tool results nor prompts of sub-agents start a turn.
pub(super) fn user(content: RecordedNode<'_, '_>, subagent: bool, turns: &mut Turns) -> ReadResult {
    let bodies = bodies(content, MessageBody::User)?;
    if !subagent && !bodies.iter().any(|body| matches!(body, MessageBody::ToolReturn(_))) {
        turns.start();
    }
    for body in bodies {
        turns.push_of(body, subagent);
    }
    Ok(())
}

/// Reads the blocks of a content. Neighbouring texts are one text, joined with one space.
pub(super) fn bodies(
    content: RecordedNode<'_, '_>,
    said: fn(String) -> MessageBody,
) -> ReadResult<Vec<MessageBody>> {
    if let Some(text) = content.as_str() {
        return Ok(if text.is_empty() { Vec::new() } else { vec![said(text.to_owned())] });
    }
    let mut blocks = Blocks { bodies: Vec::new(), text: String::new(), said };
    for block in content.items("a string or a list of content blocks")? {
        blocks.read(block)?;
    }
    Ok(blocks.done())
}

/// The blocks of one message.
#[derive(Debug)]
struct Blocks {
    bodies: Vec<MessageBody>,
    /// The texts since the last block of another kind.
    text: String,
    said: fn(String) -> MessageBody,
}

impl Blocks {
    fn read(&mut self, block: RecordedNode<'_, '_>) -> ReadResult {
        if block.as_str().is_some() || block.get("type").as_str() == Some("text") {
            let text = part_text(block)?.unwrap_or_default();
            if !self.text.is_empty() && !text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(text);
            return Ok(());
        }
        let body = other_block(block)?;
        self.end_text();
        self.bodies.push(body);
        Ok(())
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.bodies.push((self.said)(std::mem::take(&mut self.text)));
        }
    }

    fn done(mut self) -> Vec<MessageBody> {
        self.end_text();
        self.bodies
    }
}

/// A block that is not text. Tools the server runs itself have kinds of their own
/// (`server_tool_use`, `web_search_tool_result`) and are calls like any other.
fn other_block(block: RecordedNode<'_, '_>) -> ReadResult<MessageBody> {
    block.object("a content block (an object)")?;
    let kind = block.get("type").text("a block type (a string)")?;
    if kind == "thinking" {
        return flatten(block.get("thinking")).map(MessageBody::Reasoning);
    }
    if kind.ends_with("tool_use") {
        return tool_call(block, "id", "name", "input").map(MessageBody::ToolCall);
    }
    if kind.ends_with("tool_result") {
        return tool_result(block).map(MessageBody::ToolReturn);
    }
    Ok(MessageBody::Other(block.value().clone()))
}

fn tool_result(block: RecordedNode<'_, '_>) -> ReadResult<ToolReturn> {
    let content = block.get("content");
    let kind = content.get("type").to_text().unwrap_or_default();
    let output = match content.value() {
        object @ Value::Object(_) => object.to_string(),
        _ => flatten(content)?,
    };
    let failed = block.get("is_error").is_true() || kind.ends_with("_error");
    Ok(ToolReturn::new(block.get("tool_use_id").to_text(), output, failed))
}
