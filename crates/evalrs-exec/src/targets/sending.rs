//! Requests of conversations over HTTP: sent, and sent again after what may pass, never later than the conversation may
//! last.
//!
//! Conversations with one server share its limits, by the rules that judges have: where it refuses one for being too
//! many, all of them wait.

use std::time::Duration;

use super::talk::Talk;
use super::web::{AT_ONCE, ReadReply, RefusedReply, WebReply, WebRequest};
use crate::endpoint::LimitSettings;
use crate::judges::endpoints::Refusal;
use crate::judges::pause::Pause;
use crate::judges::request::{encoding, read_pause};
use crate::transport::route::Route;
use crate::transport::{read_body, retry};
use crate::{ExecutionLimits, Notice};
use evalrs_base::text::time;
use evalrs_eval::judge::without_secrets;
use evalrs_model::outcome::{Failure, FailureKind};

/// The most bytes of a reply.
const MOST_REPLY: usize = 64 << 20;
/// The characters of a failure that are shown while it is retried.
const SHOWN: usize = 120;

struct Attempt<T> {
    result: Result<T, Failure>,
    /// The status, where it says anything of the server's load.
    status: Option<u16>,
    pause: Pause,
}

impl<T> Attempt<T> {
    /// Nothing came that could be read.
    fn broken(failure: Failure, may_pass: bool) -> Self {
        let pause = Pause { should_retry: (!may_pass).then_some(false), ..Pause::default() };
        Self { result: Err(failure), status: None, pause }
    }
}

impl Talk<'_> {
    /// Sends a request until `read` takes the reply, or retries are useless.
    pub(super) async fn send<T>(
        &self,
        request: &WebRequest<'_>,
        read: ReadReply<'_, T>,
    ) -> Result<T, Failure> {
        let settings = LimitSettings {
            most: AT_ONCE,
            requests_per_minute: None,
            tokens_per_minute: None,
            identical_failures: 0,
        };
        let id = self.web.endpoints.open(&request.endpoint, settings);
        let mut last: Option<Failure> = None;
        let mut attempt = 0;
        loop {
            let until = self.web.endpoints.now().saturating_add(self.left());
            let slot = self.web.endpoints.enter(id, 1).slot(until).await;
            let slot = slot.map_err(|refused| given_up(self, refused, last.take()))?;
            let Attempt { result, status, pause } = self.attempt(request, read).await;
            let failure = match result {
                Ok(taken) => {
                    slot.landed(status, &pause, None);
                    return Ok(taken);
                }
                Err(failure) => failure,
            };
            if failure.kind == FailureKind::Timeout {
                slot.timed_out("did not answer in time");
                return Err(failure);
            }
            slot.failed(&failure, status, &pause, 0);
            self.tell_what_waits();
            if attempt == request.retries
                || !(request.is_retried)(failure.kind)
                || !retry::is_retryable(failure.kind, pause.should_retry)
            {
                return Err(failure);
            }
            attempt += 1;
            let delay = retry::delay(attempt, pause.retry_after, fastrand::f64());
            let why: String = failure.message.chars().take(SHOWN).collect();
            let most = request.retries;
            (self.steps)(format!("retry {attempt} of {most} in {}: {why}", time(delay)));
            let waited = self.web.endpoints.back_off(id, delay, until, &why).await;
            waited.map_err(|refused| given_up(self, refused, Some(failure.clone())))?;
            last = Some(failure);
        }
    }

    async fn attempt<T>(&self, request: &WebRequest<'_>, read: ReadReply<'_, T>) -> Attempt<T> {
        let client = match self.web.clients.client(request.url) {
            Ok(client) => client,
            Err(failure) => return Attempt::broken(failure, false),
        };
        let failed = |error: &reqwest::Error| {
            if error.is_timeout() {
                return Attempt::broken(self.late(), false);
            }
            let url = without_secrets(request.url);
            let url = url.split('?').next().unwrap_or_default().to_owned();
            let proxy = self.web.clients.proxy(request.url);
            let mut broken = Route { url, proxy, trust: client.trust }.failed(error);
            broken.failure.message = self.launch.without_secrets(&broken.failure.message);
            Attempt::broken(broken.failure, broken.may_pass)
        };
        let sending = client.http.request(request.method.clone(), request.url);
        let sending = (request.prepare)(sending).timeout(self.left().max(Duration::from_millis(1)));
        let response = match sending.send().await {
            Ok(response) => response,
            Err(error) => return failed(&error),
        };
        let status = response.status().as_u16();
        let pause = read_pause(&response);
        let location = response.headers().get("location");
        let location = location.and_then(|place| place.to_str().ok()).map(str::to_owned);
        if let Some(encoding) = encoding(&response) {
            let message = format!("the reply is compressed ({encoding}), which was not requested");
            return Attempt::broken(Failure::new(FailureKind::TargetFailed, message), false);
        }
        let bytes = match read_body(response, MOST_REPLY).await {
            Ok(bytes) => bytes,
            Err(Some(error)) => return failed(&error),
            Err(None) => {
                let message = format!("the reply is larger than {} MiB", MOST_REPLY >> 20);
                return Attempt::broken(Failure::new(FailureKind::TargetFailed, message), false);
            }
        };
        let text = self.launch.without_secrets(&String::from_utf8_lossy(&bytes));
        let reply = WebReply { status, location, text };
        match read(&reply) {
            Ok(taken) => Attempt { result: Ok(taken), status: Some(status), pause },
            Err(RefusedReply { failure, said }) => {
                let pause = pause.or_after(said.as_ref().and_then(|said| said.delay));
                // Gateways send the refusals of servers behind them with the status of a success.
                let is_contrary = retry::classify(status).is_none();
                let status =
                    if is_contrary { said.and_then(|said| said.status) } else { Some(status) };
                Attempt { result: Err(failure), status, pause }
            }
        }
    }

    /// Says what holds the server back.
    fn tell_what_waits(&self) {
        for notice in self.web.endpoints.take_notices() {
            match notice {
                Notice::Waiting { what, is_new: true, .. } | Notice::Line(what) => {
                    (self.steps)(what);
                }
                Notice::Waiting { .. } | Notice::Going(_) | Notice::Agent { .. } => {}
            }
        }
    }
}

/// The failure of a conversation that cannot wait for its next attempt.
fn given_up(talk: &Talk<'_>, refused: Refusal, last: Option<Failure>) -> Failure {
    let why = match refused {
        Refusal::TooLate(why) | Refusal::Closed(why) => why,
    };
    match last {
        Some(last) => {
            let message = format!("{}; {why}, and the time limit is earlier", last.message);
            Failure { message, ..last }
        }
        None => {
            let late = talk.late();
            Failure { message: format!("{}: {why}", late.message), ..late }
        }
    }
}
