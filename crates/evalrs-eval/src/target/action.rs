//! A conversation of a target with a sample: everything that its outcome depends on.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::identity::TargetIdentity;
use super::walk;
use crate::grade::ConversationCost;
use evalrs_base::price::{Cost, Prices};
use evalrs_model::key::Ingredients;
use evalrs_model::outcome::Outcome;
use evalrs_model::spec::{AgentKind, TargetModel};

/// A conversation: everything that its outcome depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetAction {
    /// The target.
    pub identity: Arc<TargetIdentity>,
    /// The model that it is run with; none is its own.
    pub model: Option<TargetModel>,
    /// What the sample hands over: compact JSON, of `input`, `turns`, `agent_args`, `extra_vars` and `metadata` what the
    /// target knows of them. Absent members are left out.
    pub handed: String,
    /// Which of the trials it is, from 0.
    pub trial: u32,
    /// The id of the sample, which is in keys where answers rest on it.
    pub sample: String,
}

impl TargetAction {
    /// Visits every ingredient of the key, each once, in a fixed order.
    pub fn walk(&self, to: &mut dyn Ingredients) {
        walk::settings(&self.identity, self.model.as_ref(), to);
        to.text_or_absent("model", self.model.as_ref().map(|model| model.name.as_str()));
        let provider = self.model.as_ref().and_then(|model| model.provider.as_deref());
        to.text_or_absent("model_provider", provider);
        to.text("handed", &self.handed);
        if self.identity.has_ids_in_keys() {
            to.text("id", &self.sample);
        }
        to.number("trial", f64::from(self.trial));
    }

    /// The model that is called, if evalrs knows it.
    pub fn model_name(&self) -> Option<&str> {
        let own = match &self.identity.spec.kind {
            AgentKind::Chat(chat) => Some(chat.model.model.as_str()),
            _ => None,
        };
        self.model.as_ref().map(|model| model.name.as_str()).or(own)
    }

    /// What a conversation cost: what the agent says itself, else its tokens by `prices`. With a simulated user, whose tokens
    /// are of another model, what was paid.
    pub fn cost(&self, outcome: &Outcome, prices: &Prices) -> Option<Cost> {
        let paid = outcome.usage();
        if paid.told || self.identity.spec.user.is_some() {
            return paid.cost;
        }
        outcome.list_cost(prices, self.model_name())
    }

    /// The cost of a conversation, or the setting that is missing to know it.
    pub fn cost_or_why(&self, outcome: &Outcome, prices: &Prices) -> ConversationCost {
        if let Some(cost) = self.cost(outcome, prices) {
            return ConversationCost::Known(cost);
        }
        let used = outcome.usage();
        let user = self.identity.spec.user.as_ref().map(|user| user.model.model.as_str());
        ConversationCost::Unknown(match (self.model_name(), user) {
            _ if used.input + used.output == 0 => {
                "the target says neither what its answer cost nor how many tokens it used".to_owned()
            }
            (Some(model), None) => format!(
                "the price of `{model}` is not known: say it in evalrs.toml, in US dollars a million tokens: `[prices.\"{model}\"]` with `input` and `output`"
            ),
            (Some(model), Some(user)) => format!(
                "no price of `{model}` or of its user `{user}` was known when the conversation was run: `[prices]` of evalrs.toml says them"
            ),
            (None, _) => "the target says how many tokens it used, and not what they cost: it may say that as `cost`, in US dollars".to_owned(),
        })
    }

    /// The turns of the user, in order; what is not text is its JSON.
    pub fn turns(&self) -> Vec<String> {
        let handed: Map<String, Value> = serde_json::from_str(&self.handed).unwrap_or_default();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let turns: Vec<String> = match handed.get("turns") {
            Some(Value::Array(turns)) => turns.iter().map(text).collect(),
            _ => handed.get("input").map(text).into_iter().collect(),
        };
        match &self.identity.spec.kind {
            // It is told everything at once.
            AgentKind::LettaCode(_) => vec![turns.join("\n")],
            _ => turns,
        }
    }

    /// The input of a program: compact JSON. `workspace` is the folder that it may change, if it has one.
    pub fn input(&self, workspace: Option<&str>) -> String {
        let mut members = Map::new();
        members.insert("id".to_owned(), Value::from(self.sample.as_str()));
        members
            .extend(serde_json::from_str::<Map<String, Value>>(&self.handed).unwrap_or_default());
        if let Some(model) = &self.model {
            members.insert("model".to_owned(), Value::from(model.name.as_str()));
        }
        members.insert("trial".to_owned(), Value::from(self.trial));
        if let Some(workspace) = workspace {
            members.insert("workspace".to_owned(), Value::from(workspace));
        }
        Value::Object(members).to_string()
    }
}
