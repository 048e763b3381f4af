//! Calls judges over HTTP.
//!
//! `http` asks action by action (`asking`), judges that are agents through `agent`, commands through `command`. `endpoints` says who may ask when, by the
//! rules of `limit` (with `window` and `breaker`). `errors` and `pause` read what a server says of a failure and of another
//! attempt; `request` is what all requests have in common. Conversations of targets are held over the same parts.

mod agent;
mod asking;
mod command;
pub(crate) mod endpoints;
pub(crate) mod errors;
pub mod http;
mod limit;
pub(crate) mod pause;
pub(crate) mod request;
#[cfg(test)]
mod test_data;
mod window;
