//! evalrs on the command line: flags as they are typed, one file a command, and the log.
//!
//! # Owns
//!
//! - [`cli`]: every flag; [`commands`]: what each command means. No command uses another one: what they share is
//!   `evalrs_use_cases`.
//! - [`terminal_writer`]: what text goes through on its way to a terminal; [`log`]: `EVALRS_LOG`.
//!
//! # Where to begin
//!
//! With [`commands::dispatch`]. ARCHITECTURE.md has the map of all crates and follows a sample through them.

pub mod cli;
pub mod commands;
pub mod log;
pub mod terminal_writer;
