//! Tests through the binary and over whole suites.
fn main() {}
