//! Joins the pure graph with effects: loads the files that the graph needs, executes the actions it
//! waits for.
//!
//! A query of the graph never waits. Where an outcome is missing, the grade is pending and its key says what for. The engine
//! looks that key up in the store, executes the action if it is not there, makes the outcome durable, brings it into the
//! graph and asks again. One thread owns the database; everything asynchronous of evalrs is in here or in the executor.
//!
//! In reading order:
//!
//! - `session`: the database of one suite. It brings files in, and again while they change (`reload`). What is known of the
//!   programs of a suite stands in `session/programs`; what a session does with it, in the files `program_…` beside;
//! - `resolve`: from pending keys to outcomes. `settle` does it once, `live` as long as files change; both drive a `resolver`.
//!   `waiting` says what is wanted, `look_up` what the store has, `admission` what may start (`queues` and `budget`
//!   are its parts), `launch` how, `in_flight` what is under way, `persist` what is kept;
//! - `resolve/calls` and `resolve/sequences`: the same for commands without a suite, which have no graph;
//! - `inspect`: what would be asked, what that takes, why, and what a verdict rests on. It writes nothing;
//! - `lines_ahead`: result lines in the order of the dataset, put together on several threads;
//! - `progress`: what happens meanwhile, for whoever displays it.
//!
//! Nothing here decides what is evaluated or how: that is the graph's business. Nothing here knows a terminal, a page or a
//! report either. Begin with `resolve/settle`: the function of that name is the way of a run from top to bottom.

pub mod inspect;
pub mod lines_ahead;
pub mod progress;
pub mod resolve;
pub mod session;

#[cfg(test)]
mod tests;
