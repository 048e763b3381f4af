//! The `memory_block` extractor: what the agent was left with.

use serde_json::Value;

use super::ExtractError;
use super::options::{ExtractorInfo, Opt, OptionKind, Pick};

pub(super) const MEMORY_BLOCK: ExtractorInfo = ExtractorInfo {
    id: "memory_block",
    name: "Memory block",
    description: "The value of a memory block in the state the agent was left in.",
    options: &[Opt {
        name: "block_label",
        kind: OptionKind::Name,
        description: "The label of the memory block.",
    }],
    compile: |options| {
        let label = options.text("block_label").unwrap_or_default().to_owned();
        Ok(Pick::new(move |from| {
            let state = from.trajectory.agent_state.as_ref().filter(|state| !state.is_null());
            Ok(memory_block(state.ok_or(ExtractError::NoAgentState)?, &label))
        }))
    },
    ..ExtractorInfo::PLAIN
};

/// The value of the first memory block with a label: in `memory.blocks`, later in `blocks`.
fn memory_block(state: &Value, label: &str) -> String {
    let nested = state.pointer("/memory/blocks").and_then(Value::as_array);
    let blocks = nested.or_else(|| state.get("blocks").and_then(Value::as_array));
    let mut blocks = blocks.into_iter().flatten();
    let block = blocks.find(|block| block.get("label").and_then(Value::as_str) == Some(label));
    block.and_then(|block| block.get("value")?.as_str()).unwrap_or_default().to_owned()
}
