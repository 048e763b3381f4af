//! evalrs on the command line.

pub mod cli;
pub mod commands;
pub mod error;
pub mod log;
pub(crate) mod progress;
pub mod terminal_writer;
pub(crate) mod view;
