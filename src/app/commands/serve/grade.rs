//! Grades one submission with a function of the registry: a suite of one sample, which is never on disk.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::answer::{ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope, JsonBody};
use super::served::{Served, beside};
use crate::base::system::memory::MemorySystem;
use crate::engine::session::Session;
use crate::graph::inputs::Overrides;
use crate::graph::{Database, results};
use crate::pipeline::registry;

/// What is to be graded.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(example = json!({"grader": "string-match", "config": {"case_sensitive": true}, "submission": "Paris", "ground_truth": "Paris"}))]
#[serde(deny_unknown_fields)]
pub(super) struct ToGrade {
    /// The id of a grader of `/api/graders`.
    grader: String,
    /// Its options.
    #[serde(default)]
    #[schema(value_type = Object)]
    config: Map<String, Value>,
    /// What is graded.
    submission: String,
    /// The reference answer.
    ground_truth: Option<String>,
    /// What the target was given.
    input: Option<Value>,
    /// Further members of the row.
    #[serde(default)]
    #[schema(value_type = Object)]
    row: Map<String, Value>,
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

/// Grades a submission.
#[utoipa::path(post, path = "/api/grade", tag = "registry", request_body = ToGrade, responses(
    (status = 200, body = Envelope<GradeView>),
    (status = 400, body = ErrorEnvelope),
    (status = 403, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
    (status = 422, body = ErrorEnvelope),
))]
pub(super) async fn grade(
    State(served): State<Arc<Served>>,
    JsonBody(wanted): JsonBody<ToGrade>,
) -> ApiAnswer<GradeView> {
    beside(move || graded(&served, wanted).map(Data)).await
}

fn graded(served: &Served, wanted: ToGrade) -> Result<GradeView, ApiError> {
    let function = if wanted.grader == "string-match" { "string_match" } else { &wanted.grader };
    let known = registry::graders().into_iter().find(|known| known.id == function);
    if known.is_none_or(|known| known.kind != "tool") {
        let is_of_suite =
            wanted.grader.split_once(':').is_some_and(|(suite, _)| served.suite(suite).is_some());
        return Err(
            if is_of_suite || registry::graders().iter().any(|known| known.id == function) {
                ApiError::unprocessable(
                    "`grader`: only functions of the registry grade single submissions; begin a run of the suite for its own graders",
                )
            } else {
                ApiError::not_found("Grader not found")
            },
        );
    }
    let suite = json!({
        "name": "grade",
        "dataset": "row.jsonl",
        "graders": {"grade": {"kind": "tool", "function": function, "extractor": "last_assistant", "config": wanted.config}},
    });
    let mut row = wanted.row;
    row.insert("id".to_owned(), Value::from("1"));
    row.insert("output".to_owned(), Value::from(wanted.submission));
    row.insert("input".to_owned(), wanted.input.unwrap_or_else(|| Value::from("-")));
    if let Some(truth) = wanted.ground_truth {
        row.insert("ground_truth".to_owned(), Value::from(truth));
    }
    let suite = suite.to_string();
    let row = Value::Object(row).to_string();
    let system = MemorySystem::with(&[("suite.yaml", &suite), ("row.jsonl", &row)]);
    let environment = std::collections::BTreeMap::new();
    let mut session =
        Session::new(Database::default(), "suite.yaml", environment, Overrides::default());
    let problems = session.load(&system);
    if let Some(problem) = problems.iter().find(|problem| problem.is_error()) {
        return Err(ApiError::unprocessable(problem.message.clone()));
    }
    let line = results::lines(&session.db, session.root).next();
    let grade = line.and_then(|line| line.grades.0.into_iter().next());
    let (_, grade) = grade.ok_or_else(|| ApiError::internal("nothing was graded"))?;
    Ok(GradeView {
        score: grade.score,
        pass: grade.pass,
        rationale: grade.rationale,
        error: json!(grade.error),
        metadata: grade.metadata,
    })
}
