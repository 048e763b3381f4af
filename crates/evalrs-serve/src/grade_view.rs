//! The grade of one submission, as it is answered.

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::answer::ApiError;
use evalrs_engine::session::Session;
use evalrs_graph::results;

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

/// The grade of a session's only row.
pub(super) fn row_graded(session: &Session) -> Result<GradeView, ApiError> {
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
