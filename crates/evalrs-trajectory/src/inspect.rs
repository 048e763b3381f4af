//! Messages of Inspect: a list of them, or a sample of a log.
//!
//! They look like OpenAI's, but a call names its function as text, has its arguments as an object, and an answer of a tool
//! says what went wrong. Long texts of a sample stand apart, under `attachments`. A sample that ended before its messages
//! were written has them in its last event of a model.

use serde_json::{Map, Value};

use super::content::{flatten_with, is_chat, json_text, part_text, tool_call};
use super::node::RecordedNode;
use super::turns::{Turns, conversation};
use super::{
    MessageBody, ReadResult, ToolCall, ToolReturn, Trajectory, TrajectoryFormat, TrajectoryTotals,
};

/// Objects with `role`, whose calls have a `function` that is text; or a sample with `messages` and an `epoch`.
pub(super) static FORMAT: TrajectoryFormat = TrajectoryFormat {
    name: "inspect",
    owns: is_own,
    owns_object: is_sample,
    read,
    ..TrajectoryFormat::TEXT
};

/// What texts that stand apart are referred to by, now and in old logs.
const ATTACHED: [&str; 2] = ["attachment://", "tc://"];

/// Whether only Inspect writes such a message.
fn is_own(message: &Value) -> bool {
    let items = |key: &str| message.get(key).and_then(Value::as_array).into_iter().flatten();
    let named = |call: &Value| call.get("function").is_some_and(Value::is_string);
    let is_answer = message.get("role").and_then(Value::as_str) == Some("tool")
        && message.get("function").is_some_and(Value::is_string);
    let is_thought = |part: &Value| {
        part.get("type").and_then(Value::as_str) == Some("reasoning")
            && part.get("reasoning").is_some_and(Value::is_string)
    };
    is_chat(message)
        && (is_answer || items("tool_calls").any(named) || items("content").any(is_thought))
}

/// Whether it is a sample of a log.
fn is_sample(object: &Map<String, Value>) -> bool {
    let has = |key: &str| object.contains_key(key);
    object.get("messages").is_some_and(Value::is_array)
        && object.get("epoch").is_some_and(Value::is_number)
        && has("input")
        && (has("scores") || has("output") || has("events"))
}

fn read(root: RecordedNode<'_, '_>) -> ReadResult<Trajectory> {
    let attachments = root.value().get("attachments").and_then(Value::as_object);
    let messages = Messages { attachments };
    if let Some(list) = unwritten(root.value()) {
        return messages.read(RecordedNode::root(&list));
    }
    let mut trajectory = messages.read(root)?;
    let seconds = root.value().get("total_time").and_then(Value::as_f64);
    let duration_ms = seconds.filter(|time| *time >= 0.0).map(|seconds| seconds * 1000.0);
    trajectory.totals = TrajectoryTotals { duration_ms, cost_usd: None };
    Ok(trajectory)
}

/// The messages of a sample, with the texts that stand apart.
pub fn messages_of(sample: &Value) -> Value {
    let attachments = sample.get("attachments").and_then(Value::as_object);
    let messages = sample.get("messages").cloned().unwrap_or_default();
    let mut messages = unwritten(sample).unwrap_or(messages);
    attach(&mut messages, Messages { attachments });
    messages
}

/// Puts texts that stand apart where they are referred to.
fn attach(value: &mut Value, texts: Messages<'_>) {
    match value {
        Value::String(text) if ATTACHED.iter().any(|scheme| text.starts_with(scheme)) => {
            *text = texts.attached(text);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| attach(item, texts)),
        Value::Object(members) => members.values_mut().for_each(|member| attach(member, texts)),
        _ => {}
    }
}

/// The messages of the last event of a model, of a sample that has no others.
fn unwritten(sample: &Value) -> Option<Value> {
    if sample.get("messages").and_then(Value::as_array).is_some_and(|list| !list.is_empty()) {
        return None;
    }
    let events = sample.get("events")?.as_array()?;
    let is_model = |event: &&Value| event.get("event").and_then(Value::as_str) == Some("model");
    let event = events.iter().rev().find(is_model)?;
    let mut messages = event.get("input").and_then(Value::as_array).cloned().unwrap_or_default();
    if messages.is_empty() {
        messages = pooled(sample, event).unwrap_or_default();
    }
    messages.extend(event.pointer("/output/choices/0/message").cloned());
    Some(Value::Array(messages))
}

/// The messages that an event has as ranges of those that the events of a sample share.
fn pooled(sample: &Value, event: &Value) -> Option<Vec<Value>> {
    let pool = sample.pointer("/events_data/messages").or_else(|| sample.get("message_pool"))?;
    let pool = pool.as_array()?;
    let mut messages = Vec::new();
    for range in event.get("input_refs")?.as_array()? {
        let at = |index: usize| usize::try_from(range.get(index)?.as_u64()?).ok();
        let shared = pool.get(at(0)?..at(1)?)?;
        // Ranges may repeat, but a conversation is no longer than all that was said in it.
        if messages.len() + shared.len() > pool.len() {
            return None;
        }
        messages.extend(shared.iter().cloned());
    }
    Some(messages)
}

/// What messages are read with.
#[derive(Clone, Copy, Debug)]
struct Messages<'v> {
    /// The texts that stand apart.
    attachments: Option<&'v Map<String, Value>>,
}

impl Messages<'_> {
    fn read(self, root: RecordedNode<'_, '_>) -> ReadResult<Trajectory> {
        conversation(root, |list, turns| {
            list.items("a list of messages")?.try_for_each(|message| self.message(message, turns))
        })
    }

    fn message(self, message: RecordedNode<'_, '_>, turns: &mut Turns) -> ReadResult {
        message.object("a chat message (an object)")?;
        let content = message.get("content");
        match message.get("role").text("a role (a string)")? {
            "system" | "developer" => turns.push(MessageBody::System(self.text(content)?)),
            "user" => turns.ask(self.text(content)?),
            "assistant" => self.assistant(message, turns)?,
            "tool" => turns.push(MessageBody::ToolReturn(self.answer(message)?)),
            _ => turns.push(MessageBody::Other(message.value().clone())),
        }
        Ok(())
    }

    /// Thoughts and texts in their order, then calls.
    fn assistant(self, message: RecordedNode<'_, '_>, turns: &mut Turns) -> ReadResult {
        // Old logs have the thoughts beside the content.
        if let Some(thought) = message.get("reasoning").as_str().filter(|text| !text.is_empty()) {
            turns.push(MessageBody::Reasoning(self.attached(thought)));
        }
        let content = message.get("content");
        let mut said: Vec<String> = Vec::new();
        if content.value().is_array() {
            for part in content.items("a list of content parts")? {
                self.part(part, &mut said, turns)?;
            }
        } else {
            said.push(self.text(content)?);
        }
        say(&mut said, turns);
        let calls = message.get("tool_calls");
        if !calls.is_nothing() {
            for call in calls.items("a list of tool calls")? {
                call.object("a tool call (an object)")?;
                turns.push(MessageBody::ToolCall(self.call(call, "function")?));
            }
        }
        Ok(())
    }

    fn part(
        self,
        part: RecordedNode<'_, '_>,
        said: &mut Vec<String>,
        turns: &mut Turns,
    ) -> ReadResult {
        match part.get("type").as_str() {
            Some("reasoning") => {
                say(said, turns);
                let is_hidden = part.get("redacted").is_true();
                let key = if is_hidden { "summary" } else { "reasoning" };
                let thought = part.get(key).as_str().unwrap_or_default();
                turns.push(MessageBody::Reasoning(self.attached(thought)));
            }
            // A tool that the provider ran itself.
            Some("tool_use") => {
                say(said, turns);
                let error = part.get("error");
                let failed = !error.is_nothing();
                let output = if failed { error } else { part.get("result") };
                let output = self.attached(&json_text(output.value()));
                let call = self.call(part, "name")?;
                let answer = ToolReturn::new(call.id.clone(), output, failed);
                turns.push(MessageBody::ToolCall(call));
                turns.push(MessageBody::ToolReturn(answer));
            }
            _ => said.extend(part_text(part)?.map(|text| self.attached(text))),
        }
        Ok(())
    }

    /// What a tool answered: where it failed it may say why and nothing else.
    fn answer(self, message: RecordedNode<'_, '_>) -> ReadResult<ToolReturn> {
        let error = message.get("error");
        let output = self.text(message.get("content"))?;
        let why = error.get("message").as_str().unwrap_or_default();
        let output = if output.is_empty() { self.attached(why) } else { output };
        let call_id = message.get("tool_call_id").to_text();
        Ok(ToolReturn::new(call_id, output, !error.is_nothing()))
    }

    /// A call, whose tool is under `name`.
    fn call(self, call: RecordedNode<'_, '_>, name: &str) -> ReadResult<ToolCall> {
        let call = tool_call(call, "id", name, "arguments")?;
        Ok(ToolCall { arguments: self.attached(&call.arguments), ..call })
    }

    /// The text of a content, the texts of its parts joined with one space.
    fn text(self, content: RecordedNode<'_, '_>) -> ReadResult<String> {
        flatten_with(content, |text| self.attached(text))
    }

    /// A text, from its own field if it has one.
    fn attached(self, text: &str) -> String {
        let place = ATTACHED.iter().find_map(|scheme| text.strip_prefix(scheme));
        let found = place.and_then(|name| self.attachments?.get(name)?.as_str());
        found.unwrap_or(text).to_owned()
    }
}

/// Says what was gathered as one text.
fn say(said: &mut Vec<String>, turns: &mut Turns) {
    let text = std::mem::take(said).join(" ");
    if !text.is_empty() {
        turns.push(MessageBody::Assistant(text));
    }
}
