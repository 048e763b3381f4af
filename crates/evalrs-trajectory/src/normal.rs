//! The shapes a trajectory is shown in: normalized JSON for judges, steps for grading programs.
//!
//! Both are keyed, so neither holds an id or a time of a provider: calls and returns are paired by small
//! ordinals, and messages of unknown kinds lose the members that providers are known to put such things in.

use std::collections::{HashMap, VecDeque};

use serde_json::{Value, json};

use super::{Message, MessageBody, ToolCall, ToolReturn, Trajectory};

impl Trajectory {
    /// The turns as lists of `{"role": ..}` objects; messages of sub-agents only on request.
    ///
    /// Calls are numbered from 1 in the order they were made, and returns carry the number of their call.
    /// The same conversation recorded twice gives the same value.
    pub fn to_json(&self, include_subagents: bool) -> Value {
        self.turns_as(include_subagents, message_json)
    }

    /// The turns as lists of what `write` makes of each message.
    pub(super) fn turns_as<'a>(
        &'a self,
        include_subagents: bool,
        write: impl Fn(&'a Message, &mut Pairing<'a>) -> Value,
    ) -> Value {
        let mut pairing = Pairing::of(self, include_subagents);
        let turns = self.turns.iter().map(|turn| {
            let seen =
                turn.messages.iter().filter(|message| include_subagents || !message.subagent);
            seen.map(|message| write(message, &mut pairing)).collect::<Value>()
        });
        turns.collect()
    }

    /// The steps of the inline-grader protocol, without times; of sub-agents only on request.
    ///
    /// What the user and the instructions said is no step. A call whose return is missing is `pending`.
    pub fn to_steps(&self, include_subagents: bool) -> Vec<Value> {
        let mut pairing = Pairing::of(self, include_subagents);
        let mut steps = Vec::new();
        let mut calls = Vec::new();
        for message in self.messages(include_subagents) {
            match &message.body {
                MessageBody::Assistant(text) => {
                    steps.push(json!({"type": "message", "content": text}));
                }
                MessageBody::Reasoning(text) => {
                    steps.push(json!({"type": "thought", "content": text}));
                }
                MessageBody::ToolCall(call) => {
                    calls.push(steps.len());
                    steps.push(call_step(call));
                }
                MessageBody::ToolReturn(answer) => {
                    let place = pairing.answered(answer).and_then(|call| calls.get(call - 1));
                    if let Some(step) = place.and_then(|place| steps.get_mut(*place)) {
                        finish(step, answer);
                    }
                }
                MessageBody::Other(value) if is_plan(value) => steps.push(value.clone()),
                MessageBody::System(_) | MessageBody::User(_) | MessageBody::Other(_) => {}
            }
        }
        steps
    }
}

/// Which call each return answers.
///
/// Calls and returns without an id are paired in order. Where an id stands for several calls, each
/// return answers the oldest that has none; a further return answers the last again.
#[derive(Debug)]
pub(super) struct Pairing<'a> {
    waiting: HashMap<Option<&'a str>, VecDeque<usize>>,
    made: usize,
}

impl<'a> Pairing<'a> {
    pub(crate) fn of(trajectory: &'a Trajectory, include_subagents: bool) -> Self {
        let mut waiting: HashMap<_, VecDeque<usize>> = HashMap::new();
        for (index, call) in trajectory.tool_calls(include_subagents).enumerate() {
            waiting.entry(call.id.as_deref()).or_default().push_back(index + 1);
        }
        Self { waiting, made: 0 }
    }

    /// The ordinal of the next call, from 1.
    pub(crate) fn call(&mut self) -> usize {
        self.made += 1;
        self.made
    }

    /// The ordinal of the call that `answer` answers.
    pub(crate) fn answered(&mut self, answer: &'a ToolReturn) -> Option<usize> {
        let waiting = self.waiting.get_mut(&answer.call_id.as_deref())?;
        if waiting.len() > 1 { waiting.pop_front() } else { waiting.front().copied() }
    }
}

fn message_json<'a>(message: &'a Message, pairing: &mut Pairing<'a>) -> Value {
    let mut value = match &message.body {
        MessageBody::System(text) => json!({"role": "system", "content": text}),
        MessageBody::User(text) => json!({"role": "user", "content": text}),
        MessageBody::Assistant(text) => json!({"role": "assistant", "content": text}),
        MessageBody::Reasoning(text) => json!({"role": "reasoning", "content": text}),
        MessageBody::ToolCall(call) => json!({
            "role": "tool_call",
            "call": pairing.call(),
            "name": call.name,
            "arguments": call.arguments,
        }),
        MessageBody::ToolReturn(answer) => json!({
            "role": "tool_return",
            "call": pairing.answered(answer),
            "output": answer.output,
            "failed": answer.failed,
        }),
        MessageBody::Other(value) => json!({"role": "other", "message": stable(value)}),
    };
    if message.subagent {
        value["subagent"] = Value::Bool(true);
    }
    value
}

fn call_step(call: &ToolCall) -> Value {
    let mut step = json!({"type": "tool_call", "name": call.name, "status": "pending"});
    if !call.arguments.is_empty() {
        step["input"] = serde_json::from_str(&call.arguments)
            .unwrap_or_else(|_| Value::String(call.arguments.clone()));
    }
    step
}

fn finish(step: &mut Value, answer: &ToolReturn) {
    step["status"] = Value::from(match (answer.failed, answer.says_error) {
        (true, true) => "error",
        (true, false) => "failed",
        (false, _) => "completed",
    });
    if !answer.output.is_empty() {
        step["output"] = Value::from(answer.output.as_str());
    }
}

fn is_plan(value: &Value) -> bool {
    value.get("type").and_then(Value::as_str) == Some("plan")
}

/// The members that hold ids, times and measurements in the formats this crate reads.
const VOLATILE: [&str; 30] = [
    "approval_request_id",
    "call_id",
    "created",
    "created_at",
    "date",
    "duration_api_ms",
    "duration_ms",
    "id",
    "leafUuid",
    "messageId",
    "message_id",
    "otid",
    "parentToolUseID",
    "parentUuid",
    "parent_tool_use_id",
    "requestId",
    "request_id",
    "run_id",
    "sender_id",
    "seq_id",
    "sessionId",
    "session_id",
    "stepId",
    "step_id",
    "task_id",
    "timestamp",
    "toolUseID",
    "tool_call_id",
    "tool_use_id",
    "uuid",
];

/// `value` without what differs between two recordings of the same conversation.
pub(super) fn stable(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| !VOLATILE.contains(&key.as_str()));
            kept.map(|(key, value)| (key.clone(), stable(value))).collect()
        }
        Value::Array(items) => items.iter().map(stable).collect(),
        other => other.clone(),
    }
}
