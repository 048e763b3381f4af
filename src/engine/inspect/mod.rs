//! Looks at a session and asks nothing: what would be asked, what that would take, where a verdict comes from.

pub(crate) mod sent;
pub(crate) mod explain;
mod explain_target;
pub(crate) mod forecast;
pub(crate) mod preview;
pub(crate) mod reasons;
pub(crate) mod stored_entries;
