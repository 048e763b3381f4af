//! What a user meets: the command line, one file a command, displays, and `watch`.

pub mod error;
pub mod log;
pub mod terminal_writer;
pub mod cli;
pub(crate) mod progress;
pub mod watch;
pub(crate) mod view;
pub mod commands;
