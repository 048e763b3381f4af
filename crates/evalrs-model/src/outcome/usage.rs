//! What requests used: tokens, what was paid for them, and how they were served.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use evalrs_base::price::{BilledTokens, Cost, Price, Prices};

/// What one or more requests used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent.
    #[serde(default)]
    pub input: u64,
    /// Tokens received.
    #[serde(default)]
    pub output: u64,
    /// Of the tokens sent, those that the provider read from its cache.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub cache_read: u64,
    /// Those that it wrote to its cache.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub cache_write: u64,
    /// Their cost: as reported by the server, else what was billed by the prices of the day they were made; none where no
    /// price was known.
    /// Reports say what tokens cost by the prices in force: [`Outcome::list_cost`](super::Outcome::list_cost).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Whether the server itself reports the cost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
    /// The service tier that was billed, where the provider names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<ServiceTier>,
}

impl Usage {
    /// This many tokens, sent and received.
    pub fn of_tokens(input: u64, output: u64) -> Self {
        Self { input, output, ..Self::default() }
    }

    /// The cost of the tokens by `prices`: that of the model `asked`, else of the one that `answered`. None where neither is
    /// known.
    pub fn list_cost(
        self,
        prices: &Prices,
        asked: Option<&str>,
        answered: Option<&str>,
    ) -> Option<Cost> {
        let price = prices.of_either(asked, answered)?;
        Some(price.cost(self.input, self.output))
    }

    /// What is billed for it by the price of a model, with what was cached and how it was served.
    pub fn billed_at(self, price: Price) -> Cost {
        let Self { input, output, cache_read, cache_write, .. } = self;
        let share = self.tier.map_or(1.0, ServiceTier::share);
        price.bill(BilledTokens { input, cache_read, cache_write, output }, share)
    }

    /// The same with the cost that the server reports, if it does.
    #[must_use]
    pub fn told(self, cost: Option<Cost>) -> Self {
        Self { cost, told: cost.is_some(), ..self }
    }
}

/// The sum of what is known.
pub fn sum_of_known(one: Option<Cost>, other: Option<Cost>) -> Option<Cost> {
    one.into_iter().chain(other).reduce(|sum, cost| sum + cost)
}

impl Add for Usage {
    type Output = Self;

    /// The sum. A cost that is not known adds nothing.
    fn add(self, other: Self) -> Self {
        let cost = sum_of_known(self.cost, other.cost);
        let is_guessed = |usage: Self| usage.cost.is_some() && !usage.told;
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            cost,
            told: cost.is_some() && !is_guessed(self) && !is_guessed(other),
            tier: match (self.tier, other.tier) {
                (Some(left), Some(right)) if left != right => Some(ServiceTier::Mixed),
                (left, right) => left.or(right),
            },
        }
    }
}

/// How a provider served requests, which decides their price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceTier {
    /// As usual.
    Standard,
    /// Cheaper and slower.
    Flex,
    /// Dearer and faster.
    Priority,
    /// As part of a batch.
    Batch,
    /// Several requests, of several tiers.
    Mixed,
    /// Another one.
    #[serde(other)]
    Other,
}

impl ServiceTier {
    /// What is billed of the price of tokens. Nobody knows it of a tier that is dearer.
    fn share(self) -> f64 {
        match self {
            Self::Flex | Self::Batch => 0.5,
            Self::Standard | Self::Priority | Self::Mixed | Self::Other => 1.0,
        }
    }

    /// The tier of this name; none of no name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "" => return None,
            "default" | "standard" => Self::Standard,
            "flex" => Self::Flex,
            "priority" => Self::Priority,
            "batch" => Self::Batch,
            _ => Self::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, ServiceTier, Usage};

    fn dollars(dollars: f64) -> Option<Cost> {
        Cost::from_dollars(dollars)
    }

    #[test]
    fn usages_of_every_version_are_read() {
        let read = |text: &str| serde_json::from_str::<Usage>(text).unwrap();
        let plain = Usage::of_tokens(3, 4);
        assert_eq!(read(r#"{"input":3,"output":4}"#), plain);
        let priced = Usage { cost: dollars(0.5), ..plain };
        assert_eq!(read(r#"{"input":3,"output":4,"cost":0.5}"#), priced);
        let full = Usage {
            cache_read: 1,
            cache_write: 2,
            tier: Some(ServiceTier::Priority),
            ..plain.told(dollars(0.5))
        };
        let written = serde_json::to_string(&full).unwrap();
        insta::assert_snapshot!(written, @r#"{"input":3,"output":4,"cache_read":1,"cache_write":2,"cost":0.5,"told":true,"tier":"priority"}"#);
        assert_eq!(read(&written), full);
        assert_eq!(serde_json::to_string(&plain).unwrap(), r#"{"input":3,"output":4}"#);
        let later = read(r#"{"tier":"lunar","moon":true}"#);
        assert_eq!(later.tier, Some(ServiceTier::Other));
    }

    #[test]
    fn usages_add_up_to_what_all_of_them_say() {
        let told = |tier| Usage { tier, ..Usage::of_tokens(1, 1).told(dollars(0.25)) };
        let flex = Some(ServiceTier::Flex);
        let priced = Usage { told: false, ..told(None) };
        let unknown = Usage::of_tokens(1, 1);
        let cases = [
            (told(flex), told(flex), (dollars(0.5), true, flex)),
            (
                told(flex),
                told(Some(ServiceTier::Batch)),
                (dollars(0.5), true, Some(ServiceTier::Mixed)),
            ),
            (told(flex), priced, (dollars(0.5), false, flex)),
            (told(None), unknown, (dollars(0.25), true, None)),
            (unknown, unknown, (None, false, None)),
            (Usage::default(), told(flex), (dollars(0.25), true, flex)),
        ];
        for (left, right, expected) in cases {
            for sum in [left + right, right + left] {
                assert_eq!((sum.cost, sum.told, sum.tier), expected, "{left:?} {right:?}");
            }
        }
    }
}
