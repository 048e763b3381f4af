//! A stored outcome, as `explain` shows it.

use serde::Serialize;
use serde_json::Value;

use super::sent::SentOrigin;
use evalrs_base::price::Cost;
use evalrs_model::outcome::{Failure, Outcome, StoredOutcome};

/// A stored outcome, and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedOutcome {
    /// The text of the reply; null of a failure.
    pub reply: Option<String>,
    /// Why there is no reply; null if there is one.
    pub failure: Option<Failure>,
    /// The model that says it answered.
    pub model: Option<String>,
    /// What it used, and what was paid for it.
    pub usage: Value,
    /// What that costs by the prices in force, in US dollars; null where no price is known.
    pub cost: Option<Cost>,
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: SentOrigin,
}

impl ExplainedOutcome {
    /// What is shown of an entry of the store.
    pub fn new(stored: StoredOutcome, layer: String, generation: u32, cost: Option<Cost>) -> Self {
        let origin = SentOrigin::new(&stored, layer, generation);
        let usage = serde_json::to_value(stored.outcome.usage()).unwrap_or_default();
        let (reply, failure, model) = match stored.outcome {
            Outcome::Reply(reply) => (Some(reply.text), None, reply.model),
            Outcome::Failure(failure) => (None, Some(failure), None),
        };
        Self { reply, failure, model, usage, cost, origin }
    }
}
