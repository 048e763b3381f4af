//! The commands of agent-eval-harness: records graded, captured and compared without a suite.
//!
//! # Owns
//!
//! - [`commands`]: one file a command, listed by [`commands::HarnessCommand`]; [`args`]: their flags.
//! - The records that they read and write (`record`, `recorded`, `lines`, `json`), and the schemas of these (`schemas`).
//! - What they make of records: `sample`, `calibration`, `capture`, `extract`, `summary`, `table`, `balance`, `trial_rates`
//!   and `compare`, as pure functions.
//!
//! # Must not know
//!
//! Suites: a record is graded by a program through the engine's `calls` and `sequences`, which know no graph. Exit codes and
//! messages are those of agent-eval-harness, so that its scripts go on working.
//!
//! # Where to begin
//!
//! With `commands::grade`, the shortest of them, and `record`.

pub mod args;
pub mod commands;
mod balance;
mod calibration;
mod capture;
mod check;
mod compare;
mod extract;
mod json;
mod lines;
mod record;
mod recorded;
mod sample;
pub mod schemas;
mod summary;
mod table;
mod trial_rates;
mod words;
