//! How providers cache the beginnings of prompts: facts of one day, in `prices.toml`.
//!
//! A family is the beginning of a name up to a `-` or a `.`; the longest counts. Of a model without one nothing is known: it gets
//! no mark, and what its provider reports of caches is billed as other tokens are.

use serde::Deserialize;

/// How the prompts of a model are cached, and for what price.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub struct CacheTerms {
    /// What a request says of it.
    pub mark: CacheMark,
    /// The fewest tokens that are cached.
    pub least: u64,
    /// What a token costs that is written, where one that is not cached costs 1.
    pub write: f64,
    /// The same of a token that is read.
    pub read: f64,
    /// Whether what is written is kept for an hour.
    #[serde(skip)]
    pub is_for_hour: bool,
}

/// What a token costs that is kept for an hour, where one that is kept for five minutes costs 1.
pub(super) const HOUR: f64 = 1.6;

impl CacheTerms {
    /// The same where what is written is kept for an hour, if requests can say so.
    #[must_use]
    pub fn for_hour(self) -> Self {
        match self.mark {
            CacheMark::Ephemeral => Self { is_for_hour: true, write: self.write * HOUR, ..self },
            CacheMark::Automatic | CacheMark::Explicit => self,
        }
    }
}

/// What a request says of the provider's cache.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum CacheMark {
    /// Nothing: the provider decides alone, and bills no writes.
    Automatic,
    /// Which parts are to be cached. A request that says nothing has its end cached, and pays for it.
    Explicit,
    /// Which parts are to be cached. Nothing else is.
    Ephemeral,
}

#[cfg(test)]
mod tests {
    use super::CacheMark;
    use crate::price::{BilledTokens, Cost, Price, Prices, caching_of};

    #[test]
    fn the_longest_family_counts() {
        let cases = [
            ("gpt-4o-2024-08-06", Some((CacheMark::Automatic, 1_024, 0.5))),
            ("gpt-4.1-mini", Some((CacheMark::Automatic, 1_024, 0.25))),
            ("gpt-5", Some((CacheMark::Automatic, 1_024, 0.1))),
            ("openai/gpt-5.5", Some((CacheMark::Automatic, 1_024, 0.1))),
            ("gpt-5.6-luna", Some((CacheMark::Explicit, 1_024, 0.1))),
            ("gpt-6.1-sol", Some((CacheMark::Explicit, 1_024, 0.1))),
            ("claude-opus-4-1-20250805", Some((CacheMark::Ephemeral, 1_024, 0.1))),
            ("claude-opus-4-7", Some((CacheMark::Ephemeral, 2_048, 0.1))),
            ("claude-haiku-4-5-20251001", Some((CacheMark::Ephemeral, 4_096, 0.1))),
            ("gemini-2.5-pro", Some((CacheMark::Automatic, 4_096, 0.1))),
            ("gemini-2.5-flash-lite", Some((CacheMark::Automatic, 1_024, 0.1))),
            ("gpt-4", None),
            ("gpt-4-turbo", None),
            ("gpt-50", None),
            ("llama-3.1", None),
            ("", None),
        ];
        for (model, expected) in cases {
            let found = caching_of(model).map(|it| (it.mark, it.least, it.read));
            assert_eq!(found, expected, "{model}");
        }
    }

    #[test]
    fn tokens_are_billed_as_they_were_cached() {
        let dear = Price { cache_read: Some(0.9), cache_write: Some(5.0), ..Price::new(1.0, 2.0) };
        let prices = Prices::new(vec![
            ("gpt-5.6".to_owned(), Price::new(1.0, 2.0)),
            ("gpt-4o".to_owned(), Price::new(1.0, 2.0)),
            ("llama".to_owned(), Price::new(1.0, 2.0)),
            ("dear".to_owned(), dear),
        ]);
        let million: u64 = 1_000_000;
        let tokens = |input: u64, cache_read: u64, cache_write: u64, output: u64| BilledTokens {
            input: input * million,
            cache_read: cache_read * million,
            cache_write: cache_write * million,
            output: output * million,
        };
        for (model, tokens, share, dollars) in [
            ("gpt-5.6", tokens(10, 0, 0, 1), 1.0, 12.0),
            ("gpt-5.6", tokens(10, 4, 2, 1), 1.0, 4.0 + 0.4 + 2.5 + 2.0),
            ("gpt-5.6", tokens(10, 4, 2, 1), 0.5, 4.45),
            ("gpt-5.6-2026-11-01", tokens(10, 10, 0, 0), 1.0, 1.0),
            ("gpt-4o", tokens(10, 4, 0, 1), 1.0, 10.0),
            ("llama", tokens(10, 4, 2, 1), 1.0, 12.0),
            ("dear", tokens(10, 4, 2, 0), 1.0, 4.0 + 3.6 + 10.0),
            // A server that counts more than there is takes nothing away.
            ("gpt-5.6", tokens(1, 4, 0, 0), 1.0, 0.4),
        ] {
            let bill = prices.billing(model).map(|price| price.bill(tokens, share));
            assert_eq!(bill, Cost::from_dollars(dollars), "{model} {tokens:?} {share}");
        }
        assert_eq!(prices.billing("none"), None);
    }
}
