//! Requests of conversations over HTTP: sent, and sent again after what may pass, never later than the conversation may
//! last.
//!
//! Conversations with one server share its limits, by the rules that judges have: where it refuses one for being too
//! many, all of them wait.

use std::time::Duration;

use super::Talk;
use crate::judges::endpoints::{Endpoints, Refused};
use crate::judges::errors::ErrorReply;
use crate::judges::pause::Pause;
use crate::judges::request::{encoding, read_pause};
use crate::letta::made_agents::MadeAgents;
use crate::transport::client::Clients;
use crate::transport::route::Route;
use crate::transport::{read_body, retry};
use crate::{Endpoint, LimitSettings, Notice};
use evalrs_base::text::time;
use evalrs_eval::judge::without_secrets;
use evalrs_model::outcome::{Failure, FailureKind};

/// The most bytes of a reply.
const MOST_REPLY: usize = 64 << 20;
/// Requests under way at once, to one server and to all: how many conversations there are is limited elsewhere.
const AT_ONCE: usize = 1024;
/// The characters of a failure that are shown while it is retried.
const SHOWN: usize = 120;

/// The servers that conversations are held with.
#[derive(Debug)]
pub(crate) struct Web {
    clients: Clients,
    endpoints: Endpoints,
    /// The agents that were made on Letta servers.
    agents: MadeAgents,
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

/// One request.
pub(crate) struct WebRequest<'a> {
    /// Whose limits it counts against.
    pub endpoint: Endpoint,
    /// How it is sent.
    pub method: reqwest::Method,
    /// Where it goes.
    pub url: &'a str,
    /// Adds headers and the body.
    pub prepare: Prepare<'a>,
    /// Further attempts after what may pass.
    pub retries: u32,
    /// Which failures may be followed by another attempt, where the server does not say so itself.
    pub(super) is_retried: fn(FailureKind) -> bool,
}

/// What a server replied.
#[derive(Debug)]
pub(crate) struct WebReply {
    /// The status.
    pub status: u16,
    /// Where it points to, where it does.
    pub location: Option<String>,
    /// The body, without secrets.
    pub text: String,
}

/// A reply that is a failure.
#[derive(Debug)]
pub(crate) struct RefusedReply {
    /// What it means.
    pub failure: Failure,
    /// What it says beside.
    pub said: Option<ErrorReply>,
}

impl From<Failure> for RefusedReply {
    fn from(failure: Failure) -> Self {
        Self { failure, said: None }
    }
}

/// Reads a reply, whatever its status.
pub(super) type ReadReply<'a, T> = &'a dyn Fn(&WebReply) -> Result<T, RefusedReply>;

/// What came of one attempt.
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

impl Web {
    /// The clients of all servers.
    pub(super) fn clients(&self) -> &Clients {
        &self.clients
    }

    /// The agents that were made on Letta servers.
    pub(crate) fn agents(&self) -> &MadeAgents {
        &self.agents
    }

    /// Sends a request until `read` takes the reply, or there is no more use in it.
    pub(crate) async fn send<T>(
        &self,
        talk: &Talk<'_>,
        request: &WebRequest<'_>,
        read: ReadReply<'_, T>,
    ) -> Result<T, Failure> {
        let settings = LimitSettings {
            most: AT_ONCE,
            requests_per_minute: None,
            tokens_per_minute: None,
            identical_failures: 0,
        };
        let id = self.endpoints.open(&request.endpoint, settings);
        let mut last: Option<Failure> = None;
        let mut attempt = 0;
        loop {
            let until = self.endpoints.now().saturating_add(talk.left());
            let slot = self.endpoints.enter(id, 1).slot(until).await;
            let slot = slot.map_err(|refused| given_up(talk, refused, last.take()))?;
            let Attempt { result, status, pause } = self.attempt(talk, request, read).await;
            let failure = match result {
                Ok(taken) => {
                    slot.landed(status, &pause, None);
                    return Ok(taken);
                }
                Err(failure) => failure,
            };
            if failure.kind == FailureKind::Timeout {
                slot.timed_out("gave no answer in time");
                return Err(failure);
            }
            slot.failed(&failure, status, &pause, 0);
            self.tell(talk);
            if attempt == request.retries
                || !(request.is_retried)(failure.kind)
                || !retry::is_retryable(failure.kind, pause.should_retry)
            {
                return Err(failure);
            }
            attempt += 1;
            let delay = retry::delay(attempt, pause.retry_after, fastrand::f64());
            let why: String = failure.message.chars().take(SHOWN).collect();
            (talk.steps)(format!(
                "retry {attempt} of {} in {}: {why}",
                request.retries,
                time(delay)
            ));
            let waited = self.endpoints.back_off(id, delay, until, &why).await;
            let late = |refused| given_up(talk, refused, Some(failure.clone()));
            waited.map_err(late)?;
            last = Some(failure);
        }
    }

    async fn attempt<T>(
        &self,
        talk: &Talk<'_>,
        request: &WebRequest<'_>,
        read: ReadReply<'_, T>,
    ) -> Attempt<T> {
        let client = match self.clients.client(request.url) {
            Ok(client) => client,
            Err(error) => {
                let message = format!("cannot set up HTTP: {error}");
                return Attempt::broken(Failure::new(FailureKind::Connection, message), false);
            }
        };
        let failed = |error: &reqwest::Error| {
            if error.is_timeout() {
                return Attempt::broken(talk.late(), false);
            }
            let url = without_secrets(request.url);
            let url = url.split('?').next().unwrap_or_default().to_owned();
            let proxy = self.clients.proxy(request.url);
            let mut broken = Route { url, proxy, trust: client.trust }.failed(error);
            broken.failure.message = talk.launch.without_secrets(&broken.failure.message);
            Attempt::broken(broken.failure, broken.may_pass)
        };
        let sending = client.http.request(request.method.clone(), request.url);
        let sending = (request.prepare)(sending).timeout(talk.left().max(Duration::from_millis(1)));
        let response = match sending.send().await {
            Ok(response) => response,
            Err(error) => return failed(&error),
        };
        let status = response.status().as_u16();
        let pause = read_pause(&response);
        let location = response.headers().get("location");
        let location = location.and_then(|place| place.to_str().ok()).map(str::to_owned);
        if let Some(encoding) = encoding(&response) {
            let message = format!("the reply is compressed ({encoding}), which nobody asked for");
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
        let text = talk.launch.without_secrets(&String::from_utf8_lossy(&bytes));
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
    fn tell(&self, talk: &Talk<'_>) {
        for notice in self.endpoints.take_notices() {
            match notice {
                Notice::Waiting { what, is_new: true, .. } | Notice::Line(what) => {
                    (talk.steps)(what);
                }
                Notice::Waiting { .. } | Notice::Going(_) | Notice::Agent { .. } => {}
            }
        }
    }
}

/// The failure of a conversation that cannot wait for its next attempt.
fn given_up(talk: &Talk<'_>, refused: Refused, last: Option<Failure>) -> Failure {
    let why = match refused {
        Refused::TooLate(why) | Refused::Closed(why) => why,
    };
    match last {
        Some(last) => {
            let message = format!("{}; {why}, and the time limit is before that", last.message);
            Failure { message, ..last }
        }
        None => {
            let late = talk.late();
            Failure { message: format!("{}: {why}", late.message), ..late }
        }
    }
}
