//! Everything a target did for one sample, in one shape whatever wrote it.
//!
//! The readers beside this file turn each recorded format into [`Trajectory`]. Provider ids and
//! timestamps are dropped on the way in: they must never reach an action key. The raw record stays in
//! the dataset chunk it came from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Turns of messages. A turn starts at each user message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// The turns in order.
    pub turns: Vec<Turn>,
    /// The state the agent was left in, as its server gave it (Letta memory blocks).
    pub agent_state: Option<Value>,
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
    pub body: Body,
    /// Whether a sub-agent sent it, not the target itself.
    pub subagent: bool,
}

/// What a message says or does. One recorded message may become several of these, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
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
    /// Whether the call failed: `error` and `failed` both count.
    pub failed: bool,
}

/// The recorded formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrajectoryFormat {
    /// Letta messages: turns of objects with `message_type`.
    Letta,
    /// OpenAI chat messages.
    OpenaiChat,
    /// Anthropic messages: content blocks.
    Anthropic,
    /// Claude Code `--output-format stream-json` lines.
    ClaudeCode,
    /// Steps of the inline-grader protocol.
    Steps,
    /// Plain text: the target's last answer.
    Text,
}

impl Trajectory {
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
            Body::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}
