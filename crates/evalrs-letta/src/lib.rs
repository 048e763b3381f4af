//! What a Letta server says and is told, as data: agent files, requests, streams of events, and verdicts in messages.
//!
//! Pure. It knows the protocol of the self-hosted server, 0.14 to 0.16, and nothing of sockets: `exec::letta` sends what
//! is written here and hands over what came. Judges that are agents rest on it.

pub mod agent_file;
pub mod agent_state;
pub mod errors;
pub mod requests;
pub(crate) mod server_sent;
pub mod stream;
pub mod verdict;

/// The tool by which a judge gives its verdict, where the suite names no other.
pub const JUDGE_TOOL: &str = "submit_grade";
