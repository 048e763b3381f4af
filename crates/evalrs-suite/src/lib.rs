//! Reads the files that people write: suites, roll-ups and `evalrs.toml`, each into plain data and diagnostics.
//!
//! [`read_suite`] turns YAML into a [`Suite`](evalrs_model::spec::Suite). A reading never stops at a mistake: every
//! problem of every file is reported at once, each with its place and the likely fix. Nothing here opens a file: a file
//! that a suite names (`extends`, `prompt_path`) is asked for through [`Files`], and is missing until the engine has
//! read it.
//!
//! In reading order:
//!
//! - `section` is how a field is declared: its name, what it takes, its purpose. `fields` reads declared fields,
//!   and reports to `findings` what is wrong.
//! - `load` makes one tree of a suite and what it `extends`; `secrets` takes keys of APIs out, `interpolate` puts
//!   variables in.
//! - `reader` is what the readers of all sections share.
//! - `sections` has one file a section. There its fields are declared, read, and written back (`written`).
//!   `sections/suite.rs` is the whole file, and the place to begin.
//! - [`canonical`] writes a suite in one form; [`schema`] makes the JSON Schemas for editors of the declarations;
//!   [`registry`] lists every name that a suite can use.
//! - [`rollup`] and [`workspace`] read the two other files, with the same declarations.
//!
//! Trees, places and scalars of YAML are in `evalrs_base::yaml`. This crate knows nothing of rows, results, the file
//! system or the network.

pub mod canonical;
mod fields;
pub mod files;
mod findings;
mod interpolate;
mod load;
pub mod program_places;
pub mod reader;
pub mod registry;
pub mod rollup;
pub mod schema;
mod secrets;
mod rubric_edit;
mod section;
pub mod sections;
pub mod workspace;
mod written;

pub use files::Files;
pub use program_places::ProgramPlaces;
pub use reader::Registry;
pub use rollup::{RollableSuite, RollupReading, is_rollup, read_rollup};
pub use rubric_edit::{RubricInFile, RubricProblem, with_rubrics, written_rubric};
pub use sections::dataset::is_archive;
pub use sections::metric_kinds::{definition, metrics as written_metrics};
pub use sections::rubric_file::{RowRubric, row_rubric};
pub use sections::suite::{
    SuiteReading, has_one_grader, label_of, read_suite, suite_labels, suite_name,
};

#[cfg(test)]
mod lint_tests;
#[cfg(test)]
mod tests;
