//! `evalrs serve`: the REST API and the viewer, over the records of a workspace and the suites that are named.
//!
//! # Owns
//!
//! - `served`: what is served, and what of it is held in memory (`held_suites`).
//! - `answer`: the form of every answer; `guard`: who may ask; `connections`, `queries`: within which limits.
//! - One file for each thing that can be asked: `runs`, `samples`, `run_columns`, `run_groups`, `suites`, `rubrics`, `registry`, `labels`, `calibration`, `label_export`,
//!   `grade`, `history`, `downloads`, `page`; `openapi` describes them all.
//! - `job` and `evaluate`: evaluations that run beside the server; [`session`]: a `watch` session on a page.
//! - [`view`]: what pages and programs read of a run, as JSON; [`report_page`]: the viewer with its data in one file.
//! - `viewer`: the page itself, in JavaScript, without a build.
//!
//! # Must not know
//!
//! How anything is graded, and the command line beyond its own flags ([`args`]). What reads files runs on threads of its own.
//!
//! # Where to begin
//!
//! With `router`, which lists the routes, then with the file of one of them.

pub mod args;
mod answer;
mod case_contexts;
mod label_file;
mod given_labels;
mod label_undo;
pub mod report_page;
pub mod view;
mod connections;
mod bodies;
mod guard;
mod job;
mod served;
mod held_suites;
mod locks;
mod registry;
mod suites;
mod calibration;
mod label_export;
mod runs;
mod history;
mod sample_results;
mod samples;
mod run_columns;
mod run_groups;
mod live_grades;
mod evaluate;
mod labels;
mod rubrics;
mod run_preview;
mod grade;
mod grade_in_suite;
mod page;
mod downloads;
mod openapi;
mod queries;
pub mod session;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::args::ServeArgs;
use answer::ApiError;
use bodies::with_whole_body;
use connections::MOST_CONNECTIONS;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_graph::inputs::Overrides;
use evalrs_store::run_archive::UnpackedRun;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::{Error, ExitStatus};
use evalrs_use_cases::open::new_session;
use evalrs_use_cases::run_files::NamedRuns;
use evalrs_use_cases::signals::interrupted;
use evalrs_use_cases::suites::suite_files;
use guard::{HEALTH, RequestGuard, guard};
use queries::{KnownQueries, only_known_query};
use served::{ServedSuite, ServedWorkspace};

/// How many requests read files at once: each may hold a large part of a run in memory.
const MOST_READERS: usize = 16;
/// How long answers may take after the server was stopped.
const GRACE: Duration = Duration::from_secs(5);

/// Serves until Ctrl-C.
pub fn serve(args: &ServeArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let token = token(args, console)?;
    let runs = NamedRuns::open(args.suites.iter().map(String::as_str), console)?;
    let served = served(args, &runs, console)?;
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().max_blocking_threads(MOST_READERS).build()?;
    runtime.block_on(listen(args, token, Arc::new(served), console))
}

/// The token, where the address needs one or the user set one.
fn token(args: &ServeArgs, console: &Console<'_>) -> Result<Option<String>, Error> {
    let Some(name) = &args.token_env else {
        if args.bind.is_loopback() {
            return Ok(None);
        }
        return Err(Error::plain(
            format!("`--bind {}` is reachable from other machines and needs a token", args.bind),
            "set a variable to at least 16 characters that nobody can guess, and name it: `--token-env EVALRS_TOKEN`",
        ));
    };
    let token = console.system.environment().remove(name).unwrap_or_default();
    if token.len() < 16 {
        return Err(Error::plain(
            format!("the environment variable `{name}` has no token of at least 16 characters"),
            "for example `export EVALRS_TOKEN=$(openssl rand -hex 16)`",
        ));
    }
    Ok(Some(token))
}

/// What is served. Suites that have errors are served too: their pages say so.
fn served(
    args: &ServeArgs,
    runs: &NamedRuns,
    console: &mut Console<'_>,
) -> Result<ServedWorkspace, Error> {
    if let Some(unpacked) = args.suites.iter().find_map(|name| runs.unpacked(name)) {
        return of_file(args, unpacked);
    }
    let files = suite_files(&args.suites, console.system)?;
    let first = files.first().map(String::as_str).unwrap_or_default();
    let home = SuiteContext::find(first, None, console.system)?.records();
    let mut suites: Vec<ServedSuite> = Vec::new();
    for path in files.iter().cloned() {
        let surroundings = SuiteContext::find(&path, None, console.system)?;
        if surroundings.records() != home {
            return Err(Error::plain(
                format!("`{path}` and `{first}` are in different workspaces"),
                "serve the suites of one workspace; another server with another `--port` can serve the rest",
            ));
        }
        let mut session = new_session(&path, &surroundings, Overrides::default());
        let problems = session.load(console.system);
        let Some(name) = session.suite().map(|suite| suite.name.clone()) else {
            return Err(Error::Diagnostics(problems));
        };
        if problems.iter().any(Diagnostic::is_error) {
            evalrs_use_cases::say::say(&problems, console.err)?;
        }
        if suites.iter().any(|suite| suite.name == name) {
            let message = format!("two suites have the name `{name}`");
            return Err(Error::plain(message, "addresses and records know suites by their names"));
        }
        suites.push(ServedSuite { name, path });
    }
    Ok(ServedWorkspace {
        labels: args.labels.clone(),
        cache_dir: args.store.cache_dir.clone(),
        read_only: args.read_only,
        labellers: args.labellers,
        first: first.to_owned(),
        ..ServedWorkspace::new(suites, home)
    })
}

/// The record in a file, and nothing of its suite: that may be a stranger's. Nothing is started or written.
fn of_file(args: &ServeArgs, unpacked: &UnpackedRun) -> Result<ServedWorkspace, Error> {
    if args.suites.len() > 1 {
        return Err(Error::plain(
            "`serve` shows one file of a run, and nothing beside it",
            "serve the other on another `--port`, or compare both: `evalrs diff`",
        ));
    }
    Ok(ServedWorkspace {
        labels: args.labels.clone(),
        read_only: true,
        ..ServedWorkspace::new(Vec::new(), unpacked.home.clone())
    })
}

async fn listen(
    args: &ServeArgs,
    token: Option<String>,
    served: Arc<ServedWorkspace>,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let stop = interrupted();
    let listener = bound(SocketAddr::new(args.bind, args.port))?;
    let url = format!("http://{}/", listener.local_addr()?);
    writeln!(console.err, "serving {url} (Ctrl-C ends)")?;
    console.err.flush()?;
    if args.open {
        open_browser(&url, console)?;
    }
    answer_until(listener, Arc::clone(&served), token, async {
        stop.await;
        served.jobs.close().await;
    })
    .await?;
    Ok(ExitStatus::Success)
}

/// What listens at `address`.
fn bound(address: SocketAddr) -> Result<TcpListener, Error> {
    let bound = TcpListener::bind(address)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    bound.map_err(|error| {
        Error::plain(
            format!("cannot listen at {address}: {error}"),
            "another server may be there: `--port 0` takes a free port",
        )
    })
}

/// Answers requests until `stop` resolves, and those that are under way then.
async fn answer_until(
    listener: TcpListener,
    served: Arc<ServedWorkspace>,
    token: Option<String>,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let here = listener.local_addr()?;
    let guard = RequestGuard { address: here.ip(), port: here.port(), token };
    let app = router(Arc::clone(&served), guard);
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (tell, end) = tokio::sync::watch::channel(false);
    let server = tokio::spawn(connections::accept(listener, app, MOST_CONNECTIONS, end));
    stop.await;
    served.end();
    let _ = tell.send(true);
    // Event streams of pages that stay open never end by themselves.
    let _ = tokio::time::timeout(GRACE, server).await;
    Ok(())
}

/// Opens the page, or reports why not.
fn open_browser(url: &str, console: &mut Console<'_>) -> std::io::Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    if let Err(reason) = evalrs_exec::editor::start(program, url) {
        writeln!(console.err, "warning: cannot open the browser with `{program}`: {reason}")?;
    }
    Ok(())
}

/// All addresses, with the middleware that every request passes.
fn router(served: Arc<ServedWorkspace>, who: RequestGuard) -> Router {
    let (router, api) = routes_of().split_for_parts();
    let document = openapi::document(&api, who.token.is_some());
    let queries = Arc::new(KnownQueries::of(&document));
    let document = Bytes::from(document.to_string());
    let openapi = move |State(_): State<Arc<ServedWorkspace>>| {
        let document = document.clone();
        async move { ([(CONTENT_TYPE, "application/json")], document) }
    };
    router
        .route("/api/openapi.json", get(openapi))
        .route(HEALTH, get(async || "ok"))
        .route("/viewer.css", get(page::style))
        .route("/viewer.js", get(page::script))
        .fallback(page::page)
        .method_not_allowed_fallback(async || ApiError::method_not_allowed().into_response())
        .layer(axum::middleware::from_fn_with_state(queries, only_known_query))
        .layer(axum::middleware::from_fn(with_whole_body))
        .layer(axum::middleware::from_fn_with_state(Arc::new(who), guard))
        .with_state(served)
}

/// The API, and what its `OpenAPI` document says of it.
fn routes_of() -> OpenApiRouter<Arc<ServedWorkspace>> {
    let info = InfoBuilder::new()
        .title("evalrs")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Graders, suites, runs and labels of a workspace."));
    let api: OpenApi = OpenApiBuilder::new().info(info.build()).build();
    OpenApiRouter::with_openapi(api)
        .routes(routes!(registry::list_graders))
        .routes(routes!(registry::get_grader))
        .routes(routes!(registry::list_extractors))
        .routes(routes!(registry::get_extractor))
        .routes(routes!(registry::list_targets))
        .routes(routes!(registry::get_target))
        .routes(routes!(registry::list_providers))
        .routes(routes!(registry::get_provider))
        .routes(routes!(grade::grade))
        .routes(routes!(suites::list_suites))
        .routes(routes!(suites::get_suite))
        .routes(routes!(calibration::get_calibration))
        .routes(routes!(label_export::export_labels))
        .routes(routes!(labels::put_label))
        // A sample may have this name, too.
        .routes(routes!(label_undo::undo_last_label, labels::put_label_of_undo))
        .routes(routes!(rubrics::get_rubric, rubrics::put_rubric))
        .routes(routes!(runs::meta))
        .routes(routes!(runs::list_runs, evaluate::begin_run))
        .routes(routes!(runs::get_run, evaluate::stop_run))
        .routes(routes!(evaluate::events))
        .routes(routes!(samples::list_samples))
        .routes(routes!(samples::get_sample))
        .routes(routes!(sample_results::list_sample_results))
        .routes(routes!(run_columns::list_columns))
        .routes(routes!(run_groups::list_groups))
        .routes(routes!(run_groups::scatter))
        .routes(routes!(downloads::report))
        .routes(routes!(runs::diff))
        .routes(routes!(history::get_history))
}
