//! One case: from a record to a grade.

pub mod action;
pub mod adapter;
pub mod dataset;
pub mod evaluate;
pub mod extract;
pub mod grade;
pub mod judge;
pub mod label_keys;
pub mod lint;
pub mod options;
pub mod program;
pub mod target;
pub mod votes;
