//! Resolves what a session waits for: looked up in the store, executed, made durable, brought into the graph.
//!
//! `resolver` has the steps, of which `look_up` brings in what the store has and `admission` says what may start; `settle` takes
//! them once, and `live` over and over while files change. `whole_answers` says which conversations stay in memory,
//! and `shared_calls` leaves to other processes what they have in flight. `batches` has those whose requests are out for hours.
//!
//! Where there is no graph, `prepare` finds out what a program is by now, and `calls` has it called and gives what came of
//! it in the order of the calls; `sequences` does so with agents and what is made of their answers. For all, `in_flight` holds
//! what is being executed, and `persist` says what of it is kept.

pub(crate) mod admission;
pub mod batches;
pub mod budget;
pub mod calls;
pub(crate) mod complete_keys;
pub(crate) mod credentials;
pub(crate) mod in_flight;
pub(crate) mod launch;
pub mod live;
pub(crate) mod look_up;
pub(crate) mod outstanding;
pub(crate) mod persist;
pub(crate) mod prefixes;
pub mod prepare;
pub(crate) mod queues;
pub(crate) mod refreshed;
pub(crate) mod repeat;
pub mod resolver;
pub mod sequences;
pub mod settings;
pub mod settle;
pub mod settled;
pub(crate) mod shared_calls;
pub(crate) mod elsewhere;
pub mod waiting;
pub(crate) mod whole_answers;
