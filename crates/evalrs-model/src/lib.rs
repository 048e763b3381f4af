//! The suite, the calls that follow from it, and their results, as plain data.
//!
//! The crates that read suites, compute keys, store outcomes and write reports have these types in common. There is hardly
//! any behaviour here: a type, what it is called in files, and the few rules that everybody must keep alike.
//!
//! In reading order:
//!
//! - `spec` is a suite that was read and checked: its dataset, target, graders, metrics and gate. How it is written in YAML is
//!   the business of the crate that reads suites;
//! - `expression` is the small language of rewards and of conditions on rows;
//! - `key` is the digest that names a request, and the walk over what it is made of;
//! - `outcome` is what came of a request: a reply or a failure. Its one table says which failures are stored, retried and
//!   billed;
//! - `delta` is a grade in its shortest form, and what moved between two of them;
//! - `record_format` is the version of the files of a run.
//!
//! Nothing here knows of files, clocks, sockets, salsa or YAML, of how a grade is computed, or of where outcomes are stored.
//! Begin with `spec`: nearly all other crates read it.

pub mod cut;
pub mod delta;
pub mod expression;
pub mod key;
pub mod outcome;
pub mod record_format;
pub mod spec;

/// Whether a field need not be written, for `#[serde(skip_serializing_if)]`.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
