//! Displays of what happens during a run, as a bar or as lines. They write to standard error and know nothing of the graph.

pub(crate) mod bar;
pub(crate) mod plain;
