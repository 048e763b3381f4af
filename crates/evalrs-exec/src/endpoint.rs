//! Whose limits actions count against, and what the user allows of each.

use super::secret::Secret;

/// The server. Requests to one endpoint share its limits, whoever sends them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The protocol.
    pub provider: String,
    /// Where requests go.
    pub base_url: String,
    /// The key of the API: limits are those of an account.
    pub api_key: Option<Secret>,
}

/// What the user allows of one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    /// The most requests at once, at least 1.
    pub most: usize,
    /// The most requests of any minute.
    pub requests_per_minute: Option<u32>,
    /// The most tokens of any minute, sent and received.
    pub tokens_per_minute: Option<u64>,
    /// This many identical failures in a row close the endpoint; 0 never does.
    pub identical_failures: u32,
}

impl LimitSettings {
    /// The settings that keep both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        fn smaller<T: Ord>(left: Option<T>, right: Option<T>) -> Option<T> {
            left.into_iter().chain(right).min()
        }
        let identical = [self.identical_failures, other.identical_failures].into_iter();
        Self {
            most: self.most.min(other.most),
            requests_per_minute: smaller(self.requests_per_minute, other.requests_per_minute),
            tokens_per_minute: smaller(self.tokens_per_minute, other.tokens_per_minute),
            identical_failures: identical.filter(|most| *most > 0).min().unwrap_or(0),
        }
    }
}

/// An endpoint that an executor of judges knows: its ordinal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JudgeEndpointId(pub usize);

/// Whose limits an action counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndpointId {
    /// Those of an endpoint of judges.
    Judge(JudgeEndpointId),
    /// Those of this machine, which all programs share.
    Program,
    /// Those of the target: how many conversations are under way at once.
    Target,
}
