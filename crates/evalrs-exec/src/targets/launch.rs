//! A conversation as executors take it: the action, and how the target is reached.

use std::sync::Arc;
use std::time::Duration;

use crate::secret::{RequestHeader, Secret};
use crate::start::Start;
use evalrs_base::price::{Price, Prices};
use evalrs_eval::judge::{percent_decoded, secret_parameters};
use evalrs_eval::target::TargetAction;
use evalrs_model::spec::AgentKind;

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
    /// How long each turn of a command line may take, where that is said outside of its adapter: one that takes longer
    /// then ends no conversation.
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
}

impl TargetLaunch {
    /// The same, with what its models cost.
    #[must_use]
    pub fn priced(mut self, prices: &Prices) -> Self {
        let price = self.action.model_name().and_then(|model| prices.of(model));
        if let Some(access) = &mut self.access {
            access.price = price;
        }
        if let (Some(access), Some(user)) = (&mut self.user, &self.action.identity.spec.user) {
            access.price = prices.of(&user.model.model);
        }
        self
    }

    /// `text` without any secret that the target is told or sent.
    pub fn without_secrets(&self, text: &str) -> String {
        let text = self.start.without_secrets(text);
        let all = self.access.iter().chain(&self.user);
        let secrets = all.flat_map(|access| {
            let hidden = access.headers.iter().filter(|header| header.is_secret);
            access.api_key.iter().chain(hidden.map(|header| &header.value))
        });
        let text = secrets.fold(text, |text, secret| secret.remove_from(&text));
        let parameters = self.urls().flat_map(secret_parameters);
        parameters.fold(text, |text, (_, value)| {
            // A server may tell it as it is written in the URL, or what that means.
            let text = Secret::new(value.to_owned()).remove_from(&text);
            Secret::new(percent_decoded(value)).remove_from(&text)
        })
    }

    /// The URLs that requests go to.
    fn urls(&self) -> impl Iterator<Item = &str> {
        let own = match &self.action.identity.spec.kind {
            AgentKind::Http(http) => Some(http.url.as_str()),
            _ => None,
        };
        let of_models = self.access.iter().chain(&self.user);
        own.into_iter().chain(of_models.map(|access| access.base_url.as_str()))
    }
}
