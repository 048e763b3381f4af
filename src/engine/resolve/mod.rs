//! Resolves what a session waits for: looked up in the store, executed, made durable, brought into the graph.
//!
//! Where there is no graph, `prepare` finds out what a program is by now, and `calls` has it called and gives what came of
//! it in the order of the calls. `keep` makes outcomes durable for both, while the store is away on an `errand`.

pub(crate) mod budget;
pub(crate) mod calls;
pub(crate) mod errand;
pub(crate) mod execute;
pub(crate) mod flight;
pub(crate) mod keep;
pub(crate) mod lanes;
pub mod live;
pub(crate) mod loading;
pub(crate) mod outstanding;
pub(crate) mod prepare;
pub(crate) mod reach;
pub(crate) mod repeat;
pub mod settings;
pub mod settle;
pub(crate) mod stored;
pub(crate) mod waiting;
