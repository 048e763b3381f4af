//! What there is to say of an extractor: what it is called, what it does, which options it takes, and what it sees of a
//! sample.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::options::{none, read, schema};
use evalrs_base::path::Row;
use evalrs_model::spec::OptionProblem;
use evalrs_trajectory::{Message, MessageBody, ToolCall, Trajectory};

/// One extractor as a suite can name it.
pub struct ExtractorInfo {
    /// What a suite calls it.
    pub id: &'static str,
    /// What a person reads.
    pub name: &'static str,
    /// What it picks.
    pub description: &'static str,
    /// The JSON Schema of its options.
    pub options: fn() -> Value,
    /// Reads its options.
    pub compile: fn(&Map<String, Value>) -> CompiledPick,
}

/// What picks, or everything that is wrong with the options.
pub(super) type CompiledPick = Result<Arc<PickFn>, Vec<OptionProblem>>;

/// A function that picks, with its options read.
pub(super) type PickFn = dyn Fn(&ExtractView<'_>) -> Result<String, ExtractError> + Send + Sync;

/// The JSON Schema of the options of an extractor that has none.
pub(super) fn no_options() -> Value {
    json!({"type": "object", "additionalProperties": false})
}

/// The options in `config`, where null is nothing.
pub(super) fn options<T: JsonSchema + DeserializeOwned>(
    config: &Map<String, Value>,
) -> Result<T, Vec<OptionProblem>> {
    let schema = schema::<T>();
    let mut config = config.clone();
    config.retain(|name, value| !value.is_null() || schema["properties"].get(name).is_none());
    read(&config)
}

/// An extractor whose options are all there is to read.
pub(super) fn with_options<T: JsonSchema + DeserializeOwned + Send + Sync + 'static>(
    config: &Map<String, Value>,
    pick: fn(&T, &ExtractView<'_>) -> String,
) -> CompiledPick {
    let options: T = options(config)?;
    Ok(Arc::new(move |from| Ok(pick(&options, from))))
}

pub(super) fn without_options(
    config: &Map<String, Value>,
    pick: fn(&ExtractView<'_>) -> String,
) -> CompiledPick {
    none(config, "extractor")?;
    Ok(Arc::new(move |from| Ok(pick(from))))
}

/// Why nothing could be extracted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// The extractor does not exist here.
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

    /// The texts of the target, message by message.
    pub fn said(&self) -> impl DoubleEndedIterator<Item = &'a str> + use<'a> {
        self.messages().filter_map(assistant)
    }

    /// The row's own output, else the last message of the target.
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
