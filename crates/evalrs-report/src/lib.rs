//! Everything that evalrs shows of its results: reports of runs in each format, and the pages of its other commands.
//!
//! A report is a function of inputs and outcomes alone: no clock, no absolute path, nothing of what was cached. What belongs
//! to one process comes beside it, as [`ProcessFacts`]. Numbers are worked out in `evalrs-metrics`; here they are put into
//! words, tables and documents.
//!
//! - [`format`](mod@format) says what a format is. `terminal`, `markdown` and `github` write for people, `json`, `junit`,
//!   `csv` and `otlp` for programs. [`FORMATS`] lists them all.
//! - [`digest`] picks the failures and errors that people are shown. [`labels`] gives graders the names that people know them
//!   by.
//! - [`page`] is what every page for people is made of, with a writer for terminals and one for Markdown. `run_page`,
//!   [`diff`], [`explain`], [`plan`], [`history`], [`agree`] and `rollup` each make the page of their command.
//! - `declared` and `rater_pairs` are parts that several pages show; [`intervals`], [`verdict`], [`human`], [`usage`],
//!   `movement` and [`ending`] are the words they share.
//!
//! What a user, a sample or a judge wrote is made harmless where it is written: without control characters on a terminal, as
//! code in Markdown, escaped in a command of a workflow.
//!
//! This crate reads no file, makes no call and knows nothing of suites or stores: it is given what to write and where.
//!
//! Begin with [`page`], then read [`agree`], a short page.

pub mod agree;
mod csv;
mod declared;
pub mod diff;
pub mod digest;
pub mod ending;
pub mod explain;
pub mod format;
mod github;
pub mod history;
pub mod human;
pub mod intervals;
mod json;
mod junit;
pub mod labels;
mod markdown;
mod movement;
pub mod origin;
mod otlp;
pub mod page;
pub mod plan;
mod rater_pairs;
mod rollup;
mod run_page;
mod terminal;
pub mod usage;
pub mod verdict;

pub use csv::write_text_rows;
pub use format::{
    Audience, ProcessFacts, ReportFormat, ReportOptions, ReportSink, ReportWriter, ReportedRollup,
    ReportedRun,
};

/// The formats of `evalrs run`, the one for terminals first.
pub static FORMATS: [&ReportFormat; 8] = [
    &terminal::FORMAT,
    &json::FORMAT,
    &json::LINES,
    &junit::FORMAT,
    &markdown::FORMAT,
    &github::FORMAT,
    &csv::FORMAT,
    &otlp::FORMAT,
];
