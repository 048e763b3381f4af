//! Extractors: the part of a trajectory that is graded.
//!
//! An extractor is a pure function from what was recorded to text. Finding nothing is no error: it gives
//! the text its description names, mostly the empty one, and what that means is the grader's business.
//! `options` describes them all and is the only place that lists them. Extractors written in Python are
//! not here: they need an action.

mod json_path;
mod options;
mod pattern;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub(crate) use options::{EXTRACTORS, check_options};

use super::spec::ExtractorSpec;
use super::trajectory::{Body, Message, Trajectory};
use crate::base::path::Row;

/// What was recorded of one sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExtractFrom<'a> {
    /// Everything the target did. Of a row with an `output` alone, [`Trajectory::from_output`] of it.
    pub trajectory: &'a Trajectory,
    /// The `output` of the row, where it has one.
    pub output: Option<&'a str>,
    /// The row as written.
    pub row: Row<'a>,
}

/// Why nothing could be extracted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExtractError {
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

/// An extractor with its options read and its pattern compiled, for many samples.
#[derive(Clone)]
pub(crate) struct Extractor {
    kind: Kind,
    include_subagents: bool,
}

#[derive(Clone)]
enum Kind {
    LastAssistant,
    FirstAssistant,
    AllAssistant { separator: String },
    LastTurn { separator: String },
    Pattern(pattern::Pattern),
    ToolArguments { tool_name: String },
    ToolOutput { tool_name: String },
    AfterMarker { marker: String, include_marker: bool },
    MemoryBlock { block_label: String },
    JsonPath(json_path::Query),
    FinalOutput,
    Trajectory,
}

impl Extractor {
    /// Reads the options of `spec`.
    pub(crate) fn new(spec: &ExtractorSpec) -> Result<Self, ExtractError> {
        let options = spec.options();
        if !EXTRACTORS.iter().any(|info| info.id == spec.name) {
            return Err(ExtractError::Unknown(spec.name.clone()));
        }
        if let Some(problem) = check_options(&spec.name, &options).into_iter().next() {
            return Err(ExtractError::Options(problem.message));
        }
        let kind = kind(&spec.name, &options)?;
        Ok(Self { kind, include_subagents: spec.include_subagents })
    }

    /// The text it picks.
    pub(crate) fn extract(&self, from: &ExtractFrom<'_>) -> Result<String, ExtractError> {
        let trajectory = from.trajectory;
        let seen = |message: &&Message| self.include_subagents || !message.subagent;
        let mut said = trajectory.messages(self.include_subagents).filter_map(assistant);
        Ok(match &self.kind {
            Kind::LastAssistant => said.next_back().unwrap_or_default().to_owned(),
            Kind::FirstAssistant => said.next().unwrap_or_default().to_owned(),
            Kind::AllAssistant { separator } => said.collect::<Vec<_>>().join(separator),
            Kind::LastTurn { separator } => {
                let last = trajectory.turns.last().map_or(&[][..], |turn| &turn.messages);
                let said = last.iter().filter(seen).filter_map(assistant);
                said.collect::<Vec<_>>().join(separator)
            }
            Kind::Pattern(pattern) => pattern.extract(said.rev())?,
            Kind::ToolArguments { tool_name } => {
                let mut calls = trajectory.tool_calls(self.include_subagents);
                let call = calls.find(|call| call.name == *tool_name);
                call.map_or_else(|| "{}".to_owned(), |call| call.arguments.clone())
            }
            Kind::ToolOutput { tool_name } => self.tool_output(trajectory, tool_name),
            Kind::AfterMarker { marker, include_marker } => said
                .rev()
                .find_map(|text| after_marker(text, marker, *include_marker))
                .unwrap_or_default(),
            Kind::MemoryBlock { block_label } => {
                let state = trajectory.agent_state.as_ref().filter(|state| !state.is_null());
                memory_block(state.ok_or(ExtractError::NoAgentState)?, block_label)
            }
            Kind::JsonPath(query) => query.extract(from, self.include_subagents),
            Kind::FinalOutput => final_output(from).to_owned(),
            Kind::Trajectory => trajectory.to_json(self.include_subagents).to_string(),
        })
    }

    /// What the first call of a tool returned. Formats without call ids pair calls and returns in order.
    fn tool_output(&self, trajectory: &Trajectory, tool_name: &str) -> String {
        let mut calls = trajectory.tool_calls(self.include_subagents).enumerate();
        let Some((index, call)) = calls.find(|(_, call)| call.name == tool_name) else {
            return String::new();
        };
        let earlier = trajectory.tool_calls(self.include_subagents).take(index);
        let skip = match call.id {
            Some(_) => 0,
            None => earlier.filter(|call| call.id.is_none()).count(),
        };
        let mut returns =
            trajectory.messages(self.include_subagents).filter_map(|message| match &message.body {
                Body::ToolReturn(answer) if answer.call_id == call.id => Some(&answer.output),
                _ => None,
            });
        returns.nth(skip).cloned().unwrap_or_default()
    }
}

/// What an extractor does, of options that were checked.
fn kind(name: &str, options: &Map<String, Value>) -> Result<Kind, ExtractError> {
    let text = |key: &str| options.get(key).and_then(Value::as_str).map(str::to_owned);
    let flag = |key: &str| options.get(key).and_then(Value::as_bool).unwrap_or_default();
    let required = |key: &str| text(key).unwrap_or_default();
    let separator = || text("separator").unwrap_or_else(|| "\n".to_owned());
    Ok(match name {
        "last_assistant" => Kind::LastAssistant,
        "first_assistant" => Kind::FirstAssistant,
        "all_assistant" => Kind::AllAssistant { separator: separator() },
        "last_turn" => Kind::LastTurn { separator: separator() },
        "pattern" => Kind::Pattern(pattern::Pattern::new(options)?),
        "tool_arguments" => Kind::ToolArguments { tool_name: required("tool_name") },
        "tool_output" => Kind::ToolOutput { tool_name: required("tool_name") },
        "after_marker" => {
            Kind::AfterMarker { marker: required("marker"), include_marker: flag("include_marker") }
        }
        "memory_block" => Kind::MemoryBlock { block_label: required("block_label") },
        "json_path" => Kind::JsonPath(json_path::Query::new(options)?),
        "final_output" => Kind::FinalOutput,
        "trajectory" => Kind::Trajectory,
        _ => return Err(ExtractError::Unknown(name.to_owned())),
    })
}

fn assistant(message: &Message) -> Option<&str> {
    match &message.body {
        Body::Assistant(text) => Some(text),
        _ => None,
    }
}

/// The row's own output, else what the target said last.
fn final_output<'a>(from: &ExtractFrom<'a>) -> &'a str {
    from.output.or_else(|| from.trajectory.final_output()).unwrap_or_default()
}

/// What follows the first `marker` in `text`, trimmed as Python's `str.strip` does.
fn after_marker(text: &str, marker: &str, include_marker: bool) -> Option<String> {
    let at = text.find(marker)?;
    let from = if include_marker { at } else { at + marker.len() };
    let is_space = |c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c);
    text.get(from..).map(|rest| rest.trim_matches(is_space).to_owned())
}

/// The value of the first memory block with a label: in `memory.blocks`, later in `blocks`.
fn memory_block(state: &Value, label: &str) -> String {
    let nested = state.pointer("/memory/blocks").and_then(Value::as_array);
    let blocks = nested.or_else(|| state.get("blocks").and_then(Value::as_array));
    let mut blocks = blocks.into_iter().flatten();
    let block = blocks.find(|block| block.get("label").and_then(Value::as_str) == Some(label));
    block.and_then(|block| block.get("value")?.as_str()).unwrap_or_default().to_owned()
}
