//! Claude Code `--output-format stream-json` lines, and its session files, which have the same lines.
//!
//! Claude Code writes one line a content block, and lines of sub-agents that run at the same time
//! interleave. All blocks of one message id therefore go where the first of them stands: the message was
//! one answer of the model, made before any tool returned. What the lines say of the session is dropped, but for the
//! time and the cost that end a turn, which stand beside the messages and reach no key.

use std::collections::HashMap;

use serde_json::Value;

use super::content::is_chat;
use super::node::RecordedNode;
use super::step_facts::StepFacts;
use super::turns::{Turns, conversation};
use super::{MessageBody, ReadResult, Trajectory, TrajectoryFormat, TrajectoryTotals, anthropic};

/// Objects with `type` and `message` or `subtype`, also as JSON Lines text.
pub(super) static FORMAT: TrajectoryFormat = TrajectoryFormat {
    name: "claude_code",
    owns: is_own,
    owns_text: |text| events(text).is_some(),
    has_kinds: true,
    read,
    ..TrajectoryFormat::TEXT
};

/// The events in JSON Lines text as one list; none if a line is not an object or no line is an
/// event.
pub(super) fn events(text: &str) -> Option<Value> {
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut events = Vec::new();
    for line in text.split('\n').filter(|line| !line.trim().is_empty()) {
        events.push(serde_json::from_str::<Value>(line).ok().filter(Value::is_object)?);
    }
    events.iter().any(is_event).then_some(Value::Array(events))
}

/// Whether `value` is a line that only Claude Code writes.
pub(crate) fn is_event(value: &Value) -> bool {
    let kind = value.get("type").and_then(Value::as_str);
    match kind {
        Some("assistant" | "user") => value.get("message").is_some_and(Value::is_object),
        Some("system" | "result") => value.get("subtype").is_some_and(Value::is_string),
        _ => false,
    }
}

/// Whether `value` may be any line of a file in which Claude Code keeps a session: an event, or what is beside them, as
/// summaries and snapshots of files.
pub fn is_session_line(value: &Value) -> bool {
    const MEMBERS: [&str; 5] =
        ["sessionId", "session_id", "parentUuid", "leafUuid", "isSnapshotUpdate"];
    let is_beside = || MEMBERS.iter().any(|name| value.get(name).is_some());
    is_event(value) || value.get("type").is_some_and(Value::is_string) && is_beside()
}

/// Whether a file of JSON Lines is a session without messages: it has nothing but what is beside them, as the summary of another
/// session.
pub fn is_session_without_events(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let is_beside = |line: &str| {
        serde_json::from_str(line).is_ok_and(|value| !is_event(&value) && is_session_line(&value))
    };
    lines.peek().is_some() && lines.all(is_beside)
}

/// Whether only Claude Code writes such an event. A chat message may have a type too.
fn is_own(message: &Value) -> bool {
    !is_chat(message) && is_event(message)
}

fn read(root: RecordedNode<'_, '_>) -> ReadResult<Trajectory> {
    let Some(text) = root.as_str() else { return conversation(root, read_events) };
    let events = events(text).ok_or_else(|| root.problem("lines of Claude Code events"))?;
    conversation(RecordedNode::root(&events), read_events)
}

fn read_events(lines: RecordedNode<'_, '_>, turns: &mut Turns) -> ReadResult {
    let events: Vec<RecordedNode<'_, '_>> = lines.items("a list of Claude Code events")?.collect();
    for entry in merge(&events) {
        match entry {
            MessageEvents::Assistant(lines) => assistant(&lines, turns)?,
            MessageEvents::Line(line) => single(*line, turns)?,
        }
    }
    Ok(())
}

/// How many messages of the assistant the lines hold, sub-agents included.
#[cfg(test)]
pub(super) fn assistant_messages(lines: &Value) -> usize {
    let root = RecordedNode::root(lines);
    let events: Vec<RecordedNode<'_, '_>> = root.items("events").into_iter().flatten().collect();
    merge(&events).iter().filter(|entry| matches!(entry, MessageEvents::Assistant(_))).count()
}

/// A line, or all lines of one message of the assistant.
#[derive(Debug)]
enum MessageEvents<'a, 'p, 'v> {
    Assistant(Vec<&'a RecordedNode<'p, 'v>>),
    Line(&'a RecordedNode<'p, 'v>),
}

/// Brings the lines of each message id together at the place of the first; never across turns,
/// because mocks and proxies reuse ids.
fn merge<'a, 'p, 'v>(events: &'a [RecordedNode<'p, 'v>]) -> Vec<MessageEvents<'a, 'p, 'v>> {
    let mut entries = Vec::new();
    let mut places = HashMap::new();
    for event in events {
        if event.get("type").as_str() != Some("assistant") || is_meta(*event) {
            if divides(*event) {
                places.clear();
            }
            entries.push(MessageEvents::Line(event));
            continue;
        }
        let message = event.value().get("message");
        let id = message.and_then(|message| message.get("id")).and_then(Value::as_str);
        let place = id.map_or(entries.len(), |id| *places.entry(id).or_insert(entries.len()));
        match entries.get_mut(place) {
            Some(MessageEvents::Assistant(lines)) => lines.push(event),
            _ => entries.push(MessageEvents::Assistant(vec![event])),
        }
    }
    entries
}

/// Whether a line ends a turn or starts one.
fn divides(line: RecordedNode<'_, '_>) -> bool {
    let blocks = line.value().pointer("/message/content").and_then(Value::as_array);
    let answers =
        blocks.is_some_and(|blocks| blocks.iter().any(|b| b.get("tool_use_id").is_some()));
    match line.get("type").as_str() {
        Some("result") => true,
        Some("user") => !answers && !is_subagent(line) && !is_meta(line),
        _ => false,
    }
}

/// One message of the assistant. Texts that only the end of a line divides are one text.
fn assistant(lines: &[&RecordedNode<'_, '_>], turns: &mut Turns) -> ReadResult {
    let subagent = lines.first().is_some_and(|line| is_subagent(**line));
    let mut bodies: Vec<MessageBody> = Vec::new();
    for line in lines {
        let message = line.get("message");
        message.object("a message (an object)")?;
        for body in anthropic::bodies(message.get("content"), MessageBody::Assistant)? {
            match (bodies.last_mut(), body) {
                (Some(MessageBody::Assistant(before)), MessageBody::Assistant(text)) => {
                    before.push(' ');
                    before.push_str(&text);
                }
                (_, body) => bodies.push(body),
            }
        }
    }
    turns.started_by(lines.first().and_then(|line| line.get("parent_tool_use_id").as_str()));
    turns.at_step(step_of(lines));
    for body in bodies {
        turns.push_of(body, subagent);
    }
    Ok(())
}

/// What the lines of one message say of it: each repeats what it used, and the last one has the most.
fn step_of(lines: &[&RecordedNode<'_, '_>]) -> Option<StepFacts> {
    let at = lines.first().and_then(|line| StepFacts::of(line.value())).and_then(|facts| facts.at);
    let used = lines.last().and_then(|line| StepFacts::of(line.get("message").value()));
    match used {
        Some(used) => Some(StepFacts { at, ..used }),
        None => at.map(|at| StepFacts { at: Some(at), ..StepFacts::default() }),
    }
}

fn single(line: RecordedNode<'_, '_>, turns: &mut Turns) -> ReadResult {
    line.object("a Claude Code event (an object)")?;
    let subtype = line.get("subtype");
    turns.started_by(line.get("parent_tool_use_id").as_str());
    turns.at_step(StepFacts::of(line.value()));
    match line.get("type").text("an event type (a string)")? {
        "user" if !is_meta(line) => {
            let message = line.get("message");
            message.object("a message (an object)")?;
            anthropic::user(message.get("content"), is_subagent(line), turns)?;
        }
        // Names the session's tools and model, which are settings of the target and no message.
        "system" if subtype.as_str() == Some("init") => {}
        "result" => result(line, turns),
        _ => turns.push_of(MessageBody::Other(line.value().clone()), is_subagent(line)),
    }
    Ok(())
}

/// The last line of a turn repeats its last answer, which is used only if there is no other text.
fn result(line: RecordedNode<'_, '_>, turns: &mut Turns) {
    let silent = !turns
        .last()
        .iter()
        .any(|message| !message.subagent && matches!(message.body, MessageBody::Assistant(_)));
    if let Some(text) = line.get("result").as_str().filter(|text| silent && !text.is_empty()) {
        turns.push(MessageBody::Assistant(text.to_owned()));
    }
    let number = |name: &str| line.get(name).value().as_f64().filter(|number| *number >= 0.0);
    turns.add_totals(TrajectoryTotals {
        duration_ms: number("duration_ms"),
        cost_usd: number("total_cost_usd"),
    });
    turns.end();
}

/// Whether a sub-agent wrote the line: streams name the call that started it, session files a side chain.
fn is_subagent(line: RecordedNode<'_, '_>) -> bool {
    !line.get("parent_tool_use_id").is_nothing() || line.get("isSidechain").is_true()
}

/// Whether Claude Code wrote the line itself, in the name of the user.
fn is_meta(line: RecordedNode<'_, '_>) -> bool {
    line.get("isMeta").is_true() || line.get("isSynthetic").is_true()
}
