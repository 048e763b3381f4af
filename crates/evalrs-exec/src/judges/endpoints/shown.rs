//! What holds an endpoint back, in words. Pure.

use std::mem::discriminant;
use std::sync::Arc;
use std::time::Duration;

use crate::judges::window::Why;
use evalrs_base::text::time;

/// How long a line about an endpoint is not repeated.
const QUIET: Duration = Duration::from_mins(1);

/// What holds an endpoint back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShownStatus {
    /// The server requested to wait until then.
    Asked(Duration, Why),
    /// A figure of a minute is used up until then.
    Figure(Duration, Why),
    /// An action is tried again then, and why.
    Again(Duration, Arc<str>),
    /// This many requests at once.
    Fewer(Concurrency),
}

impl ShownStatus {
    pub(super) fn words(&self, url: &str, now: Duration) -> String {
        let left = |moment: Duration| time(moment.saturating_sub(now));
        match self {
            Self::Asked(moment, Why::Asked(429)) => {
                format!("rate limited by {url} (429); retrying in {}", left(*moment))
            }
            Self::Asked(moment, Why::Asked(status)) => {
                format!("{url} answered {status}; retrying in {}", left(*moment))
            }
            Self::Asked(moment, _) => {
                format!("rate limit of {url} used up; next request in {}", left(*moment))
            }
            Self::Figure(moment, why) => format!(
                "{why}: next request to {url} in \
                                                  {}",
                left(*moment)
            ),
            Self::Again(moment, why) => format!("retrying {url} in {} ({why})", left(*moment)),
            Self::Fewer(Concurrency { before, now, why }) => {
                format!("{url} {why}: concurrency {before} → {now} (`max_concurrent` sets it)")
            }
        }
    }
}

/// The last change of how many requests are under way at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Concurrency {
    pub before: usize,
    pub now: usize,
    /// What the endpoint did, as a clause of which it is the subject.
    pub why: Arc<str>,
}

impl Concurrency {
    /// A change, for which there was this reason where there are fewer.
    pub(super) fn new(before: usize, now: usize, reason: &str) -> Self {
        let why = if now > before { "answers again" } else { reason };
        Self { before, now, why: why.into() }
    }

    pub(super) fn grows(&self) -> bool {
        self.now > self.before
    }
}

/// Why fewer requests are sent at once after a reply with this status, as a clause.
pub(super) fn reason(status: u16) -> String {
    match status {
        408 | 504 => format!("was too late ({status})"),
        _ => "is overloaded".to_owned(),
    }
}

/// The same after no reply, for the reason in `message` and with `retries` left.
pub(super) fn late_reason(message: &str, retries: u32) -> String {
    let then = if retries > 0 { "; retrying" } else { "" };
    format!("gave {message}{then}")
}

/// The lines reported of an endpoint: the last of each kind, and when.
#[derive(Debug, Default)]
pub(super) struct ToldStatuses(Vec<(ShownStatus, Duration)>);

impl ToldStatuses {
    /// Whether a line on `shown` would be news; then it counts as reported. A change of the concurrency happens once,
    /// and that there are more is none that anybody waits for.
    pub(super) fn take(&mut self, shown: &ShownStatus, now: Duration) -> bool {
        let is_like = |told: &ShownStatus| discriminant(told) == discriminant(shown);
        let last = self.0.iter().find(|(told, _)| is_like(told));
        let is_recent = last.is_some_and(|(_, at)| now.saturating_sub(*at) < QUIET);
        let is_told = match shown {
            ShownStatus::Fewer(change) => {
                change.grows() || last.is_some_and(|(told, _)| told == shown)
            }
            _ => false,
        };
        if is_recent || is_told {
            return false;
        }
        self.0.retain(|(told, _)| !is_like(told));
        self.0.push((shown.clone(), now));
        true
    }
}
