//! How far the graders of a suite agree with people: now, by held-out labels, when they were calibrated, and over time.
//!
//! Reads records, labels and the file of `evalrs calibrate`. Nothing here compares anything with held-out labels: what runs
//! reported of them is repeated, which counts as no query.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::{AddressNames, ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope};
use super::held_suites::SuiteNow;
use super::served::{ServedSuite, ServedWorkspace, beside};
use crate::view::calibration::{CalibratedRunGrader, ToldLabels, calibrated_graders};
use crate::view::rows::RunRows;
use crate::view::run::{is_whole, open_run, started, summary_of};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_metrics::history::{HistoryAgreement, HistoryRun};
use evalrs_metrics::metric::holdout::HeldOutAgreement;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_metrics::metric::people::PeopleEstimate;
use evalrs_metrics::results::calibration::{GraderCalibration, ReportedCalibration};
use evalrs_store::record::read::PastRun;
use evalrs_system::os::OsSystem;
use evalrs_use_cases::calibration::present_calibration;
use evalrs_use_cases::error::Error;
use evalrs_use_cases::run_history::history_runs;

/// The most runs of a trend.
const MOST_RUNS: usize = 60;

/// The graders of a suite beside people.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SuiteCalibration {
    /// The suite.
    suite: String,
    /// Its file, from where the server was started.
    path: String,
    /// The newest run of all of its rows, whose verdicts are compared; null without one.
    run: Option<String>,
    /// When it began.
    started: Option<String>,
    /// The file of labels.
    labels_path: String,
    /// The share of labels that is held out, 0.0..=1.0.
    holdout: Option<f64>,
    /// What is wrong with labels or with the file of the calibration, a sentence each.
    problems: Vec<String>,
    /// Its graders, in order.
    graders: Vec<GraderBesidePeople>,
}

/// A grader beside people.
#[derive(Debug, Serialize, ToSchema)]
struct GraderBesidePeople {
    /// Its key in the suite.
    name: String,
    /// Its name for people, where it has one.
    label: Option<String>,
    /// What the run and the present labels say of it.
    #[serde(flatten)]
    found: CalibratedRunGrader,
    /// What `evalrs calibrate` wrote of it, and what of it changed since, as in `summary.json`.
    #[schema(value_type = Option<Object>)]
    calibration: Option<ReportedCalibration>,
    /// Its runs with labels, the oldest first.
    over_time: Vec<CalibrationPoint>,
}

/// How far a grader agreed with people in a run, by the labels at that time.
#[derive(Debug, Serialize, ToSchema)]
struct CalibrationPoint {
    /// The run.
    run: String,
    /// When it began.
    started: String,
    /// Whether its record is on this machine.
    recorded: bool,
    /// The agreement: as in a file of `evalrs calibrate`, without the interval of kappa.
    #[schema(value_type = Object)]
    agreement: GraderCalibration,
    /// The share of passes by the grader itself.
    pass_rate: Option<f64>,
    /// The reported agreement with held-out labels.
    #[schema(value_type = Option<Object>)]
    held_out: Option<HeldOutAgreement>,
    /// The estimated human verdict on everything.
    #[schema(value_type = Option<Object>)]
    people: Option<PeopleEstimate>,
    /// What changed since the point before, so that both are not of the same.
    breaks: Vec<String>,
}

/// Shows how far the graders of a suite agree with people. Held-out labels are not queried.
#[utoipa::path(get, path = "/api/suites/{name}/calibration", tag = "suites", params(("name" = String, Path)), responses(
    (status = 200, body = Envelope<SuiteCalibration>),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn get_calibration(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(name): AddressNames<String>,
) -> ApiAnswer<SuiteCalibration> {
    beside(move || {
        let suite = served.known_suite(&name)?;
        calibration(&served, suite).map(Data)
    })
    .await
}

/// The run whose verdicts are compared with labels: the newest of all rows that has ended, else the newest.
pub(super) fn compared_run(served: &ServedWorkspace, suite: &str) -> Option<PastRun> {
    let is_meant = |run: &PastRun| is_whole(&OsSystem, run) && !served.jobs.is_under_way(&run.id);
    let mut own = served.runs().filter(|run| run.header.suite == suite);
    own.find(is_meant).or_else(|| served.newest_run(suite))
}

/// The suite as it is now.
struct PresentSuite {
    /// Its graders, in order.
    graders: Vec<String>,
    /// What was written of them.
    calibration: OrderedMap<ReportedCalibration>,
    /// Why that cannot be read, a sentence each.
    problems: Vec<String>,
}

fn present(served: &ServedWorkspace, suite: &ServedSuite) -> Result<PresentSuite, ApiError> {
    served.with_suite(suite, &[], |SuiteNow { session, surroundings, .. }| {
        let graders = session.suite().map(|read| &read.graders).into_iter().flatten();
        let graders = graders.map(|grader| grader.name.clone()).collect();
        match present_calibration(&suite.path, surroundings, session, &OsSystem) {
            Ok(calibration) => PresentSuite { graders, calibration, problems: Vec::new() },
            Err(error) => {
                let problems = sentences(error);
                PresentSuite { graders, calibration: OrderedMap::default(), problems }
            }
        }
    })
}

/// An error without the signs of a terminal.
fn sentences(error: Error) -> Vec<String> {
    match error {
        Error::Diagnostics(problems) => {
            let told = |problem: Diagnostic| match problem.place {
                Some(place) => format!("{place}: {}", problem.message),
                None => problem.message,
            };
            problems.into_iter().map(told).collect()
        }
        Error::Plain { message, .. } => vec![message],
        other => vec![other.to_string()],
    }
}

fn calibration(
    served: &ServedWorkspace,
    suite: &ServedSuite,
) -> Result<SuiteCalibration, ApiError> {
    let PresentSuite { graders, mut calibration, problems } = present(served, suite)?;
    let run = compared_run(served, &suite.name);
    let rows = run.as_ref().map_or_else(Arc::<RunRows>::default, |run| served.rows(run));
    let labels = run.as_ref().map(|run| served.labels(run, &rows)).unwrap_or_default();
    let summary = run.as_ref().map(|run| summary_of(&OsSystem, run)).unwrap_or_default();
    let mut found = calibrated_graders(&rows, &labels, &summary);
    let mut names: Vec<String> = found.0.iter().map(|(name, _)| name.clone()).collect();
    names.extend(graders.into_iter().filter(|name| found.get(name).is_none()));
    let mut points = points(served, suite, &names)?;
    let graders = names.into_iter().map(|name| GraderBesidePeople {
        label: summary["labels"][&name].as_str().map(str::to_owned),
        found: taken(&mut found, &name).unwrap_or_default(),
        calibration: taken(&mut calibration, &name),
        over_time: taken(&mut points, &name).unwrap_or_default(),
        name,
    });
    let file = served.labels_file(suite);
    Ok(SuiteCalibration {
        suite: suite.name.clone(),
        path: suite.path.clone(),
        started: run.as_ref().and_then(|run| started(&OsSystem, run)),
        run: run.map(|run| run.id),
        labels_path: file.path,
        holdout: file.holdout,
        problems: labels.problems.iter().cloned().chain(problems).collect(),
        graders: graders.collect(),
    })
}

fn taken<T>(all: &mut OrderedMap<T>, name: &str) -> Option<T> {
    let at = all.0.iter().position(|(own, _)| own == name)?;
    Some(all.0.swap_remove(at).1)
}

/// Grader → its last runs with labels, the oldest first.
fn points(
    served: &ServedWorkspace,
    suite: &ServedSuite,
    names: &[String],
) -> Result<OrderedMap<Vec<CalibrationPoint>>, ApiError> {
    let context = served.context(&suite.path)?;
    let place = context.in_workspace(&suite.path, &OsSystem);
    let runs = history_runs(&suite.name, &place, &context, &OsSystem);
    let from = runs.len().saturating_sub(MOST_RUNS);
    let records: Vec<_> = runs[from..].iter().map(|run| record_of(served, run)).collect();
    let of_grader = |name: &String| {
        let mut points: Vec<CalibrationPoint> = Vec::new();
        let mut breaks = Vec::new();
        for (run, record) in runs[from..].iter().zip(&records) {
            breaks.extend(breaks_of(run, name));
            let agreement = run.metrics.get(name).and_then(|metric| metric.agreement);
            if let Some(agreement) = agreement {
                // What came before the first point divides nothing.
                let breaks = std::mem::take(&mut breaks);
                let breaks = if points.is_empty() { Vec::new() } else { breaks };
                points.push(point(run, record.as_ref(), name, &agreement).after(breaks));
            }
        }
        (name.clone(), points)
    };
    Ok(OrderedMap(names.iter().map(of_grader).collect()))
}

/// What changed of a grader, or of what all graders share.
fn breaks_of(run: &HistoryRun, name: &str) -> impl Iterator<Item = String> {
    let own = run.breaks.iter().filter(move |one| {
        one.metric.is_none() && one.grader.as_deref().is_none_or(|grader| grader == name)
    });
    own.map(|one| one.text.clone())
}

/// What the record of a run says of labels, if it is on this machine.
fn record_of(served: &ServedWorkspace, run: &HistoryRun) -> Option<ToldLabels> {
    let past = open_run(&OsSystem, &served.home, &run.id)?;
    Some(ToldLabels::of(&summary_of(&OsSystem, &past)))
}

fn point(
    run: &HistoryRun,
    record: Option<&ToldLabels>,
    name: &str,
    found: &HistoryAgreement,
) -> CalibrationPoint {
    let HistoryAgreement { n, accuracy, kappa, false_pass, false_fail } = *found;
    let agreement = LabelAgreement {
        n,
        both_pass: n.saturating_sub(false_pass + false_fail),
        false_pass,
        false_fail,
        accuracy,
        kappa,
        ..LabelAgreement::default()
    };
    CalibrationPoint {
        run: run.id.clone(),
        started: run.started.clone(),
        recorded: record.is_some(),
        agreement: GraderCalibration::of(&agreement, None),
        pass_rate: run.metrics.get(name).and_then(|metric| metric.pass_rate),
        held_out: record.and_then(|record| record.held_out.get(name).copied()),
        people: record.and_then(|record| record.people.get(name).copied()),
        breaks: Vec::new(),
    }
}

impl CalibrationPoint {
    fn after(self, breaks: Vec<String>) -> Self {
        Self { breaks, ..self }
    }
}
