//! Executes the actions of evalrs: calls judges over HTTP, calls the programs of a user, and runs the conversations of agents.
//!
//! An action goes in as a [`Launch`], which adds to it what decides how it is executed but not what comes of it: where a
//! server is, its API key, how a process is started. An [`Outcome`](evalrs_model::outcome::Outcome) comes out, and a failure
//! is an outcome too. Retries, limits of endpoints, sandboxes and workers are kept in here.
//!
//! In reading order:
//!
//! - `launch`, `start`, `endpoint`, `secret`: what is handed in;
//! - `executor`: the traits that the engine works with, and what it is told. `Executor` alone has to be implemented;
//!   `ExecutionLimits` says what may start, `ProgramLoader` what programs load. `executors` joins those of judges, programs
//!   and targets;
//! - `batch_service`: the same of batches of requests, which outlive the process;
//! - `judges`: questions over HTTP. `http` sends them, `endpoints` shares limits (`limit`, `window`, `pause`) without a clock,
//!   and `errors` says what replies mean that hold no answer; `breaker` gives up what always fails in the same way;
//! - `programs`: executables as a process for each call, functions and modules in workers that stay;
//! - `targets`: conversations, one file for each kind of target, with their folders and the commands around them;
//! - `transport` and `letta`: HTTP clients, and the agents of a Letta server, for judges and targets alike.
//!
//! This crate knows no suite, no graph and no store: who is asked what, and whether it was asked before, is for the engine.
//! It is the one that may open sockets and start processes.
//!
//! Begin with `executor`, then `executors`, then the kind of action in question.

pub mod batch_service;
mod breaker;
pub mod editor;
pub mod endpoint;
pub mod executor;
pub mod executors;
#[cfg(feature = "judge")]
pub mod judges;
pub mod launch;
#[cfg(feature = "judge")]
pub(crate) mod letta;
#[cfg(not(feature = "judge"))]
pub mod no_judges;
pub mod programs;
pub mod secret;
pub mod start;
pub mod targets;
#[cfg(feature = "judge")]
pub(crate) mod transport;

pub use batch_service::{
    BatchAccess, BatchError, BatchFuture, BatchLine, BatchResults, BatchService,
};
pub use endpoint::{Endpoint, EndpointId, JudgeEndpointId, LimitSettings};
pub use executor::{
    ActionFuture, ChangeFuture, CheckFuture, CloseFuture, DiscoveredFiles, ExecutionLimits,
    Executor, LoadFuture, Notice, ProgramLoader, Room, SeenFiles, see,
};
pub use launch::{JudgeLaunch, Launch, ProgramLaunch};
pub use programs::supervisor::supervise;
pub use secret::{RequestHeader, Secret};
pub use start::{Runtime, Start};
