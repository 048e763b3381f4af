//! The APIs judges are asked through: an action in the words of each, and what came back in ours. The same APIs hold the
//! conversations of `chat`.
//!
//! One file a provider, each implementing [`Provider`] as pure functions: `exec` sends what they write and gives them
//! what it received. A further provider is one more file and one more line in [`PROVIDERS`]. Judges that are agents are
//! not asked by one request: of them this knows only where they are and with whose key, as of all others.
//!
//! Gateways pass on headers and errors of the servers behind them, so an answer is searched for what any provider
//! says, not only for the words of the one that was asked.

mod anthropic;
pub mod chat;
mod google;
mod letta;
mod openai;

use std::time::Duration;

use serde_json::{Map, Value};

use self::chat::{ChatRequest, NativeMessage};
use super::JudgeAction;
use super::question::Question;
use evalrs_model::outcome::{FailureKind, RejectedReply, Usage};
use evalrs_model::spec::{JudgeSpec, ReplyFormat};

/// How often a reply that is no verdict is asked again.
pub const RE_ASKS: usize = 2;

/// Every provider.
pub const PROVIDERS: &[&dyn Provider] = &[&openai::OpenAi, &anthropic::Anthropic, &google::Google];

/// The provider of judges that are agents.
pub const AGENTS: &str = letta::ID;

/// What is known of every provider, that of agents last.
pub fn infos() -> impl Iterator<Item = &'static ProviderInfo> {
    PROVIDERS.iter().map(|provider| provider.info()).chain([&letta::INFO])
}

/// What is known of the provider with this id.
pub fn info(id: &str) -> Option<&'static ProviderInfo> {
    infos().find(|info| info.id == id)
}

/// The provider with this id that is asked by single requests.
pub fn find(id: &str) -> Option<&'static dyn Provider> {
    PROVIDERS.iter().find(|provider| provider.info().id == id).copied()
}

/// Why the provider with this id cannot take a judge's setting, if it cannot: such a setting is a mistake, not ignored.
pub fn unsupported(id: &str, field: &str) -> Option<&'static str> {
    let unsupported = info(id)?.unsupported;
    unsupported.iter().find(|(name, _)| *name == field).map(|(_, why)| *why)
}

/// The provider whose own models have names like this one, if their makers do not serve them through `openai`.
pub fn of_model(model: &str) -> Option<&'static str> {
    let mut infos = PROVIDERS.iter().map(|provider| provider.info());
    let is_of_family =
        |info: &&ProviderInfo| info.model_prefixes.iter().any(|start| model.starts_with(start));
    infos.find(is_of_family).map(|info| info.id)
}

/// The headers that say what is left of a budget, each with the one that says when it is filled again.
pub fn rate_limit_headers() -> impl Iterator<Item = (&'static str, &'static str)> {
    PROVIDERS.iter().flat_map(|provider| provider.info().rate_limit_headers.iter().copied())
}

/// Whether the message of an error says that the prompt is too long for the model.
pub fn is_context_overflow(message: &str) -> bool {
    contains_any(message, |info| info.overflow_phrases)
}

/// Whether the message of an error complains about the way in which the shape of a reply was asked for.
pub fn is_about_shape(message: &str) -> bool {
    contains_any(message, |info| info.shape_phrases)
}

fn contains_any(
    message: &str,
    phrases: impl Fn(&'static ProviderInfo) -> &'static [&'static str],
) -> bool {
    let message = message.to_ascii_lowercase();
    let mut phrases = PROVIDERS.iter().flat_map(|provider| phrases(provider.info()));
    phrases.any(|phrase| message.contains(phrase))
}

/// The status that the word of an error stands for.
pub fn status_of_word(word: &str) -> Option<u16> {
    let mut statuses = PROVIDERS.iter().flat_map(|provider| provider.info().error_statuses);
    statuses.find(|(part, _)| word.contains(part)).map(|(_, status)| *status)
}

/// The temperature to send: the only one that the model takes, if there is such; none if the suite says null, whatever
/// the model.
pub fn effective_temperature(spec: &JudgeSpec) -> Option<f64> {
    let fixed = PROVIDERS.iter().find_map(|provider| provider.fixed_temperature(&spec.model));
    spec.temperature.map(|temperature| fixed.unwrap_or(temperature))
}

/// An API that judges are asked through.
pub trait Provider: Sync {
    /// What is the same in all of its requests.
    fn info(&self) -> &'static ProviderInfo;

    /// The ways in which it can be asked for the shape of a reply, the strictest first; the last always works.
    fn shapes(&self) -> &'static [ReplyShape];

    /// The strictest of its shapes that is no stricter than what a suite asks for.
    fn first_shape(&self, format: ReplyFormat) -> ReplyShape {
        let wanted = match format {
            ReplyFormat::JsonSchema | ReplyFormat::Auto => ReplyShape::Schema,
            ReplyFormat::JsonObject => ReplyShape::Object,
            ReplyFormat::Text => ReplyShape::Words,
        };
        // A provider without a JSON mode is asked in words.
        self.shapes().iter().copied().find(|shape| *shape >= wanted).unwrap_or(ReplyShape::Words)
    }

    /// The request for an action; `corrections` are earlier replies that were no verdicts.
    fn request(
        &self,
        action: &JudgeAction,
        shape: ReplyShape,
        corrections: &[Correction],
    ) -> Request;

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
    /// Where it is asked if nobody says; without a slash at its end.
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
    /// What errors about the shape that was asked for contain, in lower case.
    pub shape_phrases: &'static [&'static str],
    /// Parts of the words that errors have in place of a status, and the status that each stands for.
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

/// A way to ask for the shape of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReplyShape {
    /// By a JSON schema.
    Schema,
    /// As some JSON object.
    Object,
    /// In words alone.
    Words,
}

impl ReplyShape {
    /// The `response_format` that asks for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Schema => ReplyFormat::JsonSchema.name(),
            Self::Object => ReplyFormat::JsonObject.name(),
            Self::Words => ReplyFormat::Text.name(),
        }
    }
}

/// A reply that was no verdict, and what was said to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The reply.
    pub reply: String,
    /// What is wrong with it.
    pub fault: String,
}

impl Correction {
    /// It as it is kept.
    pub fn rejected(&self) -> RejectedReply {
        RejectedReply { text: self.reply.clone(), fault: self.fault.clone() }
    }

    /// What it was, of what is kept.
    pub fn of(rejected: &RejectedReply) -> Self {
        Self { reply: rejected.text.clone(), fault: rejected.fault.clone() }
    }

    /// The message that tells the judge.
    pub fn message(&self, question: Question) -> String {
        let fault = &self.fault;
        let shape = question.shape();
        format!("That is no valid verdict: {fault}. Reply again with one JSON object: {shape}.")
    }
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
    /// How long the server asks to wait.
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

/// Puts each setting that is set into the body.
fn put_settings(body: &mut Map<String, Value>, settings: &[(&str, Option<Value>)]) {
    for (name, value) in settings {
        if let Some(value) = value {
            body.insert((*name).to_owned(), value.clone());
        }
    }
}

/// Merges the further members that the suite asked for over ours: objects member by member, so that one setting inside
/// does not cost the others their place. An object of another `type` replaces ours, as everything else does.
fn put_extra_body(body: &mut Map<String, Value>, action: &JudgeAction) {
    let extra: Map<String, Value> = serde_json::from_str(&action.extra_body).unwrap_or_default();
    merge(body, extra);
}

fn merge(ours: &mut Map<String, Value>, theirs: Map<String, Value>) {
    for (name, value) in theirs {
        match (ours.get_mut(&name), value) {
            (Some(Value::Object(ours)), Value::Object(theirs))
                if theirs.get("type").is_none_or(|kind| ours.get("type") == Some(kind)) =>
            {
                merge(ours, theirs);
            }
            (_, value) => {
                ours.insert(name, value);
            }
        }
    }
}

/// The most tokens that one number of a server counts for: sums of what servers claim stay sums.
const MOST_TOKENS: u64 = 1 << 40;

/// The tokens at a JSON pointer; 0 if there are none.
fn count(body: &Value, pointer: &str) -> u64 {
    body.pointer(pointer).and_then(Value::as_u64).unwrap_or(0).min(MOST_TOKENS)
}

/// The text at a JSON pointer; empty if there is none.
fn text_at<'a>(body: &'a Value, pointer: &str) -> &'a str {
    body.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Pieces of text as one; none if there are no pieces.
fn joined<'a>(pieces: impl Iterator<Item = &'a str>) -> Option<String> {
    pieces.fold(None, |text: Option<String>, piece| Some(text.unwrap_or_default() + piece))
}

#[cfg(test)]
mod tests;
