//! The binary: runs the library and returns its exit code.
fn main() {}
