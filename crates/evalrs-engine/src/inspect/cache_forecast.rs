//! What missing calls would read from the caches of providers: requests that begin alike, as the queues tell them.

use std::collections::{BTreeMap, HashMap};

use super::preview::{Preview, ToAsk};
use crate::resolve::credentials::{access, judge_of};
use crate::resolve::prefixes::KnownPrefixes;
use crate::resolve::waiting::WaitingAction;
use crate::session::Session;
use evalrs_base::price::{BilledTokens, Cost, Prices};
use evalrs_base::tokens::estimate;
use evalrs_eval::action::Action;
use evalrs_eval::judge::provider;
use evalrs_graph::results;

/// What missing calls would read from the caches of providers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CacheForecast {
    /// The tokens that are written to caches.
    pub written: u64,
    /// The tokens that are read from caches.
    pub read: u64,
    /// What that takes off the list price; none where the price of a model is not known.
    pub saved: Option<Cost>,
    /// The models for which requests begin alike and too short.
    pub short: Vec<ShortPrefix>,
}

/// Requests that begin alike, with less than the provider caches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortPrefix {
    /// The model.
    pub model: String,
    /// The fewest tokens that are cached.
    pub least: u64,
    /// The mean of the tokens that requests begin with.
    pub tokens: u64,
}

/// The requests that begin alike.
struct SharedPrefix<'a> {
    first: &'a ToAsk,
    requests: u64,
}

/// What the requests to one model begin with.
#[derive(Default)]
struct ModelPrefixes {
    least: u64,
    written: u64,
    read: u64,
    short: u64,
    short_tokens: u64,
}

/// The same by model, and by whether what is written is kept for an hour: that has a price of its own.
type ModelsPrefixes = BTreeMap<(String, bool), ModelPrefixes>;

/// How many tokens are sent to a judge of a grader for each that the tokenizer counts: by grader, judge and model.
pub(super) type TokenRatio<'a> = &'a dyn Fn(usize, usize, &str) -> f64;

/// What the missing calls of `preview` would read and write.
pub(super) fn forecast(
    session: &Session,
    preview: &Preview,
    prices: &Prices,
    ratio: TokenRatio<'_>,
) -> CacheForecast {
    let mut models = ModelsPrefixes::new();
    for shared in shared_prefixes(session, preview) {
        add(session, &shared, ratio, &mut models);
    }
    let mut forecast = CacheForecast { saved: Some(Cost::ZERO), ..CacheForecast::default() };
    for ((model, is_for_hour), found) in models {
        let ModelPrefixes { least, written, read, short, short_tokens } = found;
        forecast.written += written;
        forecast.read += read;
        let saved = prices.billing(&model).map(|price| {
            let input = written + read;
            let tokens = BilledTokens { input, cache_read: read, cache_write: written, output: 0 };
            let price = if is_for_hour { price.for_hour() } else { price };
            let [list, bill] = [price.cost(input, 0), price.bill(tokens, 1.0)];
            Cost::from_nanos(list.nanos().saturating_sub(bill.nanos()))
        });
        forecast.saved = forecast.saved.zip(saved).map(|(sum, saved)| sum + saved);
        if let Some(tokens) = short_tokens.checked_div(short) {
            forecast.short.push(ShortPrefix { model, least, tokens });
        }
    }
    forecast
}

/// The missing calls that begin alike, at least two each.
fn shared_prefixes<'a>(session: &Session, preview: &'a Preview) -> Vec<SharedPrefix<'a>> {
    let mut prefixes = KnownPrefixes::default();
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut all: Vec<SharedPrefix<'a>> = Vec::new();
    for to_ask in &preview.to_ask {
        let ToAsk { cell, ballot, key, purpose, .. } = *to_ask;
        let waiting = WaitingAction { purpose, ..WaitingAction::new(cell, ballot, key) };
        let Some(digest) = prefixes.of(session, &waiting) else { continue };
        let place = *places.entry(digest).or_insert_with(|| {
            all.push(SharedPrefix { first: to_ask, requests: 0 });
            all.len() - 1
        });
        all[place].requests += 1;
    }
    all.retain(|shared| shared.requests > 1);
    all
}

fn add(
    session: &Session,
    shared: &SharedPrefix<'_>,
    ratio: TokenRatio<'_>,
    models: &mut ModelsPrefixes,
) -> Option<()> {
    let ToAsk { cell, ballot, key, purpose, .. } = *shared.first;
    let waiting = WaitingAction { purpose, ..WaitingAction::new(cell, ballot, key) };
    let (judge, at) = judge_of(session, &waiting)?;
    let access = access(session, judge, at)?;
    let caching = provider::caching(access.spec, access.base_url)?;
    let grader = session.grader(cell.grader)?;
    let action = results::action_of(&session.db, cell.chunk, cell.case, grader, ballot)?;
    let Action::Judge(action) = action else { return None };
    let beginning = action.user.get(..action.shared)?;
    let estimated = (estimate(&action.system) + estimate(beginning)) as f64;
    let tokens = (estimated * ratio(cell.grader, at, &access.spec.model)).round() as u64;
    let found = models.entry((access.spec.model.clone(), caching.is_for_hour)).or_default();
    found.least = caching.least;
    if tokens < caching.least {
        found.short += 1;
        found.short_tokens += tokens;
    } else {
        found.written += tokens;
        found.read += tokens * (shared.requests - 1);
    }
    Some(())
}
