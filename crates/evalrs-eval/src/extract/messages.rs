//! Extractors of the target's messages, calls and final state.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::extractor::{
    ExtractError, ExtractView, ExtractorInfo, assistant, no_options, options, with_options,
    without_options,
};
use crate::options::schema;
use evalrs_base::python::strip;
use evalrs_trajectory::MessageBody;

pub(super) const LAST_ASSISTANT: ExtractorInfo = ExtractorInfo {
    id: "last_assistant",
    name: "Last assistant message",
    description: "The last assistant message.",
    options: no_options,
    compile: |config| {
        without_options(config, |from| from.said().next_back().unwrap_or_default().to_owned())
    },
};

pub(super) const FIRST_ASSISTANT: ExtractorInfo = ExtractorInfo {
    id: "first_assistant",
    name: "First assistant message",
    description: "The first assistant message.",
    options: no_options,
    compile: |config| {
        without_options(config, |from| from.said().next().unwrap_or_default().to_owned())
    },
};

/// Options of extractors that join messages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JoinedMessages {
    /// The text between two messages.
    #[serde(default = "line_feed")]
    separator: String,
}

fn line_feed() -> String {
    "\n".to_owned()
}

pub(super) const ALL_ASSISTANT: ExtractorInfo = ExtractorInfo {
    id: "all_assistant",
    name: "All assistant messages",
    description: "All assistant messages, joined.",
    options: schema::<JoinedMessages>,
    compile: |config| {
        with_options(config, |joined: &JoinedMessages, from| {
            from.said().collect::<Vec<_>>().join(&joined.separator)
        })
    },
};

pub(super) const LAST_TURN: ExtractorInfo = ExtractorInfo {
    id: "last_turn",
    name: "Last turn",
    description: "The assistant messages of the last turn, joined.",
    options: schema::<JoinedMessages>,
    compile: |config| {
        with_options(config, |joined: &JoinedMessages, from| {
            last_turn(from).join(&joined.separator)
        })
    },
};

pub(super) const FINAL_OUTPUT: ExtractorInfo = ExtractorInfo {
    id: "final_output",
    name: "Final output",
    description: "The recorded output of the row, else the last assistant message.",
    options: no_options,
    compile: |config| without_options(config, |from| from.final_output().to_owned()),
};

pub(super) const TRAJECTORY: ExtractorInfo = ExtractorInfo {
    id: "trajectory",
    name: "Trajectory",
    description: "The whole trajectory as JSON, without ids and times.",
    options: no_options,
    compile: |config| without_options(config, |from| from.to_json().to_string()),
};

pub(super) const AFTER_MARKER: ExtractorInfo = ExtractorInfo {
    id: "after_marker",
    name: "After marker",
    description: "The text after a marker, in the newest assistant message that contains it; trimmed.",
    options: schema::<AfterMarker>,
    compile: |config| {
        with_options(config, |options: &AfterMarker, from| {
            from.said().rev().find_map(|text| options.rest(text)).unwrap_or_default()
        })
    },
};

/// Options of `after_marker`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AfterMarker {
    /// The text to find.
    #[schemars(length(min = 1))]
    marker: String,
    /// Whether the marker itself is part of the submission.
    #[serde(default)]
    include_marker: bool,
}

impl AfterMarker {
    /// What follows the first marker in `text`, trimmed as Python's `str.strip` does.
    fn rest(&self, text: &str) -> Option<String> {
        let at = text.find(&self.marker)?;
        let from = if self.include_marker { at } else { at + self.marker.len() };
        text.get(from..).map(|rest| strip(rest).to_owned())
    }
}

/// The messages of the target in its last turn.
fn last_turn<'a>(from: &ExtractView<'a>) -> Vec<&'a str> {
    let last = from.trajectory.turns.last().map_or(&[][..], |turn| &turn.messages);
    let seen = last.iter().filter(|message| from.include_subagents || !message.subagent);
    seen.filter_map(assistant).collect()
}

/// Options of extractors of one tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneTool {
    /// The name of the tool.
    #[schemars(length(min = 1))]
    tool_name: String,
}

pub(super) const TOOL_ARGUMENTS: ExtractorInfo = ExtractorInfo {
    id: "tool_arguments",
    name: "Tool arguments",
    description: "The arguments of the first call of a tool as written; `{}` if there is none.",
    options: schema::<OneTool>,
    compile: |config| {
        with_options(config, |tool: &OneTool, from| {
            let call = from.tool_calls().find(|call| call.name == tool.tool_name);
            call.map_or_else(|| "{}".to_owned(), |call| call.arguments.clone())
        })
    },
};

pub(super) const TOOL_OUTPUT: ExtractorInfo = ExtractorInfo {
    id: "tool_output",
    name: "Tool output",
    description: "The result of the first call of a tool.",
    options: schema::<OneTool>,
    compile: |config| {
        with_options(config, |tool: &OneTool, from| tool_output(from, &tool.tool_name))
    },
};

/// The result of the first call of a tool. Formats without call ids pair calls and returns in order.
fn tool_output(from: &ExtractView<'_>, tool_name: &str) -> String {
    let mut calls = from.tool_calls().enumerate();
    let Some((index, call)) = calls.find(|(_, call)| call.name == tool_name) else {
        return String::new();
    };
    let earlier = from.tool_calls().take(index);
    let skip = match call.id {
        Some(_) => 0,
        None => earlier.filter(|call| call.id.is_none()).count(),
    };
    let mut returns = from.messages().filter_map(|message| match &message.body {
        MessageBody::ToolReturn(answer) if answer.call_id == call.id => Some(&answer.output),
        _ => None,
    });
    returns.nth(skip).cloned().unwrap_or_default()
}

pub(super) const MEMORY_BLOCK: ExtractorInfo = ExtractorInfo {
    id: "memory_block",
    name: "Memory block",
    description: "The value of a memory block in the agent's final state.",
    options: schema::<MemoryBlock>,
    compile: |config| {
        let MemoryBlock { block_label } = options(config)?;
        Ok(Arc::new(move |from| {
            let state = from.trajectory.agent_state.as_ref().filter(|state| !state.is_null());
            Ok(memory_block(state.ok_or(ExtractError::NoAgentState)?, &block_label))
        }))
    },
};

/// Options of `memory_block`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MemoryBlock {
    /// The label of the memory block.
    #[schemars(length(min = 1))]
    block_label: String,
}

/// The value of the first memory block with a label: in `memory.blocks`, later in `blocks`.
fn memory_block(state: &Value, label: &str) -> String {
    let nested = state.pointer("/memory/blocks").and_then(Value::as_array);
    let blocks = nested.or_else(|| state.get("blocks").and_then(Value::as_array));
    let mut blocks = blocks.into_iter().flatten();
    let block = blocks.find(|block| block.get("label").and_then(Value::as_str) == Some(label));
    block.and_then(|block| block.get("value")?.as_str()).unwrap_or_default().to_owned()
}
