//! Looks at a session without any call: which calls are missing, what they would cost, where a verdict comes
//! from.

pub mod foreign;
pub mod sent;
pub mod cache_forecast;
pub mod explain;
pub mod forecast;
pub mod preview;
pub mod reasons;
pub mod stored_entries;
