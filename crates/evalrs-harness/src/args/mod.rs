//! The flags of these commands, as they are typed.

pub mod agents;
pub mod harness;
pub mod views;
