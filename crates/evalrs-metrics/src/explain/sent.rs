//! What judges were sent and what they replied, whole: the shape of `explain --prompt --json`; and a stored outcome, as
//! `explain` shows it.

use serde::Serialize;
use serde_json::Value;

use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::Cost;
use evalrs_eval::judge::sent::OpenRequest;
use evalrs_model::outcome::{Failure, JudgmentOrigin, Outcome, StoredOutcome};

/// Everything that judges were sent about one sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SentReport {
    /// The version of this shape.
    pub format: u32,
    /// The suite's name.
    pub suite: String,
    /// The sample.
    pub sample_id: String,
    /// Its results: one for each model and trial.
    pub results: Vec<SentCase>,
}

/// Everything that judges were sent about one result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SentCase {
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
    /// Grader → its judgments: one for each vote, order and turn; none where no judge is called.
    pub graders: OrderedMap<Vec<SentJudgment>>,
}

/// One judgment: what is sent, and what came back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SentJudgment {
    /// The turn that is judged, where turns are judged one by one.
    pub turn: Option<usize>,
    /// The judge.
    pub judge: String,
    /// The protocol.
    pub provider: String,
    /// Which of its independent judgments it is, from 0.
    pub vote: u32,
    /// Whether two submissions are shown the other way round; null where there is one.
    pub reversed: Option<bool>,
    /// The key.
    pub key: String,
    /// Where requests go, without secrets; null of a command and an agent.
    pub url: Option<String>,
    /// Headers that are not secret, a line each.
    pub headers: Vec<String>,
    /// Each request with its reply, in order. Of a judgment that is not stored, the first request as it would be sent.
    pub exchanges: Vec<SentExchange>,
    /// Why there is no verdict; null if there is one, or nothing is stored.
    pub failure: Option<SentFailure>,
    /// What the store knows of it; null if it is not there.
    pub stored: Option<SentOrigin>,
}

/// A request and the reply to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SentExchange {
    /// The body as it was sent.
    pub request: Value,
    /// The text of the reply, as it came; null if there is none, or it is not stored.
    pub reply: Option<String>,
    /// Why the reply is not a verdict; null of a verdict.
    pub fault: Option<String>,
}

/// Why there is no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentFailure {
    /// Its kind.
    pub kind: &'static str,
    /// What happened.
    pub message: String,
}

/// Where a stored judgment comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentOrigin {
    /// When it was made or imported, RFC 3339.
    pub at: String,
    /// The version of evalrs that did.
    pub by: String,
    /// The file it was imported from; null if it was made by a call. What was imported was sent to
    /// nobody.
    pub imported_from: Option<String>,
    /// Which layer of the store has it.
    pub layer: String,
    /// How often it was repeated.
    pub generation: u32,
}

impl SentJudgment {
    /// The same with its exchanges, by what the store has of it. `requests` are what was sent, one more than replies were
    /// rejected.
    #[must_use]
    pub fn with(mut self, requests: Vec<OpenRequest>, stored: Option<StoredOutcome>) -> Self {
        let outcome = stored.map(|stored| stored.outcome);
        let exchange = outcome.as_ref().and_then(Outcome::exchange);
        let rejected = exchange.map(|exchange| &exchange.rejected[..]).unwrap_or_default();
        let exchanges = requests.into_iter().enumerate().map(|(at, request)| SentExchange {
            request: request.body,
            reply: rejected.get(at).map(|earlier| earlier.text.clone()),
            fault: rejected.get(at).map(|earlier| earlier.fault.clone()),
        });
        self.exchanges = exchanges.collect();
        match (outcome, self.exchanges.last_mut()) {
            (Some(Outcome::Reply(reply)), Some(last)) => last.reply = Some(reply.text),
            (Some(Outcome::Failure(failure)), Some(last)) => {
                last.fault = failure.reply.as_ref().map(|_| failure.message.clone());
                last.reply = failure.reply;
                let kind = failure.kind.name();
                self.failure = Some(SentFailure { kind, message: failure.message });
            }
            (None, _) | (_, None) => {}
        }
        self
    }
}

impl SentOrigin {
    /// What is shown of an entry of the store.
    pub fn new(stored: &StoredOutcome, layer: String, generation: u32) -> Self {
        Self {
            at: stored.at.clone(),
            by: stored.by.clone(),
            imported_from: match &stored.origin {
                JudgmentOrigin::Asked => None,
                JudgmentOrigin::Imported(file) => Some(file.clone()),
            },
            layer,
            generation,
        }
    }
}

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
        // Nobody knows what imported judgments used: that is null, and not zero.
        let (reply, failure, model, usage) = match stored.outcome {
            Outcome::Reply(reply) => (Some(reply.text), None, reply.model, reply.usage),
            Outcome::Failure(failure) => {
                let usage = failure.usage;
                (None, Some(failure), None, usage)
            }
        };
        let usage = serde_json::to_value(usage).unwrap_or_default();
        Self { reply, failure, model, usage, cost, origin }
    }
}
