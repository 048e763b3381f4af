//! Grades one submission with a grader of a suite: another suite, which is never on disk, of that grader and one row.
//!
//! Judges are asked and programs are run as by `evalrs run`, with the same keys: what is stored is not asked again, and
//! what is asked here is stored for later runs.

use std::io::sink;

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::answer::ApiError;
use super::served::{ServedSuite, ServedWorkspace};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::file_path::{folder_of, join};
use evalrs_engine::progress::Quiet;
use evalrs_engine::session::Session;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::queries::graders;
use evalrs_graph::results;
use evalrs_model::spec::{
    DatasetFormat, DatasetSpec, ExtractorSpec, GraderKind, GraderSpec, RecordingJoin, RewardSpec,
    Suite, TargetSpec, rubric_of,
};
use evalrs_suite::canonical::canonical;
use evalrs_system::System;
use evalrs_system::os::OsSystem;
use evalrs_system::overlay::OverlaySystem;
use evalrs_use_cases::args::LimitArgs;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::open::new_session;
use evalrs_use_cases::settling::{SettledBy, settle_session};

/// The suite, beside the one that the grader is of.
const SUITE: &str = "evalrs-grade.yaml";
/// Its dataset.
const ROW: &str = "evalrs-grade.jsonl";

impl ServedWorkspace {
    /// The suite and the grader that `id` names as `SUITE:NAME`, where that suite is served.
    pub(super) fn grader_of_suite<'a>(&self, id: &'a str) -> Option<(&ServedSuite, &'a str)> {
        self.suites
            .iter()
            .find_map(|suite| Some((suite, id.strip_prefix(&suite.name)?.strip_prefix(':')?)))
    }
}

/// The grade that the grader called `name` of a suite gives `row`.
pub(super) fn graded_in_suite(
    served: &ServedWorkspace,
    suite: &ServedSuite,
    name: &str,
    row: Map<String, Value>,
) -> Result<GradeView, ApiError> {
    // What the suite names stays where it is from wherever it is named.
    let path = OsSystem.absolute(&suite.path);
    let surroundings = served.context(&path)?;
    let text = suite_of_one(&path, name, &surroundings)?;
    let place = |name: &str| join(folder_of(&path), name);
    let row = Value::Object(row).to_string();
    let system = OverlaySystem::new(&OsSystem, [(place(SUITE), text), (place(ROW), row)]);
    let overrides = Overrides { graders: vec![name.to_owned()], ..Overrides::default() };
    let mut session = new_session(&place(SUITE), &surroundings, overrides);
    load(&mut session, &system)?;
    settle_row(served, &mut session, &surroundings, &system)?;
    grade_by(&session, name)
}

/// A suite of one grader of the suite at `path`, as text.
fn suite_of_one(path: &str, name: &str, surroundings: &SuiteContext) -> Result<String, ApiError> {
    let mut session = new_session(path, surroundings, Overrides::default());
    let problems = session.load_suite(&OsSystem);
    let suite = session.suite().filter(|_| !problems.iter().any(Diagnostic::is_error));
    let suite =
        suite.ok_or_else(|| ApiError::unprocessable("the suite has errors: see its page"))?;
    let mut graders = alone(suite, name)?;
    for grader in &mut graders {
        // The submission is given, and not taken out of anything.
        grader.extractor = ExtractorSpec::new("last_assistant", "{}");
    }
    let dataset = DatasetSpec::file(join(folder_of(path), ROW), DatasetFormat::Jsonl);
    let one = Suite {
        dataset,
        target: TargetSpec::Recorded { path: None, format: None, join: RecordingJoin::default() },
        graders,
        metrics: Vec::new(),
        gate: None,
        max_samples: None,
        sample_tags: Vec::new(),
        num_runs: 1,
        ..suite.clone()
    };
    Ok(canonical(&one, path))
}

/// A grader of a suite with those that it cannot be without: a rubric with its criteria, a criterion with its rubric.
fn alone(suite: &Suite, name: &str) -> Result<Vec<GraderSpec>, ApiError> {
    let of_name = |name: &str| suite.graders.iter().find(|grader| grader.name == name).cloned();
    let grader = of_name(name).ok_or_else(|| ApiError::not_found("Grader not found"))?;
    if let GraderKind::Reward(RewardSpec::Criteria(spec)) = &grader.kind {
        let criteria = spec.graders(name).filter_map(|criterion| of_name(&criterion));
        return Ok(std::iter::once(grader.clone()).chain(criteria).collect());
    }
    if matches!(grader.kind, GraderKind::Reward(_)) {
        let message =
            "`grader`: it combines the scores of other graders and does not grade a submission";
        return Err(ApiError::unprocessable(message));
    }
    match rubric_of(name) {
        // The criteria that share a request are in its key.
        Some((rubric, _)) => alone(suite, rubric),
        None => Ok(vec![grader]),
    }
}

/// Makes the calls of the grade, until it is known or the server ends.
fn settle_row(
    served: &ServedWorkspace,
    session: &mut Session,
    surroundings: &SuiteContext,
    system: &dyn System,
) -> Result<(), ApiError> {
    let settings = surroundings.settings(&LimitArgs::default(), session.suite());
    let mut nowhere = [sink(), sink()];
    let mut console = Console::silent(system, &mut nowhere);
    let store = surroundings.store(&mut console);
    let store = store.map_err(ApiError::failed)?;
    let mut quiet = Quiet;
    let stop = Box::pin(served.ended());
    let by = SettledBy {
        system,
        verbosity: 0,
        progress: &mut quiet,
        grades: &mut Quiet,
        stop: Some(stop),
    };
    let settled = settle_session(session, store, &settings, by);
    let settled = settled.map_err(|cannot| ApiError::unprocessable(cannot.to_string()))?;
    settled.write_error.map_or(Ok(()), |error| Err(ApiError::internal(error.to_string())))
}

/// A grade.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct GradeView {
    /// 0.0..=1.0.
    score: f64,
    /// Whether it passes.
    pass: bool,
    /// Why.
    rationale: String,
    /// Why there is none: `kind` and `message`.
    #[schema(value_type = Option<Object>)]
    error: Value,
    /// What else the grader says.
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
}

/// Loads a session, which may have no errors. Returns what else may be wrong.
pub(super) fn load(
    session: &mut Session,
    system: &dyn System,
) -> Result<Vec<Diagnostic>, ApiError> {
    let problems = session.load(system);
    let error = problems.iter().find(|problem| problem.is_error());
    match error {
        Some(error) => Err(ApiError::unprocessable(error.message.clone())),
        None => Ok(problems),
    }
}

/// The grade of a session's only row by its first grader.
pub(super) fn row_graded(session: &Session) -> Result<GradeView, ApiError> {
    let graders = graders(&session.db, session.root);
    let first = graders.first().map_or("", |grader| grader.name(&session.db));
    grade_by(session, first)
}

/// The same by the grader with this name.
fn grade_by(session: &Session, name: &str) -> Result<GradeView, ApiError> {
    let line = results::lines(&session.db, session.root).next();
    let grade = line.and_then(|line| line.grades.0.into_iter().find(|(grader, _)| grader == name));
    let (_, grade) = grade.ok_or_else(|| ApiError::internal("nothing was graded"))?;
    Ok(GradeView {
        score: grade.score,
        pass: grade.pass,
        rationale: grade.rationale,
        error: json!(grade.error),
        metadata: grade.metadata,
    })
}
