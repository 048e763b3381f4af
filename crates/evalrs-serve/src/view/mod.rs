//! What the API and the HTML report show of recorded runs: lists of runs, rows, single cases and labels.
//!
//! Reads records and nothing else. Records are files anybody may have edited: what cannot be read is left out.

pub(crate) mod lines;
pub(crate) mod calibration;
pub(crate) mod labels;
pub(crate) mod message;
pub(crate) mod case;

mod beginnings;
mod judge_spend;
pub(crate) mod columns;
pub(crate) mod groups;
pub(crate) mod scatter;
pub(crate) mod suite_facts;
pub(crate) mod rows;
pub(crate) mod query;
pub(crate) mod queue;
mod metrics;
pub(crate) mod run;
pub(crate) mod viewer;
mod repeats;
pub(crate) mod text_search;
pub(crate) mod pictures;
pub(crate) mod single_file;
