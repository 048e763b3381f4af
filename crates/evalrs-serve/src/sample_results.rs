//! All results of a sample: those of its models and trials in a run, and those of the newest other runs of the suite.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::{AddressNames, ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope};
use super::samples::SamplePlace;
use super::served::{ServedWorkspace, beside};
use crate::view::rows::{RowView, RunRows};
use crate::view::run::{labelled_graders, started};
use evalrs_store::record::read::PastRun;
use evalrs_system::os::OsSystem;

/// How many other runs are looked at.
const MOST_RUNS: usize = 10;

/// The results of a sample, run by run.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SampleResults {
    /// The run of the address first, then others of its suite, the newest first.
    runs: Vec<SampleRun>,
}

/// The results of a sample in a run.
#[derive(Debug, Serialize, ToSchema)]
struct SampleRun {
    /// Its id.
    run: String,
    /// When it began, RFC 3339; null where that is not recorded.
    started: Option<String>,
    /// One for each model and trial.
    results: Vec<RowView>,
}

/// Lists the results of a sample: its models and trials, and those of other runs of the suite.
#[utoipa::path(get, path = "/api/runs/{id}/samples/{sample}/results", tag = "runs",
    params(("id" = String, Path), ("sample" = String, Path)), responses(
    (status = 200, body = Envelope<SampleResults>),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn list_sample_results(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(place): AddressNames<SamplePlace>,
) -> ApiAnswer<SampleResults> {
    beside(move || {
        let run = served.run(&place.id)?;
        let own = results_of(&served, &run, &place.sample);
        let own = own.ok_or_else(|| ApiError::not_found("no such sample in the run"))?;
        let others = served.runs();
        let others = others.filter(|one| one.header.suite == run.header.suite && one.id != run.id);
        let others = others.take(MOST_RUNS);
        let mut runs = vec![own];
        runs.extend(others.filter_map(|other| results_of(&served, &other, &place.sample)));
        Ok(Data(SampleResults { runs }))
    })
    .await
}

/// None where the run does not have the sample.
fn results_of(served: &ServedWorkspace, run: &PastRun, sample: &str) -> Option<SampleRun> {
    let rows = RunRows::of_one_sample(&OsSystem, run, labelled_graders(&run.header), sample);
    let labels = served.labels(run, &rows);
    let results: Vec<RowView> = rows.rows.iter().map(|row| rows.view(row, &labels)).collect();
    (!results.is_empty()).then(|| SampleRun {
        run: run.id.clone(),
        started: started(&OsSystem, run),
        results,
    })
}
