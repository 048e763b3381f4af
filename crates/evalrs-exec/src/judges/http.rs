//! Calls a judge over HTTP.
//!
//! What is said and how replies read is the provider's; here it is sent, again after transport
//! failures. A reply that is no verdict is asked again at most twice with its fault named, because clamping or guessing
//! would hide a broken judge.

mod batches;
mod ending;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use self::ending::{verdict_text, wider};
use super::agent::{self, AgentWorld};
use super::asking::{AskedAction, estimate};
use super::command;
use super::endpoints::{Endpoints, RequestEntry};
use super::errors;
use super::pause::Pause;
use super::request::{encoding, prepared, read_pause};
use crate::letta::agent::MadeAgents;
use crate::programs::ProgramExecutor;
use crate::transport::client::Clients;
use crate::transport::route::{BrokenRequest, Route, Trust};
use crate::transport::{read_body, retry};
use crate::{
    ActionFuture, BatchService, CloseFuture, ExecutionLimits, Executor, JudgeLaunch, Launch,
};
use evalrs_eval::judge::json;
use evalrs_eval::judge::provider::refused::{LIMIT, lacks_room, leave_out, refused_setting};
use evalrs_eval::judge::provider::{self, Answer, Provider, RE_ASKS, ReplyShape, Request};
use evalrs_eval::judge::question::Question;
use evalrs_eval::judge::request_url::url;
use evalrs_model::outcome::{
    Failure, FailureKind, JudgeExchange, Outcome, RejectedReply, Reply, Usage,
};
use evalrs_model::spec::ReplyFormat;

/// The longest reply that is read, in bytes.
const REPLY_LIMIT: usize = 8 << 20;

/// Executes judges' actions over HTTP.
#[derive(Debug)]
pub struct HttpExecutor {
    clients: Clients,
    endpoints: Endpoints,
    /// 0 says nothing of single requests, 1 a line on each, 2 the bodies too.
    verbosity: u8,
    /// The strictest shape that each endpoint's model is known to take: those before it were refused.
    shapes: RefCell<BTreeMap<[String; 3], ReplyShape>>,
    /// The settings that each endpoint's model has refused: they are left out from then on.
    dropped: RefCell<BTreeMap<[String; 3], BTreeSet<&'static str>>>,
    agents: MadeAgents,
    /// Runs those judges that are commands.
    programs: Option<Rc<ProgramExecutor>>,
}

/// Has the next request of a judgment go without a limit, where the failure says that there is no room for the longest reply. A
/// reply that was cut is not retried so: nothing would end it.
fn makes_room(asking: &AskedAction<'_>, request: &Request, failure: &Failure) -> bool {
    let is_first = !asking.launch.is_wider;
    let lacks = failure.kind == FailureKind::BadRequest && lacks_room(request, &failure.message);
    is_first && lacks && !asking.is_unlimited.replace(true)
}

impl HttpExecutor {
    /// An executor whose connections are shared by at most `concurrency` requests.
    pub fn new(concurrency: usize) -> Self {
        Self {
            clients: Clients::new(concurrency),
            endpoints: Endpoints::new(concurrency),
            verbosity: 0,
            shapes: RefCell::default(),
            dropped: RefCell::default(),
            agents: MadeAgents::default(),
            programs: None,
        }
    }

    /// The same executor, which has `programs` run those judges that are commands.
    #[must_use]
    pub fn with_programs(self, programs: Rc<ProgramExecutor>) -> Self {
        Self { programs: Some(programs), ..self }
    }

    /// The same executor, which says so much of each request: 0 nothing, 1 a line, 2 the bodies too.
    #[must_use]
    pub fn with_verbosity(self, verbosity: u8) -> Self {
        Self { verbosity, ..self }
    }

    /// The shape that the next request requires.
    fn shape(&self, launch: &JudgeLaunch, provider: &dyn Provider) -> ReplyShape {
        let format = launch.action.response_format;
        let known = (format == ReplyFormat::Auto)
            .then(|| self.shapes.borrow().get(&place(launch)).copied());
        known.flatten().unwrap_or_else(|| provider.first_shape(format))
    }

    /// Whether the failure says that `shape` is not to be had, and another one is. That is remembered.
    fn gives_way(&self, launch: &JudgeLaunch, shape: ReplyShape, failure: &Failure) -> bool {
        let provider = provider::find(&launch.action.provider);
        let shapes = provider.map(Provider::shapes).unwrap_or_default();
        let weaker = shapes.iter().copied().find(|weaker| *weaker > shape);
        let (ReplyFormat::Auto, FailureKind::BadRequest, Some(weaker)) =
            (launch.action.response_format, failure.kind, weaker)
        else {
            return false;
        };
        let is_about_it = provider::is_about_shape(&failure.message);
        if is_about_it {
            // An answer to an earlier request may come later.
            let mut shapes = self.shapes.borrow_mut();
            let known = shapes.entry(place(launch)).or_insert(weaker);
            *known = weaker.max(*known);
        }
        is_about_it
    }

    /// The settings that the model has refused.
    fn dropped(&self, launch: &JudgeLaunch) -> BTreeSet<&'static str> {
        self.dropped.borrow().get(&place(launch)).cloned().unwrap_or_default()
    }

    /// Whether the failure says that the model does not take a setting which may be left out. That is remembered.
    fn drops(&self, launch: &JudgeLaunch, request: &Request, failure: &Failure) -> bool {
        let refused = match failure.kind {
            FailureKind::BadRequest => refused_setting(request, &failure.message),
            _ => None,
        };
        if let Some(setting) = refused {
            self.dropped.borrow_mut().entry(place(launch)).or_default().insert(setting);
        }
        refused.is_some()
    }

    /// Sends requests until there is a verdict. A reply that was cut is retried once with twice as many tokens.
    async fn ask(&self, launch: &JudgeLaunch, entered: RequestEntry<'_>) -> Outcome {
        let begin = self.endpoints.now();
        let outcome = self.ask_within(launch, Some(entered)).await;
        let Some((most, mut wider)) = wider(launch, &outcome) else { return outcome };
        // Both together are one judgment.
        let taken = self.endpoints.now().saturating_sub(begin).as_secs_f64();
        wider.patience.deadline = (wider.patience.deadline - taken).max(1.0);
        let used = outcome.usage();
        let second = Box::pin(self.ask_within(&wider, None)).await;
        // So many may be more than the model can give.
        let is_too_wide =
            matches!(&second, Outcome::Failure(it) if it.kind == FailureKind::BadRequest);
        if is_too_wide {
            return outcome;
        }
        let mut outcome = second;
        let (exchange, usage) = match &mut outcome {
            Outcome::Reply(reply) => (&mut reply.exchange, &mut reply.usage),
            Outcome::Failure(failure) => (&mut failure.exchange, &mut failure.usage),
        };
        exchange.get_or_insert_default().max_tokens = Some(most);
        let all = usage.unwrap_or_default() + used;
        *usage = (all != Usage::default()).then_some(all);
        outcome
    }

    /// The same within the tokens of the launch, or until the reply is invalid for the third time.
    async fn ask_within(&self, launch: &JudgeLaunch, entered: Option<RequestEntry<'_>>) -> Outcome {
        let asking = AskedAction::new(launch, &self.endpoints, entered, self.verbosity);
        if let (Some(start), Some(programs)) = (&launch.start, &self.programs) {
            return command::ask(programs, start, &asking).await;
        }
        if let Some(agent) = &launch.agent {
            let world = AgentWorld { clients: &self.clients, made: &self.agents };
            let answered = agent::ask(world, agent, &asking).await;
            return answered.map_or_else(Outcome::Failure, Outcome::Reply);
        }
        let Some(provider) = provider::find(&launch.action.provider) else {
            let message = format!("unknown provider `{}`", launch.action.provider);
            return Outcome::Failure(Failure::new(FailureKind::BadRequest, message));
        };
        let mut rejected: Vec<RejectedReply> = Vec::new();
        let mut usage = Usage::default();
        loop {
            let asked = self.ask_once(&asking, provider, &rejected).await;
            let mut exchange = self.exchange(launch, provider, &rejected);
            if asking.is_unlimited.get() {
                exchange.get_or_insert_default().dropped.push(LIMIT.to_owned());
            }
            let told = asked.and_then(|answer| {
                usage = usage + answer.usage;
                Ok((verdict_text(&answer)?.to_owned(), answer.model))
            });
            let used = (usage != Usage::default()).then_some(usage);
            let (text, model) = match told {
                Ok(told) => told,
                Err(failure) => {
                    return Outcome::Failure(Failure { usage: used, exchange, ..failure });
                }
            };
            let Err(fault) = launch.action.verdict(&text) else {
                return Outcome::Reply(Reply { text, model, usage: used, exchange });
            };
            // A model that embeds says the same again.
            let is_embedding = matches!(launch.action.question, Question::Embed { .. });
            if rejected.len() == RE_ASKS || is_embedding {
                let message = match rejected.len() {
                    0 => format!("invalid reply: {fault}"),
                    more => format!("invalid reply, asked {} times: {fault}", more + 1),
                };
                let failure = Failure::new(FailureKind::InvalidReply, message);
                let reply = Some(text);
                return Outcome::Failure(Failure { reply, usage: used, exchange, ..failure });
            }
            rejected.push(RejectedReply { text, fault });
        }
    }

    /// What was sent and replied so far beyond what the key says.
    fn exchange(
        &self,
        launch: &JudgeLaunch,
        provider: &dyn Provider,
        rejected: &[RejectedReply],
    ) -> Option<Box<JudgeExchange>> {
        let shape = self.shape(launch, provider);
        let strictest = provider.first_shape(launch.action.response_format);
        let is_embedding = matches!(launch.action.question, Question::Embed { .. });
        let is_weaker = shape != strictest && !is_embedding;
        let shape = is_weaker.then(|| shape.name().to_owned());
        let caching = launch.mark.map(|mark| mark.name().to_owned());
        let tier = launch.is_flex.then(|| "flex".to_owned());
        let dropped = self.dropped(launch).into_iter().map(str::to_owned).collect();
        JudgeExchange {
            shape,
            caching,
            tier,
            dropped,
            max_tokens: None,
            rejected: rejected.to_vec(),
        }
        .kept()
    }

    /// The request for an action, as its endpoint takes it.
    fn request(
        &self,
        launch: &JudgeLaunch,
        provider: &dyn Provider,
        shape: ReplyShape,
        rejected: &[RejectedReply],
    ) -> Request {
        let mut request = provider.request(&launch.action, shape, rejected);
        if let Some(mark) = launch.mark {
            provider.mark(&mut request, &launch.action, mark);
        }
        if launch.is_flex {
            provider.flex(&mut request);
        }
        for setting in self.dropped(launch) {
            leave_out(&mut request, setting);
        }
        request
    }

    /// One answer, in the strictest shape that the endpoint takes.
    async fn ask_once(
        &self,
        asking: &AskedAction<'_>,
        provider: &dyn Provider,
        rejected: &[RejectedReply],
    ) -> Result<Answer, Failure> {
        let launch = asking.launch;
        loop {
            let shape = self.shape(launch, provider);
            let mut request = self.request(launch, provider, shape, rejected);
            if asking.is_unlimited.get() {
                leave_out(&mut request, LIMIT);
            }
            let failure = match self.send_with_retries(asking, provider, &request).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let is_mended = self.gives_way(launch, shape, &failure)
                || self.drops(launch, &request, &failure)
                || makes_room(asking, &request, &failure);
            if !is_mended {
                return Err(failure);
            }
        }
    }

    async fn send_with_retries(
        &self,
        asking: &AskedAction<'_>,
        provider: &dyn Provider,
        request: &Request,
    ) -> Result<Answer, Failure> {
        // The first request has a client built, which takes a moment: before time is counted.
        self.clients.client(&url(&asking.launch.base_url, &request.path))?;
        let mut retries = asking.launch.patience.max_retries;
        let mut last = None;
        let mut waits = 0;
        loop {
            let slot = asking.slot(last).await?;
            let SentRequest { answer, status, pause } = self.send(asking, provider, request).await;
            let failure = match answer {
                Ok(answer) => {
                    let used = answer.usage.input + answer.usage.output;
                    slot.landed(status, &pause, Some(used).filter(|used| *used > 0));
                    return Ok(answer);
                }
                Err(failure) => failure,
            };
            slot.failed(&failure, status, &pause, retries);
            // Nothing is billed for it, so it waits as long as the judgment may take.
            if asking.launch.is_flex && errors::has_no_room(&failure) {
                waits += 1;
                let delay = retry::delay(waits, pause.retry_after, fastrand::f64());
                last = Some(asking.wait_for_room(delay, failure).await?);
                continue;
            }
            if retries == 0 || !retry::is_retryable(failure.kind, pause.should_retry) {
                return Err(asking.advised(failure));
            }
            retries -= 1;
            let attempt = asking.launch.patience.max_retries - retries;
            let delay = retry::delay(attempt, pause.retry_after, fastrand::f64());
            last = Some(asking.back_off(attempt, delay, failure).await?);
        }
    }

    async fn send(
        &self,
        asking: &AskedAction<'_>,
        provider: &dyn Provider,
        request: &Request,
    ) -> SentRequest {
        let launch = asking.launch;
        let begin = self.endpoints.now();
        let url = url(&launch.base_url, &request.path);
        let client = match self.clients.client(&url) {
            Ok(client) => client,
            Err(failure) => {
                return SentRequest::broken(BrokenRequest { failure, may_pass: false });
            }
        };
        let patience = asking.patience();
        let failed = |error: &reqwest::Error| {
            if error.is_timeout() {
                return BrokenRequest { failure: asking.timed_out(patience), may_pass: true };
            }
            let mut broken = self.broken(error, &launch.base_url, &url, client.trust);
            broken.failure.message = launch.without_secrets(&broken.failure.message);
            broken
        };
        let sending = client.http.post(&url);
        let sending = prepared(sending, provider.info(), launch.api_key.as_ref(), &launch.headers)
            .json(&request.body);
        let response = match sending.timeout(patience).send().await {
            Ok(response) => response,
            Err(error) => {
                let broken = failed(&error);
                asking.say_landed(begin, &broken.failure.message);
                return SentRequest::broken(broken);
            }
        };
        let status = response.status().as_u16();
        let pause = read_pause(&response);
        let encoding = encoding(&response);
        let read = read_body(response, REPLY_LIMIT).await.map_err(|error| match error {
            Some(error) => failed(&error).failure,
            None => Failure::new(FailureKind::BadRequest, "the reply is larger than 8 MB"),
        });
        if let (Some(encoding), Ok(_)) = (encoding, &read) {
            let message = format!("the reply is compressed ({encoding}), which was not requested");
            asking.say_landed(begin, &message);
            let failure = Failure::new(FailureKind::Server, message);
            return SentRequest::broken(BrokenRequest { failure, may_pass: false });
        }
        asking.say_landed(begin, &status.to_string());
        asking.say_bodies(&request.body, read.as_deref().unwrap_or_default());
        let (answer, said) = match read {
            Ok(bytes) => understood(&bytes, status, &url, launch, provider),
            Err(failure) => (Err(failure), None),
        };
        let pause = pause.or_after(said.as_ref().and_then(|said| said.delay));
        // Gateways send the refusals of servers behind them with the status of a success.
        let is_contrary = answer.is_err() && retry::classify(status).is_none();
        let status = if is_contrary { said.and_then(|said| said.status) } else { Some(status) };
        SentRequest { answer, status, pause }
    }

    /// What the error of a request to `url` means.
    fn broken(
        &self,
        error: &reqwest::Error,
        base_url: &str,
        url: &str,
        trust: Trust,
    ) -> BrokenRequest {
        let shown = evalrs_eval::judge::without_secrets(base_url);
        Route { url: shown, proxy: self.clients.proxy(url), trust }.failed(error)
    }
}

impl Executor for HttpExecutor {
    fn execute(&self, launch: Launch) -> ActionFuture<'_> {
        let Launch::Judge(launch) = launch else {
            let message = "programs are not executed here";
            let failure = Failure::new(FailureKind::NotAsked, message);
            return Box::pin(std::future::ready(Outcome::Failure(failure)));
        };
        // The place is taken before anybody asks for room again.
        let entered = self.endpoints.enter(launch.endpoint, estimate(&launch.action));
        Box::pin(async move {
            let outcome = self.ask(&launch, entered).await;
            self.endpoints.ended(launch.endpoint, &launch.action, &outcome);
            outcome
        })
    }

    fn limits(&self) -> &dyn ExecutionLimits {
        &self.endpoints
    }

    fn batches(&self) -> Option<&dyn BatchService> {
        Some(self)
    }

    fn close(&self) -> CloseFuture<'_> {
        Box::pin(self.agents.deleted())
    }
}

struct SentRequest {
    answer: Result<Answer, Failure>,
    /// The status of the reply, if there was one that says anything of the server's load.
    status: Option<u16>,
    pause: Pause,
}

impl SentRequest {
    /// Nothing came back.
    fn broken(BrokenRequest { failure, may_pass }: BrokenRequest) -> Self {
        let pause = Pause { should_retry: (!may_pass).then_some(false), ..Pause::default() };
        Self { answer: Err(failure), status: None, pause }
    }
}

/// What shapes depend on: who serves which model, and through which API.
fn place(launch: &JudgeLaunch) -> [String; 3] {
    let action = &launch.action;
    [action.provider.clone(), launch.base_url.clone(), action.model.clone()]
}

/// What a reply with this status says: an answer, or a failure and the error that it is.
fn understood(
    bytes: &[u8],
    status: u16,
    url: &str,
    launch: &JudgeLaunch,
    provider: &dyn Provider,
) -> (Result<Answer, Failure>, Option<errors::ErrorReply>) {
    let body = json::read(bytes).map_err(|error| error.to_string());
    let clean = |text: &str| launch.without_secrets(text);
    if let Some(said) = errors::complaint(status, body.as_ref().ok(), provider) {
        let words = errors::words(bytes, body.as_ref().ok(), clean);
        let message = errors::refusal("the judge", status, said.kind, &words, url);
        return (Err(Failure::new(said.kind, message)), Some(said));
    }
    let answer = body.and_then(|body| provider.answer(&body));
    let answer = answer.map(|answer| answer.map_texts(&clean)).map_err(|what| {
        let text = clean(&String::from_utf8_lossy(bytes));
        errors::no_answer("the endpoint", &what, &text, url, provider)
    });
    (answer, None)
}

#[cfg(test)]
mod tests;
