//! The servers of conversations, and requests to them.

use crate::endpoint::Endpoint;
use crate::judges::endpoints::Endpoints;
use crate::judges::errors::ErrorReply;
use crate::letta::agent::MadeAgents;
use crate::transport::client::Clients;
use evalrs_model::outcome::{Failure, FailureKind};

/// Requests under way at once, to one server and to all: how many conversations there are is limited elsewhere.
pub(super) const AT_ONCE: usize = 1024;

#[derive(Debug)]
pub(crate) struct Web {
    pub clients: Clients,
    /// Their limits, which all conversations share.
    pub endpoints: Endpoints,
    pub agents: MadeAgents,
}

impl Default for Web {
    fn default() -> Self {
        Self {
            clients: Clients::new(AT_ONCE),
            endpoints: Endpoints::new(AT_ONCE),
            agents: MadeAgents::default(),
        }
    }
}

/// What is added to a request before it is sent.
type Prepare<'a> = &'a dyn Fn(reqwest::RequestBuilder) -> reqwest::RequestBuilder;

pub(crate) struct WebRequest<'a> {
    pub endpoint: Endpoint,
    pub method: reqwest::Method,
    pub url: &'a str,
    pub prepare: Prepare<'a>,
    /// Further attempts after what may pass.
    pub retries: u32,
    /// Which failures may be followed by another attempt, where the server does not say so itself.
    pub(super) is_retried: fn(FailureKind) -> bool,
}

#[derive(Debug)]
pub(crate) struct WebReply {
    pub status: u16,
    pub location: Option<String>,
    /// The body, without secrets.
    pub text: String,
}

#[derive(Debug)]
pub(crate) struct RefusedReply {
    pub failure: Failure,
    pub said: Option<ErrorReply>,
}

impl From<Failure> for RefusedReply {
    fn from(failure: Failure) -> Self {
        Self { failure, said: None }
    }
}

/// Reads a reply, whatever its status.
pub(super) type ReadReply<'a, T> = &'a dyn Fn(&WebReply) -> Result<T, RefusedReply>;
