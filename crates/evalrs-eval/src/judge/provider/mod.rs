//! The APIs of judges: an action in the words of each, and its reply in ours. The same APIs hold the
//! conversations of `chat`.
//!
//! One file a provider, each implementing [`Provider`] as pure functions: `exec` sends what they write and gives them
//! what it received. A further provider is one more file and one more line in [`PROVIDERS`]. Judges that are agents are
//! not asked by one request: of them this knows only where they are and with whose key, as of all others.
//!
//! Gateways pass on headers and errors of the servers behind them, so an answer is searched for what any provider
//! says, not only for the words of the one that was asked.

mod anthropic;
pub mod api;
pub mod batches;
mod body;
pub mod chat;
mod google;
mod openai;
pub mod refused;

pub use super::question::ReplyShape;
pub use api::{
    Answer, Auth, ChatMark, ChatReply, Complaint, PromptMark, Provider, ProviderInfo, ReplyEnding,
    Request,
};

use evalrs_base::price::caching::CacheTerms;
use evalrs_base::price::caching_of;
use evalrs_model::spec::{CachingChoice, JudgeSpec};

/// How often an invalid reply is retried.
pub const RE_ASKS: usize = 2;

/// Every provider.
pub const PROVIDERS: &[&dyn Provider] = &[&openai::OpenAi, &anthropic::Anthropic, &google::Google];

/// The provider of judges that are agents. A judgment by one is a conversation: [`evalrs_letta`] knows what is said in it.
pub const AGENTS: &str = "letta";

/// Why an agent takes none of the settings of models.
const OF_AGENT: &str = "the agent's file sets it";

static LETTA: ProviderInfo = ProviderInfo {
    id: AGENTS,
    name: "Letta",
    description: "An agent of a Letta server, made of the judge's `agent_file` for each judgment and deleted after it.",
    base_url: "http://localhost:8283",
    base_url_variable: "LETTA_BASE_URL",
    key_variables: &["LETTA_API_KEY"],
    headers_variable: "LETTA_CUSTOM_HEADERS",
    auth: Auth::Bearer,
    needs_key: false,
    version: "/v1",
    headers: &[],
    max_tokens: None,
    unsupported: &[
        ("temperature", OF_AGENT),
        ("seed", OF_AGENT),
        ("max_tokens", OF_AGENT),
        ("top_p", OF_AGENT),
        ("response_format", "its verdict is a call of a tool"),
        ("service_tier", "only OpenAI has it"),
    ],
    model_namespace: "",
    model_prefixes: &[],
    rate_limit_headers: &[],
    overflow_phrases: &[],
    shape_phrases: &[],
    error_statuses: &[],
};

/// What is known of every provider, that of agents last.
pub fn infos() -> impl Iterator<Item = &'static ProviderInfo> {
    PROVIDERS.iter().map(|provider| provider.info()).chain([&LETTA])
}

/// What is known of the provider with this id.
pub fn info(id: &str) -> Option<&'static ProviderInfo> {
    infos().find(|info| info.id == id)
}

/// The provider with this id that takes single requests.
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
    let of_maker =
        infos.find(|info| info.model_prefixes.iter().any(|start| model.starts_with(start)))?;
    Some(of_maker.id)
}

/// The headers that say what is left of a budget, each with the one that says when it is filled again.
pub fn rate_limit_headers() -> impl Iterator<Item = (&'static str, &'static str)> {
    PROVIDERS.iter().flat_map(|provider| provider.info().rate_limit_headers.iter().copied())
}

/// Whether the message of an error says that the prompt is too long for the model.
pub fn is_context_overflow(message: &str) -> bool {
    contains_any(message, |info| info.overflow_phrases)
}

/// Whether the message of an error complains about the way in which the shape of a reply was requested.
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

/// The status that the word of an error means.
pub fn status_of_word(word: &str) -> Option<u16> {
    let mut statuses = PROVIDERS.iter().flat_map(|provider| provider.info().error_statuses);
    statuses.find(|(part, _)| word.contains(part)).map(|(_, status)| *status)
}

/// Whether `base_url` is the provider's own address.
fn is_own(info: &ProviderInfo, base_url: &str) -> bool {
    let base_url = base_url.trim_end_matches('/');
    info.base_url == base_url || base_url.strip_suffix(info.version) == Some(info.base_url)
}

/// How the prompts of a judge at `base_url` are cached, where its requests may say so: at its provider's own address, or where
/// the suite says that a gateway passes it on. None of a model that is not known.
pub fn caching(spec: &JudgeSpec, base_url: &str) -> Option<CacheTerms> {
    let is_own = is_own(info(&spec.provider)?, base_url);
    let terms = caching_of(&spec.model)?;
    match spec.prompt_caching {
        CachingChoice::Hour => Some(terms.for_hour()),
        CachingChoice::On => Some(terms),
        CachingChoice::Auto | CachingChoice::Off => is_own.then_some(terms),
    }
}

/// Whether a model is of those of a provider's own that reason before they answer: they take one temperature.
pub(super) fn reasons(model: &str) -> bool {
    PROVIDERS.iter().any(|provider| provider.fixed_temperature(model).is_some())
}

/// The temperature to send: the only one that the model takes, if there is such; none if the suite says null, whatever
/// the model.
pub fn effective_temperature(spec: &JudgeSpec) -> Option<f64> {
    let fixed = PROVIDERS.iter().find_map(|provider| provider.fixed_temperature(&spec.model));
    spec.temperature.map(|temperature| fixed.unwrap_or(temperature))
}

#[cfg(test)]
mod tests;
