//! What touches the world: actions are executed, outcomes kept, runs recorded, saved files noticed. Knows no graph.

pub mod store;
pub(crate) mod database;
pub mod exec;
pub mod fs_watch;
pub(crate) mod record;
