//! The sections of a suite, one file each: its fields are declared, read and written back in one place.
//!
//! A file uses only those that stand before it here.

pub(crate) mod allow;
pub(crate) mod options;
pub(crate) mod environment;
pub(crate) mod program_files;
pub(crate) mod programs;
pub(crate) mod headers;
pub(crate) mod extractors;
pub(crate) mod expressions;
pub(crate) mod grader_fields;
pub(crate) mod ballots;
pub mod builtin;
pub(crate) mod agents;
pub(crate) mod model;
pub(crate) mod command_judges;
pub(crate) mod criteria;
pub(crate) mod judges;
pub mod rubric_file;
pub(crate) mod rubric;
pub(crate) mod votes;
pub(crate) mod similarity;
pub(crate) mod program_grader;
pub(crate) mod tools;
pub(crate) mod gate;
pub(crate) mod rewards;
pub(crate) mod graders;
pub(crate) mod thresholds;
pub mod metric_kinds;
pub(crate) mod metrics;
pub mod dataset;
pub(crate) mod labels;
pub(crate) mod targets;
pub mod suite;
