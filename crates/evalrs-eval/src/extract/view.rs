//! What was recorded of one sample as an extractor sees it, and why it may find nothing there.

use serde_json::Value;

use evalrs_base::path::Row;
use evalrs_trajectory::{Message, MessageBody, ToolCall, Trajectory};

/// Why nothing could be extracted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// There is no such extractor here.
    #[error("unknown extractor `{0}`")]
    Unknown(String),
    /// The options are not those of the extractor.
    #[error("{0}")]
    Options(String),
    /// Memory blocks stand in the agent's state, and there is none.
    #[error("memory_block extractor requires agent_state, but it was not retrieved")]
    NoAgentState,
    /// The pattern gave up on a text.
    #[error("pattern extractor failed: {0}")]
    Pattern(String),
}

/// What was recorded, as an extractor sees it.
pub struct ExtractView<'a> {
    pub trajectory: &'a Trajectory,
    pub output: Option<&'a str>,
    pub row: Row<'a>,
    /// Whether messages of sub-agents are seen.
    pub include_subagents: bool,
}

impl<'a> ExtractView<'a> {
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &'a Message> + use<'a> {
        self.trajectory.messages(self.include_subagents)
    }

    pub fn tool_calls(&self) -> impl Iterator<Item = &'a ToolCall> + use<'a> {
        self.trajectory.tool_calls(self.include_subagents)
    }

    /// What the target said, message by message.
    pub fn said(&self) -> impl DoubleEndedIterator<Item = &'a str> + use<'a> {
        self.messages().filter_map(assistant)
    }

    /// The row's own output, else what the target said last.
    pub fn final_output(&self) -> &'a str {
        self.output.or_else(|| self.trajectory.final_output()).unwrap_or_default()
    }

    pub fn to_json(&self) -> Value {
        self.trajectory.to_json(self.include_subagents)
    }
}

pub(super) fn assistant(message: &Message) -> Option<&str> {
    match &message.body {
        MessageBody::Assistant(text) => Some(text),
        _ => None,
    }
}
