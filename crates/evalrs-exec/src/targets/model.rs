//! A model that talks: the agent itself, or who answers for its user.

use serde_json::Value;

use super::talk::Talk;
use super::web::{RefusedReply, WebReply, WebRequest};
use crate::Endpoint;
use crate::judges::errors;
use crate::judges::request::prepared;
use crate::launch::{ChatCaching, TargetAccess};
use evalrs_base::tokens::estimate;

use evalrs_eval::judge::provider::chat::{ChatMessage, ChatRequest};
use evalrs_eval::judge::provider::{self, ChatMark, ChatReply, Provider, ReplyEnding};
use evalrs_eval::judge::request_url::url;
use evalrs_eval::judge::{JudgeAction, JudgeEndpoint, json as lenient};
use evalrs_model::outcome::{Failure, FailureKind};

/// Further attempts of one request; those of a whole conversation are the target's `retries`.
const RETRIES: u32 = 5;

pub(super) struct TalkingModel<'a> {
    settings: JudgeAction,
    provider: &'static dyn Provider,
    access: &'a TargetAccess,
    /// What it is called in messages.
    who: &'static str,
    /// Whether its conversation has several requests.
    goes_on: bool,
}

impl<'a> TalkingModel<'a> {
    /// The model at `endpoint` in one trial, whose number is added to its seed.
    pub(super) fn new(
        endpoint: &JudgeEndpoint,
        access: &'a TargetAccess,
        trial: u32,
        who: &'static str,
    ) -> Result<Self, Failure> {
        let settings = endpoint.model_settings();
        let provider = provider::find(&settings.provider).ok_or_else(|| {
            let message = format!("unknown provider `{}`", settings.provider);
            Failure::new(FailureKind::Unloadable, message)
        })?;
        let seed = settings.seed.map(|seed| seed.wrapping_add(i64::from(trial)));
        let settings = JudgeAction { seed, ..settings.clone() };
        Ok(Self { settings, provider, access, who, goes_on: false })
    }

    /// The same model in a conversation that has several requests or not.
    pub(super) fn going_on(self, goes_on: bool) -> Self {
        Self { goes_on, ..self }
    }

    /// What of a request the provider is to cache, where it may be told.
    fn mark(&self, system: Option<&str>, tools: &[Value]) -> Option<ChatMark> {
        let ChatCaching { terms, is_shared } = self.access.caching?;
        let length = || {
            let tools: u64 = tools.iter().map(|tool| estimate(&tool.to_string())).sum();
            system.map_or(0, estimate) + tools
        };
        let opening = is_shared && length() >= terms.least;
        Some(ChatMark { opening, whole: self.goes_on, is_for_hour: terms.is_for_hour })
    }

    pub(super) async fn ask(
        &self,
        talk: &Talk<'_>,
        system: Option<&str>,
        tools: &[Value],
        messages: &[ChatMessage],
    ) -> Result<ChatReply, Failure> {
        let chat = ChatRequest { settings: &self.settings, system, tools, messages, shape: None };
        let mut request = self.provider.chat_request(&chat);
        if let Some(mark) = self.mark(system, tools) {
            self.provider.mark_chat(&mut request, mark);
        }
        let url = url(&self.access.base_url, &request.path);
        let TargetAccess { api_key, headers, .. } = self.access;
        let info = self.provider.info();
        let request = WebRequest {
            endpoint: Endpoint {
                provider: self.settings.provider.clone(),
                base_url: self.access.base_url.clone(),
                api_key: api_key.clone(),
            },
            method: reqwest::Method::POST,
            url: &url,
            prepare: &|sending| {
                prepared(sending, info, api_key.as_ref(), headers).json(&request.body)
            },
            retries: RETRIES,
            is_retried: |_| true,
        };
        talk.send(&request, &|reply| self.read(reply, &url, messages.len())).await
    }

    fn read(
        &self,
        reply: &WebReply,
        url: &str,
        messages: usize,
    ) -> Result<ChatReply, RefusedReply> {
        let Self { provider, who, .. } = self;
        let bytes = reply.text.as_bytes();
        let body = lenient::read(bytes).map_err(|error| error.to_string());
        if let Some(said) = errors::complaint(reply.status, body.as_ref().ok(), *provider) {
            let words = errors::words(bytes, body.as_ref().ok(), str::to_owned);
            let message = errors::refusal(who, reply.status, said.kind, &words, url);
            let failure = Failure::new(said.kind, message);
            return Err(RefusedReply { failure, said: Some(said) });
        }
        let read = body.and_then(|body| ChatReply::read(*provider, &body, messages));
        let reply =
            read.map_err(|why| errors::no_answer(who, &why, &reply.text, url, *provider))?;
        self.ended(&reply).map_or(Ok(reply), |failure| Err(failure.into()))
    }

    /// The failure that a reply is by the way it ended. One that ended at its limit is none by itself.
    fn ended(&self, reply: &ChatReply) -> Option<Failure> {
        let who = self.who;
        let (kind, message) = match &reply.answer.ending {
            ReplyEnding::Complete | ReplyEnding::Truncated => return None,
            ReplyEnding::Refused(said) => {
                (FailureKind::Refused, format!("{who} refused{}", errors::because(said)))
            }
            ReplyEnding::Filtered(said) => {
                let because = errors::because(said);
                let message = format!("a content filter stopped what {who} said{because}");
                (FailureKind::Filtered, message)
            }
            ReplyEnding::Broken(reason) => {
                (FailureKind::Server, format!("{who} stopped without a reply: {reason}"))
            }
        };
        let usage = Some(reply.answer.usage);
        Some(Failure { reply: reply.answer.text.clone(), usage, ..Failure::new(kind, message) })
    }

    /// The failure of a reply that ended at its token limit where it may not.
    pub(super) fn truncated(&self, reply: &ChatReply) -> Failure {
        let message =
            format!("what {} said ended at its token limit; raise `max_tokens`", self.who);
        let failure = Failure::new(FailureKind::Truncated, message);
        Failure { reply: reply.answer.text.clone(), ..failure }
    }
}
