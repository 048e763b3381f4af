//! Looks at a session and asks nothing: what would be asked, what that would take, where a verdict comes from.

pub mod sent;
pub mod explain;
pub mod forecast;
pub mod preview;
pub mod reasons;
pub mod stored_entries;
