//! The `memory_block` extractor: what the agent was left with.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::extractor::{ExtractorInfo, options};
use super::view::ExtractError;
use crate::options::schema;

pub(super) const MEMORY_BLOCK: ExtractorInfo = ExtractorInfo {
    id: "memory_block",
    name: "Memory block",
    description: "The value of a memory block in the state the agent was left in.",
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
