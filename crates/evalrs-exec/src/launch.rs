//! Actions as executors take them, each with what decides how it is executed but not what comes of it.

use std::sync::Arc;
use std::time::Duration;

use super::endpoint::{EndpointId, JudgeEndpointId};
use super::secret::{RequestHeader, Secret, without, without_parameters};
use super::start::Start;
use evalrs_base::price::caching::{CacheMark, CacheTerms};
use evalrs_base::price::{Price, Prices};
use evalrs_base::tokens::estimate;
use evalrs_eval::action::Action;
use evalrs_eval::judge::provider::PromptMark;
use evalrs_eval::judge::{JudgeAction, percent_decoded, secret_parameters};
use evalrs_eval::program::ProgramAction;
use evalrs_eval::target::TargetAction;
use evalrs_model::spec::{AgentKind, AgentSpec, Patience};

/// An action, and everything that decides how it is executed but not what comes of it.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "short-lived, and mostly of judges")]
pub enum Launch {
    /// A judge is called.
    Judge(JudgeLaunch),
    /// A program is called.
    Program(ProgramLaunch),
    /// The target holds a conversation.
    Target(Box<TargetLaunch>),
}

impl Launch {
    /// The action.
    pub fn action(&self) -> Action {
        match self {
            Self::Judge(launch) => Action::Judge(launch.action.clone()),
            Self::Program(launch) => Action::Program(launch.action.clone()),
            Self::Target(launch) => Action::Target(launch.action.clone()),
        }
    }

    /// Whose limits it counts against.
    pub fn endpoint(&self) -> EndpointId {
        match self {
            Self::Judge(launch) => EndpointId::Judge(launch.endpoint),
            Self::Program(_) => EndpointId::Program,
            Self::Target(_) => EndpointId::Target,
        }
    }
}

/// A call of a program, and how that is started.
#[derive(Clone, Debug)]
pub struct ProgramLaunch {
    /// The action.
    pub action: ProgramAction,
    /// How it is started.
    pub start: Arc<Start>,
}

/// A judge's action and everything that decides how it is called but not its answer.
#[derive(Clone, Debug)]
pub struct JudgeLaunch {
    /// The action.
    pub action: JudgeAction,
    /// Whose limits it counts against.
    pub endpoint: JudgeEndpointId,
    /// The grader and the sample that it is for, as people read them; empty by default.
    pub what_for: String,
    /// Where the request goes.
    pub base_url: String,
    /// How the provider caches prompts, where requests may say so.
    pub caching: Option<CacheTerms>,
    /// What its requests say of that.
    pub mark: Option<PromptMark>,
    /// Whether it is answered when the provider has room, at half the price.
    pub is_flex: bool,
    /// Whether its reply was cut before, and may have twice as many tokens.
    pub is_wider: bool,
    /// The key of the API; none sends no authorization.
    pub api_key: Option<Secret>,
    /// Further headers.
    pub headers: Vec<RequestHeader>,
    /// The time limits and retries of its requests.
    pub patience: Patience,
    /// The agent that judges, where it is one.
    pub agent: Option<AgentSpec>,
    /// How the command is started that judges, where it is one.
    pub start: Option<Arc<Start>>,
}

/// More bytes than the tokens of a text have in the mean.
const LONG_TOKEN: u64 = 8;

impl JudgeLaunch {
    /// Decides what its requests say of the provider's cache, where others begin like it or not. True if its beginning is long
    /// enough to be cached for them.
    pub fn mark(&mut self, is_shared: bool) -> bool {
        let Some(caching) = self.caching else { return false };
        let JudgeAction { system, user, shared, .. } = &self.action;
        let beginning = user.get(..*shared).unwrap_or_default();
        let bytes = (system.len() + beginning.len()) as u64;
        // Each request that shares it comes by here, so a text of which the length says enough is not tokenized.
        let is_long = || match bytes / caching.least.max(1) {
            0 => false,
            LONG_TOKEN.. => true,
            _ => estimate(system) + estimate(beginning) >= caching.least,
        };
        let is_cached = is_shared && *shared > 0 && is_long();
        self.mark = match (caching.mark, is_cached) {
            (CacheMark::Automatic, _) | (CacheMark::Ephemeral, false) => None,
            (CacheMark::Explicit, false) => Some(PromptMark::Nothing),
            (CacheMark::Ephemeral, true) if caching.is_for_hour => Some(PromptMark::Hour),
            (CacheMark::Explicit | CacheMark::Ephemeral, true) => Some(PromptMark::Prefix),
        };
        is_cached
    }

    /// `text` without any secret of the request. Always before a text is cut: a part of a secret is not found any more.
    pub fn without_secrets(&self, text: &str) -> String {
        let sent = secrets_of(self.api_key.as_ref(), &self.headers);
        let told = self.start.iter().flat_map(|start| start.secrets());
        without_parameters(&self.base_url, without(sent.chain(told), text))
    }
}

/// A conversation, and how the target is reached.
#[derive(Clone, Debug)]
pub struct TargetLaunch {
    /// The action.
    pub action: TargetAction,
    /// How its program is started, and where; of a target without one the path is empty.
    pub start: Arc<Start>,
    /// How its model or its server is reached, where it has one.
    pub access: Option<TargetAccess>,
    /// How the model is reached that answers for the user.
    pub user: Option<TargetAccess>,
    /// How the function is started that prepares the server.
    pub setup: Option<Arc<Start>>,
    /// The sample, the model and the trial, as people read them.
    pub what_for: String,
    /// How long each turn of a command line may take, if set outside of its adapter: one that takes longer then does
    /// not end the conversation.
    pub turn_limit: Option<Duration>,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub struct TargetAccess {
    /// Where requests go; empty where the target itself says.
    pub base_url: String,
    /// The key of the API; none sends no authorization.
    pub api_key: Option<Secret>,
    /// Further headers.
    pub headers: Vec<RequestHeader>,
    /// What its model costs, where that is known.
    pub price: Option<Price>,
    /// How the provider caches prompts, where requests may say so.
    pub caching: Option<ChatCaching>,
}

/// How the provider of a model that talks caches prompts.
#[derive(Clone, Copy, Debug)]
pub struct ChatCaching {
    /// What it offers.
    pub terms: CacheTerms,
    /// Whether there are other conversations with the same system prompt.
    pub is_shared: bool,
}

impl TargetAccess {
    /// The secrets in requests, which must not be shown.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        secrets_of(self.api_key.as_ref(), &self.headers)
    }
}

pub(crate) fn secrets_of<'a>(
    api_key: Option<&'a Secret>,
    headers: &'a [RequestHeader],
) -> impl Iterator<Item = &'a Secret> {
    let hidden = headers.iter().filter(|header| header.is_secret);
    api_key.into_iter().chain(hidden.map(|header| &header.value))
}

impl TargetLaunch {
    /// The same, with what its models cost.
    #[must_use]
    pub fn priced(mut self, prices: &Prices) -> Self {
        let price = self.action.model_name().and_then(|model| prices.billing(model));
        if let Some(access) = &mut self.access {
            access.price = price;
        }
        if let (Some(access), Some(user)) = (&mut self.user, &self.action.identity.spec.user) {
            access.price = prices.billing(&user.model.model);
        }
        for access in self.access.iter_mut().chain(&mut self.user) {
            let is_for_hour = access.caching.is_some_and(|caching| caching.terms.is_for_hour);
            access.price =
                access.price.map(|price| if is_for_hour { price.for_hour() } else { price });
        }
        self
    }

    /// `text` without any secret that the target gets.
    pub fn without_secrets(&self, text: &str) -> String {
        let text = self.start.without_secrets(text);
        let all = self.access.iter().chain(&self.user);
        let text = without(all.flat_map(TargetAccess::secrets), &text);
        let parameters = self.urls().flat_map(secret_parameters);
        parameters.fold(text, |text, (_, value)| {
            // A server may tell it as it is written in the URL, or what that means.
            let text = Secret::new(value.to_owned()).remove_from(&text);
            Secret::new(percent_decoded(value)).remove_from(&text)
        })
    }

    fn urls(&self) -> impl Iterator<Item = &str> {
        let own = match &self.action.identity.spec.kind {
            AgentKind::Http(http) => Some(http.url.as_str()),
            _ => None,
        };
        let of_models = self.access.iter().chain(&self.user);
        own.into_iter().chain(of_models.map(|access| access.base_url.as_str()))
    }
}
