//! What commands share: opening a suite, evaluating it, recording what came of it, calibrating judges, settling sessions.

pub mod args;
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
pub mod open;
pub mod progress;
pub mod recorded_report;
pub mod records;
pub mod reports;
pub mod rollup;
pub mod run_history;
pub mod run_record;
pub mod say;
pub mod settling;
pub mod signals;
pub mod suite_parts;
pub mod suites;
pub mod usage;
