//! The records of the commands that grade without a suite, as agent-eval-harness has them: JSON Lines in, JSON Lines or
//! Markdown out.
//!
//! Pure. `lines` reads a file of records and says in which line it is wrong, `check` what is wrong with one; `record` makes
//! what a grader is handed of it, and puts what the grader gave in; `json` writes numbers as JavaScript does. `sample`
//! picks what is calibrated and `calibration` reports it. `schemas` describes the records. Which command reads what, and
//! in which order it complains, is the business of `commands`.

pub mod args;
pub mod commands;
pub mod balance;
pub mod calibration;
pub mod capture;
pub mod check;
pub mod compare;
pub mod extract;
pub mod json;
pub mod lines;
pub mod record;
pub(crate) mod recorded;
pub mod sample;
pub mod schemas;
pub mod summary;
pub mod table;
pub(crate) mod trial_rates;
mod words;
