//! Updates into the steps of a trajectory, as the inline-grader protocol has them.
//!
//! A call and its answer are one step. An id pairs them where the agent gives one; else an answer belongs to the oldest
//! call of that tool which has none yet.

use serde_json::{Map, Value, json};

use super::events::Update;
use super::form::UpdateKind;

/// The steps of the updates, each with its milliseconds since the conversation began.
pub fn steps(updates: &[(Update, u64)]) -> Vec<Value> {
    Steps::default().of(updates)
}

/// The same, but that a call and its answer are a step each where no id pairs them.
pub fn steps_paired_by_id(updates: &[(Update, u64)]) -> Vec<Value> {
    Steps { by_id_alone: true, ..Steps::default() }.of(updates)
}

#[derive(Default)]
struct Steps {
    done: Vec<Value>,
    calls: Vec<OpenCall>,
    /// Whether a name alone pairs no answer with its call.
    by_id_alone: bool,
}

/// A call of a tool.
struct OpenCall {
    id: Option<String>,
    name: String,
    /// The place of its step.
    step: usize,
    began: u64,
    has_ended: bool,
}

fn is_end(status: &str) -> bool {
    matches!(status, "completed" | "failed" | "error" | "cancelled")
}

impl Steps {
    fn of(mut self, updates: &[(Update, u64)]) -> Vec<Value> {
        for (update, at) in updates {
            match update.kind {
                UpdateKind::ToolCall => self.tool_call(update, *at),
                UpdateKind::Plan => {
                    let entries = update.entries.clone().unwrap_or_else(|| json!([]));
                    self.done.push(json!({"type": "plan", "entries": entries, "timestamp": at}));
                }
                UpdateKind::Thought => self.text("thought", update, *at),
                UpdateKind::Message => self.text("message", update, *at),
            }
        }
        self.done
    }

    fn text(&mut self, kind: &str, update: &Update, at: u64) {
        let content = update.content.as_deref().unwrap_or_default();
        if update.is_delta
            && let Some(last) = self.done.last_mut()
            && last["type"] == kind
            && let Some(Value::String(before)) = last.get_mut("content")
        {
            return before.push_str(content);
        }
        self.done.push(json!({"type": kind, "content": content, "timestamp": at}));
    }

    fn tool_call(&mut self, update: &Update, at: u64) {
        let status = update.status.as_deref().unwrap_or("pending");
        if let Some(open) = self.call_of(update, status) {
            let open = &mut self.calls[open];
            let ended = is_end(status).then(|| at.saturating_sub(open.began));
            open.has_ended |= ended.is_some();
            if let Some(step) = self.done[open.step].as_object_mut() {
                set(step, update, status);
                step.extend(ended.map(|duration| ("duration".to_owned(), Value::from(duration))));
            }
            return;
        }
        let name = update.title.clone().unwrap_or_else(|| "unknown".to_owned());
        let mut step = Map::new();
        step.insert("type".to_owned(), Value::from("tool_call"));
        step.insert("name".to_owned(), Value::from(name.as_str()));
        set(&mut step, update, status);
        step.insert("timestamp".to_owned(), Value::from(at));
        let id = update.id.clone();
        let place = self.done.len();
        self.calls.push(OpenCall { id, name, step: place, began: at, has_ended: is_end(status) });
        self.done.push(Value::Object(step));
    }

    /// The call that an update goes on with.
    fn call_of(&self, update: &Update, status: &str) -> Option<usize> {
        if update.id.is_some() {
            return self.calls.iter().rposition(|call| call.id == update.id);
        }
        let title = update.title.as_deref()?;
        let goes_on = status != "pending" && !self.by_id_alone;
        self.calls.iter().position(|call| goes_on && !call.has_ended && call.name == title)
    }
}

/// Notes the part of a call that an update has.
fn set(step: &mut Map<String, Value>, update: &Update, status: &str) {
    step.insert("status".to_owned(), Value::from(status));
    for (name, value) in [("input", &update.input), ("output", &update.output)] {
        step.extend(value.clone().map(|value| (name.to_owned(), value)));
    }
}
