//! Talks with a Letta server: agents are created from files, called, read back and deleted.
//!
//! `server` sends single requests, `agent` is one agent from its making to its end and sees to it that none stays behind.
//! Knows no judges: whoever has a conversation with an agent says what is asked and what it means.

pub(crate) mod agent;
pub(crate) mod server;
