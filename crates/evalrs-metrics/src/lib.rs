//! From grades to what they come to: aggregates, gates, comparisons, histories and explanations, as plain data.
//!
//! Everything here is computed from results that are there. Reports write these types for people and programs, and the graph
//! asks for them over all chunks of a dataset. The formulas themselves are those of `evalrs-statistics`.
//!
//! In reading order:
//!
//! - `results` is a result and a whole evaluation, as records hold them; `settings` is what decided them;
//! - `metric` makes aggregates of grades: means and rates of each grader, how far they agree with labels (`labels`), and the
//!   metrics that a suite declares (`declared`, a file a family);
//! - `gate` is the rule over aggregates, with the bounds that grades with errors leave;
//! - `diff` compares two evaluations, `history` all runs of a suite, `rollup` several suites, and `calibration` graders with
//!   people over time;
//! - `explain` says where a verdict comes from, and `reason` why a request is made;
//! - `letta_results` writes results as Letta's tools do.
//!
//! Nothing here knows where results are recorded, how they came about, what a report looks like, or that there are chunks.

pub mod calibration;
pub mod diff;
pub mod explain;
pub mod gate;
pub mod history;
pub mod letta_results;
pub mod metric;
pub mod reason;
pub mod results;
pub mod rollup;
pub mod settings;
