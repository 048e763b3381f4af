//! Targets that evalrs runs, where a spec cannot say it. `tests/spec/targets.md` has what is run and what is replayed.
#![expect(
    clippy::disallowed_methods,
    clippy::format_push_string,
    reason = "tests look at what agents have noted, and write what they see as text"
)]

mod changes;
mod failures;
mod folders;
mod keys;
mod killed;
mod letta;
mod letta_code;
mod letta_functions;
mod letta_layout;
mod replays;
mod outputs;
mod written;

use serde_json::Value;

use crate::space::Space;

/// Total, cached, asked and failed conversations of the last run.
fn conversations(space: &Space) -> [u64; 4] {
    let facts: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    ["total", "cached", "asked", "failed"].map(|name| facts["target"][name].as_u64().unwrap())
}
