//! evalrs evaluates agents the way a build system builds programs.

pub mod action;
pub mod dataset;
pub mod diagnostic;
pub mod extract;
pub mod gate;
pub mod grade;
pub mod metric;
pub mod path;
pub mod python;
pub mod report;
pub mod store;
pub mod suite;
#[cfg(test)]
mod test_data;
pub mod trajectory;
pub mod workspace;
