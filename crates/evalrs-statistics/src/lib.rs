//! Statistics that people publish of grades, each with the source of its formula.
//!
//! Owns the formulas, one file a family; knows numbers, classes and clusters, neither graders nor runs. What is not defined,
//! for want of items or of any difference between them, is none: never NaN, and never a number that only looks like a result.
//! Counts are whole numbers, sums are exact before they are rounded once, and what is drawn at random is drawn again alike,
//! so that the order of items never shows.
//!
//! In reading order:
//!
//! - `confidence` is an interval and how it was made, `clusters` are items that belong to samples, and `interval` picks the
//!   method that fits how many items there are: begin there. `bootstrap` and `percentile_bootstrap` draw samples again,
//!   `poisson_bootstrap` does so alike in two runs;
//! - `classes`, `binary`, `kappa`, `krippendorff` and `correlation` say how far two columns agree, `paired` how two runs differ,
//!   `comparison`, `bradley_terry` and `length_control` who wins comparisons;
//! - `prediction_powered` joins labels with verdicts, `linear_combination` several estimates, and `reusable_holdout` limits what
//!   is learned of labels that are held back;
//! - `distribution`, `linear` and `equal_numbers` are the mathematics below them.

mod distribution;
mod linear;
pub mod confidence;
pub mod clusters;
pub mod interval;
mod bootstrap;
pub mod percentile_bootstrap;
pub mod classes;
pub mod binary;
pub mod kappa;
pub mod krippendorff;
pub mod equal_numbers;
pub mod correlation;
pub mod paired;
pub mod comparison;
pub mod bradley_terry;
pub mod length_control;
pub mod prediction_powered;
pub mod linear_combination;
pub mod reusable_holdout;
pub mod poisson_bootstrap;
#[cfg(test)]
mod coverage_tests;

/// The level of intervals where nobody names one.
pub const LEVEL: f64 = 0.95;
