//! `replicates.json` of a record: declared metrics over resampled samples, for the comparison with a later run.
//!
//! They belong to `summary.json`, which people and programs read: hence a file of their own.

use serde::{Deserialize, Serialize};

use super::read::read_json;
use evalrs_base::file_path::join;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_metrics::metric::declared::{MetricValue, Replicates};
use evalrs_model::record_format::FORMAT;
use evalrs_system::System;

const FILE: &str = "replicates.json";

#[derive(Serialize)]
struct WrittenReplicates<'a> {
    format: u32,
    metrics: OrderedMap<&'a Replicates>,
}

#[derive(Deserialize)]
struct ReadReplicates {
    format: u32,
    metrics: OrderedMap<Replicates>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DeclaredOf {
    declared: OrderedMap<MetricValue>,
}

/// Writes those of the metrics; nothing where no metric is declared.
pub(super) fn write(
    system: &dyn System,
    folder: &str,
    metrics: &OrderedMap<MetricValue>,
) -> std::io::Result<()> {
    if metrics.0.is_empty() {
        return Ok(());
    }
    let kept =
        metrics.0.iter().filter_map(|(name, of)| Some((name.clone(), of.replicates.as_ref()?)));
    let written = WrittenReplicates { format: FORMAT, metrics: OrderedMap(kept.collect()) };
    system.write(&join(folder, FILE), &mut |file| {
        serde_json::to_writer(&mut *file, &written)?;
        file.write_all(b"\n")
    })
}

/// The declared metrics of a record, with their resamples where it has them.
pub(super) fn declared(system: &dyn System, folder: &str) -> OrderedMap<MetricValue> {
    let DeclaredOf { mut declared } =
        read_json(system, &join(folder, "summary.json")).unwrap_or_default();
    let found: Option<ReadReplicates> = read_json(system, &join(folder, FILE));
    if let Some(found) = found.filter(|found| found.format == FORMAT) {
        for (name, metric) in &mut declared.0 {
            metric.replicates = found.metrics.get(name).cloned();
        }
    }
    declared
}
