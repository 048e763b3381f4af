//! `evalrs cache export --costs`: what each sample costs, so that `run --partition` deals samples out evenly.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::Value;

use crate::cli::ExportArgs;
use evalrs_base::text::{count, sanitize};
use evalrs_graph::inputs::Overrides;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::read_body;
use evalrs_store::OutcomeStore;
use evalrs_store::record::read::{NARROWING, PastRun, runs};
use evalrs_store::record::result_files::open_results;
use evalrs_system::System;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::header::header;
use evalrs_use_cases::open::loaded_session;
use evalrs_use_cases::partition::{COSTS_FORMAT, CostsFile};

/// What a sample costs beside its tokens: a sample without a judge takes a moment, too.
const BESIDE: u64 = 100;

/// Writes what the samples of the last whole run cost.
pub(super) fn export_costs(
    args: &ExportArgs,
    path: &str,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let (surroundings, session) =
        loaded_session(&args.suite, &args.store, Overrides::default(), console)?;
    let suite = session.suite().map(|suite| suite.name.clone()).unwrap_or_default();
    let home = surroundings.records();
    // What the suite itself leaves out is left out of every run.
    let own = header(&session).settings;
    let is_whole = |past: &PastRun| {
        NARROWING.iter().all(|name| past.header.settings.get(*name) == own.get(*name))
    };
    let past = runs(console.system, &home, &suite).find(is_whole);
    let past = past.ok_or_else(|| {
        Error::plain(
            format!("`{}` has no run of all its samples", sanitize(&suite)),
            format!("run it first: `evalrs run {}`", args.suite),
        )
    })?;
    let store = surroundings.store(console)?;
    let costs = costs(&past, store.as_ref(), console.system)?;
    let file = CostsFile { format: COSTS_FORMAT, costs };
    let text = serde_json::to_string_pretty(&file).map_err(std::io::Error::other)?;
    console.system.write(path, &mut |to| writeln!(to, "{text}"))?;
    let samples = count(file.costs.len(), "sample");
    writeln!(console.err, "{path}: {samples} of the run {}", past.id)?;
    Ok(ExitStatus::Success)
}

/// Sample → the tokens of its judgments and conversations.
fn costs(
    past: &PastRun,
    store: &dyn OutcomeStore,
    system: &dyn System,
) -> Result<BTreeMap<String, u64>, Error> {
    let mut costs: BTreeMap<String, u64> = BTreeMap::new();
    for line in open_results(system, &past.folder)?.lines() {
        let line: Value = serde_json::from_str(&line?).map_err(std::io::Error::other)?;
        let Some(id) = line.get("sample_id").and_then(Value::as_str) else { continue };
        let cost = costs.entry(id.to_owned()).or_default();
        let conversation =
            line.get("conversation").and_then(Value::as_str).and_then(ActionKey::parse);
        let talked = conversation.map_or(0, |key| tokens_of(key, store));
        *cost = cost.saturating_add(BESIDE + talked).saturating_add(tokens(&line));
    }
    Ok(costs)
}

/// The tokens of a conversation.
fn tokens_of(key: ActionKey, store: &dyn OutcomeStore) -> u64 {
    let entry = store.get_many(&[key]).pop().flatten();
    let outcome = entry.and_then(|entry| read_body(&entry.body).ok());
    outcome.map_or(0, |outcome| outcome.usage().input + outcome.usage().output)
}

/// The tokens of every `usage` in a value.
fn tokens(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(tokens).fold(0, u64::saturating_add),
        Value::Object(members) => {
            let usage = members.get("usage").and_then(Value::as_object);
            let used = ["input_tokens", "output_tokens"].into_iter();
            let used = used.filter_map(|name| usage?.get(name)?.as_u64());
            used.chain(members.values().map(tokens)).fold(0, u64::saturating_add)
        }
        _ => 0,
    }
}
