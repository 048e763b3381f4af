//! YAML as a tree whose every value knows where it is written.

pub mod mistakes;
pub mod scalar;
pub mod source;
pub mod syntax;
pub mod tree;
