//! Asks judges over HTTP.
//!
//! `http` asks action by action (`asking`), judges that are agents through `agent`. `endpoints` says who may ask when, by the
//! rules of `limit` (with `window` and `breaker`). `errors` and `pause` read what a server says of a failure and of another
//! attempt.

mod agent;
mod asking;
mod breaker;
mod endpoints;
mod errors;
pub mod http;
mod limit;
mod pause;
mod window;
