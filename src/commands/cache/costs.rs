//! `evalrs cache export --costs`: what each sample costs, so that `run --partition` deals samples out evenly.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::Value;

use crate::cli::ExportArgs;
use evalrs_base::text::{count, sanitize};
use evalrs_graph::inputs::Overrides;
use evalrs_store::record::read::{PastRun, runs};
use evalrs_store::record::result_files::open_results;
use evalrs_system::System;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};
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
    let past = runs(console.system, &home, &suite).find(|past| !past.header.is_narrowed());
    let past = past.ok_or_else(|| {
        Error::plain(
            format!("`{}` has no run of all its samples", sanitize(&suite)),
            format!("run it first: `evalrs run {}`", args.suite),
        )
    })?;
    let file = CostsFile { format: COSTS_FORMAT, costs: costs(&past, console.system)? };
    let text = serde_json::to_string_pretty(&file).map_err(std::io::Error::other)?;
    console.system.write(path, &mut |to| writeln!(to, "{text}"))?;
    let samples = count(file.costs.len(), "sample");
    writeln!(console.err, "{path}: {samples} of the run {}", past.id)?;
    Ok(ExitStatus::Success)
}

/// Sample → the tokens of its judgments and conversations.
fn costs(past: &PastRun, system: &dyn System) -> Result<BTreeMap<String, u64>, Error> {
    let mut costs: BTreeMap<String, u64> = BTreeMap::new();
    for line in open_results(system, &past.folder)?.lines() {
        let line: Value = serde_json::from_str(&line?).map_err(std::io::Error::other)?;
        let Some(id) = line.get("sample_id").and_then(Value::as_str) else { continue };
        let cost = costs.entry(id.to_owned()).or_default();
        *cost = cost.saturating_add(BESIDE).saturating_add(tokens(&line));
    }
    Ok(costs)
}

/// The tokens of every `usage` in a value.
fn tokens(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(tokens).fold(0, u64::saturating_add),
        Value::Object(members) => {
            let of = |(name, value): (&String, &Value)| match value {
                Value::Object(usage) if name == "usage" => ["input_tokens", "output_tokens"]
                    .into_iter()
                    .filter_map(|name| usage.get(name)?.as_u64())
                    .fold(0, u64::saturating_add),
                value => tokens(value),
            };
            members.iter().map(of).fold(0, u64::saturating_add)
        }
        _ => 0,
    }
}
