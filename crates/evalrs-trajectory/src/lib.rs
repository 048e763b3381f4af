//! Everything a target did for one sample, in one shape whatever wrote it.
//!
//! The readers beside this file turn each recorded format into [`Trajectory`], one file a format. Provider
//! ids and timestamps are dropped on the way in: they must never reach an action key. Only call ids stay,
//! because they pair calls with returns, and `normal` replaces them by ordinals on the way out. The raw
//! record stays in the dataset chunk it came from. Nothing here knows of datasets, suites or graders.

mod anthropic;
mod atif;
pub mod claude_code;
mod content;
pub mod inspect;
mod letta;
pub mod letta_dir;
mod letta_out;
mod node;
mod normal;
pub mod openai;
pub mod otel;
pub mod read;
mod steps;
mod text;
mod turns;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

pub use claude_code::is_session_line;
pub use inspect::messages_of as inspect_messages;
use node::RecordedNode;
pub use openai::CallMarks;
pub use otel::spans_in;
pub use read::{call_marks, detect, read};

/// The recorded formats under the names that a suite calls them by, one file a format.
pub const FORMATS: [(&str, &TrajectoryFormat); 9] = [
    named(&letta::FORMAT),
    named(&inspect::FORMAT),
    named(&openai::FORMAT),
    named(&anthropic::FORMAT),
    named(&claude_code::FORMAT),
    named(&steps::FORMAT),
    named(&atif::FORMAT),
    named(&otel::FORMAT),
    named(&text::FORMAT),
];

const fn named(format: &'static TrajectoryFormat) -> (&'static str, &'static TrajectoryFormat) {
    (format.name, format)
}

/// A format that trajectories are recorded in.
#[derive(Debug)]
pub struct TrajectoryFormat {
    /// What a suite calls it.
    name: &'static str,
    /// Whether a message can only be of this format.
    owns: fn(&Value) -> bool,
    /// Whether an object that holds more than messages can only be of this format.
    owns_object: fn(&Map<String, Value>) -> bool,
    /// Whether text can only be of this format.
    owns_text: fn(&str) -> bool,
    /// Whether messages that are its own are told by their kind, so that all of them may be of kinds unknown here.
    has_kinds: bool,
    /// Reads what was recorded.
    read: fn(RecordedNode<'_, '_>) -> Result<Trajectory, TrajectoryProblem>,
}

impl PartialEq for TrajectoryFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TrajectoryFormat {}

impl std::hash::Hash for TrajectoryFormat {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Serialize for TrajectoryFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name.serialize(serializer)
    }
}

/// Turns of messages. A turn starts at each user message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// The turns in order.
    pub turns: Vec<Turn>,
    /// The state the agent was left in, as its server gave it (Letta memory blocks).
    pub agent_state: Option<Value>,
    /// What the recording says of the whole.
    pub totals: TrajectoryTotals,
}

/// What a recording says of all that it holds: of Claude Code the lines that end turns do.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrajectoryTotals {
    /// How long it took, in milliseconds.
    pub duration_ms: Option<f64>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
}

/// One user message and everything the target did until the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// The messages in order.
    pub messages: Vec<Message>,
}

/// One message of a trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// What it says or does.
    pub body: MessageBody,
    /// Whether a sub-agent sent it, not the target itself.
    pub subagent: bool,
}

/// What a message says or does. One recorded message may become several of these, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageBody {
    /// Instructions to the target.
    System(String),
    /// What the user said.
    User(String),
    /// What the target said.
    Assistant(String),
    /// What the target thought.
    Reasoning(String),
    /// The target called a tool.
    ToolCall(ToolCall),
    /// A tool answered.
    ToolReturn(ToolReturn),
    /// A kind this version does not know, passed through as it was.
    Other(Value),
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What its return refers to; absent in formats that pair them by position.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments as the target wrote them, normally JSON text.
    pub arguments: String,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReturn {
    /// The call it answers.
    pub call_id: Option<String>,
    /// The text of the answer.
    pub output: String,
    /// Whether steps call the failure `error`; graders of steps are told the word that was recorded.
    #[serde(default)]
    pub says_error: bool,
    /// Whether the call failed: `error` and `failed` both count.
    pub failed: bool,
}

/// What makes a value unreadable as a trajectory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TrajectoryProblem {
    /// The JSON Pointer (RFC 6901) of the place; empty for the value as a whole. In JSON Lines text the
    /// first step is the index of the line, from 0, blank lines not counted.
    pub pointer: String,
    /// What was expected there, with its article.
    pub expected: &'static str,
    /// What stands there, with its article.
    pub found: &'static str,
}

impl fmt::Display for TrajectoryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, expected, found } = self;
        match pointer.as_str() {
            "" => write!(f, "expected {expected}, found {found}"),
            _ => write!(f, "expected {expected} at `{pointer}`, found {found}"),
        }
    }
}

impl Trajectory {
    /// The trajectory of a target of which only the last answer is known: one assistant message.
    pub fn from_output(text: &str) -> Self {
        let message = Message { body: MessageBody::Assistant(text.to_owned()), subagent: false };
        Self {
            turns: vec![Turn { messages: vec![message] }],
            agent_state: None,
            totals: TrajectoryTotals::default(),
        }
    }

    /// Whether it is one answer and nothing else.
    pub fn is_one_answer(&self) -> bool {
        let mut messages = self.turns.iter().flat_map(|turn| &turn.messages);
        messages.next().is_some_and(|message| matches!(message.body, MessageBody::Assistant(_)))
            && messages.next().is_none()
    }

    /// What the user said first.
    pub fn first_question(&self) -> Option<&str> {
        self.messages(false).find_map(|message| match &message.body {
            MessageBody::User(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The text of the last message of the target itself, sub-agents not asked.
    pub fn final_output(&self) -> Option<&str> {
        self.messages(false).rev().find_map(|message| match &message.body {
            MessageBody::Assistant(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The same, ended by the `answer` of the target: said at last, unless it was or there is nothing to say.
    #[must_use]
    pub fn ended_by(mut self, answer: &str) -> Self {
        if answer.trim().is_empty() || self.final_output() == Some(answer) {
            return self;
        }
        let message = Message { body: MessageBody::Assistant(answer.to_owned()), subagent: false };
        match self.turns.last_mut() {
            Some(turn) => turn.messages.push(message),
            None => self.turns.push(Turn { messages: vec![message] }),
        }
        self
    }

    /// Only turn `index`, from 0, with the agent's state and the totals of all; empty if there is no such turn.
    #[must_use]
    pub fn turn(&self, index: usize) -> Self {
        Self {
            turns: self.turns.get(index).cloned().into_iter().collect(),
            agent_state: self.agent_state.clone(),
            totals: self.totals,
        }
    }

    /// Whether the target produced no message at all.
    pub fn is_empty(&self) -> bool {
        self.turns.iter().all(|turn| turn.messages.is_empty())
    }

    /// The messages of all turns in order; those of sub-agents only if asked for.
    pub fn messages(&self, include_subagents: bool) -> impl DoubleEndedIterator<Item = &Message> {
        self.turns
            .iter()
            .flat_map(|turn| &turn.messages)
            .filter(move |message| include_subagents || !message.subagent)
    }

    /// The calls of tools in order.
    pub fn tool_calls(&self, include_subagents: bool) -> impl Iterator<Item = &ToolCall> {
        self.messages(include_subagents).filter_map(|message| match &message.body {
            MessageBody::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}
