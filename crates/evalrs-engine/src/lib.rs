//! Joins the pure graph with effects: loads what the graph asks for, executes what it waits for.
//!
//! `session` owns the database and brings files in, again while they change. `resolve` looks pending actions up in the
//! store, executes the rest and brings their outcomes in. `inspect` says what that would ask, take or rest on, and
//! writes nothing, and `lines_ahead` puts results together on several threads. Nothing here decides what is evaluated or how: that is the graph's business.

pub mod progress;
pub mod session;
pub mod resolve;
pub mod inspect;
pub mod lines_ahead;

#[cfg(test)]
mod tests;
