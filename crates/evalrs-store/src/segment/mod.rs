//! Segments: append-only files of lines, one for each process that writes, and the index over them.

pub(crate) mod base_lines;
pub(crate) mod files;
pub(crate) mod held_file;
pub(crate) mod index;
pub(crate) mod line_batch;
pub(crate) mod own_segment;
pub(crate) mod removal_lock;
pub(crate) mod side_file;
pub mod store;
pub(crate) mod written_base_lines;
