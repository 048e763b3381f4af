//! The pure pipeline, in the order of the data: from the text of a suite to a report.

pub mod action;
pub mod dataset;
pub(crate) mod delta;
pub(crate) mod evaluate;
pub(crate) mod extract;
pub(crate) mod gate;
pub(crate) mod grade;
pub(crate) mod inline;
pub mod judge;
pub mod metric;
pub mod outcome;
pub(crate) mod program;
pub(crate) mod reason;
pub mod registry;
pub mod report;
pub(crate) mod reward;
pub mod suite;
pub(crate) mod trajectory;
pub mod workspace;
