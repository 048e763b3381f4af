//! What holds an endpoint back, in words. Pure.

use std::sync::Arc;
use std::time::Duration;

use crate::base::text::time;
use crate::effects::exec::judges::limit::Why;

/// What holds an endpoint back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShownStatus {
    /// The server asked to wait until then.
    Asked(Duration, Why),
    /// A figure of a minute is used up until then.
    Figure(Duration, Why),
    /// An action is tried again then, and why.
    Again(Duration, Arc<str>),
    /// So many requests at once.
    Fewer(usize),
}

impl ShownStatus {
    /// What is said of the endpoint at `url`, which may be sent at most `most` requests at once.
    pub(super) fn words(&self, url: &str, most: usize, now: Duration) -> String {
        let left = |moment: Duration| time(moment.saturating_sub(now));
        match self {
            Self::Asked(moment, Why::Asked(status)) => {
                format!("waiting {}: {url} asked to ({status})", left(*moment))
            }
            Self::Asked(moment, _) => {
                format!("waiting {}: the rate limit of {url} is used up", left(*moment))
            }
            Self::Figure(moment, why) => format!("{why}: next to {url} in {}", left(*moment)),
            Self::Again(moment, why) => format!("retrying {url} in {} ({why})", left(*moment)),
            Self::Fewer(limit) => format!(
                "{url} is overloaded: concurrency {most} → {limit} (`max_concurrent` sets it)"
            ),
        }
    }
}
