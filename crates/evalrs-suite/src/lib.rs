//! Reads a suite file: YAML into [`Suite`](evalrs_model::spec::Suite) plus diagnostics.
//!
//! `sections` declares every field, and the other files read them. Nothing here opens a file: a file the suite
//! names (`extends`, `prompt_path`) is asked for through [`Files`], and is missing until the engine has read it.

pub mod registry;
pub mod workspace;
mod agents;
mod allowed;
pub mod canonical;
pub mod canonical_metrics;
mod canonical_target;
mod command_judges;
mod conditions;
pub mod dataset;
pub(crate) mod fields;
mod gate;
mod graders;
mod headers;
mod interpolate;
mod judges;
mod labels;
mod labels_section;
mod letta_code_target;
mod letta_target;
mod load;
mod metric_section;
mod metrics;
pub mod programs;
pub mod read;
mod reader;
mod rewards;
pub mod rollup;
mod rollup_section;
mod rubric;
pub mod rubric_file;
mod rubric_places;
pub(crate) mod sandboxes;
pub mod schema;
pub(crate) mod section;
mod similarity;
mod similarity_section;
mod seen_id;
pub(crate) mod sections;
mod target_sections;
mod targets;
mod thresholds;
mod votes;

use evalrs_base::file_text::FileText;

pub use programs::ProgramPlaces;
pub use read::label_of;
pub use read::{Registry, SuiteReading, has_one_grader, read_suite, suite_labels, suite_name};
pub use rollup::{RollableSuite, RollupReading, is_rollup, read_rollup};
pub use rubric_file::{RowRubric, row_rubric};

/// Where the suite reader finds the text of other files and of the environment.
pub trait Files {
    fn text(&self, path: &str) -> FileText;
    fn env(&self, name: &str) -> Option<String>;
}

#[cfg(test)]
mod lint_tests;
#[cfg(test)]
mod tests;
