//! The endpoints of a run on one clock: who may send now, who waits until when, and what there is to say of it.
//!
//! `limit` decides for each endpoint; here those who have to wait are put to sleep and woken, and requests under way
//! are counted over all endpoints. Everything happens on one thread, and no state is held across an await.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use self::shown::{Concurrency, ShownStatus, ToldStatuses, late_reason, reason};
use super::limit::{EndpointLimits, Hindrance, RequestLanding, Ticket};
use super::pause::Pause;
use super::window::Why;
use crate::breaker::EndedAction;
use crate::{
    ChangeFuture, Endpoint, EndpointId, ExecutionLimits, JudgeEndpointId, LimitSettings, Notice,
    Room,
};
use evalrs_base::text::time;
use evalrs_eval::judge::{JudgeAction, without_secrets};
use evalrs_model::outcome::{Failure, FailureKind, Outcome};

/// The shortest back-off that is shown.
const SHOWN_BACK_OFF: Duration = Duration::from_secs(1);
/// The longest sleep: waiting calls look again then, which costs nothing.
const LONGEST_SLEEP: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub(crate) struct Endpoints {
    start: Instant,
    state: RefCell<EndpointsState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct EndpointsState {
    /// The most requests under way at once, over all endpoints.
    most: usize,
    open: Vec<OpenEndpoint>,
    under_way: usize,
    /// Why nothing at all is sent any more.
    halted: Option<Arc<str>>,
    notices: Vec<Notice>,
}

impl EndpointsState {
    /// Why an endpoint is closed, if it is.
    fn reason(&self, id: JudgeEndpointId) -> Option<String> {
        let open = &self.open[id.0];
        match (&self.halted, open.limits.breaker.reason()) {
            (Some(halted), _) => Some((**halted).to_owned()),
            (None, Some(reason)) => Some(format!("`{}` {reason}", open.url)),
            (None, None) => None,
        }
    }

    /// What keeps a request from being sent now; a wait for a moment is shown.
    fn hindrance(&mut self, id: JudgeEndpointId, tokens: u64, now: Duration) -> Option<Hindrance> {
        if let Some(halted) = &self.halted {
            return Some(Hindrance::Closed(Arc::clone(halted)));
        }
        let is_full = self.under_way >= self.most;
        let hindrance = self.open[id.0].limits.hindrance(now, tokens);
        if let Some(Hindrance::Until(moment, why)) = hindrance {
            let shown = match why {
                Why::Asked(_) | Why::Exhausted => ShownStatus::Asked(moment, why),
                Why::Requests(_) | Why::Tokens(_) => ShownStatus::Figure(moment, why),
            };
            self.show(id, Some(shown), now);
        }
        hindrance.or_else(|| is_full.then_some(Hindrance::UntilOneLands))
    }

    /// Says what holds an endpoint back, where that is news.
    fn show(&mut self, id: JudgeEndpointId, shown: Option<ShownStatus>, now: Duration) {
        let open = &mut self.open[id.0];
        if open.shown == shown {
            return;
        }
        open.shown.clone_from(&shown);
        let Some(shown) = shown else { return self.notices.push(Notice::Going(id)) };
        let is_new = open.told.take(&shown, now);
        let what = shown.words(&open.url, now);
        self.notices.push(Notice::Waiting { endpoint: id, what, is_new });
    }
}

#[derive(Debug)]
struct OpenEndpoint {
    endpoint: Endpoint,
    /// Its URL without secrets.
    url: String,
    limits: EndpointLimits,
    /// The tokens of each request of an action that has begun and waits to be sent: they come before new ones.
    queued: Vec<u64>,
    /// Why it must wait, as last reported.
    shown: Option<ShownStatus>,
    /// The lines reported so far.
    told: ToldStatuses,
    /// How many requests are under way at once, since that has changed.
    concurrency: Option<Concurrency>,
}

impl OpenEndpoint {
    /// How many of those that wait could be sent now, as far as this endpoint has a say. More than one may be too
    /// many where the tokens of a minute are short, but never where none fits: so nobody waits in vain for them.
    fn ready(&mut self, now: Duration) -> usize {
        let Some(least) = self.queued.iter().min() else { return 0 };
        match self.limits.hindrance(now, *least) {
            None => self.queued.len().min(self.limits.free()),
            Some(_) => 0,
        }
    }
}

/// Why a request was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The endpoint is closed, and why.
    Closed(String),
    /// Its time would be up before: what it would have waited for.
    TooLate(String),
}

impl Endpoints {
    /// No endpoints yet, of which at most `most` requests will be under way at once.
    pub(crate) fn new(most: usize) -> Self {
        let state = EndpointsState { most: most.max(1), ..EndpointsState::default() };
        Self { start: Instant::now(), state: RefCell::new(state), changed: Notify::new() }
    }

    pub(crate) fn url(&self, id: JudgeEndpointId) -> String {
        self.state.borrow().open[id.0].url.clone()
    }

    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    pub(crate) fn room_at(&self, id: JudgeEndpointId) -> Room {
        let mut state = self.state.borrow_mut();
        let now = self.now();
        // Places are those of all endpoints, and a place that is free is seen here before those who wait are woken:
        // it is theirs, whichever endpoint they ask.
        let ready: usize = state.open.iter_mut().map(|open| open.ready(now)).sum();
        let is_theirs = state.under_way + ready >= state.most;
        // How many tokens the action takes is not known yet. One that does not fit waits inside.
        match state.hindrance(id, 1, now) {
            None if state.open[id.0].queued.is_empty() && !is_theirs => Room::Now,
            Some(Hindrance::Closed(_)) => Room::Closed(state.reason(id).unwrap_or_default()),
            Some(Hindrance::UntilOneLands) => Room::Full,
            None | Some(Hindrance::Until(..)) => Room::Later,
        }
    }

    /// Takes a place for a request of this many tokens: at once if there is one, else in the queue.
    pub(crate) fn enter(&self, id: JudgeEndpointId, tokens: u64) -> RequestEntry<'_> {
        match self.admit(id, tokens) {
            Ok(slot) => RequestEntry::Slot(slot),
            Err(_) => {
                self.state.borrow_mut().open[id.0].queued.push(tokens);
                RequestEntry::Queued(QueuedRequest { endpoints: self, id, tokens })
            }
        }
    }

    fn admit(&self, id: JudgeEndpointId, tokens: u64) -> Result<RequestSlot<'_>, Hindrance> {
        let mut state = self.state.borrow_mut();
        let now = self.now();
        if let Some(hindrance) = state.hindrance(id, tokens, now) {
            return Err(hindrance);
        }
        let open = &mut state.open[id.0];
        let ticket = open.limits.admit(now, tokens)?;
        let fewer = fewer(open);
        state.show(id, fewer, now);
        state.under_way += 1;
        Ok(RequestSlot { endpoints: self, id, ticket: Some(ticket) })
    }

    /// Waits before another attempt, `why` of which is shown. Ends early where there is none: the endpoint is closed, or
    /// the attempt would begin after `until`.
    pub(crate) async fn back_off(
        &self,
        id: JudgeEndpointId,
        delay: Duration,
        until: Duration,
        why: &str,
    ) -> Result<(), Refusal> {
        let end = self.now().saturating_add(delay);
        self.check_pause(id, end, until, why)?;
        if end > until {
            return Err(Refusal::TooLate(late(delay, None)));
        }
        loop {
            let changed = self.changed.notified();
            if let Some(reason) = self.reason(id) {
                return Err(Refusal::Closed(reason));
            }
            if self.now() >= end {
                return Ok(());
            }
            self.sleep(end, changed).await;
        }
    }

    /// Whether the endpoint's pause ends in time. That is shown; of the back-off of one action, only a long one is.
    fn check_pause(
        &self,
        id: JudgeEndpointId,
        end: Duration,
        until: Duration,
        why: &str,
    ) -> Result<(), Refusal> {
        let mut state = self.state.borrow_mut();
        let now = self.now();
        match state.hindrance(id, 1, now) {
            Some(Hindrance::Until(moment, why)) if moment > until => {
                return Err(Refusal::TooLate(late(moment.saturating_sub(now), Some(why))));
            }
            None | Some(Hindrance::UntilOneLands) if end.saturating_sub(now) >= SHOWN_BACK_OFF => {
                state.show(id, Some(ShownStatus::Again(end, why.into())), now);
            }
            _ => {}
        }
        self.changed.notify_waiters();
        Ok(())
    }

    pub(crate) fn ended(&self, id: JudgeEndpointId, action: &JudgeAction, outcome: &Outcome) {
        let failure = match outcome {
            Outcome::Reply(_) => None,
            // It was never asked, so it says nothing.
            Outcome::Failure(failure) if failure.kind == FailureKind::NotAsked => return,
            Outcome::Failure(failure) => Some(failure),
        };
        let ended = EndedAction { model: &action.model, prompt: &action.user, failure };
        self.state.borrow_mut().open[id.0].limits.breaker.ended(ended);
        self.changed.notify_waiters();
    }

    pub(crate) fn say(&self, line: String) {
        self.state.borrow_mut().notices.push(Notice::Line(line));
        self.changed.notify_waiters();
    }

    fn reason(&self, id: JudgeEndpointId) -> Option<String> {
        self.state.borrow().reason(id)
    }

    async fn sleep(&self, moment: Duration, changed: impl Future<Output = ()>) {
        let length = moment.saturating_sub(self.now()).min(LONGEST_SLEEP);
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep(length) => {}
        }
    }
}

impl ExecutionLimits for Endpoints {
    fn begin(&self) {
        let mut state = self.state.borrow_mut();
        state.halted = None;
        state.open.iter_mut().for_each(|open| open.limits.breaker.reset());
    }

    fn halt(&self, reason: &str) {
        self.state.borrow_mut().halted = Some(reason.into());
        self.changed.notify_waiters();
    }

    fn open(&self, endpoint: &Endpoint, settings: LimitSettings) -> JudgeEndpointId {
        let mut state = self.state.borrow_mut();
        if let Some(at) = state.open.iter().position(|open| open.endpoint == *endpoint) {
            state.open[at].limits.set(settings);
            return JudgeEndpointId(at);
        }
        // What stands after a `?` may be a key.
        let url = without_secrets(&endpoint.base_url);
        let url = url.split('?').next().unwrap_or_default().to_owned();
        state.open.push(OpenEndpoint {
            endpoint: endpoint.clone(),
            url,
            limits: EndpointLimits::new(settings),
            queued: Vec::new(),
            shown: None,
            told: ToldStatuses::default(),
            concurrency: None,
        });
        JudgeEndpointId(state.open.len() - 1)
    }

    fn room(&self, endpoint: EndpointId) -> Room {
        match endpoint {
            EndpointId::Judge(endpoint) => self.room_at(endpoint),
            EndpointId::Program | EndpointId::Target => Room::Now,
        }
    }

    fn closed_model(&self, id: JudgeEndpointId, model: &str) -> Option<String> {
        let state = self.state.borrow();
        let open = &state.open[id.0];
        let reason = open.limits.breaker.reason_of_model(model)?;
        Some(format!("`{model}` at `{}` {reason}", open.url))
    }

    fn changed(&self) -> ChangeFuture<'_> {
        let changed = self.changed.notified();
        let mut state = self.state.borrow_mut();
        let now = self.now();
        if !state.notices.is_empty() {
            return Box::pin(std::future::ready(()));
        }
        let moments =
            state.open.iter_mut().filter_map(|open| match open.limits.hindrance(now, 1) {
                Some(Hindrance::Until(moment, _)) => Some(moment),
                _ => None,
            });
        let again = moments.min().unwrap_or(Duration::MAX);
        Box::pin(async move { self.sleep(again, changed).await })
    }

    fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.state.borrow_mut().notices)
    }
}

/// A request's place among those that are sent, or among those that wait.
#[derive(Debug)]
pub(crate) enum RequestEntry<'a> {
    Slot(RequestSlot<'a>),
    Queued(QueuedRequest<'a>),
}

impl<'a> RequestEntry<'a> {
    /// Waits until the request may be sent, unless that would be after `until`.
    pub(crate) async fn slot(self, until: Duration) -> Result<RequestSlot<'a>, Refusal> {
        match self {
            Self::Slot(slot) => Ok(slot),
            Self::Queued(queued) => queued.slot(until).await,
        }
    }
}

/// A request that waits to be sent. New actions of the endpoint come after it.
#[derive(Debug)]
pub(crate) struct QueuedRequest<'a> {
    endpoints: &'a Endpoints,
    id: JudgeEndpointId,
    tokens: u64,
}

impl<'a> QueuedRequest<'a> {
    async fn slot(self, until: Duration) -> Result<RequestSlot<'a>, Refusal> {
        let endpoints = self.endpoints;
        loop {
            let changed = endpoints.changed.notified();
            let (moment, why) = match endpoints.admit(self.id, self.tokens) {
                Ok(slot) => return Ok(slot),
                Err(Hindrance::Closed(_)) => {
                    return Err(Refusal::Closed(endpoints.reason(self.id).unwrap_or_default()));
                }
                Err(Hindrance::Until(moment, why)) => (moment, Some(why)),
                Err(Hindrance::UntilOneLands) => (endpoints.now(), None),
            };
            let now = endpoints.now();
            if why.is_some() && moment > until {
                return Err(Refusal::TooLate(late(moment.saturating_sub(now), why)));
            }
            if now >= until {
                return Err(Refusal::TooLate("its requests had to wait for others".to_owned()));
            }
            let look = if why.is_some() { moment } else { until };
            endpoints.sleep(look, changed).await;
        }
    }
}

impl Drop for QueuedRequest<'_> {
    fn drop(&mut self) {
        let mut state = self.endpoints.state.borrow_mut();
        let queued = &mut state.open[self.id.0].queued;
        if let Some(at) = queued.iter().position(|tokens| *tokens == self.tokens) {
            queued.swap_remove(at);
        }
        self.endpoints.changed.notify_waiters();
    }
}

/// A request under way. Dropped without having landed, it was given up.
#[derive(Debug)]
pub(crate) struct RequestSlot<'a> {
    endpoints: &'a Endpoints,
    id: JudgeEndpointId,
    ticket: Option<Ticket>,
}

impl RequestSlot<'_> {
    /// The request landed: with this status if there was a reply at all, the pause that the reply requests, and
    /// the tokens that it really used.
    pub(crate) fn landed(self, status: Option<u16>, pause: &Pause, used: Option<u64>) {
        let status = status.unwrap_or_default();
        self.land(status, &reason(status), pause, used);
    }

    /// The request failed; `retries` are left.
    pub(crate) fn failed(
        self,
        failure: &Failure,
        status: Option<u16>,
        pause: &Pause,
        retries: u32,
    ) {
        match failure.kind {
            FailureKind::Timeout => self.timed_out(&late_reason(&failure.message, retries)),
            // That has nothing to do with how much is asked, and waiting does not mend it.
            FailureKind::NoCredit => self.landed(None, &Pause::default(), None),
            _ => self.landed(status, pause, None),
        }
    }

    /// No reply came in time, as `why` says of the endpoint. So fewer requests are sent at once: what is asked of a server
    /// at once is late together.
    pub(crate) fn timed_out(self, why: &str) {
        self.land(408, why, &Pause::default(), None);
    }

    fn land(mut self, status: u16, reason: &str, pause: &Pause, used: Option<u64>) {
        let landing = RequestLanding::of(status);
        let now = self.endpoints.now();
        let mut state = self.endpoints.state.borrow_mut();
        let open = &mut state.open[self.id.0];
        let before = open.limits.at_once().0;
        if let Some(ticket) = self.ticket.take() {
            open.limits.landed(ticket, landing, used);
        }
        let was_refused = landing != RequestLanding::Answered;
        let at_once = open.limits.at_once().0;
        if at_once != before {
            open.concurrency = Some(Concurrency::new(before, at_once, reason));
            let fewer = fewer(open);
            if !matches!(open.shown, Some(ShownStatus::Asked(..))) {
                state.show(self.id, fewer, now);
            }
        }
        if let Some(length) = pause.length(was_refused).filter(|length| !length.is_zero()) {
            let asked = pause.retry_after.is_some() || was_refused;
            let why = if asked { Why::Asked(status) } else { Why::Exhausted };
            let open = &mut state.open[self.id.0];
            open.limits.pause(now.saturating_add(length), why);
            if was_refused {
                // Whether anybody waits for it or not: it was said to this run.
                state.hindrance(self.id, 1, now);
            }
        }
        state.under_way -= 1;
        self.endpoints.changed.notify_waiters();
    }
}

impl Drop for RequestSlot<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take() else { return };
        let mut state = self.endpoints.state.borrow_mut();
        state.open[self.id.0].limits.abandoned(ticket);
        state.under_way -= 1;
        self.endpoints.changed.notify_waiters();
    }
}

fn fewer(open: &OpenEndpoint) -> Option<ShownStatus> {
    let (limit, most) = open.limits.at_once();
    let change = open.concurrency.clone()?;
    (limit < most).then_some(ShownStatus::Fewer(change))
}

fn late(wait: Duration, why: Option<Why>) -> String {
    let due = format!("the next attempt is due in {}", time(wait));
    match why {
        Some(why) => format!("{due}: {why}"),
        None => due,
    }
}

mod shown;
#[cfg(test)]
mod tests;
