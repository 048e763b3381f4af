//! Begins evaluations, stops them, and reports their events.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use clap::Parser;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::answer::{AddressNames, ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope, JsonBody};
use super::job::{EvaluationJob, JobProgress};
use super::live_grades::LiveGrades;
use super::rubrics::{TriedRubrics, tried_files};
use super::run_preview::{RunPreview, preview_run};
use super::served::{ServedSuite, ServedWorkspace, beside};
use crate::view::run::{RunView, open_run};
use evalrs_base::file_path::join;
use evalrs_engine::session::Session;
use evalrs_graph::results::unknown_samples;
use evalrs_store::record;
use evalrs_store::record::run_names::trial_id;
use evalrs_system::System;
use evalrs_system::os::OsSystem;
use evalrs_system::overlay::OverlaySystem;
use evalrs_use_cases::args::EvaluateArgs;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::ExitStatus;
use evalrs_use_cases::evaluate::{EvaluationFollower, evaluate as evaluate_suites};

/// What is to be evaluated.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Wanted)]
pub(super) struct RunRequest {
    /// The name of a suite that is served.
    suite: String,
    /// Whether only cached outcomes are used, without any call.
    #[serde(default)]
    frozen: bool,
    /// The most US dollars that may be spent.
    #[schema(minimum = 0)]
    max_cost: Option<f64>,
    /// Only these graders.
    #[serde(default)]
    graders: Vec<String>,
    /// Only these samples.
    #[serde(default)]
    samples: Vec<String>,
    /// Grader → the text of a rubric that is tried instead of the written one. No file changes.
    #[serde(default)]
    overrides: BTreeMap<String, String>,
    /// Whether cached judgments of these graders and samples are repeated.
    #[serde(default)]
    refresh: bool,
    /// Whether it is a trial: in no list and in no history, and never `latest`. Whatever has `overrides` is one.
    #[serde(default)]
    trial: bool,
    /// Whether nothing begins: the answer says what the run would call, and what that would cost.
    #[serde(default)]
    preview: bool,
}

/// An evaluation that has begun.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Begun)]
pub(super) struct BegunRun {
    /// The id of its record.
    id: String,
}

/// An evaluation that is stopped.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct StoppedRun {
    /// Its id.
    id: String,
    /// Whether it was under way.
    stopped: bool,
}

/// What `evalrs run` takes: a request is checked by the rules of the command line.
#[derive(Debug, Parser)]
struct EvaluateCommand {
    #[command(flatten)]
    args: EvaluateArgs,
}

impl RunRequest {
    /// The same, if the suite has these graders and samples. What else is wrong with it is said by the evaluation.
    fn known(self, served: &ServedWorkspace, suite: &ServedSuite) -> Result<Self, ApiError> {
        if self.graders.is_empty() && self.samples.is_empty() {
            return Ok(self);
        }
        served.with_suite(suite, &[], |now| self.check_names(now.session))??;
        Ok(self)
    }

    fn check_names(&self, session: &Session) -> Result<(), ApiError> {
        let Some(read) = session.suite() else { return Ok(()) };
        let is_known = |name: &&String| read.graders.iter().any(|grader| grader.name == **name);
        if let Some(name) = self.graders.iter().find(|name| !is_known(name)) {
            let message = format!("`graders`: the suite has no grader `{name}`");
            return Err(ApiError::not_found(message));
        }
        let unknown = unknown_samples(&session.db, session.root, self.samples.clone());
        unknown.first().map_or(Ok(()), |id| {
            Err(ApiError::not_found(format!("`samples`: no sample has the id `{id}`")))
        })
    }

    fn args(&self, path: &str, served: &ServedWorkspace) -> Result<EvaluateArgs, ApiError> {
        let mut words = vec!["evalrs".to_owned(), "--quiet".to_owned()];
        words.extend(self.refresh.then(|| "--refresh".to_owned()));
        words.extend(self.frozen.then(|| "--frozen".to_owned()));
        words.extend(self.max_cost.map(|dollars| format!("--max-cost={dollars}")));
        words.extend(self.graders.iter().map(|name| format!("--grader={name}")));
        words.extend(self.samples.iter().map(|id| format!("--sample={id}")));
        words.extend(served.cache_dir.iter().map(|dir| format!("--cache-dir={dir}")));
        words.extend(["--".to_owned(), path.to_owned()]);
        let read = EvaluateCommand::try_parse_from(words).map_err(|error| {
            let text = error.to_string();
            ApiError::unprocessable(text.lines().next().unwrap_or_default().to_owned())
        })?;
        Ok(read.args)
    }
}

/// Begins to evaluate a suite.
///
/// With `preview` nothing begins.
#[utoipa::path(post, path = "/api/runs", tag = "runs", request_body = RunRequest, responses(
    (status = 200, body = Envelope<RunPreview>, description = "What it would call: nothing has begun"),
    (status = 202, body = Envelope<BegunRun>, headers(("Location" = String))),
    (status = 400, body = ErrorEnvelope),
    (status = 403, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
    (status = 409, body = ErrorEnvelope),
    (status = 422, body = ErrorEnvelope),
))]
pub(super) async fn begin_run(
    State(served): State<Arc<ServedWorkspace>>,
    JsonBody(wanted): JsonBody<RunRequest>,
) -> Result<Response, ApiError> {
    served.check_writable()?;
    let suite = served.known_suite(&wanted.suite)?;
    let mut args = wanted.args(&suite.path, &served)?;
    args.labels.clone_from(&served.labels);
    let is_preview = wanted.preview;
    let (wanted, files) = beside({
        let served = Arc::clone(&served);
        let suite = suite.clone();
        move || {
            let wanted = wanted.known(&served, &suite)?;
            let files = tried_files(&served, &suite, &wanted.overrides)?;
            Ok((wanted, files))
        }
    })
    .await?;
    if is_preview {
        let suite = suite.clone();
        let previewed = beside(move || preview_run(&served, &suite, &args, files)).await?;
        return Ok(Data(previewed).into_response());
    }
    let tried = TriedRubrics { graders: wanted.overrides.into_keys().collect(), files };
    let id = record::run_id(&OsSystem, &served.home, OsSystem.now());
    let is_trial = wanted.trial || !tried.graders.is_empty();
    let id = if is_trial { trial_id(&id) } else { id };
    let job = served.jobs.begin(id.clone(), wanted.suite).ok_or_else(|| {
        ApiError::conflict("another evaluation is running: wait for its end, or stop it")
    })?;
    let home = served.home.clone();
    let thread = std::thread::Builder::new().name("evaluation".to_owned());
    let started = thread.spawn({
        let job = Arc::clone(&job);
        move || evaluate(&args, &tried, &job, &home)
    });
    if let Err(error) = started {
        job.end(None, Some("no thread could be started"));
        return Err(ApiError::internal(error.to_string()));
    }
    let place = HeaderValue::from_str(&format!("/api/runs/{id}"));
    let mut response = (StatusCode::ACCEPTED, Data(BegunRun { id })).into_response();
    if let Ok(place) = place {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// Evaluates, and reports how it ended in any case.
fn evaluate(args: &EvaluateArgs, tried: &TriedRubrics, job: &Arc<EvaluationJob>, home: &str) {
    let system = OverlaySystem::new(&OsSystem, tried.files.clone());
    let folder = join(&record::runs_of(home), &job.id);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let watched = EvaluationFollower {
            id: job.id.clone(),
            tried: tried.graders.clone(),
            progress: RefCell::new(Box::new(JobProgress::new(Arc::clone(job)))),
            grades: RefCell::new(Box::new(LiveGrades::new(Arc::clone(job), folder))),
            stop: Arc::clone(&job.stop),
        };
        let mut out = std::io::sink();
        let mut said = Vec::new();
        let mut console = Console {
            system: &system,
            out: &mut out,
            err: &mut said,
            is_terminal: false,
            width: usize::MAX,
            cuts: false,
            has_color: false,
            verbosity: 0,
        };
        let ended = evaluate_suites(args, Some(&watched), &mut console);
        for line in String::from_utf8_lossy(&said).lines() {
            job.tell("note", &json!({"format": 2, "event": "note", "text": line}));
        }
        ended.map(ExitStatus::code).map_err(|error| error.to_string())
    }));
    if let Some(run) = open_run(&OsSystem, home, &job.id) {
        job.tell("evaluated", &RunView::read(&OsSystem, &run, false));
    }
    match ended {
        Ok(Ok(code)) => job.end(Some(code), None),
        Ok(Err(error)) => job.end(None, Some(&error)),
        Err(_) => job.end(None, Some("the evaluation failed, which is a bug in evalrs")),
    }
}

/// Stops an evaluation. A record is never deleted.
#[utoipa::path(delete, path = "/api/runs/{id}", tag = "runs", params(("id" = String, Path)), responses(
    (status = 200, body = Envelope<StoppedRun>),
    (status = 403, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
    (status = 409, body = ErrorEnvelope),
))]
pub(super) async fn stop_run(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(id): AddressNames<String>,
) -> ApiAnswer<StoppedRun> {
    served.check_writable()?;
    let id = Arc::clone(&served).named(id).await?;
    if let Some(job) = served.jobs.job(&id).filter(|job| job.is_under_way()) {
        if !job.is_own {
            return Err(ApiError::conflict("a session of `watch` ends in its own terminal"));
        }
        job.stop.notify_one();
        return Ok(Data(StoppedRun { id, stopped: true }));
    }
    beside(move || {
        let run = served.run(&id)?;
        Ok(Data(StoppedRun { id: run.id, stopped: false }))
    })
    .await
}

/// Streams the events of an evaluation as server-sent events; `Last-Event-ID` resumes where a client left.
#[utoipa::path(get, path = "/api/runs/{id}/events", tag = "runs", params(("id" = String, Path)), responses(
    (status = 200, content_type = "text/event-stream", body = String),
    (status = 204, description = "All events were sent before `Last-Event-ID`"),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn events(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(id): AddressNames<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = Arc::clone(&served).named(id).await?;
    let Some(job) = served.jobs.job(&id) else {
        return Err(ApiError::not_found("no events of this run are kept"));
    };
    let seen = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let next =
        seen.and_then(|seen| seen.parse::<u64>().ok()).map_or(0, |seen| seen.saturating_add(1));
    if next > 0 && job.is_told(next) {
        // Browsers that lost the end ask again and again, unless they are told that there is nothing more.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let events = stream::unfold((job, next), |(job, number)| async move {
        let (event, next) = job.next(number).await?;
        Some((Ok::<_, std::convert::Infallible>(event), (job, next)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}
