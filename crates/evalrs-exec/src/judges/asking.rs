//! One judge call in progress: its requests, its deadline, and its log lines at high verbosity.
//!
//! Its time is counted from its first request: what waits to be sent at all is not late.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use serde_json::{Map, Value};

use super::endpoints::{Endpoints, Refusal, RequestEntry, RequestSlot};
use crate::JudgeLaunch;
use crate::transport::retry;
use evalrs_base::text::time;
use evalrs_eval::judge::JudgeAction;
use evalrs_eval::judge::question::Question;
use evalrs_model::outcome::{Failure, FailureKind};

/// The tokens of a reply where nobody says how many there may be, to estimate with.
const REPLY_TOKENS: u64 = 256;
/// The bytes of a token, to estimate with: English has about four, code and other languages fewer.
const TOKEN_BYTES: u64 = 4;
/// The characters of a body that are shown.
const SHOWN_BODY: usize = 2_000;

/// The characters of a failure that are shown while it is retried.
const SHOWN_FAILURE: usize = 120;

#[derive(Debug)]
pub(crate) struct AskedAction<'a> {
    pub(super) launch: &'a JudgeLaunch,
    endpoints: &'a Endpoints,
    /// The place of the first request, until that is sent.
    entered: RefCell<Option<RequestEntry<'a>>>,
    /// When its time is up; known with the first request.
    until: Cell<Option<Duration>>,
    requests: Cell<u32>,
    verbosity: u8,
    /// Whether its requests have no limit: its prompt leaves no room for the longest reply.
    pub(super) is_unlimited: Cell<bool>,
}

impl<'a> AskedAction<'a> {
    /// An action whose first request may have entered already. `verbosity` 0 says nothing of its requests, 1 a line, 2 the
    /// bodies too.
    pub(super) fn new(
        launch: &'a JudgeLaunch,
        endpoints: &'a Endpoints,
        entered: Option<RequestEntry<'a>>,
        verbosity: u8,
    ) -> Self {
        let entered = RefCell::new(entered);
        let until = Cell::new(None);
        let requests = Cell::new(0);
        let is_unlimited = Cell::new(false);
        Self { launch, endpoints, entered, until, requests, verbosity, is_unlimited }
    }

    /// Waits for the right to send one request; `last` is what came of the attempt before.
    pub(crate) async fn slot(&self, last: Option<Failure>) -> Result<RequestSlot<'a>, Failure> {
        let entered = self.entered.take().unwrap_or_else(|| {
            self.endpoints.enter(self.launch.endpoint, estimate(&self.launch.action))
        });
        let slot = entered.slot(self.until()).await;
        let slot = slot.map_err(|refused| self.given_up(refused, last))?;
        if self.until.get().is_none() {
            let deadline = Duration::try_from_secs_f64(self.launch.patience.deadline);
            let until = self.endpoints.now().saturating_add(deadline.unwrap_or(Duration::MAX));
            self.until.set(Some(until));
        }
        self.requests.set(self.requests.get() + 1);
        Ok(slot)
    }

    /// Waits before attempt `attempt` of a request, counted without the first. Gives the failure back.
    pub(crate) async fn back_off(
        &self,
        attempt: u32,
        delay: Duration,
        failure: Failure,
    ) -> Result<Failure, Failure> {
        let most = self.launch.patience.max_retries;
        self.say(&|| format!("retry {attempt} of {most} in {}: {}", time(delay), failure.message));
        let why: String = failure.message.chars().take(SHOWN_FAILURE).collect();
        let why = format!("{why}; retry {attempt} of {most}");
        match self.endpoints.back_off(self.launch.endpoint, delay, self.until(), &why).await {
            Ok(()) => Ok(failure),
            Err(refused) => Err(self.given_up(refused, Some(failure))),
        }
    }

    /// Waits until the server may have room, which is no attempt. Gives the failure back.
    pub(crate) async fn wait_for_room(
        &self,
        delay: Duration,
        failure: Failure,
    ) -> Result<Failure, Failure> {
        let why: String = failure.message.chars().take(SHOWN_FAILURE).collect();
        self.say(&|| format!("waits {} for room: {why}", time(delay)));
        match self.endpoints.back_off(self.launch.endpoint, delay, self.until(), &why).await {
            Ok(()) => Ok(failure),
            Err(refused) => Err(self.given_up(refused, Some(failure))),
        }
    }

    /// Has `send` make a request and report to its slot how it landed; repeats it after transient failures. `answer` is what is
    /// said of one that was answered.
    pub(super) async fn with_retries<T>(
        &self,
        answer: &str,
        send: impl AsyncFn(RequestSlot<'a>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut attempt = 0;
        let mut last = None;
        loop {
            let slot = self.slot(last).await?;
            let begin = self.endpoints.now();
            let sent = send(slot).await;
            self.say_landed(begin, sent.as_ref().err().map_or(answer, |failure| &failure.message));
            let failure = match sent {
                Err(failure) if retry::is_retryable(failure.kind, None) => failure,
                sent => return sent,
            };
            if attempt == self.launch.patience.max_retries {
                return Err(failure);
            }
            attempt += 1;
            let delay = retry::delay(attempt, None, fastrand::f64());
            last = Some(self.back_off(attempt, delay, failure).await?);
        }
    }

    /// How long one request may take from now: until it is late, or so is the action.
    pub(super) fn patience(&self) -> Duration {
        self.timeout().min(self.until().saturating_sub(self.endpoints.now()))
    }

    fn timeout(&self) -> Duration {
        let timeout = Duration::try_from_secs_f64(self.launch.patience.timeout);
        timeout.unwrap_or(Duration::from_mins(2))
    }

    /// The failure of a request that took longer than `patience`.
    pub(super) fn timed_out(&self, patience: Duration) -> Failure {
        if patience < self.timeout() {
            return self.late("a request was in flight", None);
        }
        let timeout = self.launch.patience.timeout;
        Failure::new(FailureKind::Timeout, format!("no answer within {timeout} s"))
    }

    /// The failure of a request that is not sent again. One that was late says what may help.
    pub(crate) fn advised(&self, failure: Failure) -> Failure {
        match failure.kind {
            FailureKind::Timeout => Failure { message: self.advice(&failure.message), ..failure },
            _ => failure,
        }
    }

    /// What happened, and what may help where replies are late: fewer at once, and shorter ones.
    fn advice(&self, what: &str) -> String {
        let action = &self.launch.action;
        let is_asked_by_us = self.launch.agent.is_none() && self.launch.start.is_none();
        let is_endless = action.max_tokens.is_none()
            && is_asked_by_us
            && !matches!(action.question, Question::Embed { .. });
        let limit = if is_endless { ", and `max_tokens` if replies do not end" } else { "" };
        format!("{what}; a lower `max_concurrent` may help{limit}")
    }

    /// Says how a request landed that was sent at `begin`.
    pub(crate) fn say_landed(&self, begin: Duration, how: &str) {
        self.say(&|| {
            let took = self.endpoints.now().saturating_sub(begin);
            format!("request {}: {how} after {}", self.requests.get(), time(took))
        });
    }

    /// Shows both bodies of a request, where that is wanted.
    pub(crate) fn say_bodies(&self, sent: &Map<String, Value>, received: &[u8]) {
        if self.verbosity > 1 {
            let sent = serde_json::to_string(sent).unwrap_or_default();
            self.say_texts(&sent, &String::from_utf8_lossy(received));
        }
    }

    /// Shows what was sent and received, where that is wanted.
    pub(crate) fn say_texts(&self, sent: &str, received: &str) {
        if self.verbosity < 2 {
            return;
        }
        for (what, body) in [("sent", sent), ("received", received)] {
            // Before it is cut: a part of a secret is not found any more.
            let body = self.launch.without_secrets(body);
            let mut shown: String = body.chars().take(SHOWN_BODY).collect();
            if shown.len() < body.len() {
                shown.push('…');
            }
            self.endpoints.say(format!("  {what}: {shown}"));
        }
    }

    fn say(&self, line: &dyn Fn() -> String) {
        if self.verbosity > 0 {
            let url = self.endpoints.url(self.launch.endpoint);
            let JudgeLaunch { action, what_for, .. } = self.launch;
            let what_for =
                if what_for.is_empty() { String::new() } else { format!(" for {what_for}") };
            // A command has no address but its words.
            let url = if self.launch.start.is_some() { String::new() } else { url + " " };
            let line = format!("{url}{}{what_for}: {}", action.model, line());
            self.endpoints.say(self.launch.without_secrets(&line));
        }
    }

    fn until(&self) -> Duration {
        self.until.get().unwrap_or(Duration::MAX)
    }

    /// The failure of an action whose endpoint is disabled.
    fn given_up(&self, refused: Refusal, last: Option<Failure>) -> Failure {
        match refused {
            Refusal::TooLate(what) => self.late(&what, last),
            Refusal::Closed(reason) => last.unwrap_or_else(|| {
                Failure::new(FailureKind::NotAsked, format!("not called: {reason}"))
            }),
        }
    }

    fn late(&self, what: &str, last: Option<Failure>) -> Failure {
        let deadline = self.launch.patience.deadline;
        let is_late = last.as_ref().is_none_or(|last| last.kind == FailureKind::Timeout);
        let before = last.map_or_else(String::new, |last| format!("; before, {}", last.message));
        let message = format!("no verdict within the deadline of {deadline} s: {what}{before}");
        let message = if is_late { self.advice(&message) } else { message };
        Failure::new(FailureKind::Deadline, message)
    }
}

/// The most tokens that are reserved for a reply before it is there.
const MOST_RESERVED: u64 = 1_000;

/// The tokens that a request will take, sent and received. Servers that limit tokens count the most of a reply too.
pub(crate) fn estimate(action: &JudgeAction) -> u64 {
    let sent = (action.system.len() + action.user.len()) as u64 / TOKEN_BYTES;
    let received = match &action.question {
        Question::Embed { .. } => 0,
        Question::Several(all) => REPLY_TOKENS * all.len() as u64,
        Question::Score(_) | Question::Compare | Question::Decide { .. } => REPLY_TOKENS,
    };
    // The limit of a model that reasons is for thought that most replies do not have.
    sent + action.max_tokens.map_or(received, |most| u64::from(most).min(MOST_RESERVED))
}
