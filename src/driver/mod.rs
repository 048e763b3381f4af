//! Joins the pure graph with effects: loads what the graph asks for, executes what it waits for.
//!
//! `session` owns the database and brings files in, `reload` again while they change; `dataset` reads the rows
//! (`trace`, `stale` and `digest` tell what need not be read again), `trials` tells which programs can be loaded; `settle`
//! looks pending actions up in the store, executes the rest (`execute`, `lanes`, `flight`) and brings their outcomes in;
//! `preview` says what it would ask and `forecast` what that would take; `recordings` reads what targets left behind;
//! `problems` says where rows are wrong, `wanted` finds what is stored without asking. Nothing here decides what is
//! evaluated or how: that is the graph's business.
//!
//! Where there is no graph, `prepare` finds out what a program is by now, and `calls` has it called and gives what came of
//! it in the order of the calls. `keep` makes outcomes durable for both, while the store is away on an `errand`.

pub mod budget;
pub mod calls;
mod candidate;
mod dataset;
pub mod digest;
mod doubts;
mod errand;
mod execute;
pub mod explain;
mod flight;
pub mod forecast;
mod keep;
mod labels;
mod lanes;
pub mod live;
mod loading;
mod outstanding;
pub mod prepare;
pub mod preview;
mod problems;
pub mod programs;
mod reach;
pub mod recordings;
pub mod reload;
mod repeat;
pub mod session;
pub mod settle;
mod stale;
mod stored;
pub mod trace;
mod trials;
mod waiting;
pub mod wanted;
pub mod whys;

pub(crate) use problems::shortened;
