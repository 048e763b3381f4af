//! What judgments used, by grader and judge model.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::{Cost, Prices};
use evalrs_model::outcome::{Outcome, Usage as Used};

/// What a grader's judgments used when they were made, and what that costs by the prices in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraderUsage {
    /// Judgments, each once however many grades rest on it.
    pub judgments: u64,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// What these tokens cost, in US dollars; null where no price is known.
    pub cost: Option<Cost>,
    /// The same for each model that was called, in the order of the suite.
    pub by_model: OrderedMap<ModelUsage>,
}

impl GraderUsage {
    /// The sum over the judges of a grader, those of one model together.
    pub fn of<'a>(judges: impl Iterator<Item = (&'a str, ModelUsage)>) -> Self {
        let mut by_model: Vec<(String, ModelUsage)> = Vec::new();
        let mut judgments = 0;
        let mut all = Used::default();
        for (model, usage) in judges {
            judgments += usage.judgments;
            all = all + usage.used();
            match by_model.iter_mut().find(|(known, _)| known == model) {
                Some((_, known)) => *known = *known + usage,
                None => by_model.push((model.to_owned(), usage)),
            }
        }
        let Used { input, output, cost, .. } = all;
        let by_model = OrderedMap(by_model);
        Self { judgments, input_tokens: input, output_tokens: output, cost, by_model }
    }
}

/// What the judgments of one model used when they were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelUsage {
    /// Judgments, each once.
    pub judgments: u64,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// What these tokens cost, in US dollars; null where no price is known.
    pub cost: Option<Cost>,
    /// Judgments whose cost is not known: the sum is of the others.
    #[serde(skip_serializing_if = "evalrs_model::is_default")]
    pub unpriced: u64,
}

impl ModelUsage {
    /// Counts one action. A failure was paid for too, but is no judgment.
    pub fn count(&mut self, one: JudgmentUsage) {
        let JudgmentUsage { is_reply, used, cost } = one;
        self.judgments += u64::from(is_reply);
        self.unpriced += u64::from(is_reply && cost.is_none());
        let used = self.used() + Used { cost, ..used };
        (self.input_tokens, self.output_tokens, self.cost) = (used.input, used.output, used.cost);
    }

    fn used(&self) -> Used {
        Used { cost: self.cost, ..Used::of_tokens(self.input_tokens, self.output_tokens) }
    }
}

impl Add for ModelUsage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let used = self.used() + other.used();
        Self {
            judgments: self.judgments + other.judgments,
            input_tokens: used.input,
            output_tokens: used.output,
            cost: used.cost,
            unpriced: self.unpriced + other.unpriced,
        }
    }
}

/// What one action used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgmentUsage {
    /// Whether there was a reply.
    pub is_reply: bool,
    /// What it used when it was made.
    pub used: Used,
    /// What its tokens cost by the prices in force.
    pub cost: Option<Cost>,
}

impl JudgmentUsage {
    /// That of an outcome of the model `asked`.
    pub fn of(outcome: &Outcome, prices: &Prices, asked: Option<&str>) -> Self {
        let is_reply = matches!(outcome, Outcome::Reply(_));
        Self { is_reply, used: outcome.usage(), cost: outcome.list_cost(prices, asked) }
    }
}
