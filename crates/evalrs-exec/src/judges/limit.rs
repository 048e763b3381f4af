//! When one endpoint may be called: how many requests at once, how many a minute, and when not at all. Pure: time
//! is the length since some fixed moment and is passed in.
//!
//! The number of requests at once starts at the configured one, halves when the server is overloaded and grows back
//! by one for every round of answers (additive increase, multiplicative decrease: Chiu and Jain, "Analysis of the
//! Increase and Decrease Algorithms for Congestion Avoidance in Computer Networks", 1989). What a server asks to be
//! left alone for holds for everybody who asks it.

use std::sync::Arc;
use std::time::Duration;

use super::window::{Why, Window, later};
use crate::LimitSettings;
use crate::breaker::Breaker;

#[derive(Debug)]
pub(crate) struct EndpointLimits {
    settings: LimitSettings,
    /// The most requests at once for now, from 1 to the configured figure.
    limit: usize,
    /// Answers since the limit has changed.
    answers: usize,
    admitted: u64,
    /// Requests before this one say nothing of the limit as it is now.
    round: u64,
    under_way: usize,
    paused: Option<(Duration, Why)>,
    window: Window,
    pub(super) breaker: Breaker,
}

/// A request that was admitted. It counts as under way until `landed` or `abandoned` is told of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    number: u64,
    in_window: u64,
}

/// Why a request may not be sent now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hindrance {
    Until(Duration, Why),
    /// Not before one that is under way lands.
    UntilOneLands,
    /// Never again, and why.
    Closed(Arc<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestLanding {
    Answered,
    /// The server has too much to do: 429, 503 or 529, or no answer in time (408, 504).
    Overloaded,
    /// Anything else: it says nothing of how much the server can do.
    Failed,
}

impl RequestLanding {
    pub(super) fn of(status: u16) -> Self {
        match status {
            200..=299 => Self::Answered,
            408 | 429 | 503 | 504 | 529 => Self::Overloaded,
            _ => Self::Failed,
        }
    }
}

impl EndpointLimits {
    pub(super) fn new(settings: LimitSettings) -> Self {
        let settings = LimitSettings { most: settings.most.max(1), ..settings };
        Self {
            settings,
            limit: settings.most,
            answers: 0,
            admitted: 0,
            round: 0,
            under_way: 0,
            paused: None,
            window: Window::new(settings.requests_per_minute, settings.tokens_per_minute),
            breaker: Breaker::new(settings.identical_failures),
        }
    }

    /// The reason why a request of this many tokens cannot be sent now. At the moment of `Until` it is asked again:
    /// what happens until then may have put the moment off.
    pub(crate) fn hindrance(&mut self, now: Duration, tokens: u64) -> Option<Hindrance> {
        if let Some(reason) = self.breaker.reason() {
            return Some(Hindrance::Closed(Arc::clone(reason)));
        }
        if let Some((moment, why)) = self.not_before(now, tokens) {
            return Some(Hindrance::Until(moment, why));
        }
        (self.under_way >= self.limit).then_some(Hindrance::UntilOneLands)
    }

    /// Admits a request of this many estimated tokens, or returns why it must wait.
    pub(crate) fn admit(&mut self, now: Duration, tokens: u64) -> Result<Ticket, Hindrance> {
        match self.hindrance(now, tokens) {
            Some(hindrance) => Err(hindrance),
            None => {
                let ticket =
                    Ticket { number: self.admitted, in_window: self.window.add(now, tokens) };
                self.admitted += 1;
                self.under_way += 1;
                Ok(ticket)
            }
        }
    }

    /// A request landed; `used` is what it really used, where that is known.
    #[expect(clippy::needless_pass_by_value, reason = "a ticket is used up")]
    pub(super) fn landed(&mut self, ticket: Ticket, landing: RequestLanding, used: Option<u64>) {
        self.under_way = self.under_way.saturating_sub(1);
        if let Some(used) = used {
            self.window.correct(ticket.in_window, used);
        }
        // What was sent before the last change of the limit tells of the limit before it.
        let is_of_round = ticket.number >= self.round;
        match landing {
            RequestLanding::Overloaded if is_of_round => {
                self.limit = (self.limit / 2).max(1);
                self.answers = 0;
                self.round = self.admitted;
            }
            RequestLanding::Answered if is_of_round && self.limit < self.settings.most => {
                self.answers += 1;
                if self.answers >= self.limit {
                    self.limit += 1;
                    self.answers = 0;
                }
            }
            RequestLanding::Answered | RequestLanding::Overloaded | RequestLanding::Failed => {}
        }
    }

    /// A request will not land any more: its sender has given up.
    pub(crate) fn abandoned(&mut self, ticket: Ticket) {
        self.landed(ticket, RequestLanding::Failed, None);
    }

    /// Nothing is admitted before `moment`. An earlier one does not shorten a pause.
    pub(super) fn pause(&mut self, moment: Duration, why: Why) {
        if self.paused.is_none_or(|(until, _)| until < moment) {
            self.paused = Some((moment, why));
        }
    }

    /// The most requests at once for now, and the configured most.
    pub(super) fn at_once(&self) -> (usize, usize) {
        (self.limit, self.settings.most)
    }

    /// How many more requests may be under way for now.
    pub(crate) fn free(&self) -> usize {
        self.limit.saturating_sub(self.under_way)
    }

    pub(super) fn set(&mut self, settings: LimitSettings) {
        let settings = LimitSettings { most: settings.most.max(1), ..settings };
        let was_full = self.limit == self.settings.most;
        self.limit = if was_full { settings.most } else { self.limit.min(settings.most) };
        self.window.set(settings.requests_per_minute, settings.tokens_per_minute);
        self.breaker.set(settings.identical_failures);
        self.settings = settings;
    }

    /// The later of the pause and the figures of a minute.
    fn not_before(&mut self, now: Duration, tokens: u64) -> Option<(Duration, Why)> {
        self.paused = self.paused.filter(|(until, _)| *until > now);
        later(self.paused, self.window.fits_at(now, tokens))
    }
}

#[cfg(test)]
mod tests;
