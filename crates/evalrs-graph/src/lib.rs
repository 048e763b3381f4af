//! The incremental database: the only code that knows salsa.
//!
//! Inputs are the files a suite names, dataset chunks and settings; outcomes are a side table read under the epoch of the chunk
//! that waits for them. Queries are one-line bodies over the pure functions of the crates below. Chunks, slots and epochs exist
//! here and nowhere else:
//!
//! - A *chunk* is about 64 records. One query over a chunk costs one verification in a new revision, where a query a sample
//!   would cost 64.
//! - A *slot* is a chunk input that outlives its content: salsa never frees inputs, so a changed chunk takes the slot of one
//!   that went away.
//! - An *epoch* is a counter on a chunk. Outcomes are put into the side table first, then the epochs of the chunks that waited
//!   are raised: only their joins run again.
//!
//! Begin with `inputs` (what comes from outside), `change` (the one place that sets it) and `queries` (plans and grades). Between
//! them stand `graders` (the suite), `cases` and `selection` (who is evaluated), `answers` (what targets that are run said),
//! `case_input` (the one form in which queries read a case) and `submissions` (what is graded). Above are `labels`, aggregates
//! (`folds`, `declared`), `results` and what others ask for: `planned_actions`, `briefs`, `exports`, `snapshot`. Beside them is
//! what earlier processes found of the same chunks (`known`).
//!
//! Queries that take two arguments take chunks and graders alone, whose ids are reused: with ever-new ids they would intern
//! their arguments for ever. Nothing here reads a file, the clock or the environment, and no query waits or fails.

pub mod answers;
pub mod briefs;
mod case_input;
pub mod cases;
pub mod change;
pub mod database;
pub mod declared;
pub mod exports;
pub mod folds;
pub mod graders;
mod held_replies;
pub mod inputs;
pub mod known;
pub mod known_bytes;
pub mod known_chunks;
pub mod known_grades;
mod known_rows;
pub mod labels;
pub mod lints;
pub mod outcomes;
pub mod planned_actions;
pub mod programs;
pub mod queries;
pub mod result_inputs;
pub mod results;
pub mod row_files;
pub mod rows;
pub mod selection;
pub mod snapshot;
pub mod submissions;

pub use database::{Database, Db, unless_cancelled};
