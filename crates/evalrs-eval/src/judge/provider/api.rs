//! An API of judges: its requests, its replies, and what is the same in all of its requests.

use std::time::Duration;

use serde_json::{Map, Value};

use super::chat::{AssistantMessage, ChatMessage, ChatRequest, NativeMessage};
use crate::judge::action::JudgeAction;
use crate::judge::question::ReplyShape;
use evalrs_model::outcome::{FailureKind, RejectedReply, Usage};
use evalrs_model::spec::ReplyFormat;

/// An API of judges.
pub trait Provider: Sync {
    /// What is the same in all of its requests.
    fn info(&self) -> &'static ProviderInfo;

    /// The ways to request the shape of a reply, the strictest first; the last always works.
    fn shapes(&self) -> &'static [ReplyShape];

    /// The strictest of its shapes that is not stricter than the suite requests.
    fn first_shape(&self, format: ReplyFormat) -> ReplyShape {
        let wanted = match format {
            ReplyFormat::JsonSchema | ReplyFormat::Auto => ReplyShape::Schema,
            ReplyFormat::JsonObject => ReplyShape::Object,
            ReplyFormat::Text => ReplyShape::Words,
        };
        // A provider without a JSON mode is asked in words.
        self.shapes().iter().copied().find(|shape| *shape >= wanted).unwrap_or(ReplyShape::Words)
    }

    /// The request for an action; `rejected` are earlier replies that were no verdicts.
    fn request(
        &self,
        action: &JudgeAction,
        shape: ReplyShape,
        rejected: &[RejectedReply],
    ) -> Request {
        let mut messages = vec![ChatMessage::User(action.user.clone())];
        for RejectedReply { text, fault } in rejected {
            let said = AssistantMessage { text: Some(text.clone()), ..AssistantMessage::default() };
            messages.push(ChatMessage::Assistant(said));
            messages.push(ChatMessage::User(action.question.correction(fault)));
        }
        self.chat_request(&ChatRequest {
            settings: action,
            system: Some(&action.system),
            tools: &[],
            messages: &messages,
            shape: Some(shape),
        })
    }

    /// Says in a request for an action what the provider is to cache.
    fn mark(&self, _request: &mut Request, _action: &JudgeAction, _mark: PromptMark) {}

    /// Says in a request of a conversation what the provider is to cache.
    fn mark_chat(&self, _request: &mut Request, _mark: ChatMark) {}

    /// Says in a request that it is answered when the provider has room, at half the price; true if it can say so.
    fn flex(&self, _request: &mut Request) -> bool {
        false
    }

    /// The request that has a conversation go on.
    fn chat_request(&self, chat: &ChatRequest<'_>) -> Request;

    /// The tools that a response calls, and what goes back of it in later requests; `messages` is how many parts the
    /// conversation had before.
    fn said(&self, body: &Value, messages: usize) -> NativeMessage;

    /// What a successful response says, or why it is none of this API.
    fn answer(&self, body: &Value) -> Result<Answer, String>;

    /// What an error says beyond its status: the object that the body holds as `error`.
    fn complaint(&self, _status: u16, _error: &Value) -> Complaint {
        Complaint::default()
    }

    /// The only temperature that a model takes, if it is one of the maker's own models that take but one.
    fn fixed_temperature(&self, _model: &str) -> Option<f64> {
        None
    }
}

/// What is the same in all requests to a provider.
#[derive(Debug)]
pub struct ProviderInfo {
    /// Its name in suites and keys.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// One sentence on what it reaches.
    pub description: &'static str,
    /// The default base URL; without a slash at its end.
    pub base_url: &'static str,
    /// The environment variable that names another place.
    pub base_url_variable: &'static str,
    /// The environment variables that may hold the key, the first that is set counts.
    pub key_variables: &'static [&'static str],
    /// The environment variable with further headers, one `Name: value` a line.
    pub headers_variable: &'static str,
    /// How the key is sent.
    pub auth: Auth,
    /// Whether nothing is answered at `base_url` without a key.
    pub needs_key: bool,
    /// The version at the beginning of its paths, with a slash before it, which base URLs may end with too.
    pub version: &'static str,
    /// Headers of every request.
    pub headers: &'static [(&'static str, &'static str)],
    /// The most tokens of a reply where the suite says nothing; none leaves it to the server.
    pub max_tokens: Option<u32>,
    /// Settings of a judge that it has no place for, each with the reason.
    pub unsupported: &'static [(&'static str, &'static str)],
    /// What may stand before the name of a model and says nothing.
    pub model_namespace: &'static str,
    /// How the names of its maker's models begin, where the maker does not serve them through `openai` too.
    pub model_prefixes: &'static [&'static str],
    /// Headers that say what is left of a budget, each with the one that says when it is filled again.
    pub rate_limit_headers: &'static [(&'static str, &'static str)],
    /// What errors about a prompt that is too long contain, in lower case.
    pub overflow_phrases: &'static [&'static str],
    /// Words of errors about the requested shape, in lower case.
    pub shape_phrases: &'static [&'static str],
    /// Parts of the words that errors have instead of a status, and the status that each means.
    pub error_statuses: &'static [(&'static str, u16)],
}

/// How the key of an API is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// As `Authorization: Bearer …`.
    Bearer,
    /// In a header of its own.
    Header(&'static str),
}

/// A request: what follows the base URL, and the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The path after the base URL, with the slash before it. A version at its beginning gives way to that of a base
    /// URL that has one.
    pub path: String,
    /// The body, a JSON object.
    pub body: Map<String, Value>,
}

/// What a request says of the provider's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptMark {
    /// Nothing is to be cached.
    Nothing,
    /// The beginning of the prompt is, which other requests share.
    Prefix,
    /// The same, for an hour.
    Hour,
}

impl PromptMark {
    /// Its name where it is kept.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Prefix => "prefix",
            Self::Hour => "hour",
        }
    }

    /// That of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Nothing, Self::Prefix, Self::Hour].into_iter().find(|mark| mark.name() == name)
    }
}

/// What of a conversation other requests begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChatMark {
    /// The system prompt and the tools: other conversations have the same.
    pub opening: bool,
    /// All of it: it goes on.
    pub whole: bool,
    /// Whether it is to be cached for an hour.
    pub is_for_hour: bool,
}

/// What a response says.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The text of the reply, if there is one.
    pub text: Option<String>,
    /// How the reply ended.
    pub ending: ReplyEnding,
    /// The model that says it answered.
    pub model: Option<String>,
    /// What the request used, with what it cost where the server says so.
    pub usage: Usage,
}

impl Answer {
    /// The same answer with every text as `map` changes it.
    #[must_use]
    pub fn map_texts(self, map: &dyn Fn(&str) -> String) -> Self {
        let mapped = |text: Option<String>| text.map(|text| map(&text));
        let ending = match self.ending {
            ReplyEnding::Refused(words) => ReplyEnding::Refused(map(&words)),
            ReplyEnding::Filtered(words) => ReplyEnding::Filtered(map(&words)),
            ReplyEnding::Broken(words) => ReplyEnding::Broken(map(&words)),
            ending @ (ReplyEnding::Complete | ReplyEnding::Truncated) => ending,
        };
        Self { text: mapped(self.text), model: mapped(self.model), ending, usage: self.usage }
    }
}

/// What an error says beyond its status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Complaint {
    /// The class of the failure, where it is not that of the status.
    pub kind: Option<FailureKind>,
    /// How long the server requests to wait.
    pub delay: Option<Duration>,
}

impl From<FailureKind> for Complaint {
    fn from(kind: FailureKind) -> Self {
        Self { kind: Some(kind), delay: None }
    }
}

/// How a reply ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyEnding {
    /// At its end.
    Complete,
    /// At its token limit.
    Truncated,
    /// The model refused, with these words.
    Refused(String),
    /// A filter of the provider stopped it: what it says of that.
    Filtered(String),
    /// Without a text, for a reason that may not come again.
    Broken(String),
}

/// The reply of a model in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatReply {
    /// The text.
    pub message: AssistantMessage,
    /// How it ended, who answered and what it used.
    pub answer: Answer,
}

impl ChatReply {
    /// Reads a successful response; `messages` is how many parts the conversation had before.
    ///
    /// # Errors
    /// It is none of this API: why.
    pub fn read(provider: &dyn Provider, body: &Value, messages: usize) -> Result<Self, String> {
        let mut answer = provider.answer(body)?;
        let NativeMessage { calls, native } = provider.said(body, messages);
        let text = answer.text.clone().filter(|text| !text.is_empty());
        // A reason to stop that no text follows, where tools are called.
        if matches!(answer.ending, ReplyEnding::Broken(_)) && !calls.is_empty() {
            answer.ending = ReplyEnding::Complete;
        }
        Ok(Self { message: AssistantMessage { text, calls, native }, answer })
    }
}
