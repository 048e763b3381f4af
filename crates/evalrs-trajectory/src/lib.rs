//! Everything that a target did for one sample, in one shape whatever recorded it.
//!
//! Agents and their frameworks record what they do in formats of their own. This crate reads each of them into a
//! [`Trajectory`]: turns of messages, calls of tools and what those answered. What grades a target, and what shows it, knows
//! this shape alone.
//!
//! Where to begin: `trajectory` is the shape, `read` finds out which format a value is in (its list `FORMATS` has all of
//! them) and reads it. Then:
//!
//! - a file a format: `letta`, `inspect`, `openai`, `anthropic`, `claude_code`, `steps`, `atif`, and the folder
//!   `otel`. Each is a [`TrajectoryFormat`]: its name, what only it has, and the function that reads it;
//! - what formats share: `node` is a place in a recorded value and makes the [`TrajectoryProblem`] of what stands there,
//!   `content` reads the contents of messages, `turns` puts messages into turns;
//! - `normal` writes a trajectory for programs and keys, `letta` as Letta has it; `letta_dir` reads a folder of results
//!   that Letta's tools wrote.
//!
//! Provider ids and times are dropped on the way in: they must never reach the key of a request. Only the ids of calls stay,
//! because they pair calls with returns, and `normal` replaces them by ordinals on the way out. The raw record stays in the
//! dataset that it came from.
//!
//! Nothing here knows of datasets, suites, graders or files.

mod anthropic;
mod atif;
pub mod claude_code;
mod content;
pub mod format;
pub mod inspect;
mod letta;
pub mod letta_dir;
mod node;
mod normal;
pub mod openai;
pub mod otel;
pub mod problem;
pub mod read;
mod step_facts;
mod steps;
pub mod trajectory;
mod turns;
#[cfg(test)]
mod tests;

pub use claude_code::{is_session_line, is_session_without_events};
pub use format::TrajectoryFormat;
pub use inspect::messages_of as inspect_messages;
pub use openai::CallMarks;
pub use otel::spans_in;
pub use problem::{ReadResult, TrajectoryProblem};
pub use read::{FORMATS, call_marks, detect, read};
pub use step_facts::StepFacts;
pub use trajectory::{
    Message, MessageBody, ToolCall, ToolReturn, Trajectory, TrajectoryTotals, Turn,
};
