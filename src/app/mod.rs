//! What a user meets: the command line, one file a command, displays, and `watch`.

pub mod cli;
pub mod commands;
pub mod error;
pub(crate) mod progress;
pub mod watch;
