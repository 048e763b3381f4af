//! ATIF: a `trajectory.json`, or the folder of a job of Harbor with the `result.json` of each trial.

use std::collections::BTreeMap;

use serde_json::Value;

use super::records::{all_records, begins};
use super::suite::{Trace, TraceSuite};
use crate::imported::{ImportError, ImportedSource};
use crate::reading::{PlacedValue, first, has_keys, text_at};
use crate::source::ImportSource;
use evalrs_base::file_path::folder_of;

/// Whether a source holds trajectories of ATIF.
pub(crate) fn recognizes(source: &ImportSource<'_>) -> bool {
    begins(source, |head| head.contains("\"ATIF-v") && has_keys(head, &["schema_version"]))
}

pub(crate) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let mut suite = TraceSuite::default();
    let mut results: BTreeMap<String, Value> = BTreeMap::new();
    let mut trajectories = Vec::new();
    for record in all_records(source, &mut suite.imported)? {
        let version = text_at(&record.value, &["/schema_version"]).unwrap_or_default();
        let file = record.place.file.rsplit('/').next().unwrap_or_default();
        if version.starts_with("ATIF-") {
            trajectories.push(record);
        } else if file == "result.json" {
            results.insert(folder_of(&record.place.file).to_owned(), record.value);
        }
    }
    for PlacedValue { value, place } in trajectories {
        let folder = folder_of(&place.file);
        let result = results.get(folder).or_else(|| results.get(folder_of(folder)));
        let named = result
            .and_then(|result| text_at(result, &["/task_name", "/task_id/name", "/trial_name"]));
        let own = || text_at(&value, &["/trajectory_id", "/session_id"]);
        let stem = || place.file.rsplit('/').next().and_then(|file| file.split('.').next());
        let id = named.or_else(own).or_else(stem).unwrap_or("trajectory").to_owned();
        let model = text_at(&value, &["/agent/model_name"]).map(str::to_owned);
        let mut trace = Trace { id, model, ..Trace::default() };
        if let Some(result) = result {
            let rewards = first(result, &["/verifier_result/rewards"]).and_then(Value::as_object);
            trace.scores.extend(rewards.cloned().into_iter().flatten());
            let reward = first(result, &["/verifier_result/reward", "/reward"]);
            trace.scores.extend(reward.map(|reward| ("reward".to_owned(), reward.clone())));
            let error = first(result, &["/exception_info"]);
            trace.more.extend(error.map(|error| ("error".to_owned(), error.clone())));
        }
        trace.trajectory = Some(value);
        suite.add(trace, &place);
    }
    suite.finish("harbor", &source.path)
}
