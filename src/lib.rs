//! evalrs evaluates agents the way a build system builds programs.
//!
//! A *suite* names a dataset, a target, extractors, graders and a gate. Every step between those files and the
//! report is a query of an incremental database; every expensive effect is an *action* with a content-addressed
//! key, executed once per key and kept on disk. Six floors, each of which may use only those before it:
//!
//! 1. [`base`] knows nothing of evaluation: diagnostics, text, files and the clock behind a trait, tokens, prices.
//! 2. [`pipeline`] is pure, in the order of the data: a suite is read, rows are cut and read, what a target did is
//!    understood, the submission extracted and graded at once or made an action for a judge or a program; grades are
//!    aggregated, a gate decides, a report is written.
//! 3. [`graph`] makes each of these steps a query over chunks of records; a missing outcome makes a grade pending.
//! 4. [`effects`] executes actions, keeps their outcomes, writes the records of runs and notices what was saved.
//! 5. [`engine`] joins the graph with the effects: it loads a session, looks pending actions up in the store, executes
//!    the rest and puts every outcome into the graph.
//! 6. [`app`] is what a user meets: the command line, the commands, the displays and `watch`.
//!
//! The first three floors are pure but for [`base::system`]: no file, clock, environment or socket.

#![cfg_attr(
    not(feature = "judge"),
    expect(
        dead_code,
        reason = "limits, prompts and replies of judges are built in without their executor too"
    )
)]

pub mod base;
pub mod pipeline;
pub mod graph;
pub mod effects;
pub mod engine;
pub mod app;

#[cfg(test)]
mod test_data;
