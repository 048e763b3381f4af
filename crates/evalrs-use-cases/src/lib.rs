//! Shared by the commands: each step of an evaluation as one function.
//!
//! `run`, `watch`, `serve`, `mcp` and the harness open suites, evaluate, record and calibrate through the same functions, so
//! that a run begun in the browser keeps the same record as one begun in a terminal.
//!
//! # Owns
//!
//! In the order of an evaluation:
//!
//! - [`console`] and [`error`]: what a command works with, and how it ends.
//! - [`args`]: the flags that several commands share.
//! - [`context`]: the workspace, the store and the environment of a suite; [`open`]: a session over it without errors, and
//!   what executes its actions.
//! - [`mod@partition`]: which part of the samples this machine evaluates.
//! - [`shared_cache`]: the cache that a workspace shares; `shared_pull`: read where an outcome is missing.
//! - [`settling`] and [`signals`]: a session is settled until it ends or somebody interrupts it, shown by [`progress`].
//! - [`evaluate`]: all suites of a command, one after the other, within its limits ([`command_progress`]).
//! - [`remembered`]: what commands have printed before, and whether it still holds; `unchanged`: a run that repeats the last
//!   one; [`settled_plan`]: the plan after a run.
//! - `known_chunks`: what a run finds of its dataset, for the next one.
//! - `spliced_results`: results that are partly those of the last run.
//! - `run_end`: how a run ended. [`header`], [`run_record`], [`run_history`], [`usage`]: what is kept of it.
//! - [`calibration`], [`holdout`], [`diff_labels`]: what people say, compared with judges.
//! - [`rollup`], [`reports`], [`recorded_report`], [`records`], [`comparison`], [`run_moves`]: what is reported of runs, now or
//!   later.
//!
//! # Must not know
//!
//! Which command it works for, and the whole command line: `evalrs_cli` parses that.
//!
//! # Where to begin
//!
//! With [`evaluate::evaluate`].

pub mod args;
pub mod batch_settings;
pub mod batch_states;
pub mod calibration;
pub mod command_progress;
pub mod committed_names;
pub mod comparison;
pub mod console;
pub mod context;
pub mod diff_labels;
mod dotenv;
pub mod error;
pub mod evaluate;
pub mod header;
pub mod holdout;
pub mod known_chunks;
mod known_packs;
pub mod open;
pub mod partition;
pub mod progress;
pub mod recorded_report;
pub mod records;
pub mod remembered;
pub mod reports;
pub mod rollup;
mod run_end;
pub mod run_files;
pub mod run_history;
pub mod run_moves;
pub mod run_record;
pub mod say;
pub mod settled_plan;
pub mod settling;
pub mod shared_cache;
pub mod shared_pull;
pub mod signals;
mod spliced_results;
pub mod suite_parts;
pub mod suites;
mod unchanged;
pub mod usage;
