//! evalrs evaluates agents the way a build system builds programs.
//!
//! A *suite* names a dataset, a target, extractors, graders and a gate. Every step between those files and the
//! report is a query of an incremental database; every expensive effect is an *action* with a content-addressed
//! key, executed once per key and kept on disk. The way of the data:
//!
//! 1. [`suite`] reads YAML into a checked suite; [`dataset`] cuts and reads rows; [`trajectory`] reads what a target
//!    did, in whatever format it was recorded.
//! 2. [`extract`] picks the submission; [`grade`] grades it at once, or [`judge`] makes it an [`action`].
//! 3. [`evaluate`] strings these together for one case: record → submission → plan → grade.
//! 4. [`metric`] aggregates grades, [`gate`] decides, [`report`] writes.
//! 5. [`db`] makes each of these steps a query over chunks of records; a missing outcome makes a grade pending.
//! 6. [`driver`] looks pending actions up in the [`store`], has [`exec`] execute the rest, and brings every
//!    [`outcome`] back in. [`progress`] shows it, [`record`] keeps it.
//!
//! Without a suite, [`inline`] has the records that programs grade line by line, over the same store and executor.
//!
//! Modules 1 to 4 are pure: no file, clock, environment or socket. Effects live in [`system`], [`store`] and [`exec`].

pub mod action;
pub mod cli;
pub mod commands;
pub mod dataset;
pub mod db;
pub mod delta;
pub mod diagnostic;
pub mod driver;
pub mod error;
pub mod evaluate;
pub mod exec;
pub mod extract;
pub mod gate;
pub mod glob;
pub mod grade;
pub mod inline;
pub mod judge;
pub mod metric;
pub mod outcome;
pub mod path;
pub mod price;
pub mod program;
pub mod progress;
pub mod python;
pub mod reason;
pub mod record;
pub mod registry;
pub mod report;
pub mod reward;
pub mod store;
pub mod suite;
pub mod system;
#[cfg(test)]
mod test_data;
pub mod threshold;
pub mod tokens;
pub mod trajectory;
pub mod typescript;
pub mod watch;
pub mod workspace;
