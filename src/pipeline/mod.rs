//! The pure pipeline: from the text of a suite to a report.
//!
//! In the order of who may use whom, the vocabulary first: each uses only those before it.

pub mod key;
pub(crate) mod trajectory;
pub(crate) mod expression;
pub mod spec;
pub(crate) mod label_keys;
pub mod outcome;
pub(crate) mod letta;
mod options;
pub(crate) mod votes;
pub(crate) mod grade;
pub(crate) mod extract;
pub(crate) mod program;
pub mod judge;
pub(crate) mod adapter;
pub mod target;
pub mod action;
pub mod suite;
pub mod workspace;
pub mod registry;
pub(crate) mod lint;
pub mod dataset;
pub(crate) mod import;
pub(crate) mod delta;
pub mod record_format;
pub mod statistics;
pub mod metric;
pub(crate) mod gate;
pub mod results;
pub(crate) mod settings;
pub(crate) mod letta_results;
pub mod rollup;
pub(crate) mod history;
pub(crate) mod calibration;
pub(crate) mod evaluate;
pub(crate) mod inline;
pub(crate) mod reason;
pub(crate) mod diff;
pub(crate) mod explain;
pub mod report;
