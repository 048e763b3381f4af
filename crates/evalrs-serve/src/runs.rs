//! Recorded runs: lists of them, and what a page shows of one.

use std::io::sink;
use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::answer::{
    AddressNames, ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope, ListPage, Params,
};
use super::locks::locked;
use super::served::{ServedWorkspace, beside};
use crate::view::run::{RunDetails, RunView, open_run, run_ids};
use evalrs_metrics::diff::DiffLabels;
use evalrs_store::record::read::PastRun;
use evalrs_store::record::result_files::results_stamp;
use evalrs_store::record::side::read_side;
use evalrs_system::os::OsSystem;
use evalrs_use_cases::comparison::RunComparison;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::diff_labels::LabelSource;

/// Which runs.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct RunQuery {
    /// Only those of this suite.
    suite: Option<String>,
}

/// Runs, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RunList {
    runs: Vec<RunView>,
    /// How many are here.
    count: usize,
    /// How many there are.
    total: usize,
}

/// What the viewer needs to begin.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Meta {
    /// The version of evalrs.
    evalrs: &'static str,
    /// Whether nothing is evaluated or written.
    read_only: bool,
    /// Whether requests say whose label they give.
    labellers: bool,
    /// The names of the suites that are served.
    suites: Vec<String>,
    /// The evaluation that is under way.
    live: Option<LiveRun>,
}

/// An evaluation that is under way.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LiveRun {
    /// Its id.
    run: String,
}

/// Says what is served.
#[utoipa::path(get, path = "/api/meta", tag = "server", responses((status = 200, body = Envelope<Meta>)))]
pub(super) async fn meta(State(served): State<Arc<ServedWorkspace>>) -> ApiAnswer<Meta> {
    beside(move || {
        // One that has just begun has no record yet.
        let live = served.jobs.under_way();
        let live = live.filter(|id| open_run(&OsSystem, &served.home, id).is_some());
        Ok(Data(Meta {
            evalrs: env!("CARGO_PKG_VERSION"),
            read_only: served.read_only,
            labellers: served.labellers,
            suites: served.suites.iter().map(|suite| suite.name.clone()).collect(),
            live: live.map(|run| LiveRun { run }),
        }))
    })
    .await
}

/// Lists runs, the newest first.
#[utoipa::path(get, path = "/api/runs", tag = "runs", params(RunQuery, ListPage), responses(
    (status = 200, body = Envelope<RunList>),
    (status = 400, body = ErrorEnvelope),
))]
pub(super) async fn list_runs(
    State(served): State<Arc<ServedWorkspace>>,
    Params(query): Params<RunQuery>,
    Params(page): Params<ListPage>,
) -> ApiAnswer<RunList> {
    let page = page.checked()?;
    beside(move || {
        let wanted = served
            .runs()
            .filter(|run| query.suite.as_ref().is_none_or(|suite| run.header.suite == *suite));
        let mut runs = Vec::new();
        let mut total = 0;
        for run in wanted {
            if total >= page.skip && runs.len() < page.limit {
                runs.push(served.view(&run));
            }
            total += 1;
        }
        Ok(Data(RunList { count: runs.len(), runs, total }))
    })
    .await
}

/// Shows a run; `latest` is an id.
#[utoipa::path(get, path = "/api/runs/{id}", tag = "runs", params(("id" = String, Path)), responses(
    (status = 200, body = Envelope<RunDetails>),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn get_run(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(id): AddressNames<String>,
) -> ApiAnswer<RunDetails> {
    beside(move || {
        let run = served.run(&id)?;
        let rows = served.rows(&run);
        let labels = served.labels(&run, &rows);
        let ids = run_ids(&OsSystem, &served.home);
        let is_of_suite = |id: &&String| {
            open_run(&OsSystem, &served.home, id)
                .is_some_and(|other| other.header.suite == run.header.suite)
        };
        let at = ids.iter().position(|id| *id == run.id);
        let failure = served.jobs.job(&run.id).and_then(|job| job.error());
        let problems = labels.problems.iter().cloned().chain(failure).collect();
        let suite = served.suite(&run.header.suite);
        // Asked before the record is read: of a run that has ended, what is read afterwards is whole.
        let under_way = served.jobs.is_under_way(&run.id);
        let mut details = RunDetails::read(&OsSystem, &run, &rows, problems);
        details.agreement = rows.agreement(&labels);
        details.categories = rows.categories(&labels);
        details.labeller = suite.and_then(|suite| served.labeller(suite));
        details.labels_fixed = suite.and_then(|suite| served.labels_fixed(suite));
        details.previous = at.and_then(|at| ids.iter().skip(at + 1).find(is_of_suite).cloned());
        details.next = at.and_then(|at| ids[..at].iter().rev().find(is_of_suite).cloned());
        details.run.under_way = under_way;
        Ok(Data(details))
    })
    .await
}

/// The bytes of two runs from which on to compare them takes a large part of the memory.
const LARGE: u64 = 32 << 20;

/// Human labels of the results of a run by now, as `evalrs diff` finds it; nothing where its suite cannot be read.
fn labels_of(served: &ServedWorkspace, past: &PastRun) -> DiffLabels {
    let suite = served.suite(&past.header.suite);
    let source = LabelSource {
        past,
        suite: suite.map(|suite| suite.path.as_str()),
        labels: served.labels.as_deref(),
        home: &served.home,
        cache_dir: served.cache_dir.as_deref(),
    };
    let mut nowhere = [sink(), sink()];
    let mut console = Console::silent(&OsSystem, &mut nowhere);
    source.read(&mut console).unwrap_or_default()
}

/// Which runs are compared.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DiffQuery {
    /// The older one.
    old: String,
    /// The newer one.
    new: String,
}

/// Compares two runs, as `evalrs diff --json` does.
#[utoipa::path(get, path = "/api/diff", tag = "runs", params(DiffQuery), responses(
    (status = 200, body = Envelope<Value>),
    (status = 400, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn diff(
    State(served): State<Arc<ServedWorkspace>>,
    Params(query): Params<DiffQuery>,
) -> ApiAnswer<Value> {
    beside(move || {
        let sides = [served.run(&query.old)?, served.run(&query.new)?];
        // One at a time, in the place of the suites that are held: two large runs take as much memory as one of those.
        let _comparing = locked(&served.comparing);
        let bytes = |run: &PastRun| results_stamp(&OsSystem, &run.folder).map(|stamp| stamp.bytes);
        if sides.iter().filter_map(bytes).sum::<u64>() > LARGE {
            served.sessions.let_go();
        }
        let labels = labels_of(&served, &sides[1]);
        let without = |_| ApiError::not_found("the run has no results");
        let old = read_side(&OsSystem, &sides[0], None, None).map_err(without)?;
        let new = read_side(&OsSystem, &sides[1], None, Some(&old)).map_err(without)?;
        let pasts = [&sides[0], &sides[1]];
        let comparison =
            RunComparison { pasts, labels: &labels, grader: None, explained: usize::MAX };
        let diff = comparison.of([old.side, new.side], &OsSystem);
        serde_json::to_value(&diff).map(Data).map_err(ApiError::failed)
    })
    .await
}
