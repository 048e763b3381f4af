//! Executes programs: executables as a process for each call, functions and modules in workers that stay.
//!
//! Programs are not trusted: each has a group of processes of its own, limits of time and output, an environment of few
//! variables and, where the suite wants it, a sandbox. `executor` takes calls: `executable` runs the one kind; of the other,
//! `queue` holds what waits, `pool` passes it to a `worker`, and `messages` is what is said. `command`, `sandbox` and
//! `environment` say how a process is started, `endings`, `tail` and `printed` what is told of its end and of what it prints,
//! `group` ends it, `guard` even when evalrs is gone, and `supervisor`, on Linux, also what left its group.

pub mod agent_process;
mod busy_file;
pub mod check;
pub mod command;
mod endings;
pub mod environment;
mod executable;
pub mod executor;
mod files;
mod group;
mod guard;
mod messages;
mod pool;
mod printed;
mod queue;
mod sandbox;
pub(super) mod supervisor;
mod tail;
mod worker;
mod world;

pub use command::changed_meanwhile;
pub use environment::environment_of;
pub use executor::ProgramExecutor;
pub(crate) use files::{WrittenStamp, stamp};
pub use world::ProgramSettings;

#[cfg(test)]
mod test_data;
#[cfg(unix)]
#[cfg(test)]
mod tests;
