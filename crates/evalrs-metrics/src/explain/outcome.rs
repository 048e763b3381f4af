//! A stored outcome, as `explain` shows it.

use serde::Serialize;
use serde_json::Value;

use evalrs_base::price::Cost;
use evalrs_model::outcome::{Failure, JudgmentOrigin, Outcome, StoredOutcome};

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
    /// When it was asked or imported, RFC 3339.
    pub at: String,
    /// The version of evalrs that asked or imported.
    pub by: String,
    /// The file it was imported from; null if it was asked.
    pub imported_from: Option<String>,
    /// Which layer of the store has it.
    pub layer: String,
    /// How often it was asked anew.
    pub generation: u32,
}

impl ExplainedOutcome {
    /// What is shown of an entry of the store.
    pub fn new(stored: StoredOutcome, layer: String, generation: u32, cost: Option<Cost>) -> Self {
        let (reply, failure, model, usage) = match stored.outcome {
            Outcome::Reply(reply) => (Some(reply.text), None, reply.model, reply.usage),
            Outcome::Failure(failure) => {
                let usage = failure.usage;
                (None, Some(failure), None, usage)
            }
        };
        Self {
            reply,
            failure,
            model,
            usage: serde_json::to_value(usage).unwrap_or_default(),
            cost,
            at: stored.at,
            by: stored.by,
            imported_from: match stored.origin {
                JudgmentOrigin::Asked => None,
                JudgmentOrigin::Imported(file) => Some(file),
            },
            layer,
            generation,
        }
    }
}
