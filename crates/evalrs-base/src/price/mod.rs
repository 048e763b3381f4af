//! What the tokens of a model cost.
//!
//! Owns list prices, how a model's name finds its price, and money. Knows no request and no run. A model that is
//! not listed has no price: a sibling's price would be a guess, and `gpt-4o-audio-preview` is no `gpt-4o`.

pub mod caching;
pub mod cost;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde::Deserialize;

use caching::{CacheTerms, HOUR};
pub use cost::Cost;

/// The list prices: `prices.toml`, which a test reads.
static LISTED: LazyLock<PriceList> =
    LazyLock::new(|| toml::from_str(include_str!("prices.toml")).unwrap_or_default());

/// The list prices by the names without vendors: every judgment is looked up, several times.
static BY_NAME: LazyLock<HashMap<&str, Price>> = LazyLock::new(|| {
    let mut models: Vec<(&str, Price)> =
        LISTED.models.iter().map(|(name, price)| (name.as_str(), *price)).collect();
    // Of equal names the last one stays: that with the fewest vendors before it.
    models.sort_by_key(|(name, _)| Reverse(name.len()));
    models.into_iter().map(|(name, price)| (bare(name), price)).collect()
});

/// The makers' prices of one day.
#[derive(Debug, Default, Deserialize)]
struct PriceList {
    /// The day, as year, month and day.
    as_of: String,
    /// What gateways write before a model's own name.
    vendors: Vec<String>,
    models: BTreeMap<String, Price>,
    /// How prompts are cached, by the family of the model.
    #[serde(default)]
    caching: BTreeMap<String, CacheTerms>,
}

/// What a million tokens cost, in US dollars, each 0 or more; a local model costs nothing.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub struct Price {
    /// A million tokens of what the model reads.
    pub input: f64,
    /// A million tokens of what it writes, its reasoning included.
    pub output: f64,
    /// A million tokens that are read from the provider's cache; if absent, by the family of the model.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// A million tokens that are written to it; if absent, by the family of the model.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

/// The tokens of requests, as they are billed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BilledTokens {
    /// All that the model reads.
    pub input: u64,
    /// Those of them that are read from the provider's cache.
    pub cache_read: u64,
    /// Those of them that are written to it.
    pub cache_write: u64,
    /// What the model writes.
    pub output: u64,
}

impl Price {
    /// This much for a million tokens of input and of output.
    pub fn new(input: f64, output: f64) -> Self {
        Self { input, output, cache_read: None, cache_write: None }
    }

    /// The same with what the caches of a provider cost, where nobody has said so.
    #[must_use]
    fn cached(self, caching: Option<CacheTerms>) -> Self {
        let factor = |of: fn(CacheTerms) -> f64| caching.map_or(1.0, of) * self.input;
        Self {
            cache_read: self.cache_read.or(Some(factor(|caching| caching.read))),
            cache_write: self.cache_write.or(Some(factor(|caching| caching.write))),
            ..self
        }
    }

    /// The same where what is written to a cache is kept for an hour.
    #[must_use]
    pub fn for_hour(self) -> Self {
        Self { cache_write: self.cache_write.map(|write| write * HOUR), ..self }
    }

    /// What `tokens` are billed, `share` of everything: 0.5 in a batch.
    pub fn bill(self, tokens: BilledTokens, share: f64) -> Cost {
        let BilledTokens { input, cache_read, cache_write, output } = tokens;
        let plain = input.saturating_sub(cache_read).saturating_sub(cache_write);
        sum(&[
            (plain, self.input * share),
            (cache_read, self.cache_read.unwrap_or(self.input) * share),
            (cache_write, self.cache_write.unwrap_or(self.input) * share),
            (output, self.output * share),
        ])
    }

    /// The cost of one judgment, rounded once, half up. At most [`Cost::MAX`].
    pub fn cost(self, input_tokens: u64, output_tokens: u64) -> Cost {
        sum(&[(input_tokens, self.input), (output_tokens, self.output)])
    }
}

/// The cost of tokens, each with its price for a million, rounded once.
fn sum(parts: &[(u64, f64)]) -> Cost {
    const MILLION: u128 = 1_000_000;
    // Prices have few decimals: as whole nano-dollars a million tokens they are exact, and so is the sum.
    let sum = parts.iter().fold(0u128, |sum, (tokens, price)| {
        let nanos = Cost::from_dollars(*price).map_or(0, Cost::nanos);
        sum.saturating_add(u128::from(*tokens) * u128::from(nanos))
    });
    Cost::from_nanos(u64::try_from(sum.saturating_add(MILLION / 2) / MILLION).unwrap_or(u64::MAX))
}

/// The prices of models: those of the workspace, then the list prices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    overrides: Vec<(String, Price)>,
}

impl Prices {
    /// The list prices, overruled by those of the models in `overrides`.
    pub fn new(overrides: Vec<(String, Price)>) -> Self {
        Self { overrides }
    }

    /// The price of `model`, if it is known.
    ///
    /// The prices of the workspace come first, each by the name as written, then without the vendor before it,
    /// then as the longest name that `model` is a version of; the list prices follow in the same way.
    pub fn of(&self, model: &str) -> Option<Price> {
        if let Some((_, price)) = self.overrides.iter().find(|(name, _)| name == model) {
            return Some(*price);
        }
        let overrides = self.overrides.iter().map(|(name, price)| (name.as_str(), *price));
        best(bare(model), overrides).or_else(|| listed(bare(model)))
    }

    /// The price of `model`, with that of its provider's caches.
    pub fn billing(&self, model: &str) -> Option<Price> {
        Some(self.of(model)?.cached(caching_of(model)))
    }

    /// That of the model `asked`, else of the one that `answered`.
    pub fn of_either(&self, asked: Option<&str>, answered: Option<&str>) -> Option<Price> {
        asked.and_then(|asked| self.of(asked)).or_else(|| self.of(answered?))
    }
}

/// The day of the list prices, as year, month and day.
pub fn as_of() -> &'static str {
    &LISTED.as_of
}

/// The price of the longest of `names` that `model` is, or is a version of; of equal ones, of that with the
/// fewest vendors before it.
fn best<'n>(model: &str, names: impl Iterator<Item = (&'n str, Price)>) -> Option<Price> {
    let fits = |(name, _): &(&str, Price)| {
        model
            .strip_prefix(bare(name))
            .is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(is_version))
    };
    names
        .filter(fits)
        .max_by_key(|(name, _)| (bare(name).len(), Reverse(name.len())))
        .map(|(_, price)| price)
}

/// The list price of the longest name that `model` is, or is a version of.
fn listed(model: &str) -> Option<Price> {
    let ends = model.rmatch_indices('-').map(|(at, _)| at);
    std::iter::once(model.len()).chain(ends).find_map(|end| {
        let price = BY_NAME.get(&model[..end])?;
        let version = model[end..].strip_prefix('-');
        version.is_none_or(is_version).then_some(*price)
    })
}

/// How the prompts of `model` are cached; none of a model that is not known.
pub fn caching_of(model: &str) -> Option<CacheTerms> {
    let model = bare(model);
    let is_family = |family: &str| {
        let rest = model.strip_prefix(family);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    };
    let families = LISTED.caching.iter().filter(|(family, _)| is_family(family));
    families.max_by_key(|(family, _)| family.len()).map(|(_, caching)| *caching)
}

/// The name without the vendors before it.
fn bare(model: &str) -> &str {
    match model.split_once('/') {
        Some((vendor, rest)) if LISTED.vendors.iter().any(|known| known == vendor) => bare(rest),
        _ => model,
    }
}

/// Whether the end of a name says no more than which version: `latest`, `preview`, a date, or a word and a date.
///
/// One or two digits alone are none: `claude-opus-4-5` is another model than `claude-opus-4`.
fn is_version(end: &str) -> bool {
    let after_word = ["latest", "preview"].iter().find_map(|word| end.strip_prefix(word));
    match after_word {
        Some("") => true,
        Some(rest) => rest.strip_prefix('-').is_some_and(is_date),
        None => is_date(end),
    }
}

/// Whether the text is a date in one of the orders that makers use, or a revision of three digits.
fn is_date(text: &str) -> bool {
    let shape: String =
        text.chars().map(|char| if char.is_ascii_digit() { '0' } else { char }).collect();
    let number = |from: usize, to: usize| text[from..to].parse::<u32>().unwrap_or(0);
    let month = |at: usize| (1..=12).contains(&number(at, at + 2));
    let day = |at: usize| (1..=31).contains(&number(at, at + 2));
    let year = |at: usize| (2020..2100).contains(&number(at, at + 4));
    match shape.as_str() {
        "000" => true,
        "0000" => month(0) && day(2),
        "00-00" => month(0) && day(3),
        "00-0000" => month(0) && year(3),
        "00000000" => year(0) && month(4) && day(6),
        "0000-00-00" => year(0) && month(5) && day(8),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, LISTED, Price, Prices, as_of, bare, best, is_date, is_version};

    fn price(input: f64, output: f64) -> Price {
        Price::new(input, output)
    }

    #[test]
    fn the_table_is_sound() {
        assert!(is_date(as_of()), "{}", as_of());
        assert!(LISTED.models.len() > 80);
        for (name, Price { input, output, .. }) in &LISTED.models {
            assert!(*input >= 0.0 && output >= input && output.is_finite(), "{name}");
            // Whole nano-dollars a million tokens, or a cost would be rounded twice.
            for value in [input, output] {
                let nanos = Cost::from_dollars(*value).unwrap();
                assert_eq!(nanos.dollars().to_bits(), value.to_bits(), "{name}");
            }
        }
    }

    #[test]
    fn a_name_finds_its_price_or_none() {
        let mini = Some(price(0.15, 0.6));
        let large = Some(price(2.5, 10.0));
        let cases = [
            ("gpt-4o-mini", mini),
            ("gpt-4o-mini-2024-07-18", mini),
            ("openai/gpt-4o-mini", mini),
            ("openrouter/openai/gpt-4o-mini-2024-07-18", mini),
            ("gpt-4o", large),
            ("gpt-4o-2024-08-06", large),
            ("gpt-4o-2024-05-13", Some(price(5.0, 15.0))),
            ("gpt-4-0613", Some(price(30.0, 60.0))),
            ("gpt-4-1106-preview", Some(price(10.0, 30.0))),
            ("gpt-4-turbo-preview", Some(price(10.0, 30.0))),
            ("gpt-3.5-turbo-0125", Some(price(0.5, 1.5))),
            ("gpt-3.5-turbo-1106", Some(price(1.0, 2.0))),
            ("gpt-5-chat-latest", Some(price(1.25, 10.0))),
            ("o1-preview", Some(price(15.0, 60.0))),
            ("o3-mini-2025-01-31", Some(price(1.1, 4.4))),
            ("claude-sonnet-4-5-20250929", Some(price(3.0, 15.0))),
            ("claude-3-5-haiku-latest", Some(price(0.8, 4.0))),
            ("claude-opus-4-20250514", Some(price(15.0, 75.0))),
            ("claude-opus-4-1", Some(price(15.0, 75.0))),
            ("claude-opus-4-5", Some(price(5.0, 25.0))),
            ("anthropic/claude-haiku-4-5", Some(price(1.0, 5.0))),
            ("models/gemini-2.5-flash", Some(price(0.3, 2.5))),
            ("gemini/gemini-2.5-flash-lite-preview-06-17", Some(price(0.1, 0.4))),
            ("gemini-2.5-flash-preview-09-2025", Some(price(0.3, 2.5))),
            ("gemini-2.0-flash-001", Some(price(0.1, 0.4))),
            // Other models, however much their names look alike.
            ("gpt-4o-audio-preview", None),
            ("gpt-4o-audio-preview-2024-12-17", None),
            ("gpt-4o-mini-tts", None),
            ("gpt-4o-mini-search-preview", None),
            ("gpt-4o-realtime-preview", None),
            ("gpt-4-32k", None),
            ("gpt-4o2024-08-06", None),
            ("claude-opus-4-99", None),
            ("gemini-2.5-flash-image-preview", None),
            ("gemini-2.5-flash-preview-tts", None),
            ("gemini-2.5-pro-exp-03-25", None),
            ("ft:gpt-4o-mini-2024-07-18:acme::x", None),
            ("acme/gpt-4o", None),
            ("azure/gpt-4o", None),
            ("GPT-4o", None),
            ("gpt", None),
            ("openai/", None),
            ("/", None),
            ("", None),
        ];
        for (model, expected) in cases {
            assert_eq!(Prices::default().of(model), expected, "{model}");
        }
    }

    #[test]
    fn a_listed_name_is_found_as_if_all_were_compared() {
        let ends = ["", "-", "-latest", "-20250929", "-mini", "-preview-05-20", "-1", "/x"];
        for name in LISTED.models.keys() {
            for end in ends {
                let model = format!("{name}{end}");
                let all = LISTED.models.iter().map(|(name, price)| (name.as_str(), *price));
                assert_eq!(Prices::default().of(&model), best(bare(&model), all), "{model}");
            }
        }
    }

    #[test]
    fn versions_are_words_and_dates() {
        let good = [
            "latest",
            "preview",
            "2024-07-18",
            "20250929",
            "0613",
            "03-25",
            "09-2025",
            "001",
            "preview-05-20",
            "preview-2024-09-12",
            "preview-09-2025",
        ];
        let bad = [
            "",
            "5",
            "45",
            "mini",
            "latest-",
            "latest2",
            "preview-tts",
            "0613-preview",
            "1399",
            "0600",
            "13-01",
            "13-2025",
            "20251301",
            "19990101",
            "2024-13-01",
            "2024-7-18",
            "é",
            "۲۰۲۴",
            "preview-preview",
            "-",
            "12345",
        ];
        for end in good {
            assert!(is_version(end), "{end}");
        }
        for end in bad {
            assert!(!is_version(end), "{end}");
        }
    }

    #[test]
    fn prices_of_the_workspace_come_first() {
        let prices = Prices::new(vec![
            ("gpt-4o".to_owned(), price(1.0, 2.0)),
            ("openai/gpt-4.1".to_owned(), price(3.0, 4.0)),
            ("openrouter/openai/gpt-4o".to_owned(), price(5.0, 6.0)),
            ("acme/llama".to_owned(), price(0.0, 0.0)),
            ("gpt-4o-2024-08-06".to_owned(), price(7.0, 8.0)),
            ("o3-max".to_owned(), price(9.0, 9.0)),
        ]);
        let cases = [
            ("gpt-4o", Some(price(1.0, 2.0))),
            ("openai/gpt-4o", Some(price(1.0, 2.0))),
            ("openrouter/openai/gpt-4o", Some(price(5.0, 6.0))),
            ("gpt-4o-2024-08-06", Some(price(7.0, 8.0))),
            ("openai/gpt-4o-2024-08-06", Some(price(7.0, 8.0))),
            // A price of the workspace for the family overrules the list price of a version of it.
            ("gpt-4o-2024-05-13", Some(price(1.0, 2.0))),
            ("gpt-4.1", Some(price(3.0, 4.0))),
            ("gpt-4.1-2025-04-14", Some(price(3.0, 4.0))),
            ("gpt-4o-mini", Some(price(0.15, 0.6))),
            ("acme/llama", Some(price(0.0, 0.0))),
            ("acme/llama-20250101", Some(price(0.0, 0.0))),
            ("llama", None),
            ("o3-max", Some(price(9.0, 9.0))),
            ("o3", Some(price(2.0, 8.0))),
        ];
        for (model, expected) in cases {
            assert_eq!(prices.of(model), expected, "{model}");
        }
    }

    #[test]
    fn a_cost_is_rounded_once_and_half_up() {
        let cases = [
            (price(0.15, 0.6), 0, 0, 0),
            (price(0.15, 0.6), 1, 0, 150),
            (price(0.15, 0.6), 1000, 100, 210_000),
            (price(3.0, 15.0), 1_000_000, 1_000_000, 18_000_000_000),
            (price(0.0, 0.0), u64::MAX, u64::MAX, 0),
            // Half a nano-dollar a token: two halves are one, and one half rounds up.
            (price(0.0005, 0.0005), 1, 0, 1),
            (price(0.0005, 0.0005), 1, 1, 1),
            (price(0.0005, 0.0005), 3, 0, 2),
            (price(0.0004, 0.0), 1, 0, 0),
            (price(1e-9, 0.0), 499_999, 0, 0),
            (price(1e-9, 0.0), 500_000, 0, 1),
            (price(600.0, 600.0), u64::MAX, u64::MAX, u64::MAX),
            (price(f64::MAX, f64::MAX), u64::MAX, u64::MAX, u64::MAX),
            // What no reader of settings lets through costs nothing rather than anything at all.
            (price(-1.0, f64::NAN), 5, 5, 0),
        ];
        for (price, input, output, expected) in cases {
            assert_eq!(price.cost(input, output).nanos(), expected, "{price:?} {input} {output}");
        }
    }
}
