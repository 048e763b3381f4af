//! evalrs on the command line.

pub mod cli;
pub mod commands;
pub mod log;
pub mod terminal_writer;
