//! Adapters: how the command line of an agent is started, and how what it writes is read.
//!
//! `form` is the file, `start` what is started for a turn, `events` what a line of the output tells, `turn` all lines of a
//! turn, and `steps` makes a trajectory of them.

pub mod events;
pub mod form;
mod path;
pub mod start;
pub mod steps;
pub mod turn;

use serde_json::Value;

pub use events::Update;
pub use form::{Adapter, UpdateKind, UsagePaths};
pub use start::AdapterConversation;
pub use steps::{steps, steps_paired_by_id};
pub use turn::{TurnOutput, TurnReader, said};

/// Adapters by the names that suites call them by.
pub const BUILT_IN: [(&str, &str); 3] = [
    ("claude-code", include_str!("claude_code.json")),
    ("gemini-cli", include_str!("gemini_cli.json")),
    ("codex", include_str!("codex.json")),
];

/// The adapter of Letta's coding agent, whose arguments follow from the suite.
pub const LETTA_CODE: &str = include_str!("letta_code.json");

/// The text of an adapter as keys have it: without layout, and without what changes nothing that an agent does. Text that
/// is no JSON stays as it is.
pub(crate) fn in_keys(text: &str) -> String {
    let Ok(Value::Object(mut members)) = serde_json::from_str(text) else { return text.to_owned() };
    members.retain(|name, _| !matches!(name.as_str(), "name" | "timeout"));
    let mut adapter = Value::Object(members);
    adapter.sort_all_objects();
    adapter.to_string()
}

#[cfg(test)]
mod tests;
