//! Asks judges over HTTP.
//!
//! `http` asks action by action (`asking`), through a `client`, whose errors `transport` puts into words. `endpoints` says who
//! may ask when, by the rules of `limit` (with `window` and `breaker`). `errors`, `pause` and `retry` read what a server
//! says of a failure and of another attempt.

mod asking;
mod breaker;
mod client;
mod endpoints;
mod errors;
pub mod http;
mod limit;
mod pause;
mod retry;
mod transport;
mod window;
