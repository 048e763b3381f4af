//! The history of a suite: its runs over time, where their numbers stop being comparable, and what slides.

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use super::answer::{ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope, Params};
use super::locks::locked;
use super::served::{HeldHistory, ServedWorkspace, beside};
use evalrs_base::file_path::join;
use evalrs_store::record::origin::RecordedOrigin;
use evalrs_system::System;
use evalrs_system::os::OsSystem;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::run_history::{history_files, history_named};

/// Whose history.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct HistoryQuery {
    /// The name of a suite: one that is served, or that has a run.
    suite: String,
}

/// What of `run.json` says where a run came from.
#[derive(Deserialize)]
struct WithOrigin {
    origin: RecordedOrigin,
}

/// Shows the runs of a suite over time, as `evalrs history --json` does.
#[utoipa::path(get, path = "/api/history", tag = "suites", params(HistoryQuery), responses(
    (status = 200, body = Envelope<Value>),
    (status = 400, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn get_history(
    State(served): State<Arc<ServedWorkspace>>,
    Params(query): Params<HistoryQuery>,
) -> ApiAnswer<Value> {
    beside(move || {
        let name = &query.suite;
        let context =
            SuiteContext::find(&served.first, None, &OsSystem).map_err(ApiError::failed)?;
        let place = match served.suite(name) {
            Some(suite) => context.in_workspace(&suite.path, &OsSystem),
            None => {
                recorded_place(&served, name).ok_or_else(|| ApiError::not_found("no such suite"))?
            }
        };
        let mut hasher = blake3::Hasher::new();
        for file in history_files(name, &context, &OsSystem) {
            let bytes = OsSystem.read(&file).into_bytes().unwrap_or_default();
            hasher.update(blake3::hash(&bytes).as_bytes());
        }
        let digest = hasher.finalize();
        let mut held = locked(&served.histories);
        if let Some(held) = held.iter().find(|held| held.suite == *name && held.digest == digest) {
            return Ok(Data(held.told.clone()));
        }
        let found = history_named(name, &place, &context, &OsSystem);
        let told = serde_json::to_value(&found.report).map_err(ApiError::failed)?;
        held.retain(|held| held.suite != *name);
        held.push(HeldHistory { suite: name.clone(), digest, told: told.clone() });
        Ok(Data(told))
    })
    .await
}

/// The file of a suite that is not served, from the root of the workspace, as its newest run says.
fn recorded_place(served: &ServedWorkspace, name: &str) -> Option<String> {
    let newest = served.newest_run(name)?;
    let bytes = OsSystem.read(&join(&newest.folder, "run.json")).into_bytes().ok()?;
    let facts: Option<WithOrigin> = serde_json::from_slice(&bytes).ok();
    Some(facts.map(|facts| facts.origin.suite).unwrap_or_default())
}
