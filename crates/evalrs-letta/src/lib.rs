//! The requests and replies of a Letta server, without a socket.
//!
//! # Owns
//!
//! - `agent_file` and `agent_state`: the files that agents are imported from, and the state that one is left in.
//! - `stream`: the messages of a run as they come.
//! - `verdict`: where in them a judge that is an agent says its score.
//! - `errors`: which failures a server's answers are.
//!
//! # Must not know
//!
//! How a server is reached, and who asks it: `evalrs-exec` sends what is made here, as a judge and as a target.
//!
//! # Where to begin
//!
//! With `verdict`: it is the shortest way from what a server says to what evalrs makes of it. The tests read messages that
//! servers really sent, where those are there.

pub mod agent_file;
pub mod agent_state;
pub mod errors;
pub mod requests;
pub(crate) mod server_sent;
pub mod stream;
pub mod verdict;

/// The tool by which a judge gives its verdict, where the suite names no other.
pub const JUDGE_TOOL: &str = "submit_grade";
