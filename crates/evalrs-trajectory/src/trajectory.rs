//! What a target did for one sample: turns of messages, in one shape whatever recorded them.

use std::sync::Arc;

use super::step_facts::StepFacts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// The call that started that sub-agent, where the recording says. It is shown, and reaches no key.
    pub started_by: Option<Arc<str>>,
    /// What the recording says of the step that made it.
    pub step: Option<Arc<StepFacts>>,
}

impl Message {
    /// A message of the target itself or of its user.
    pub fn new(body: MessageBody) -> Self {
        Self { body, subagent: false, started_by: None, step: None }
    }
}

/// What a message says or does. One recorded message may become several of these, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageBody {
    /// Instructions to the target.
    System(String),
    /// A message of the user.
    User(String),
    /// A message of the target.
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
    /// Whether steps call the failure `error`; graders of steps get the recorded word.
    #[serde(default)]
    pub says_error: bool,
    /// Whether the call failed: `error` and `failed` both count.
    pub failed: bool,
}

impl ToolReturn {
    /// The answer to the call `call_id`.
    pub(crate) fn new(call_id: Option<String>, output: String, failed: bool) -> Self {
        Self { call_id, output, says_error: false, failed }
    }
}

impl Trajectory {
    /// The trajectory of a target of which only the last answer is known: one assistant message.
    pub fn from_output(text: &str) -> Self {
        let message = Message::new(MessageBody::Assistant(text.to_owned()));
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

    /// The first message of the user.
    pub fn first_question(&self) -> Option<&str> {
        self.messages(false).find_map(|message| match &message.body {
            MessageBody::User(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The text of the last message of the target itself, without sub-agents.
    pub fn final_output(&self) -> Option<&str> {
        self.messages(false).rev().find_map(|message| match &message.body {
            MessageBody::Assistant(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The same, ended by the `answer` of the target: appended at the end, unless it is there already or
    /// empty.
    #[must_use]
    pub fn ended_by(mut self, answer: &str) -> Self {
        if answer.trim().is_empty() || self.final_output() == Some(answer) {
            return self;
        }
        let message = Message::new(MessageBody::Assistant(answer.to_owned()));
        match self.turns.last_mut() {
            Some(turn) => turn.messages.push(message),
            None => self.turns.push(Turn { messages: vec![message] }),
        }
        self
    }

    /// Only turn `index`, from 0, with the agent's state and the totals of all; empty if the turn does not
    /// exist.
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

    /// The messages of all turns in order; those of sub-agents only on request.
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
